"""Reports: complete, faithful, the same bytes each time, and deaf to whatever a user's text tries."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from conftest import ROOT, Run
from latex_reader import Reader, canonical
from markdown_it import MarkdownIt
from markdown_it.token import Token

from derive.engine.check import check_theory
from derive.engine.verdict import ClaimResult, TheoryResult
from derive.kernel.check import check as kernel_check
from derive.kernel.proof import Condition, Proof
from derive.language import catalogue, loads
from derive.language.places import put
from derive.language.printer import to_text
from derive.report import counterexample, escape, prose, words
from derive.report.conditions import telling
from derive.report.document import ClaimView, Document, document, formulas
from derive.report.formula import safe_formula
from derive.report.lines import by_sides, line_terms
from derive.report.notation import names_in, notation
from derive.report.numbers import DTYPES, VARIANTS, Evidence, Measured, Stated, gather, module, ulps
from derive.report.pdf import by_pdflatex, missing_latex
from derive.report.printer import ROOM, Printer, positive_part
from derive.report.render import FORMATS, render
from derive.report.typeset import LATEX
from derive.term import Term, alike, defined, diff, index, mul, over, subterms, var

Derive = Callable[..., Run]
needs_pdflatex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


def checked_text(text: str, timeout: float = 5.0) -> TheoryResult:
    return check_theory(loads(text), timeout)


def reader(shown: Document, result: TheoryResult, theorem: int | None = None, free: Iterable[Term] = ()) -> Reader:
    """A reader of the formulas of a document, with the names of one of its theorems and the letters of a claim."""
    theory = result.theory
    declarations = dict(theory.declarations)
    definitions = dict(theory.definitions)
    if theorem is not None:
        declarations |= {d.name: d for d in theory.theorems[theorem].declarations}
        definitions |= {d.name: d for d in theory.theorems[theorem].definitions}
    kinds = {**dict.fromkeys(declarations, "var"), **dict.fromkeys(definitions, "def")}
    letters = {k: run[0] for k, run in _letters(shown).items()} | {k.value[0]: k.value[1] for k in free}
    axes = {name: d.axes for name, d in declarations.items()}
    return Reader(shown.notation, {**dict.fromkeys(theory.axes, "size"), **kinds}, letters, axes)


def _letters(shown: Document) -> dict[str, list[str]]:
    axes: dict[str, list[str]] = {}
    for axis, run in shown.letters:
        for letter in run:
            axes.setdefault(letter, []).append(axis)
    return axes


def same(one: Term, other: Term) -> bool:
    return alike(canonical(one), canonical(other))


# -- the catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue())
def test_every_printed_formula_of_the_catalogue_is_read_back(name: str, checked: Callable[[str], TheoryResult]) -> None:
    result = checked(name)
    shown = document(result)
    printer = Printer(shown.notation)
    whole = 0
    for number, theorem in enumerate(shown.theorems):
        for claim in theorem.claims:
            for term in (claim.statement, *(s.after for s in claim.steps), *(c for c in claim.domain)):
                read = reader(shown, result, number, (*claim.letters, *term.letters)).read
                whole += 1
                assert same(read(printer.inline(term)), term)
                assert same(read(printer.display(term)), term)
            for line in claim.lines:
                letters = [*claim.letters, *line.letters]
                if all(k.value[0] not in shown.notation.renamed for k in letters):
                    whole += 1
                    read = reader(shown, result, number, letters).read
                    assert same(read(printer.display(line.condition)), line.condition)
    assert whole > 10


@pytest.mark.parametrize("form", ["md", "tex"])
@pytest.mark.parametrize("name", catalogue())
def test_report_holds_every_statement_step_and_condition(
    name: str, form: str, checked: Callable[[str], TheoryResult]
) -> None:
    shown = document(checked(name))
    printer = Printer(shown.notation)
    text = render(shown, form)
    for theorem in shown.theorems:
        assert FORMATS[form].code(theorem.name) in text
        for claim in theorem.claims:
            assert FORMATS[form].display % printer.display(claim.statement) in text
            for step in claim.steps:
                assert printer.display(step.after, "==") in text
                assert step.part is None or FORMATS[form].display % printer.display(step.part) in text
                assert step.whole is None or printer.display(step.whole, "==") in text
                assert step.rule in text
            for line in claim.lines:
                assert FORMATS[form].display % printer.display(line.condition) in text
                assert line.rule in text
            for condition in claim.domain:
                assert printer.inline(condition) in text
    for definition in shown.definitions:
        assert printer.inline(definition.body) in text
    for row in (*shown.account.rules, *shown.account.identities):
        assert row.words in text


def test_end_of_a_pdf_does_not_stand_alone_on_its_page(checked: Callable[[str], TheoryResult]) -> None:
    """TeX may end no page within the last notes, nor between the last rows and lines before them."""
    text = render(document(checked("softmax")), "tex")
    _, rows, rest = re.split(r"\\begin\{longtable\}|\\end\{longtable\}", text[text.rindex(r"\section*{Account}") :])
    assert [row.endswith(r"\\*") for row in rows.splitlines() if row.endswith((r"\\*", r"\\"))][-6:] == [False] + 5 * [
        True
    ]
    lines, notes = rest.split(r"\begin{samepage}")
    assert lines.count("\\together\n\\dotted") == 5 and lines.count(r"\dotted") > 5
    assert notes.index("To see it again") < notes.index(r"\end{samepage}")


@pytest.mark.parametrize("name", catalogue())
def test_account_counts_every_use_of_a_rule(name: str, checked: Callable[[str], TheoryResult]) -> None:
    result = checked(name)
    account = document(result).account
    used = sum(n for t in result.theorems for c in t.claims if c.account for n in c.rules.values())
    assert sum(row.count for row in (*account.rules, *account.identities)) == used
    proofs = [c.proof for t in result.theorems for c in t.claims if c.proof]
    assert account.steps == sum(len(p.steps) + len(p.lines) for p in proofs)
    assert all(row.source for row in (*account.rules, *account.identities))


@pytest.mark.parametrize("name", catalogue())
def test_markdown_is_what_github_renders(name: str, checked: Callable[[str], TheoryResult]) -> None:
    text = render(document(checked(name)), "md")
    assert "$$" not in text
    for macro in (r"\operatorname", r"\newcommand", r"\mbox", r"\phantom", r"\label"):
        assert macro not in text
    for formula in re.findall(r"\$`(.*?)`\$", text):
        assert "|" not in formula
        assert formula.count("{") == formula.count("}")
    tables = [t for t in MarkdownIt("gfm-like", {"linkify": False}).parse(text) if t.type == "table_open"]
    assert len(tables) >= 2
    assert_tables_are_even(text)


def assert_tables_are_even(text: str) -> None:
    """Every row of a table has as many cells as its head."""
    rows = 0
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        rows += block.count("\n")
        assert len(cells) == 1, block
    assert rows


@needs_pdflatex
@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue())
def test_latex_compiles_without_undefined_references_or_boxes_too_wide(name: str, tmp_path: Path) -> None:
    source = ROOT / "reports" / f"{name}.tex"
    assert_compiles(source.read_text(encoding="utf-8"), tmp_path)


@needs_pdflatex
@pytest.mark.slow
def test_chinese_latex_compiles_without_boxes_too_wide(derive: Derive, tmp_path: Path) -> None:
    if missing_latex("{CJKutf8}"):
        pytest.skip("CJKutf8 and its font are not installed")
    derive("report", "log_sum_exp", "--lang", "zh", "--format", "tex", "--out", str(tmp_path))
    assert_compiles((tmp_path / "log_sum_exp.zh.tex").read_text(encoding="utf-8"), tmp_path)


def assert_compiles(tex: str, folder: Path) -> None:
    (folder / "report.tex").write_text(tex, encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    for _ in range(2):
        run = subprocess.run(
            command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=100, check=False
        )
        log = (folder / "report.log").read_text(encoding="utf-8", errors="replace")
        assert run.returncode == 0, log[-3000:]
    assert "undefined" not in log
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(wide, default=0.0) <= 0.5


def without_numbers(text: str) -> str:
    """The report without measured errors, which are the processor's as well."""
    return re.sub(r"(?s)(## |\\section\*\{)(Figures|Numbers).*?(?=\n## |\n\\section\*)", "", text)


