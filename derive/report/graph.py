"""What rests on what, as a drawing: layers from left to right, made of the checked document and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from derive.report.document import ClaimView, Document, TheoremView
from derive.report.entry import Entry

ROW, GAP, PAD = 26.0, 56.0, 18.0  # heights of rows, widths between columns and within boxes, in units of the drawing
_LETTER = 7.3  # width of a letter of the labels


@dataclass(frozen=True)
class Node:
    """A definition, theorem or theory. `verdict` is "" for a definition, `link` where a click leads, if anywhere."""

    key: str
    label: str
    kind: str
    verdict: str = ""
    link: str = ""
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0


@dataclass(frozen=True)
class Edge:
    """`end` rests on `start`. The curve: where it begins, how far it goes straight, and three points of a bow."""

    start: str
    end: str
    curve: tuple[float, ...] = ()


@dataclass(frozen=True)
class Graph:
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    width: float = 0.0
    height: float = 0.0

    def place(self, key: str) -> int:
        """Which of the nodes has this key, from 0."""
        return next(k for k, node in enumerate(self.nodes) if node.key == key)


def graph_of(document: Document) -> Graph:
    """The theorems of a document over the definitions and theorems that they speak of or whose statements they use."""
    defined = {d.name: d.body.names & {e.name for e in document.definitions} for d in document.definitions}
    local = {t.name for t in document.theorems}
    named = {theorem.name: _definitions_of(theorem, defined) for theorem in document.theorems}
    origin = {name: source for source, names in document.imports for name in names}
    foreign = sorted({n for t in document.theorems for n in t.rests_on} - local)
    used = _below(set().union(*named.values()) if named else set(), defined)
    nodes = [
        Node(f"d:{name}", f"{name} ({origin[name]})" if name in origin else name, "definition")
        for name in defined
        if name in used
    ]
    nodes += [Node(f"t:{n}", f"{n} ({origin.get(n, '')})".replace(" ()", ""), "theorem") for n in foreign]
    nodes += [Node(f"t:{t.name}", t.name, "theorem", t.verdict, f"#theorem-{t.name}") for t in document.theorems]
    edges = [
        Edge(f"d:{below}", f"d:{name}")
        for name in defined
        if name in used
        for below in _topmost(defined[name], defined)
    ]
    for theorem in document.theorems:
        edges += [Edge(f"d:{name}", f"t:{theorem.name}") for name in _topmost(named[theorem.name], defined)]
        edges += [Edge(f"t:{name}", f"t:{theorem.name}") for name in theorem.rests_on if name != theorem.name]
    return laid_out(nodes, edges)


def graph_of_theories(entries: Sequence[Entry], address: Mapping[str, str]) -> Graph:
    """The theories over those that they import from; `address` is where each report lies."""
    names = {e.name for e in entries}
    nodes = [Node(e.name, e.name, "theory", e.verdict, address[e.name]) for e in entries]
    edges = [Edge(source, e.name) for e in entries for source, _ in e.imports if source in names]
    return laid_out(nodes, list(dict.fromkeys(edges)))


def _definitions_of(theorem: TheoremView, defined: Mapping[str, Iterable[str]]) -> set[str]:
    """The definitions that a theorem's statement names, and those that its proof unfolds."""
    terms = [h for _, h in theorem.hypotheses] + [d.body for d in theorem.definitions]
    names = {name for term in terms for name in term.names}
    for claim in theorem.claims:
        names |= claim.statement.names | _unfolded(claim)
    return names & set(defined)


def _unfolded(claim: ClaimView) -> set[str]:
    return {step.name for step in claim.steps if step.name is not None}


def _below(names: Iterable[str], defined: Mapping[str, Iterable[str]]) -> set[str]:
    """The names and all that their definitions rest on."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += defined[name]
    return found


def _topmost(names: Iterable[str], defined: Mapping[str, Iterable[str]]) -> list[str]:
    """Those of the names that none of the others rests on already."""
    names = set(names)
    hidden = {below for name in names for below in _below(defined[name], defined)}
    return sorted(names - hidden)


# -- places -----------------------------------------------------------------------------------------------------------


def laid_out(nodes: Sequence[Node], edges: Sequence[Edge]) -> Graph:
    """The graph with places: each node to the right of what it rests on, as few crossings as sorting once gives."""
    below = {n.key: [e.start for e in edges if e.end == n.key] for n in nodes}
    layer = {n.key: _depth(n.key, below, {}) for n in nodes}
    last = max(layer.values(), default=0)
    if any(below.values()):  # theorems stand together where that crosses nothing
        above = {e.start for e in edges}
        layer = {n.key: last if n.kind == "theorem" and n.key not in above else layer[n.key] for n in nodes}
    columns = [[n for n in nodes if layer[n.key] == k] for k in range(last + 1)]
    rows: dict[str, float] = {}
    order = {n.key: k for k, n in enumerate(nodes)}
    for column in columns:
        column.sort(key=lambda n: (_middle([rows[k] for k in below[n.key] if k in rows]), order[n.key]))
        start = -len(column) / 2
        rows |= {n.key: start + k for k, n in enumerate(column)}
    width = {n.key: len(n.label) * _LETTER + PAD + (14 if n.verdict else 0) for n in nodes}
    top = min(rows.values(), default=0.0)
    x, left = {}, 1.0
    for column in columns:
        x |= {n.key: left for n in column}
        left += max((width[n.key] for n in column), default=0.0) + GAP
    placed = tuple(
        Node(n.key, n.label, n.kind, n.verdict, n.link, round(x[n.key], 1), round((rows[n.key] - top) * ROW + 1, 1),
             round(width[n.key], 1))
        for n in nodes
    )  # fmt: skip
    at = {n.key: n for n in placed}
    right = {column[0].key: max(x[n.key] + width[n.key] for n in column) for column in columns if column}
    right = {n.key: right[column[0].key] for column in columns for n in column}
    curves = tuple(Edge(e.start, e.end, _curve(at[e.start], at[e.end], right[e.start])) for e in edges)
    height = max((n.y for n in placed), default=0.0) + ROW
    return Graph(placed, curves, round(left - GAP + 2, 1), round(height, 1))


def _depth(key: str, below: Mapping[str, Sequence[str]], seen: dict[str, int]) -> int:
    if key not in seen:
        seen[key] = 0  # a ring, which a checked theory does not have, would end here
        seen[key] = max((_depth(k, below, seen) + 1 for k in below[key]), default=0)
    return seen[key]


def _middle(rows: Sequence[float]) -> float:
    return sum(rows) / len(rows) if rows else 0.0


def _curve(start: Node, end: Node, right: float) -> tuple[float, ...]:
    """A curve that passes the other nodes of its column before it bends."""
    a, b, c, d = start.x + start.width, start.y + 10, end.x, end.y + 10
    bend = (c - right) / 2
    return tuple(round(v, 1) for v in (a, b, right, right + bend, b, c - bend, d, c, d))
