"""The graph of what rests on what: made of the checked document, complete, and the same in every format."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from test_html import elements, parsed
from test_report import checked_text

from derive.engine.certify import certificate_of
from derive.engine.verdict import TheoryResult
from derive.language import catalogue
from derive.report import escape
from derive.report.document import document
from derive.report.entry import Entry, entry
from derive.report.graph import Edge, Graph, Node, graph_of, graph_of_theories, laid_out
from derive.report.render import render, render_index

Checked = Callable[[str], TheoryResult]
TEXT = '''"""A chain."""
x: real
y = x**2
w = y + 1
v = x


def first():
    assert diff(y, x) == 2 * x


def second():
    assert diff(w, x) == 2 * x, by(first)


def wrong():
    assert w == y


def apart():
    assert x + x == 2 * x
'''


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {(e.start, e.end) for e in graph.edges}


def test_edges_are_what_statements_name_proofs_unfold_and_lemmas_are_used() -> None:
    graph = graph_of(document(checked_text(TEXT)))
    assert pairs(graph) == {("d:y", "d:w"), ("d:y", "t:first"), ("d:w", "t:second"), ("t:first", "t:second"),
                            ("d:w", "t:wrong")}  # fmt: skip
    assert {n.key: n.verdict for n in graph.nodes} == {
        "d:y": "", "d:w": "", "t:first": "proved", "t:second": "proved", "t:wrong": "refuted", "t:apart": "proved"
    }  # fmt: skip


@pytest.mark.parametrize("name", catalogue())
def test_every_theorem_has_its_place_and_no_two_share_one(name: str, checked: Checked) -> None:
    shown = document(checked(name))
    graph = graph_of(shown)
    assert {n.label for n in graph.nodes if n.kind == "theorem" and n.link} == {t.name for t in shown.theorems}
    boxes = [(n.x, n.y, n.x + n.width) for n in graph.nodes]
    for k, (left, top, right) in enumerate(boxes):
        assert left >= 0 and right <= graph.width and 0 <= top < graph.height
        assert not [b for b in boxes[:k] if b[1] == top and b[0] < right and left < b[2]]
    at = {n.key: n for n in graph.nodes}
    assert all(at[e.start].x + at[e.start].width < at[e.end].x for e in graph.edges)


def test_theories_stand_over_those_that_they_import_from() -> None:
    softmax = Entry("softmax", "Softmax", "proved", (), (), ())
    user = Entry("user", "User", "refuted", (), (), (("softmax", ("s",)), ("elsewhere", ("x",))))
    graph = graph_of_theories((user, softmax), {"softmax": "softmax.html", "user": "user.html"})
    assert pairs(graph) == {("softmax", "user")}
    assert {n.link for n in graph.nodes} == {"softmax.html", "user.html"}


def test_a_ring_ends() -> None:
    nodes = [Node(k, k, "theorem") for k in "ab"]
    assert laid_out(nodes, [Edge("a", "b"), Edge("b", "a")]).nodes


def test_page_links_each_theorem_and_says_its_verdict() -> None:
    tree = parsed(render(document(checked_text(TEXT)), "html"))
    (drawing,) = [e for e in tree.iter() if e.get("class") == "graph"]
    links = [e.get("href") for e in drawing.iter() if e.get("href")]
    assert links == [f"#theorem-{name}" for name in ("first", "second", "wrong", "apart")]
    assert "refuted" in "".join(drawing.itertext())
    assert drawing.get("aria-label")
    assert "graph" in [e.get("id") for e in elements(tree, "section")]


def test_markdown_draws_the_same_with_mermaid() -> None:
    text = render(document(checked_text(TEXT)), "md")
    (drawing,) = re.findall(r"```mermaid\ngraph LR\n(.*?)```", text, re.DOTALL)
    lines = [line.strip() for line in drawing.strip().split("\n")]
    shapes = [line for line in lines if "-->" not in line]
    assert [s for s in shapes if "[" in s and "([" not in s] == ['n0["y"]', 'n1["w"]']
    assert any(re.fullmatch(r'n\d+\(\["✘ wrong"\]\)', s) for s in shapes)
    assert all(re.fullmatch(r'n\d+\(?\["[^"]*"\]\)?|n\d+ --> n\d+', line) for line in lines)
    assert len(lines) - len(shapes) == 5


@pytest.mark.parametrize("text", ['a"]; click n0 "javascript:x"', "x`y", "<b>", "end", "a\nb", "[x](y)"])
def test_label_of_mermaid_cannot_leave_its_quotes(text: str) -> None:
    assert re.fullmatch(r"(\w|[ ._]|#\d+;)*", escape.mermaid(text))


def test_without_anything_that_rests_on_anything_there_is_no_graph() -> None:
    shown = document(checked_text("x: real\ndef apart():\n    assert x + x == 2 * x\n"))
    assert "mermaid" not in render(shown, "md")
    assert "id=graph" not in render(shown, "html").replace('"', "")
    assert "mermaid" not in render_index((entry(shown),), "md")


def test_report_names_the_certificate_and_how_to_replay_it(checked: Checked) -> None:
    shown = document(checked("saturation"))
    assert shown.certificate == certificate_of(checked("saturation"))["digest"]
    for form in ("md", "html", "tex"):
        text = render(shown, form).replace("\\allowbreak{}", "")
        assert shown.certificate in text
        assert "derive verify" in text or "derive{} verify" in text


def test_nothing_proved_has_no_certificate() -> None:
    shown = document(checked_text("x: real\ndef wrong():\n    assert x + x == x\n"))
    assert shown.certificate is None
    assert "derive verify" not in render(shown, "md")