@pytest.mark.slow
def test_reports_are_the_same_bytes_each_time_and_are_those_in_the_repository(derive: Derive, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert derive("report", "--out", first).status == 0
    assert derive("report", "--out", second, "--no-cache").status == 0
    files = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
    assert files == sorted(p.relative_to(second) for p in second.rglob("*") if p.is_file())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in files)
    names = ["index.md", *(f"{n}.{s}" for n in catalogue() for s in ("md", "tex"))]
    assert {str(f) for f in files if f.suffix in (".md", ".tex")} == set(names)
    for name in names:
        kept = (ROOT / "reports" / name).read_text(encoding="utf-8")
        built = (first / name).read_text(encoding="utf-8")
        assert without_numbers(built) == without_numbers(kept), f"{name} is out of date: run `make report`"


@pytest.mark.slow
def test_every_figure_of_a_report_in_the_repository_is_there() -> None:
    places = [
        p for path in (ROOT / "reports").glob("*.md") for p in re.findall(r"\]\((figures/.*?)\)", path.read_text())
    ]
    assert places
    assert all((ROOT / "reports" / place).is_file() for place in places)


def test_index_links_every_report() -> None:
    text = (ROOT / "reports" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((.*?)\)", text) == [f"{name}.md" for name in catalogue()]


# -- orders -----------------------------------------------------------------------------------------------------------

ORDERS = """n: axis
z: real[n]
p: positive[n]
Z = sum(exp(z[k]) for k in n)
top = max(z[k] for k in n)
def score():
    assert z[i] <= log(Z)
def bound():
    assert log(Z) <= top + log(n)
def divergence():
    assume(sum(p[k] for k in n) == 1)
    assert sum(p[k]*(log(p[k]) - z[k] + log(Z)) for k in n) >= 0
"""


def test_part_is_worked_out_by_itself_and_put_back(checked: Callable[[str], TheoryResult]) -> None:
    """What the lines show, put into what stands around it, is the proof's own expression after each step."""
    depths = set()
    for result in map(checked, catalogue()):
        for claim, view in claims_and_views(result):
            open_: list[tuple[Term, Term]] = []  # each part that is being worked out, and what it is a part of
            line = view.start
            for shown in view.steps:
                assert line is not None and claim.proof is not None
                step = claim.proof.steps[(shown.last or shown.number) - 1]
                if shown.part is not None:
                    assert shown.part in set(subterms(line))
                    open_.append((shown.part, line))
                assert shown.depth == len(open_)
                line = shown.after
                depths.add(shown.depth)
                if shown.whole is not None:
                    part, around = open_.pop()
                    assert shown.whole in {put(around, p, line) for p in places(around, part)}
                    line = shown.whole
                if not open_:
                    assert line is step.after
            assert not open_
    assert depths >= {0, 1, 2}


def test_lines_on_a_part_stand_further_in_and_have_less_room(checked: Callable[[str], TheoryResult]) -> None:
    shown = document(checked("attention"))
    printer = Printer(shown.notation)
    steps = [step for theorem in shown.theorems for claim in theorem.claims for step in claim.steps]
    parts, wholes = [s for s in steps if s.part is not None], [s for s in steps if s.whole is not None]
    assert max(s.depth for s in steps) > 1
    text = {form: render(shown, form) for form in ("tex", "typ", "html")}
    assert text["tex"].count(r"\joint{") == text["typ"].count("#joint(") == len(parts) + len(wholes)
    for depth in range(1, 4):
        begun, ended = (sum(s.depth == d for s in kind) for kind, d in ((parts, depth), (wholes, depth + 1)))
        assert text["tex"].count(rf"\inside{{{depth}}}") == begun + ended
        here = sum(s.depth == depth for s in (*steps, *parts)) + ended
        assert text["typ"].count(f"#inside({depth})[") == here
    assert len(re.findall('class="?inner"?>', text["html"])) == sum(s.depth for s in (*steps, *parts)) + sum(
        s.depth - 1 for s in wholes
    )
    assert all(printer.display(s.after, "==", ROOM - 2 * s.depth) in text["tex"] for s in steps)


def test_lines_that_were_shown_of_other_letters_are_named_instead(checked: Callable[[str], TheoryResult]) -> None:
    """The steps named before are the very steps of the proof, and no part that is shown in full could be named."""
    named = 0
    for result in map(checked, catalogue()):
        for claim, view in claims_and_views(result):
            steps = claim.proof.steps if claim.proof else ()
            assert [n for v in view.steps for n in range(v.number, (v.last or v.number) + 1)] == [
                *range(1, len(view.steps and steps) + 1)
            ]
            for shown in (v for v in view.steps if v.last is not None):
                first, last = map(int, re.findall(r"\d+", shown.rule))
                assert last < shown.number and shown.part is not None and shown.last is not None
                there, here = steps[first - 1 : last], steps[shown.number - 1 : shown.last]
                assert [s.rule for s in here] == [s.rule for s in there]
                assert shape(shown.after) == shape(next(v.after for v in view.steps if v.number == last))
                named += 1
    assert named


def shape(term: Term) -> object:
    """The term without the names of its letters."""
    return term.value[1] if term.op == "index" else (term.op, term.value, *map(shape, term.args))


HYPOTHESES = """n: axis
x: real[n]
j: index[n]
def one():
    assume(x[j] == 0)
    assert sum(x[i]*delta(i, j) for i in n) == 0
def every():
    assume(x[i] == 0)
    assert sum(x[i] for i in n) == 0
def apart():
    assume(i != k)
    assert x[i]*delta(i, k) == 0
"""


def test_hypothesis_says_for_which_letters_it_holds() -> None:
    shown = document(checked_text(HYPOTHESES))
    assert [(to_text(t.hypotheses[0][1]), *map(to_text, t.claims[0].hypotheses)) for t in shown.theorems] == [
        ("x[j] == 0", "x[j] == 0"),
        ("all(x[i] == 0 for i in n)", "all(x[i] == 0 for i in n)"),
        ("i != k", "i != k"),
    ]
    assert r"$`x_{i} = 0 \text{ for all } i`$" in render(shown, "md")


def test_claim_that_its_own_hypothesis_empties_is_told_so() -> None:
    """A mask that is 0 everywhere was meant of one entry."""
    head = "n: axis\nb: bit[n]\n{}def f():\n    assume(b[i] == 0)\n    assert b[i]/sum(b[k] for k in n) == 0\n"
    (open_,), (fixed,) = (checked_text(head.format(more)).theorems for more in ("", "i: index[n]\n"))
    assert open_.verdict == "undecided"
    assert "b[i] == 0 is assumed for all i, where a declared letter, i: index[n], is one" in open_.claims[0].reason
    assert fixed.verdict == "proved"


@pytest.mark.parametrize(("other", "value", "named"), [("s[j], z[k]", "s[j]*(delta(j, k) - s[k])", ["11–20"]),
                                                       ("s[i], z[i]", "s[i]*(1 - s[i])", ["15–19"])])  # fmt: skip
def test_only_distinct_letters_stand_for_distinct_ones(other: str, value: str, named: list[str]) -> None:
    """diff(s[i], z[i]) is not diff(s[i], z[j]) of other letters; the derivative of the sum in it is."""
    text = "n: axis\nz: real[n]\nZ = sum(exp(z[k]) for k in n)\ns[i] = exp(z[i])/Z\n"
    text += f"assert diff(s[i], z[j])*diff({other}) == s[i]*(delta(i, j) - s[j])*{value}\n"
    (theorem,) = document(checked_text(text)).theorems
    assert theorem.verdict == "proved"
    assert [line.numbers for line in theorem.claims[0].steps if line.last is not None] == named


def places(term: Term, part: Term, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    if term is part:
        yield path
    for p, a in enumerate(term.args):
        yield from places(a, part, (*path, p))


def claims_and_views(result: TheoryResult) -> Iterator[tuple[ClaimResult, ClaimView]]:
    for theorem, shown in zip(result.theorems, document(result).theorems, strict=True):
        yield from zip(theorem.claims, shown.claims, strict=True)


def test_order_is_shown_comparison_by_comparison_with_what_each_rests_on() -> None:
    shown = document(checked_text(ORDERS))
    assert shown.verdict == "proved"
    for theorem in shown.theorems:
        (claim,) = theorem.claims
        assert claim.lines
        assert claim.closing == f"({len(claim.lines)}) gives the claim"
        for line in claim.lines:
            for term in line_terms(line):
                marks = {k.value[0] for t in subterms(term) for k in (*t.bound, *t.letters)}
                assert all(mark.isidentifier() for mark in marks)
            for reference in (r for s in line.summands for r in s.references):
                earlier = re.fullmatch(r"\((\d+)\)", reference.words)
                assert earlier is None or int(earlier[1]) < line.number
    assert any(r.words == "(1)" for line in claim.lines for s in line.summands for r in s.references)


def test_last_comparison_is_the_claim() -> None:
    result = checked_text(ORDERS)
    for theorem, shown in zip(result.theorems, document(result).theorems, strict=True):
        context = result.theory.context(theorem.theorem)
        (claim,), (view,) = theorem.claims, shown.claims
        last = Proof(view.lines[-1].condition)
        assert kernel_check(dataclasses.replace(last, lines=claim.proof.lines), context)  # type: ignore[union-attr]


@pytest.mark.parametrize("form", ["md", "tex"])
def test_report_says_what_a_comparison_is_made_of(form: str) -> None:
    text = render(document(checked_text(ORDERS)), form)
    assert "gives the claim" in text
    assert "summed over" in text
    for line in (line for t in document(checked_text(ORDERS)).theorems for c in t.claims for line in c.lines):
        assert f"({line.number})" in text
        assert "multiplied by" in text or line.scale is None
        assert "by its sign" in text or all(s.references for s in line.summands)


def test_letter_that_is_also_a_name_is_written_with_another_sign() -> None:
    k, z, name = index("k", "n"), var("z", index("k", "n")), var("k", index("i", "n"))
    names, letters = names_in([over("sum", mul(z, name), k)])
    chosen = notation(names, letters)
    assert chosen.letter("k") != chosen.symbol("k")
    printed = Printer(chosen).inline(over("sum", mul(z, name), k))
    assert printed == r"\sum_{r} z_{r} k_{i}"
    assert notation({"z"}, {"k": frozenset({"n"})}).renamed == {}


# -- what is not proved -----------------------------------------------------------------------------------------------

ROOT_OF_SQUARE = '"""A root."""\nx: real\ndef root():\n    assert sqrt(x**2) == x\n'


@pytest.mark.parametrize("form", ["md", "tex"])
def test_refuted_claim_is_shown_with_numbers_put_into_the_formula(form: str) -> None:
    text = render(document(checked_text(ROOT_OF_SQUARE)), form)
    assert r"= \sqrt{(-1)^{2}}" in text
    assert "difference is" in text
    assert "Counterexample" in text
    assert re.search(r"1 theorem refuted", text)
    assert "theorem proved" not in text
    assert "holds for all sizes" not in text


@pytest.mark.parametrize(
    ("reason", "refuted", "told"),
    [
        ("no derivation was found", True, None),
        ("no derivation was found; left - right comes down to x", True, None),
        ("no derivation was found: it would follow with assume(x == 1)", True, "it would follow with assume(x == 1)"),
        ("no derivation was found: it would follow with assume(x == 1)", False, "it would follow with assume(x == 1)"),
        ("1/x may be undefined: it would follow with assume(x != 0)", True, "it would follow with assume(x != 0)"),
        ("1/x may be undefined: it would follow with assume(x != 0)", False, "1/x may be undefined: it would follow"),
        ("no derivation was found", False, "no derivation was found"),
        (None, False, None),
    ],
)
def test_reason_is_what_helps(reason: str | None, refuted: bool, told: str | None) -> None:
    found = words.spoken_reason(reason, refuted)
    assert found == told or (found is not None and told is not None and found.startswith(told) and found == reason)


@pytest.mark.parametrize("form", ["md", "tex"])
def test_report_of_a_refuted_claim_tells_what_would_close_it(form: str) -> None:
    shown = document(checked_text(ROOT_OF_SQUARE))
    claim = dataclasses.replace(shown.theorems[0].claims[0], reason="it would follow with assume(x > 0)")
    theorem = dataclasses.replace(shown.theorems[0], claims=(claim,))
    text = render(dataclasses.replace(shown, theorems=(theorem,)), form)
    assert "It would follow with assume" in text
    assert "no derivation" not in render(shown, form)


def test_undefined_right_side_is_said_to_be_undefined() -> None:
    text = render(document(checked_text('"""One."""\nx: real\ndef one():\n    assert 1 == x / x\n')), "md")
    assert "undefined" in text
    assert "The difference" not in text


@pytest.mark.parametrize("verdict", ["checked", "undecided"])
@pytest.mark.parametrize("form", ["md", "tex"])
def test_what_is_not_proved_is_never_printed_in_words_of_proof(
    verdict: str, form: str, checked: Callable[[str], TheoryResult]
) -> None:
    result = checked("softmax")
    weak = tuple(
        dataclasses.replace(
            theorem,
            claims=tuple(
                dataclasses.replace(claim, verdict=verdict, proof=None, account=None, reason="time ran out")
                for claim in theorem.claims
            ),
        )
        for theorem in result.theorems
    )
    shown = document(dataclasses.replace(result, theorems=weak))
    text = render(dataclasses.replace(shown, prose=""), form)
    for word in ("proved", "Derivation", "holds for all", "accepted by the kernel"):
        assert word not in text.replace("neither proved nor refuted", "").replace("proof was found", "")
    assert f"{len(result.theorems)} theorems {verdict}" in text
    assert "time ran out" in text


def test_counterexample_keeps_the_digits_that_tell_the_sides_apart() -> None:
    text = '"""Off."""\nx: real\ndef slope():\n    assert diff(x**2, x) == 2.000000000001*x\n'
    shown = document(checked_text(text)).theorems[0].claims[0].counterexample
    assert shown is not None
    left, right = shown.sides
    assert left.value != right.value
    assert shown.difference is not None
    assert float(shown.difference.rstrip("…")) != 0


def test_counterexample_unfolds_sums_and_definitions() -> None:
    text = (
        '"""S."""\nn: axis\nz: real[n]\nt = sum(z[k]**2 for k in n)\n'
        "def wrong():\n    assume(n >= 2)\n    assert t == 0\n"
    )
    shown = document(checked_text(text)).theorems[0].claims[0].counterexample
    assert shown is not None
    filled = shown.sides[0].filled
    assert filled is not None
    assert filled.op == "add"
    assert not filled.names


def test_long_counterexample_shows_the_numbers_alone() -> None:
    data = {"sizes": {"n": 80}, "values": {"z": ["1"] * 80}, "indices": {}, "left": ["80", "80"], "right": ["0", "0"]}
    text = '"""S."""\nn: axis\nz: real[n]\ndef wrong():\n    assert sum(z[k] for k in n) == 0\n'
    theory = loads(text)
    theorem = theory.theorems[0]
    shown = counterexample.shown(data, theorem.claims[0].condition, theory.context(theorem))
    assert shown.sides[0].filled is None
    assert (shown.sides[0].value, shown.sides[1].value, shown.difference) == ("80", "0", "80")


def test_nearly_equal_sides_are_shown_with_digits_that_tell_them_apart() -> None:
    text = '"""S."""\nn: axis\nx: real\nz: real[n]\ndef wrong():\n    assert exp(x) == exp(x)*(1 + 10**(-40))\n'
    shown = document(checked_text(text)).theorems[0].claims[0].counterexample
    assert shown is not None
    assert shown.point == (("x", "0"),)  # the axis of z does not matter
    assert [side.value for side in shown.sides] == ["1", f"1.{'0' * 39}1"]
    assert shown.difference == "-1e-40"


def test_hypothesis_that_no_proof_needed_is_listed() -> None:
    text = '"""U."""\nx: real\ndef idle():\n    assume(x > 0)\n    assert x + x == 2*x\n'
    assert "Not needed by any proof: $`x > 0`$" in render(document(checked_text(text)), "md")


# -- hostile text -----------------------------------------------------------------------------------------------------

HOSTILE = (
    r"\input{/etc/passwd}", r"\write18{id}", r"$\input{x}$", r"$\def\x{\x}\x$", "$x^2^3$", "$}{$", r"\end{document}",
    r"\VAR{1}", r"\BLOCK{for}", r"\#{", "%#", "{{ 7*7 }}", "{% raw %}", "{# x #}", "<script>alert(1)</script>",
    "<b>&amp;",
    "[a](javascript:alert(1))", "![a](http://x/y.png)", "[a](https://x.y/\" onclick=\"z)", "| a | b |", "``` x ```",
    "`",
    "# heading", "- item", "1. item", "> quote", "---", "===", "*", "**", "_x_", "~~x~~", "@user #1 :smile:",
    "~^&%$#_{}",
    "\x1b[31m", "\u202eabc\u202c", "\u2028", "\x00", "a\u200bb", "中文 emoji 🙂 é ß ñ Ω ≤ ∑",
    "--- -- ''q'' ``q`` ?` !`",
    "x" * 400,
    r"\\", "\\", "$", "$$", "$$ x $$", "\\(x\\)", "\\[x\\]", "^^5cinput", "\"'<>", "&lt;", "https://example.org/a_b?c=d&e",
)  # fmt: skip


def visible_text(tokens: list[Token]) -> str:
    """What a reader of rendered Markdown sees."""
    return "".join(_visible(tokens))


def _visible(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children is not None:
            yield from _visible(token.children)
        else:
            yield token.content


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_shown_by_markdown_as_it_is(text: str) -> None:
    parser = MarkdownIt("gfm-like", {"linkify": False})
    tokens = parser.parse(escape.markdown(text))
    assert {t.type for t in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    inline = [child.type for t in tokens for child in t.children or ()]
    assert set(inline) <= {"text", "text_special"}
    assert visible_text(tokens) == escape.visible(text).strip(" ")


@pytest.mark.parametrize("text", HOSTILE)
def test_prose_makes_no_html_image_or_foreign_link(text: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(prose.markdown(text))
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", html))
    assert tags <= {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "a"}
    assert all(link.startswith(("http://", "https://")) for link in re.findall(r'href="(.*?)"', html))


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_unseen_stays_in_any_format(text: str) -> None:
    for written in (prose.markdown(text), prose.tex(text), escape.markdown(text), escape.tex(text)):
        assert not set(written) & set("\x1b\x00\u202e\u202c\u2028\u200b")


def test_code_cannot_leave_its_fence_or_listing() -> None:
    code = "a\n```\n````\n# no heading\n\\end{listing}\\input{x}"
    fenced = MarkdownIt().parse(escape.markdown_fence(code))
    assert [t.type for t in fenced] == ["fence"]
    assert fenced[0].content.rstrip("\n") == code
    assert prose.tex_listing(code).count(r"\end{listing}") == 1
    assert "\\input" not in prose.tex_listing(code)
    for span in ("`", "``", "a`b", " ", "`a"):
        tokens = MarkdownIt().parse(escape.markdown_code(span))
        assert [c.type for t in tokens for c in t.children or ()] == ["code_inline"]


def hostile_result(checked: Callable[[str], TheoryResult]) -> TheoryResult:
    """A checked theory whose every text is hostile."""
    everything = "\n\n".join(HOSTILE)
    line = " ".join(HOSTILE)
    result = checked("softmax")
    theorems = tuple(
        dataclasses.replace(
            t,
            theorem=dataclasses.replace(t.theorem, doc=everything),
            warnings=(line,),
            claims=tuple(
                dataclasses.replace(
                    c, claim=dataclasses.replace(c.claim, caption=line), reason=line, verdict="undecided"
                )
                for c in t.claims
            ),
        )
        for t in result.theorems[:2]
    )
    theory = dataclasses.replace(result.theory, title=line, prose=everything)
    return dataclasses.replace(result, theory=theory, theorems=theorems)


@needs_pdflatex
@pytest.mark.slow
def test_hostile_text_can_neither_break_nor_command_latex(
    checked: Callable[[str], TheoryResult], tmp_path: Path
) -> None:
    tex = render(document(hostile_result(checked)), "tex")
    assert_compiles(tex, tmp_path)
    assert tex.count(r"\end{document}") == 1
    assert not re.search(r"\\(input|write|def|href\{java|csname|openin)", tex)


def test_hostile_text_leaves_the_outline_of_the_markdown_alone(checked: Callable[[str], TheoryResult]) -> None:
    plain = MarkdownIt("gfm-like", {"linkify": False}).parse(render(document(checked("softmax")), "md"))
    text = render(document(hostile_result(checked)), "md")
    hostile = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
    kinds = {t.type for t in hostile}
    assert "html_block" not in kinds
    heads = [t.tag for t in hostile if t.type == "heading_open"]
    assert heads.count("h1") == 1
    assert heads.count("h2") == [t.tag for t in plain if t.type == "heading_open"].count("h2")
    assert_tables_are_even(text)


@needs_pdflatex
@pytest.mark.slow
def test_every_character_of_latin_greek_and_symbols_compiles(tmp_path: Path) -> None:
    characters = [chr(n) for block in ((0x20, 0x250), (0x370, 0x400), (0x2000, 0x2300)) for n in range(*block)]
    body = "\n\n".join(escape.tex(" ".join(characters[n : n + 20])) for n in range(0, len(characters), 20))
    frame = render(document(check_theory(loads('"""T."""\nx: real\ndef t():\n    assert x == x\n'))), "tex")
    assert_compiles(frame.replace(r"\end{document}", body + r"\end{document}"), tmp_path)


# -- mathematics in prose ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\frac12", r"\frac{1}{2}"),
        (r"e^{z_i} / \sum_k e^{z_k}", r"e^{z_{i}} / \sum_{k} e^{z_{k}}"),
        (r"\operatorname{diag}(s) - ss^\top", r"\mathrm{diag} ( s ) - s s^{\top}"),
        (r"\text{softmax of } z", r"\text{softmax of } z"),
        ("f''_k", r"f_{k}^{\prime \prime}"),
        (r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}", r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}"),
        (r"\left\{ x \right.", r"\left\{ x \right."),
        ("P(x|y) ≤ α", r"P ( x \vert y ) \leq \alpha"),
    ],
)
def test_formula_in_the_grammar_is_written_anew(text: str, written: str) -> None:
    math, again = safe_formula(text), safe_formula(written)
    assert math is not None and again is not None
    assert LATEX.write(math) == LATEX.write(again) == written


@pytest.mark.parametrize(
    "text",
    [r"\input{x}", r"\write18{x}", r"\def\x{\x}", r"\href{a}{b}", r"\csname x\endcsname", r"\require{x}", r"\url{x}",
     r"\text{\input{x}}", r"\text{a$b$}", r"\begin{document}\end{document}", r"\begin{matrix}", r"\end{matrix}",
     r"\begin{matrix}a\end{cases}", "x^2^3", "x_1_2", "x'^2", "^2", "_", "{", "}", r"\left( x", r"\left x \right y",
     "a & b",
     r"a \\ b", "a % b", "a # b", "a ~ b", "$", "`", '"', "\\", "", " ", r"\frac{1}", r"\sqrt", "^^5c", "x" * 3000,
     "{" * 40 + "x" + "}" * 40, r"\catcode", r"\newcommand{\a}{b}", r"\color{red}", r"\unicode{x}", "中"],
)  # fmt: skip
def test_formula_outside_of_the_grammar_is_refused(text: str) -> None:
    assert safe_formula(text) is None


def test_refused_formula_is_shown_as_text() -> None:
    assert prose.markdown(r"see $\input{x}$ and $x_i$") == r"see `$\input{x}$` and $`x_{i}`$"


def test_prices_are_no_formulas() -> None:
    assert "`" not in prose.markdown("it costs $5 and then $6 more")


@pytest.mark.parametrize(
    "text", ["`" * 200_000, "$a " * 70_000, "*a " * 70_000, "[](" * 70_000, "\\" * 200_000, "x" * 200_000]
)
def test_prose_of_any_length_is_read_in_no_time(text: str) -> None:
    """Nothing here is quadratic: a megabyte of marks is read as fast as a megabyte of words."""
    import time

    start = time.process_time()
    prose.markdown(text)
    prose.tex(text)
    assert time.process_time() - start < 5


# -- pieces -----------------------------------------------------------------------------------------------------------


def test_every_rule_and_procedure_of_the_kernel_has_words_and_a_source() -> None:
    from derive.kernel.check import PROCEDURES
    from derive.kernel.rules import RULES

    for rule in (*RULES, *PROCEDURES):
        assert "_" not in words.rule_words(rule)
        assert words.rule_source(rule)
    names = [words.rule_words(rule) for rule in (*RULES, *PROCEDURES) if not rule.endswith("_last")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.0, "0"), (0.0101, "0.011"), (0.501, "0.51"), (1.81, "1.9"), (243.7, "250"), (8.602e15, "8.7e15")],
)
def test_errors_are_rounded_up(error: float, text: str) -> None:
    assert ulps(error) == text
    assert float(text) >= error


