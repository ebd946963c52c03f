"""What the program says by itself, as its source says it: each text with `{}` where something is put in.

Reports take such texts from a verdict's reason, a kernel's refusal or a side condition, and put them into their own
language by what they say (`derive/report/languages`). The tables below name the places of the source that they come
from; what is said elsewhere (on the command line, in errors of the language) is English in every language.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "derive"
SLOT = "{}"
Values = dict[str, list[ast.expr]]  # what names are given

# Exceptions whose text may stand in a report, by the folder or module that raises them.
RAISED = {
    "term": ("Rejected",),
    "kernel": ("Rejected", "NoValue", "TooLarge", "Undefined", "Vanishes"),
    "engine": ("Rejected",),
    "evidence": ("NotDefined", "Divergent"),
    "sympy_bridge": ("Unsupported",),
    "codegen": ("CodegenError",),
    "coq": ("NotExported",),
    "report/figures": ("CannotDraw",),
}
# Those with a text that no report tells: they are caught, or end the program.
UNTOLD = {
    "term": ("AttributeError", "IndexError"),
    "kernel": ("unclear",),
    "engine": ("KeyError",),
    "evidence": ("Cut", "Disagreement", "Imprecise", "NeedsDraw", "NoOpinion", "NotDecided", "Oscillates", "Uncovered"),
    "sympy_bridge": ("Undefined",),
    "codegen": ("KeyError", "NoBound", "NotExported", "ValueError"),
    "coq": ("CoqMissing", "RuntimeError", "Split"),
    "report/figures": ("LanguageError", "_Wrong"),
}
# Modules whose refusals are for the command line, or for the catalogue's widgets, which all have code.
APART = ("kernel/certificate", "codegen/js", "codegen/reverse")
# Functions that return such a text.
RETURNED = (
    ("engine/reasons", "_words"),
    ("engine/reasons", "sign_words"),
    ("engine/reasons", "_parts_words"),
    ("engine/reasons", "_operator_words"),
    ("engine/reasons", "_fact_words"),
    ("engine/check", "_doubt"),
    ("engine/check", "_closed"),
    ("engine/check", "explain"),
    ("engine/prove", "identity"),
    ("report/document", "_closing"),
    ("report/lines", "told_use"),
    ("report/words", "sizes"),
    ("report/words", "as_before"),
    ("report/numbers", "_summary"),
    ("report/numbers", "_cell"),
    ("report/numbers", "ulps"),
    ("report/counterexample", "_valued"),
    ("report/figures", "_number"),
    ("report/figures", "_ulp"),
    ("report/figures", "_worst"),
    ("report/figures", "_spoken"),
    ("coq/run", "reason"),
)
# Calls that are given one: the function, and which of its arguments it is.
PASSED = (
    ("engine/check", "Attempt", "reason"),
    ("engine/check", "ClaimResult", 2),
    ("engine/check", "replace", "reason"),
    ("engine/check", "Lemma", 0),
    ("engine/prove", "Attempt", "reason"),
    ("evidence/contradiction", "Contradiction", 3),
    ("kernel/check", "Fact", 4),
    ("kernel/normal", "Fact", 4),
    ("kernel/check", "facts_from", 2),
    ("kernel/check", "__init__", 0),
    ("term", "__init__", 0),
    ("codegen/quantities", "KeyError", 0),
    ("kernel/wellformed", "wanted", 1),
    ("kernel/order", "sole", 1),
    ("kernel/check", "sole", 1),
    ("report/figures", "Curve", 0),
    *(("report/figures", "Figure", place) for place in (4, 10, 11, 12)),
    ("report/figures", "append", 0),
    ("report/lines", "Reference", 0),
    ("sympy_bridge/rederive", "Verdict", 1),
    ("sympy_bridge/rederive", "Rederivation", 2),
    ("sympy_bridge/rederive", "_refuted", 1),
)


@dataclass(frozen=True)
class Message:
    """A text of the program and the place in the source that says it."""

    text: str
    place: str


@cache
def messages() -> tuple[Message, ...]:
    """The texts of the program that a report may tell, each at every place that says it."""
    return tuple(found for path in sorted(PACKAGE.rglob("*.py")) for found in _in_module(path))


def exceptions() -> dict[str, set[str]]:
    """Which exceptions are raised with a text below each folder or module of `RAISED`, from the source."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = _name(path)
        for where in RAISED:
            if _below(name, where):
                found.setdefault(where, set()).update(raised for raised, _ in _raised(ast.parse(path.read_text())))
    return found


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def _in_module(path: Path) -> Iterator[Message]:
    name, tree = _name(path), ast.parse(path.read_text(encoding="utf-8"))
    if any(_below(name, where) for where in APART):
        return
    raised = {e for where, known in RAISED.items() if _below(name, where) for e in known}
    returned = {function for module, function in RETURNED if module == name}
    passed = {(function, which) for module, function, which in PASSED if module == name}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for part in (*functions, *(node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))):
        values = [call.args[0] for exception, call in _raised(part) if exception in raised]
        values += _returned(part) if isinstance(part, ast.FunctionDef) and part.name in returned else []
        values += _passed(part, passed)
        known = _named(tree.body) | _named(ast.walk(part))
        for value in values:
            for text in _texts(value, known):
                if any(c.isalpha() for c in text.replace(SLOT, "")):
                    yield Message(text, f"{name}:{value.lineno}")


def _below(name: str, where: str) -> bool:
    return name == where or name.startswith(f"{where}/")


def _named(nodes: Iterable[ast.AST]) -> Values:
    """The names that are given values by these statements, with those values."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for name, given in pairs:
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(given)
    return found


def _called(node: ast.AST) -> str:
    return getattr(node, "id", getattr(node, "attr", ""))


def _raised(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            choices = [node.exc.body, node.exc.orelse] if isinstance(node.exc, ast.IfExp) else [node.exc]
            for call in (c for c in choices if isinstance(c, ast.Call) and c.args):
                kinds = [call.func.body, call.func.orelse] if isinstance(call.func, ast.IfExp) else [call.func]
                yield from ((_called(kind), call) for kind in kinds)


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield from node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]


def _passed(tree: ast.AST, wanted: set[tuple[str, int | str]]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        for name, which in wanted:
            if isinstance(node, ast.Call) and _called(node.func) == name:
                if isinstance(which, int):
                    yield from node.args[which : which + 1]
                yield from (k.value for k in node.keywords if k.arg == which)


def _texts(node: ast.expr, values: Values) -> Iterable[str]:
    """What an expression may say: all choices written out, `{}` where something else is put in."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        parts = [[v.value] if isinstance(v, ast.Constant) else _slot(v.value, values) for v in node.values]
        return ["".join(p) for p in product(*parts)]
    if isinstance(node, ast.Tuple):
        return [t for part in node.elts for t in _texts(part, values)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, values), *_texts(node.orelse, values)]
    if isinstance(node, ast.BoolOp):
        return [t for v in node.values for t in _texts(v, values)]
    if isinstance(node, ast.BinOp):
        return [a + b for a in _slot(node.left, values) for b in _slot(node.right, values)]
    if isinstance(node, ast.Name) and node.id in values:
        others = {name: given for name, given in values.items() if name != node.id}
        return [t for given in values[node.id] for t in _texts(given, others)]
    return [SLOT]


def _slot(node: ast.expr, values: Values) -> Iterable[str]:
    """What stands at a place of a text: words of the source, or something that is put in."""
    found = list(_texts(node, values))
    return found if found and any(any(c.isalpha() for c in text) for text in found) else [SLOT]
