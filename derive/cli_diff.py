"""`derive diff`: what the user typed, read piece by piece so that errors are about it; the answer as text and data."""

from __future__ import annotations

import ast
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from derive.cli_infer import inferred
from derive.language import LanguageError, loads
from derive.language import condition as read_back
from derive.language.printer import axes_of, need_text, to_text
from derive.language.source import Source, parse
from derive.term import Term, cmp, subterms

if TYPE_CHECKING:
    from derive.engine.verdict import ClaimResult, TheoryResult
    from derive.kernel.context import Context
    from derive.language.theory import Theory

EXPRESSION, WRT, GIVEN = "EXPR", "WRT", "--given"
_NAME = "diff"
_THEOREM = "derivative"
_OPENING = "    assert diff("
_KINDS = (ast.AnnAssign, ast.Assign, ast.ImportFrom)


class NotFound(Exception):
    """The engine knows no derivative; the message says why."""


@dataclass(frozen=True)
class Piece:
    """One argument: what of it is used, on one line, and where in the argument that stands."""

    kind: str
    argument: str
    text: str
    offset: int
    node: ast.expr | ast.stmt

    def error(self, problem: LanguageError, column: int) -> LanguageError:
        """The problem, said of the place in the argument; `column` counts from 1 in `text`."""
        hint = problem.hint.replace("at top level", "with --given") if problem.hint else None
        column = max(1, min(column, len(self.text) + 1)) + self.offset
        width = max(1, min(problem.width, len(self.argument) + 1 - column))
        return LanguageError(problem.message, 1, column, hint, width=width, path=self.kind, source=self.argument)


@dataclass(frozen=True)
class Answer:
    """A derivative and what is known of it. `declared` are the declarations that were inferred."""

    result: TheoryResult
    left: Term
    right: Term
    declared: tuple[str, ...]

    @property
    def claim(self) -> ClaimResult:
        return self.result.theorems[0].claims[0]

    @property
    def verdict(self) -> str:
        """proved, unless the answer still holds a derivative, or was not proved."""
        return "undecided" if self.claim.verdict == "proved" and self.unanswered else self.claim.verdict

    @property
    def unanswered(self) -> bool:
        """Whether the answer is no closed form: it still asks for a derivative."""
        return any(t.op == "diff" for t in subterms(self.right))

    @property
    def reason(self) -> str | None:
        from derive.report.words import spoken_reason

        refuted = self.claim.counterexample is not None
        return "no closed form was found" if self.unanswered else spoken_reason(self.claim.reason, refuted)

    def text(self, term: Term) -> str:
        """The term in the formula language, to be read back beside what was declared."""
        return to_text(term, _taken(self.result.theory, self.left))


def answer(expression: str, by: Sequence[str], given: Sequence[str], timeout: float) -> Answer:
    """The derivative of the expression by the variables, in that order.

    Raises LanguageError, placed in the argument that is wrong, and NotFound where the engine has no rule or no time.
    """
    from derive.engine.check import RECURSION, check_theory
    from derive.kernel.proof import Rejected

    theory, declared = _read(expression, by, given)
    theorem = theory[_THEOREM]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        condition = _equation(theorem.claims[0].condition, theory.context(theorem), timeout)
    except Rejected as why:
        raise NotFound(why.reason) from None
    except RecursionError:
        raise NotFound("the expression is nested too deeply") from None
    finally:
        sys.setrecursionlimit(limit)
    left, right = condition.args
    text = f"{to_text(left)} == {to_text(right, _taken(theory, left))}"
    try:
        condition = read_back(text, theory, theorem)  # what is shown is what is proved
    except LanguageError:
        raise NotFound("the answer cannot be written in the formula language") from None
    claim = replace(theorem.claims[0], condition=condition, statement=text)
    theory = replace(theory, theorems=(replace(theorem, claims=(claim,)),))
    return Answer(check_theory(theory, timeout), *condition.args, tuple(declared))


def _taken(theory: Theory, left: Term) -> set[str]:
    """The names that no bound letter of an answer should have."""
    letters = {k.value[0] for k in (*left.letters, *theory.letters)}
    return {*theory.axes, *theory.declarations, *theory.definitions, *axes_of(left), *letters}


def _equation(asked: Term, context: Context, timeout: float) -> Term:
    """The derivative on the left, and the shortest of its forms on the right."""
    from derive.engine.differentiate import shortest
    from derive.kernel.check import Ground
    from derive.kernel.proof import Rejected

    deadline = time.monotonic() + timeout

    def tick() -> None:
        if time.monotonic() > deadline:
            raise Rejected("the time limit was reached")

    left = asked.args[0]
    return cmp("==", left, shortest(Ground(asked, context, tick).full, left))