def test_code_of_several_quantities_shares_its_helpers() -> None:
    from derive.codegen import compile_quantity
    from derive.language import load

    theory = load("softmax")
    source = module([compile_quantity(theory, name) for name in ("Z", "s", "jacobian")])
    assert source.count("import numpy") == 1
    assert source.count("def _size(") == 1
    compile(source, "module", "exec")


def test_document_without_evidence_says_nothing_of_numbers(checked: Callable[[str], TheoryResult]) -> None:
    shown = document(checked("softmax"))
    assert shown.evidence == Evidence()
    assert "## Numbers" not in render(shown, "md")


def test_every_printed_term_belongs_to_the_notation(checked: Callable[[str], TheoryResult]) -> None:
    for name in catalogue():
        shown = document(checked(name))
        names = {t.value for term in formulas(shown) for t in subterms(term) if t.op in ("var", "def", "size")}
        assert names <= set(shown.notation.symbols)


@needs_pdflatex
@pytest.mark.slow
def test_pdf_is_the_same_bytes_each_time(checked: Callable[[str], TheoryResult]) -> None:
    tex = render(document(checked("dot_product")), "tex")
    first = by_pdflatex(tex)
    assert first.startswith(b"%PDF")
    assert by_pdflatex(tex) == first


def test_every_dtype_is_measured() -> None:
    result = check_theory(loads('"""T."""\n\nx: real\ns = exp(x)/(1 + exp(x))\n', "t"))
    evidence = gather(result)
    (measured,) = evidence.measured
    assert measured.dtypes == ("float64", "float32", "float16", "bfloat16")
    assert {w.dtype for w in measured.worst} == {*measured.dtypes}
    assert all("0x" in w.computed and "0x" in w.true for w in measured.worst)
    assert "| quantity | form | float64 | float32 | float16 | bfloat16 |" in render(document(result, evidence), "md")


