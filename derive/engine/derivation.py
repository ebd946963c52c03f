"""A derivation that grows: expressions step by step, each with its rule and place, and the way back.

Nothing here chooses a step; the kernel checks each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.proof import Step, Use
from derive.kernel.rules import RULES, instantiate, match
from derive.language.places import Path, put, subterm
from derive.term import MINUS_ONE, ONE, Term, make, mul, rename_bound, subterms

MAX_STEPS = 60


class TooLong(Exception):
    """The derivation takes more lines than a reader would follow."""


class Derivation:
    """A growing list of steps from a first expression."""

    def __init__(self, ground: Ground, start: Term, most: int):
        self.most = most
        self.ground, self.nf = ground, ground.full
        self.start = self.now = start
        self.steps: list[Step] = []
        self.taken = set(ground.claim.letters | ground.context.letters | ground.full.guarded)
        # Derivatives and means that the right side keeps as they are.
        right = [*subterms(ground.claim.args[1])]
        self.kept = {t.args[0].value for t in right if t.op == "diff" and t.args[0].op == "def"}
        self.kept_means = {t for t in right if t.op in ("E", "Var", "Cov")}

    def at(self, path: Path) -> Term:
        return subterm(self.now, path)

    def step(self, rule: str, path: Path, new: Term, *, reverse: bool = False, uses: tuple[Use, ...] = ()) -> None:
        """Replace what stands at the path."""
        after = put(self.now, path, new)
        if after is self.now:
            return
        if len(self.steps) >= self.most:
            raise TooLong
        self.steps.append(Step(rule, after, path, reverse, uses))
        self.now = after

    def row(self, name: str, path: Path) -> bool:
        """Apply a rule row left to right at the path, if it matches."""
        found: dict[str, object] = {}
        rule = RULES[name]
        if not match(rule.left, self.at(path), found):
            return False
        self.step(name, path, instantiate(rule.right, found))
        return True

    def unfold(self, path: Path) -> None:
        """Replace a name by its value, the value's bound letters renamed apart from all others."""
        term = self.at(path)
        self.step("definition", path, self.apart(self.nf.unfold(term)))

    def apart(self, term: Term, elsewhere: Term | None = None) -> Term:
        """The term with bound letters that stand nowhere else, be it in the expression so far."""
        other = self.now if elsewhere is None else elsewhere
        used = set(self.taken) | {t for t in subterms(other) if t.op == "index"} | set(term.letters)
        used |= {k for t in subterms(other) for k in t.bound}

        def walk(t: Term) -> Term:
            if t.bound:
                t = rename_bound(t, used)
                used.update(t.bound)
            return make(t.op, [walk(a) for a in t.args], t.value, t.bound) if t.args else t

        return walk(term)


def positions(term: Term, path: Path, wanted: Callable[[Term], bool]) -> list[Path]:
    """The places below the path where the wanted terms stand, outermost first; the term itself included."""
    found: list[Path] = []

    def walk(t: Term, here: Path) -> None:
        if wanted(t):
            found.append(here)
            return
        for p, a in enumerate(t.args):
            walk(a, (*here, p))

    walk(term, path)
    return found


def first(d: Derivation, path: Path, wanted: Callable[[Term], bool]) -> Path | None:
    return next(iter(positions(d.at(path), path, wanted)), None)


def backwards(steps: Sequence[Step], start: Term) -> list[Step]:
    """The identities from the last expression to the start, the equations that they use turned round."""
    states = [start, *(s.after for s in steps)]
    return [
        Step(s.rule, before, s.path, uses=tuple(turned(use) for use in s.uses))
        for s, before in zip(reversed(steps), reversed(states[:-1]), strict=True)
    ]


def turned(use: Use) -> Use:
    return replace(use, multiplier=mul(MINUS_ONE, use.multiplier or ONE))


WORKED_OUT = {"limit_by_expansion": ("limit",), "laws_of_means": ("E", "Var", "Cov"), "replacement": ("at",)}


def identity(nf: Normal, before: Term, after: Term) -> str:
    """The name of the identity: by the operator it works out, else of sums or of the field of rational functions."""
    bound = any(t.bound for t in (*subterms(before), *subterms(after)))
    return worked_out(before, after) or ("sum_normal_form" if bound else "field_identity")


def worked_out(before: Term, after: Term) -> str | None:
    """The name of an identity that works an operator out."""
    here, there = ({t.op for t in subterms(side)} for side in (before, after))
    return next((n for n, ops in WORKED_OUT.items() if here.intersection(ops) and not there.intersection(ops)), None)