def _read(expression: str, by: Sequence[str], given: Sequence[str]) -> tuple[Theory, list[str]]:
    """The arguments as a theory with one theorem, `diff(…) == 0`; and the declarations that were inferred for it."""
    asked = _expression(expression, EXPRESSION)
    entries = [_expression(text, WRT) for text in by]
    stated = [_statement(text) for text in given]
    declared = _declared([asked, *entries], stated)
    question = f"{_OPENING}{', '.join(piece.text for piece in (asked, *entries))}) == 0"
    lines = [*(p.text for p in stated if isinstance(p.node, ast.ImportFrom)), *declared]
    lines += [p.text for p in _in_order(stated)]
    try:
        theory = loads("\n".join([*lines, f"def {_THEOREM}():", question]) + "\n", _NAME)
    except LanguageError as problem:
        raise _placed(problem, asked, entries, stated) from None
    return theory, declared


# -- what was typed ----------------------------------------------------------------------------------------------------


def _expression(text: str, kind: str) -> Piece:
    """One expression of the formula language."""
    source = _source(text, kind)
    body = parse(source).body
    node = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if node is None or isinstance(node, (ast.Tuple, ast.Starred)):
        wanted = {EXPRESSION: "log(sum(exp(z[k]) for k in n)), say", WRT: "x or z[j], say; further variables follow it"}
        raise source.error(body[0] if body else ast.Pass(), "one expression is expected", f"write {wanted[kind]}")
    return _piece(source, kind, node)


def _statement(text: str) -> Piece:
    """One declaration, definition, hypothesis or import."""
    source = _source(text, GIVEN)
    body = parse(source).body
    node = body[0] if len(body) == 1 else None
    assumed = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if node is None or not (assumed or isinstance(node, _KINDS)):
        hint = "write z: real[n], s[i] = exp(z[i])/Z, assume(x > 0), or from softmax import s; one for each --given"
        raise source.error(body[0] if body else ast.Pass(), "one declaration or definition is expected", hint)
    return _piece(source, GIVEN, node)


def _source(text: str, kind: str) -> Source:
    text = " ".join(text.splitlines())
    return Source(text[len(text) - len(text.lstrip()) :], kind)


def _piece(source: Source, kind: str, node: ast.expr | ast.stmt) -> Piece:
    """What of the argument is used: no comment, no blanks around it. A node's own parentheses go too."""
    return Piece(kind, source.text, source.spelling(node), source.place(node).column - 1, node)


def _declared(formulas: Sequence[Piece], stated: Sequence[Piece]) -> list[str]:
    imported = []
    for piece in stated:
        if isinstance(piece.node, ast.ImportFrom):
            try:
                imported.append(loads(f"{piece.text}\n", _NAME))
            except LanguageError as problem:
                raise piece.error(problem, problem.column) from None
    expressions = [p.node for p in formulas if isinstance(p.node, ast.expr)]
    return inferred(expressions, [p.node for p in stated if isinstance(p.node, ast.stmt)], imported)


def _in_order(stated: Sequence[Piece]) -> list[Piece]:
    """What is no import: declarations without a law first, axes before all others, then the rest as it was given."""

    def rank(piece: Piece) -> int:
        if not isinstance(piece.node, ast.AnnAssign) or _holds_call(piece.node.annotation):
            return 2
        return int(not (isinstance(piece.node.annotation, ast.Name) and piece.node.annotation.id == "axis"))

    return sorted((p for p in stated if not isinstance(p.node, ast.ImportFrom)), key=rank)