@pytest.mark.parametrize("form", FORMATS)
def test_report_says_which_peer_is_not_installed(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = check_theory(loads('"""T."""\n\nx: real\ns = exp(x)\n', "t"))
    told = "not measured beside it: "
    monkeypatch.setattr("derive.report.numbers.find_spec", lambda name: None)
    without = gather(result)
    assert without.missing == ("scipy",)
    assert told in " ".join(render(document(result, without), form).split())
    assert told not in " ".join(render(document(result, dataclasses.replace(without, missing=())), form).split())


def test_claims_without_proofs_of_their_own_share_what_is_noted(checked: Callable[[str], TheoryResult]) -> None:
    shown = document(checked("worked_examples"))
    notes: list[str] = []
    for theorem in shown.theorems:
        runs = groupby(
            theorem.claims, lambda c: (bool(c.start or c.lines or c.closing), c.hypotheses, c.coq and c.coq.reason)
        )
        for (proved_in_steps, hypotheses, *_), run in runs:
            numbers = [c.number for c in run]
            notes += ["Evaluated"] * (len(numbers) if proved_in_steps else 1) if hypotheses else []
            if len(numbers) > 1 and not proved_in_steps:
                notes.append(f"On claims {numbers[0]} to {numbers[-1]}:")
    written = render(shown, "tex")
    assert written.count("On claims 1 to 10:") == notes.count("On claims 1 to 10:") > 0
    assert written.count("On claims ") == len([n for n in notes if n != "Evaluated"])
    assert written.count("Evaluated with ") == notes.count("Evaluated")


@pytest.mark.parametrize("variants", [1, 2, 5])
def test_tables_of_errors_have_a_column_for_each_variant(variants: int) -> None:
    names = tuple(VARIANTS)[:variants]
    columns = (*(f"float64, {VARIANTS[v]}" for v in names), *(f"{d}, {VARIANTS[names[-1]]}" for d in DTYPES[1:]))
    cells = tuple(f"{k} ulp" for k in range(len(columns)))
    summary = tuple(("s", VARIANTS[v], *("1 ulp" for _ in DTYPES)) for v in names)
    measured = Measured("s", "s", names, DTYPES, summary, (("small", *cells),), columns, ())
    made = document(checked_text('"""T."""\n\nx: real\ns = x\nassert s == x\n'), Evidence(measured=(measured,)))
    tables = re.findall(r"(?s)\\begin\{longtable\}(.*?)\\end\{longtable\}", render(made, "tex"))
    tables = [t for t in tables if "ulp" in t]
    assert len(tables) == (1 if variants == 1 else 2)
    for text in tables:
        head, *rows = text.split("\\\\")
        count = head.split("@{}}", 1)[0].count("P{")
        assert count == head.count("&") + 1
        assert {row.count("&") + 1 for row in rows if "ulp" in row} == {count}
        assert [int(wide) for wide in re.findall(r"multicolumn\{(\d+)\}\{@\{\}l@", text)] in ([], [count])


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a - b >= 0", "a >= b"),
        ("0 - diff(a**2, a) >= 0", "diff(a**2, a) <= 0"),
        ("-a - b > 0", "a + b < 0"),
        ("-a == 0", "a == 0"),
        ("a - (b + 1) < 0", "a < b + 1"),
        ("a + b >= 0", "a + b >= 0"),
        ("a - b >= 1", "a - b >= 1"),
    ],
)
def test_nothing_is_subtracted_on_the_left_of_a_comparison(written: str, shown: str) -> None:
    conditions = [
        loads(f"a: real\nb: real\ndef claim():\n    assert {text}\n")["claim"].claims[0].condition
        for text in (written, shown)
    ]
    assert by_sides(conditions[0]) is conditions[1]


