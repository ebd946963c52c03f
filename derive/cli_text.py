"""What the command line prints for people: plain lines, coloured by verdict, every text of a user made harmless."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from derive.cli_limit import LATE
from derive.language.errors import printable
from derive.language.printer import need_text, to_text

if TYPE_CHECKING:
    from pathlib import Path

    from derive.engine.verdict import ClaimResult, TheoremResult, TheoryResult
    from derive.kernel.certificate import Replay
    from derive.language.theory import Theory
    from derive.report.counterexample import Counterexample, Value
    from derive.report.document import ClaimView
    from derive.report.entry import Entry
    from derive.report.lines import Reference, Summand
    from derive.term import Term

COLOURS = {"proved": "green", "checked": "yellow", "undecided": "yellow", "refuted": "red"}
MARKS = {"proved": "✔", "checked": "≈", "undecided": "?", "refuted": "✘"}
WIDTH = 110


def catalogue_text(theories: Iterable[Theory]) -> str:
    """The catalogue: each theory with its theorems and what they state."""
    lines: list[str] = []
    for theory in theories:
        lines += ["" if lines else None, _titled(theory)]  # type: ignore[list-item]
        wide = max((len(t.name) for t in theory.theorems), default=0)
        for theorem in theory.theorems:
            for number, claim in enumerate(theorem.claims):
                name = theorem.name if number == 0 else ""
                lines.append(f"  {name:<{wide}}  {printable(claim.statement)}")
    return "\n".join(line for line in lines if line is not None)


def _titled(theory: Theory) -> str:
    name = click.style(theory.name, bold=True)
    return f"{name}: {printable(theory.title)}" if theory.title else name


def check_text(result: TheoryResult, agreement: Any = None) -> str:
    """All verdicts of a theory, with what each rests on, and a count."""
    from derive.report.document import document

    shown = document(result)
    lines = [_titled(result.theory)]
    for theorem, view in zip(result.theorems, shown.theorems, strict=True):
        lines.append(f"  {_verdict(theorem.verdict)} {click.style(theorem.theorem.name, bold=True)}: {theorem.verdict}")
        for claim, part in zip(theorem.claims, view.claims, strict=True):
            lines += _indented(_claim(claim, part, several=len(theorem.claims) > 1), 6)
            if agreement is not None:
                lines += _indented(_again(agreement[theorem.theorem.name, part.number - 1]), 8)
        lines += _indented(_notes(theorem), 6)
    lines.append(_tally(result))
    return "\n".join(lines)


def show_text(result: TheoryResult) -> str:
    """Statements with their derivations, step by step."""
    from derive.report.document import document

    lines: list[str] = []
    for theorem, view in zip(result.theorems, document(result).theorems, strict=True):
        lines.append("")
        name = click.style(f"{result.theory.name}.{theorem.theorem.name}", bold=True)
        lines.append(f"{name}: {_verdict(theorem.verdict)} {theorem.verdict}")
        lines += _indented(printable_lines(view.doc), 2)
        for claim, part in zip(theorem.claims, view.claims, strict=True):
            lines += ["", *_indented(_claim(claim, part, several=len(theorem.claims) > 1), 2)]
            lines += _indented(derivation_text(part), 4)
        lines += _indented(_notes(theorem), 2)
    return "\n".join(lines[1:])


def written_text(documents: Sequence[Entry], files: Sequence[Path]) -> str:
    """What a run of `derive report` wrote."""
    lines = []
    for document in documents:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in document.counts) or "nothing to prove"
        lines.append(f"{_verdict(document.verdict)} {document.name}: {counts}")
    lines += [f"wrote {printable(str(path))}" for path in files]
    return "\n".join(lines)


def unprinted_text(document: Entry) -> str:
    """What printed reports show by number."""
    named = ", ".join(f"{c} (U+{ord(c):04X})" for c in document.unprinted)
    return printable(f"{document.name}: the fonts of LaTeX lack {named}; LaTeX and PDF show the number instead")


def verify_text(found: Iterable[tuple[str, Sequence[Replay] | Exception]]) -> str:
    """What the kernel says of each certificate."""
    lines: list[str] = []
    for path, replays in found:
        lines.append(click.style(printable(path), bold=True))
        if isinstance(replays, Exception):
            lines.append(f"  rejected: {printable(str(replays))}")
            continue
        for replay in replays:
            late = replay.reason == LATE
            fate = "undecided" if late else "rejected"
            words = "accepted" if replay.ok else f"{fate}: {printable(replay.reason or '')}"
            mark = _verdict("proved" if replay.ok else "undecided" if late else "refuted")
            lines.append(f"  {mark} {printable(replay.theorem)}, claim {replay.number}: {words}")
        lines.append(f"  {sum(r.ok for r in replays)} of {len(replays)} accepted by the kernel")
    return "\n".join(lines)


def printable_lines(text: str) -> list[str]:
    """Prose as lines of the terminal's width."""
    paragraphs = [printable(" ".join(p.split())) for p in text.split("\n\n")]
    return [line for p in paragraphs if p for line in textwrap.wrap(p, WIDTH)]


# -- pieces -----------------------------------------------------------------------------------------------------------


def _verdict(verdict: str) -> str:
    return click.style(MARKS[verdict], fg=COLOURS[verdict])


def _indented(lines: Iterable[str], blanks: int) -> list[str]:
    return [" " * blanks + line if line else "" for line in lines]