def _holds_call(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _placed(problem: LanguageError, asked: Piece, entries: Sequence[Piece], stated: Sequence[Piece]) -> LanguageError:
    """A problem with the theory that was made of the arguments, said of the argument that it is in."""
    lines = (problem.source or "").split("\n")
    problem = _without_lines(problem, lines)
    line = lines[problem.line - 1] if 0 < problem.line <= len(lines) else ""
    for piece in stated:
        if piece.text == line:
            return piece.error(problem, problem.column)
    column = problem.column - len(_OPENING)
    if line.startswith(_OPENING):
        for piece in (asked, *entries):
            if column <= len(piece.text) + 1:
                return piece.error(problem, column)
            column -= len(piece.text) + 2  # the comma
    where = line.partition(":")[0]
    for piece in (asked, *entries, *stated):  # a name of which the declaration was inferred
        place = piece.argument.find(where)
        if where.isidentifier() and place >= 0:
            return piece.error(problem, place - piece.offset + 1)
    return asked.error(problem, 1)


def _without_lines(problem: LanguageError, lines: Sequence[str]) -> LanguageError:
    """The problem with what stands on a line of the theory in place of the line's number, which nobody has seen."""

    def quoted(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"`{lines[number - 1].strip()}`" if 0 < number <= len(lines) else found[0]

    message, hint = (re.sub(r"\bline (\d+)", quoted, text or "") for text in (problem.message, problem.hint))
    return LanguageError(message, problem.line, problem.column, hint or None, width=problem.width)


# -- what is printed ---------------------------------------------------------------------------------------------------


def diff_data(found: Answer) -> dict[str, Any]:
    """`derive diff --json`."""
    from derive.cli_data import SCHEMA, claim_data, derivation_data

    claim = claim_data(found.claim)
    return {
        "schema": SCHEMA,
        "error": None,
        "asked": to_text(found.left),
        "derivative": found.text(found.right),
        "latex": latex(found),
        "verdict": found.verdict,
        "reason": found.reason,
        "declared": list(found.declared),
        **{key: claim[key] for key in ("domain", "hypotheses", "steps", "rules", "seconds")},
        "derivation": derivation_data(found.claim),
    }


def error_data(problem: LanguageError) -> dict[str, Any]:
    """`derive diff --json` of what is no formula."""
    from derive.cli_data import SCHEMA

    error = {"line": problem.line, "column": problem.column, "message": problem.message, "hint": problem.hint}
    return {"schema": SCHEMA, "error": {"argument": str(problem.path), **error}, "derivative": None}


def open_data(problem: NotFound) -> dict[str, Any]:
    """`derive diff --json` where nothing was found."""
    from derive.cli_data import SCHEMA

    return {"schema": SCHEMA, "error": None, "derivative": None, "verdict": "undecided", "reason": str(problem)}


def diff_text(found: Answer, steps: bool, as_latex: bool) -> str:
    """The answer on the first line; with steps, the derivation after it."""
    from derive.cli_text import derivation_text
    from derive.report.document import document

    first = latex(found) if as_latex else found.text(found.right)
    if not steps:
        return first
    view = document(found.result).theorems[0].claims[0]
    lines = latex_steps(found) if as_latex else derivation_text(view)
    return "\n".join([first, "", *lines]) if lines else first


def notes(found: Answer) -> list[str]:
    """What else is to be known: where it holds, what it uses, what was taken for granted, what is open."""
    from derive.language.errors import printable

    claim = found.claim
    domain = [need_text(need) for need in claim.account.domain] if claim.account else []
    lines = [f"wherever {' and '.join(domain)}"] if domain else []
    if claim.hypotheses:
        lines.append(f"using {' and '.join(to_text(h) for h in claim.hypotheses)}")
    if found.declared:
        lines.append(f"with {', '.join(found.declared)}")
    if found.verdict != "proved":
        lines.append(f"not proved: {found.reason or found.claim.verdict}")
    return [printable(line) for line in lines]


def latex(found: Answer) -> str:
    """The answer as LaTeX."""
    from derive.report.document import document
    from derive.report.render import typeset

    return typeset(found.right, document(found.result))


def latex_steps(found: Answer) -> list[str]:
    """The derivation as aligned lines of LaTeX, the reason at the right of each."""
    from derive.report.document import document
    from derive.report.escape import tex
    from derive.report.printer import Printer

    shown = document(found.result)
    view, printer = shown.theorems[0].claims[0], Printer(shown.notation)
    if view.start is None:
        return []
    rows = [f"  & {printer.inline(view.start)}"]
    for step in view.steps:
        rule = f"{step.rule} of {step.name}" if step.name else step.rule
        deep, outer = r"\quad " * step.depth, r"\quad " * (step.depth - 1)
        if step.part is not None:
            rows.append(rf"  & {deep}{printer.inline(step.part)} && \text{{where}}")
        rows.append(rf"  & {deep}= {printer.inline(step.after)} && \text{{{tex(rule)}}}")
        if step.whole is not None:
            rows.append(rf"  & {outer}= {printer.inline(step.whole)} && \text{{so that}}")
    return [r"\begin{aligned}", *(row + r" \\" for row in rows[:-1]), rows[-1], r"\end{aligned}"]