def test_conditions_that_numbers_settle_are_not_told() -> None:
    text = "n: axis\nz: real[n]\nx: real\ny: real\ndef claim():\n    assert "
    conditions = [
        loads(text + told)["claim"].claims[0].condition
        for told in ("4 != 0", "2 > 0 or x > 0", "x != 0", "all(x != 0 for k in n)", "all(z[k] != 0 for k in n)")
    ]
    conditions += [conditions[2], loads(text + "1 > 2 or y > 0")["claim"].claims[0].condition]

    kept = telling(Condition(c, reason="why") for c in conditions)

    assert [c.condition for c in kept] == [conditions[2], conditions[4], conditions[6]]


def test_account_has_a_row_for_each_rule_that_a_reader_can_tell_apart(checked: Callable[[str], TheoryResult]) -> None:
    for name in catalogue():
        account = document(checked(name)).account
        rows = [(row.words, row.source) for row in (*account.rules, *account.identities)]
        assert len(rows) == len(set(rows))


@pytest.mark.parametrize("form", ["md", "tex", "html"])
def test_means_and_limits_in_conditions_are_said_to_exist(form: str) -> None:
    text = 'X: random(mean=0, variance=1)\ndef claim():\n    """T."""\n    assert 0 <= Var(X)\n'
    assert "exists (by what is declared and assumed)" in render(document(checked_text(text)), form)


