"""The steps of a derivation as a reader meets them.

A derivative or mean of a name is worked out by itself, in lines that show it alone, and then put back: so does a
textbook, and what surrounds it need not be copied from line to line. Where it is worked out again, of other letters,
the lines that did so before are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from derive.kernel.context import Context
from derive.kernel.proof import Condition, Step
from derive.language.places import Path, subterm
from derive.report import words
from derive.report.conditions import telling
from derive.report.lines import told_use
from derive.term import Term, alpha, index, substitute, subterms

SPOKEN = {"telescoping", "symmetry"}  # uses of which the rule's own name says enough
FEWEST = 3  # lines on a part that is worked out by itself, at least
AROUND = 4  # nodes that surround it, at least
SAVED = 40  # nodes that are not written again, in all of its lines, at least


@dataclass(frozen=True)
class StepView:
    """One line of a derivation: a rule, where it applies, what the expression becomes, and what had to hold."""

    number: int
    rule: str
    source: str  # where the rule comes from, or what the procedure does
    exact: bool  # a procedure of the kernel, not a row of its table
    name: str | None  # of the definition that is unfolded or folded
    backwards: bool
    place: Term | None  # what the rule was applied to, where that is not all that stands in the line
    after: Term  # what stands in the line: the expression, or the part that is worked out by itself
    conditions: tuple[Condition, ...]
    rests_on: tuple[str, ...]
    depth: int = 0  # of how many parts, one in the other, the line is about the innermost
    part: Term | None = None  # the part as it was, at the first line on it
    whole: Term | None = None  # what it is a part of, with it put back, at the last line on it
    last: int | None = None  # the number of the last step where the line stands for several, that others showed

    @property
    def numbers(self) -> str:
        """Which steps the line shows."""
        return str(self.number) if self.last is None else f"{self.number}–{self.last}"


def step_views(
    start: Term, steps: Sequence[Step], conditions: Sequence[tuple[Condition, ...]], context: Context
) -> Iterator[StepView]:
    """The steps from the start, each with the conditions that it met; what was shown before, in one line."""
    chains = parts(start, steps)
    views = [*_single(start, steps, conditions, context, chains)]
    shown: dict[Any, int] = {}  # where lines on a part are, by what they say whatever its letters are
    here = 0
    while here < len(views):
        first = views[here]
        if first.part is None:
            yield first
            here += 1
            continue
        count = sum(1 for _ in within(chains[here][-1], steps[here:]))
        said = _whatever_the_letters(views[here : here + count])
        if said not in shown:
            shown[said] = here
            yield first
            here += 1
            continue
        before, end = shown[said], views[here + count - 1]
        yield replace(
            end,
            number=first.number,
            last=end.number,
            rule=words.as_before(before + 1, before + count),
            source="",
            name=None,
            backwards=False,
            place=None,
            conditions=(),
            rests_on=(),
            part=first.part,
        )
        here += count


def _whatever_the_letters(views: Sequence[StepView]) -> Any:
    """What lines on a part say, the same for parts that differ in their letters alone."""
    part = views[0].part
    assert part is not None
    letters = [t for t in subterms(part) if t in part.letters]
    marks = {k: index(f"?{p}", k.value[1]) for p, k in enumerate(letters)}

    def said(term: Term | None) -> Any:
        return None if term is None else alpha(substitute(term, marks))

    return (
        said(part),
        *((v.rule, v.name, v.backwards, v.depth - views[0].depth, said(v.after), v.rests_on) for v in views),
        *(tuple((said(c.condition), c.reason) for c in v.conditions) for v in views),
    )


def _single(
    start: Term,
    steps: Sequence[Step],
    conditions: Sequence[tuple[Condition, ...]],
    context: Context,
    chains: Sequence[tuple[Path, ...]],
) -> Iterator[StepView]:
    """A line for each step; the chains say to which parts it belongs."""
    before = start
    for number, (step, chain) in enumerate(zip(steps, chains, strict=True), 1):
        met = conditions[number - 1] if number <= len(conditions) else ()
        place, result = subterm(before, step.path), subterm(step.after, step.path)
        folded = result if step.reverse else place  # of a name without letters, its rule says where it is
        (*outer, base) = ((), *chain)
        first = number == 1 or base not in chains[number - 2]
        last = number == len(steps) or base not in chains[number]
        yield StepView(
            number=number,
            rule=words.rule_words(step.rule),
            source=words.rule_source(step.rule),
            exact=step.rule in words.PROCEDURES,
            name=folded.value if step.rule == "definition" and folded.op == "def" else None,
            backwards=step.reverse and step.rule != "definition",
            place=place
            if step.path != base and not (folded is place and place.op == "def" and not place.args)
            else None,
            after=subterm(step.after, base),
            conditions=telling(met),
            rests_on=tuple(dict.fromkeys(told_use(use, context) for use in step.uses if use.kind not in SPOKEN)),
            depth=len(chain),
            part=subterm(before, base) if chain and first else None,
            whole=subterm(step.after, outer[-1]) if chain and last else None,
        )
        before = step.after


def parts(start: Term, steps: Sequence[Step], base: Path = ()) -> list[tuple[Path, ...]]:
    """For each step the places of the parts that it belongs to, the innermost last; the last step belongs to none."""
    found: list[tuple[Path, ...]] = []
    before = start
    while len(found) < len(steps):
        rest = steps[len(found) :]
        place = named(before, rest[0])
        count = sum(1 for _ in within(place, rest))
        around = subterm(before, base).size - subterm(before, place).size if len(place) > len(base) else 0
        if FEWEST <= count < len(rest) and around >= AROUND and around * count >= SAVED:
            found += [(place, *inner) for inner in parts(before, rest[:count], place)]
        else:
            found.append(())
        before = steps[len(found) - 1].after
    return found


def named(before: Term, step: Step) -> Path:
    """The place of the derivative or mean of a name that the step begins with; () where it begins with none."""
    base = step.path[:-1]
    begins = step.rule == "definition" and not step.reverse and step.path[-1:] == (0,)
    return base if begins and subterm(before, base).op in ("diff", "E", "Var") else ()


def within(base: Path, steps: Iterable[Step]) -> Iterator[Step]:
    """The first of the steps, as far as they stay within the place."""
    for step in steps:
        if step.path[: len(base)] != base:
            return
        yield step


def step_terms(step: StepView) -> Iterator[Term]:
    """The formulas that a step shows."""
    yield step.after
    yield from (t for t in (step.place, step.part, step.whole) if t is not None)
    yield from (c.condition for c in step.conditions)