def _claim(claim: ClaimResult, view: ClaimView, several: bool) -> list[str]:
    mark = f"{_verdict(claim.verdict)} " if several else ""
    caption = f"   ({printable(claim.claim.caption)})" if claim.claim.caption else ""
    lines = [f"{mark}{printable(claim.claim.statement)}{caption}"]
    if view.domain:
        lines.append(f"  wherever {' and '.join(map(need_text, view.domain))}")
    if claim.verdict == "proved" and view.hypotheses:
        lines.append(f"  using {_joined(view.hypotheses)}")
    if view.counterexample is not None:
        lines += _indented(_counterexample(view.counterexample), 2)
    if claim.verdict != "proved" and view.reason:
        start = "" if view.counterexample is not None else f"{claim.verdict}: "
        lines += _indented(textwrap.wrap(f"{start}{printable(view.reason)}", WIDTH), 2)
    return lines


def _value(value: Value) -> str:
    """A value of a counterexample; an array as a list."""
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, tuple) else str(value)


def _counterexample(point: Counterexample) -> list[str]:
    lines = [f"counterexample: {', '.join(f'{name} = {_value(value)}' for name, value in point.point)}"]
    for side, name in zip(point.sides, ("left", "right"), strict=False):
        filled = f"{_text(side.filled)} = " if side.filled is not None else ""
        lines.append(f"  {name:<10} {filled}{side.value}")
    if point.undefined:
        lines.append(f"  undefined  {printable(point.undefined)}")
    if point.difference:
        lines.append(f"  difference {point.difference}")
    return lines


def derivation_text(view: ClaimView) -> list[str]:
    """The steps of a claim and the comparisons after them, one line each, with what they need."""
    lines = [*_steps(view), *_comparisons(view)]
    return [*lines, view.closing] if view.closing else lines


INNER = "    "  # before what stands in the lines on a part


def _steps(view: ClaimView) -> list[str]:
    if view.start is None:
        return []
    rules = [f"{step.numbers}. {step.rule}{f' of {step.name}' if step.name else ''}" for step in view.steps]
    wide = max(map(len, rules)) + 1
    lines = [f"{'':<{wide}}  {to_text(view.start)}"]
    for step, rule in zip(view.steps, rules, strict=True):
        deep, outer = INNER * step.depth, INNER * (step.depth - 1)
        if step.part is not None:
            lines.append(f"{'   where':<{wide}}{deep}  {to_text(step.part)}")
        lines.append(f"{rule:<{wide}}{deep}= {to_text(step.after)}")
        for condition in step.conditions:
            reason = f" ({condition.reason})" if condition.reason else ""
            lines.append(f"{'':<{wide}}{deep}    needs {to_text(condition.condition)}{reason}")
        if step.rests_on:
            lines.append(f"{'':<{wide}}{deep}    by {' and '.join(step.rests_on)}")
        if step.whole is not None:
            lines.append(f"{'   so that':<{wide}}{outer}= {to_text(step.whole)}")
    return lines


def _comparisons(view: ClaimView) -> list[str]:
    rules = [f"({line.number}) {line.rule}" for line in view.lines]
    wide = max(map(len, rules), default=0) + 1
    lines: list[str] = []
    for line, rule in zip(view.lines, rules, strict=True):
        letters = f"   for all {', '.join(to_text(k) for k in line.letters)}" if line.letters else ""
        where = f"   where {to_text(line.where)}" if line.where is not None else ""
        lines.append(f"{rule:<{wide}} {to_text(line.condition)}{letters}{where}")
        if line.scale is not None:
            lines.append(f"{'':<{wide}}   multiplied by {to_text(line.scale)}, it is the sum of")
        lines += [f"{'':<{wide}}   {_summand(summand)}" for summand in line.summands]
    return lines


def _summand(summand: Summand) -> str:
    """What a line is made of: known comparisons, times a factor, summed over letters."""
    parts = [f"{ref.words}{_instance(ref)}" for ref in summand.references]
    parts += [to_text(summand.factor)] if summand.factor is not None else []
    over = f", summed over {', '.join(to_text(k) for k in summand.over)}" if summand.over else ""
    where = f" where {to_text(summand.where)}" if summand.where is not None else ""
    return f"{' times '.join(parts)}{over}{where}{'' if summand.references else ', by its sign'}"


def _instance(ref: Reference) -> str:
    pairs = ", ".join(f"{to_text(letter)} = {to_text(value)}" for letter, value in ref.at)
    return f" at {pairs}" if pairs else ""


def _notes(theorem: TheoremResult) -> list[str]:
    lines = [f"warning: {printable(warning)}" for warning in theorem.warnings]
    if theorem.unused:
        lines.append(f"not needed: {_joined(theorem.unused)}")
    return lines


def _again(again: Any) -> list[str]:
    """What SymPy found at explicit sizes."""
    from derive.report import words

    sizes = words.sizes(again.sizes_checked)
    reason = f" ({printable(again.reason)})" if again.reason else ""
    return textwrap.wrap(f"SymPy {words.OPINIONS[again.agrees]}{f' at {sizes}' if sizes else ''}{reason}", WIDTH)


def _tally(result: TheoryResult) -> str:
    claims = [c for t in result.theorems for c in t.claims]
    if not claims:
        return "  nothing to prove"
    counts = {v: sum(c.verdict == v for c in claims) for v in MARKS}
    return "  " + ", ".join(f"{count} of {len(claims)} {verdict}" for verdict, count in counts.items() if count)


def _joined(terms: Iterable[Term]) -> str:
    return " and ".join(to_text(term) for term in terms)


def _text(term: Term) -> str:
    return to_text(term)