def test_letters_are_told_with_their_axes_where_one_runs_over_several() -> None:
    text = "m: axis\nn: axis\nk: index[m]\nA: real[m, n]\ndef claim():\n    assert A[i, j] - A[i, j] == 0\n"
    shown = document(checked_text(f"{text}def other():\n    assert sum(A[r, i] - A[r, i] for i in n) == 0\n"))
    letters = shown.theorems[0].claims[0].letters

    assert Printer(shown.notation).letters(letters) == r"i \in [m], j \in [n]"
    assert Printer(notation({"A", "m", "n"}, {"i": {"m"}, "j": {"n"}})).letters(letters) == "i, j"


@pytest.mark.parametrize("form", ["md", "tex", "typ"])
def test_a_word_stands_between_definitions_and_the_claim(form: str) -> None:
    text = 'x: real\ndef claim():\n    """T."""\n    y = x + 1\n    assert y - 1 == x\n'
    assert "Then" in render(document(checked_text(text)), form)


@pytest.mark.parametrize("form", ["md", "tex", "html"])
def test_claims_on_numbers_say_that_they_were_evaluated(form: str) -> None:
    text = 'n: axis\nz: real[n]\ndef claim():\n    """T."""\n    assume(z == [1, 2])\n    assert z[0] < z[1]\n'
    assert "Evaluated with" in render(document(checked_text(text)), form)
    plain = 'x: real\ndef claim():\n    """T."""\n    assert sqrt(2) < 2\n'
    assert "Evaluated as it stands." in render(document(checked_text(plain)), form)


def test_derivatives_by_the_same_entry_are_counted() -> None:
    shown = Printer(notation({"f", "z", "x", "n"}, {"i": {"n"}, "j": {"n"}}))
    f, x, at_i, at_j = defined("f"), var("x"), var("z", index("i", "n")), var("z", index("j", "n"))

    assert shown.inline(diff(diff(f, x), x)) == r"\frac{\partial^{2} f}{\partial x^{2}}"
    assert shown.inline(diff(diff(f, at_i), at_j)) == r"\frac{\partial^{2} f}{\partial z_{j} \, \partial z_{i}}"
    twice = r"\frac{\partial^{3} f}{\partial z_{i} \, \partial x^{2}}"
    assert shown.inline(diff(diff(diff(f, x), x), at_i)) == twice


def test_a_difference_loses_the_sign_before_it(checked: Callable[[str], TheoryResult]) -> None:
    claims = [c for t in document(checked("online_softmax")).theorems for c in t.claims]
    terms = [t for c in claims for line in c.lines for term in line_terms(line) for t in subterms(term)]

    assert any(t.op == "fn" and t.value == "relu" for t in terms)  # of p - r as of -(p - r) in the proof
    assert not any(t.op == "neg" and t.args[0].op == "add" and any(map(positive_part, t.args[0].args)) for t in terms)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_bound_without_roundings_is_said_to_be_exact(language: str) -> None:
    made = document(checked_text('"""T."""\n\nx: real\ns = x\nt = x\nassert s == t\n'))
    share = "1\N{NO-BREAK SPACE}%"
    bounds = (Stated("0", None, True, f"under {share}"), Stated("3", None, True, f"under {share}"))
    measured = tuple(
        Measured(name, name, ("direct",), DTYPES[:1], (), (), (), (), stated=bound)
        for name, bound in zip("st", bounds, strict=True)
    )
    text = render(dataclasses.replace(made, evidence=Evidence(measured=measured), language=language), "md")

    exact, rounded = {
        "en": (
            "- `s`: exact, nothing is rounded.",
            f"- `t`: at most `3` u of each entry itself; under {share} of that was met.",
        ),
        "zh": ("- `s`：无舍入误差。", f"- `t`：至多为各分量自身的 `3` u；实测最大误差与此界之比：小于 {share}。"),
    }[language]
    assert exact in text
    assert rounded in text


def test_lines_of_an_order_add_no_zeros_and_say_nothing_again(checked: Callable[[str], TheoryResult]) -> None:
    for name in catalogue():
        for claim in (c for t in document(checked(name)).theorems for c in t.claims):
            terms = [t for line in claim.lines for term in line_terms(line) for t in subterms(term)]
            assert not any(part.op == "num" and part.value == 0 for t in terms if t.op == "add" for part in t.args)
            for before, line in list(pairwise(claim.lines))[-1:]:
                assert line.scale or line.condition is not before.condition or line.where is not before.where
