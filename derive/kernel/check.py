"""The checker: replays a proof and accepts it or refuses it. It compares and judges; it does not search.

A claim `left == right` is accepted when every step is an instance of its rule at its position, the last step gives the
right side, and every need of the right side follows from the declarations, the hypotheses and the left side's being
defined. A step under a `diff`, `at`, `limit` or E uses nothing that holds at the point only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from derive.kernel import domain, moments, order, symmetry
from derive.kernel.cases import ways
from derive.kernel.context import Context, Lemma
from derive.kernel.derivative import depends
from derive.kernel.domain import Need
from derive.kernel.normal import Normal
from derive.kernel.places import written_out
from derive.kernel.poly import UNIT, Poly, add_to
from derive.kernel.proof import Account, Condition, Proof, Rejected, Step, Use
from derive.kernel.rules import RULES, instantiate, match
from derive.kernel.signs import RELATION, ZERO, Fact, difference, numbers, sign, split
from derive.kernel.wellformed import laws_complete, subscript_axis, well_formed
from derive.term import NONLOCAL, TRUE, Term, alike, cmp, fresh, index, negation, num, over, size, substitute, subterms


class Names:
    """The names of several claims, and the normal forms made for them: a later claim need not begin anew."""

    def __init__(self) -> None:
        self.context = Context()
        self.made: dict[object, Normal] = {}

    def take(self, context: Context) -> bool:
        """Take up the names of a context, unless one of them means something else here."""
        here, new = self.context, {**context.declarations, **context.definitions}
        known = {**here.declarations, **here.definitions}
        if any(known.get(name, d) != d for name, d in new.items()):
            return False
        here.declarations.update(context.declarations)
        here.definitions.update(context.definitions)
        return True

    def normal(self, facts: Sequence[Fact], guards: Sequence[Term]) -> Normal:
        slot = (tuple((f.term, f.signs, f.letters, f.guards, f.source) for f in facts), tuple(guards))
        if slot not in self.made:
            self.made[slot] = Normal(self.context, facts=facts, guards=tuple(guards))
        return self.made[slot]


class Ground:
    """What a claim stands on: its hypotheses as facts, the claim's own letters held fixed."""

    def __init__(
        self, claim: Term, context: Context, tick: Callable[[], None] | None = None, names: Names | None = None
    ):
        self.context = context
        self.guards: list[Term] = []
        self.facts: list[Fact] = []
        self.equations: dict[int, tuple[Term, Term]] = {}  # hypotheses that are equations, by number
        body, extra = strip(claim, context)
        if not all(restricts(part, context) for part in extra):
            raise Rejected("a claim for all letters restricts them by indices and bits only")
        self.claim = body
        for number, hypothesis in enumerate((*context.hypotheses, *extra)):
            inner, guards = hypothesis, []
            while inner.op == "all":
                guards += split(inner.args[1])
                inner = inner.args[0]
            for part in split(inner):
                self.take(part, guards, number)
        self.tick = tick
        self.names = names
        self.plain = self.normal(self.facts)
        self.left = body.args[0] if body.op == "cmp" else None
        self.needs = domain.needs(self.plain, body.args[0]) if body.op == "cmp" else []
        # A hypothesis that mentions a mean says that the mean exists.
        self.known = self.needs + [
            replace(n, letters=(*n.letters, *own.values()))
            for h, own in ((h, marked("%", h.letters - context.letters)) for h in context.hypotheses)
            for n in domain.needs(self.plain, substitute(h, own), "%")
            if n.condition.op == "E"
        ]
        self.open = [n for n in self.needs if not domain.met(self.plain, n, ())]
        more = list(domain.facts_from(self.plain, self.needs, "the left side is defined"))
        self.full = self.normal([*self.facts, *more]) if more else self.plain

    def free(self, letters: Iterable[Term]) -> bool:
        """Whether these are letters of which nothing is known, so that what is shown of them holds for all."""
        held = self.claim.letters | self.context.letters | self.full.guarded
        return all(k.op == "index" and k not in held and k.value[0][0] != "$" for k in letters)

    def normal(self, facts: Sequence[Fact]) -> Normal:
        if self.names is not None:
            return self.names.normal(facts, self.guards)
        return Normal(self.context, facts=facts, guards=tuple(self.guards), tick=self.tick)

    def learn(self, lines: Iterable[Fact]) -> None:
        """Take comparisons that are proved for facts; their letters are not the claim's of the same name."""
        facts = list(self.full.raw_facts)
        for line in lines:
            own = marked("^", line.letters)
            guards = tuple(substitute(g, own) for g in line.guards)
            facts.append(Fact(substitute(line.term, own), line.signs, frozenset(own.values()), guards, line.source))
        if len(facts) > len(self.full.raw_facts):
            self.full = self.normal(facts)

    def take(self, part: Term, guards: list[Term], number: int) -> None:
        """Note what one conjunct of a hypothesis says."""
        source = f"hypothesis {number + 1}"
        if pure_index(part, self.context) and not guards:
            self.guards.append(part)
            two = part.value == "!=" and {*part.args} <= self.claim.letters | self.context.letters  # different indices
            known = cmp(">", size(part.args[0].value[1]), 1) if two else part
            if known.op == "cmp" and known.value != "!=":
                self.facts.append(Fact(difference(known), RELATION[known.value], frozenset(), (), "the case at hand"))
        elif number >= len(self.context.hypotheses):
            pass  # a filter of the claim itself speaks of its own letter; only what it says of indices is used
        elif (comparison := numbers(part)) is not part:
            self.take(comparison, guards, number)
        elif part.op in ("or", "any"):  # each part holds where the others do not
            for c, others in ways(part):
                # The largest of three would be taken apart into cases, which the parts say already.
                for piece in split(c) if len(part.args) < 3 or others is not TRUE or c.args[0].op != "fn" else ():
                    self.take(piece, [*guards, *split(others)], number)
        elif part.op == "cmp" and part.args[1].op != "list" and part.args[0].op != "list":
            # Closed letters are not the claim's of the same name, of which a guard may speak.
            own = marked("^", part.letters - self.context.letters)
            term, inside = substitute(difference(part), own), tuple(substitute(g, own) for g in guards)
            self.facts.append(Fact(term, RELATION[part.value], frozenset(own.values()), inside, source))
            if part.value == "==" and not guards:
                self.equations[number] = (part.args[0], part.args[1])


def marked(mark: str, letters: Iterable[Term]) -> dict[Term, Term]:
    """Letters that are closed, each by a name that no claim has."""
    return {k: index(mark + k.value[0], k.value[1]) for k in letters}


def strip(claim: Term, context: Context) -> tuple[Term, tuple[Term, ...]]:
    """A claim `all(c for k in n if f)` as c for a new free letter, with f as a hypothesis on it."""
    extra: list[Term] = []
    claim = negation(claim.args[0]) if claim.op == "not" and claim.args[0].op in ("all", "and", "or") else claim
    while claim.op == "all":
        taken = (
            claim.letters | context.letters | frozenset().union(*(h.letters for h in context.hypotheses), frozenset())
        )
        mapping: dict[Term, Term] = {}
        for k in claim.bound:
            mapping[k] = fresh(k, taken | set(mapping.values()))
        extra += split(substitute(claim.args[1], mapping))
        claim = substitute(claim.args[0], mapping)
    return claim, tuple(extra)


def restricts(condition: Term, context: Context) -> bool:
    """Whether a condition is a filter: of indices and bits."""
    if condition.op in ("and", "or", "not"):
        return all(restricts(c, context) for c in condition.args)
    return condition.op == "holds" or pure_index(condition, context)


def pure_index(condition: Term, context: Context) -> bool:
    """Whether a condition speaks of indices alone."""
    return (
        condition.op in ("cmp", "and", "or", "not")
        and all(
            t.op in ("index", "cmp", "and", "or", "not", "num")
            or (t.op == "var" and t.value in context.declarations and context.declarations[t.value].kind == "index")
            for t in subterms(condition)
        )
        and any(t.op == "index" for t in subterms(condition))
    )


# What Python raises on data that is no proof: the kernel refuses it like any other.
MALFORMED = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def check(
    proof: Proof, context: Context, tick: Callable[[], None] | None = None, names: Names | None = None
) -> Account:
    """Replay the proof. Returns the account of what was met; raises Rejected with the step and the reason.

    `names`, if given, holds those of the context already.
    """
    try:
        return _replay(proof, context, tick, names)
    except Rejected:
        raise
    except MALFORMED as why:
        raise Rejected(f"malformed: {type(why).__name__}") from None


def _replay(proof: Proof, context: Context, tick: Callable[[], None] | None, names: Names | None) -> Account:
    if context.example:
        raise Rejected("an example is decided on its numbers")
    well_formed(proof.claim, context)
    laws_complete(context)
    ground = Ground(proof.claim, context, tick, names)
    laws = (p for d in context.declarations.values() if d.law is not None for p in d.law.parameters)
    if any(moments.random_names(ground.plain, c) for c in (proof.claim, *context.hypotheses, *laws)):
        raise Rejected("a random name outside of a mean")
    if any(n.touched for n in ground.open):
        raise Rejected("a second derivative where a function may touch a kink that it does not cross")
    claim, account = ground.claim, Account()
    fixed = claim.letters | context.letters
    borrowed = ground.full.guarded - fixed
    if claim.op in ("and", "or", "not", "holds", "any", "true", "false"):
        if not order.established(ground, proof).follows(claim, ground.full):
            raise Rejected("the condition does not follow")
        for need in domain.needs(ground.plain, claim):  # there is no left side: all of it must be defined
            if not domain.met(ground.full, need, ground.known):
                raise Undefined(need.shown())
        return account
    if claim.op != "cmp":
        raise Rejected(f"{claim.op} is not a claim")
    left, right = claim.args
    current = left
    if claim.value == "==":
        ground.learn(order.established(ground, proof).lines)
    for number, step in enumerate(proof.steps, 1):
        try:
            well_formed(step.after, context)
            free = letters_in(step)
            if not borrowed.isdisjoint(free) or any(k.value[0][0] == "$" for k in free):
                raise Rejected("a letter that only a hypothesis restricts, or one that a normal form binds")
            conditions = check_step(ground, current, step)
        except Rejected as why:
            raise Rejected(why.reason, number) from None
        except MALFORMED as why:
            raise Rejected(f"malformed: {type(why).__name__}", number) from None
        account.conditions.append(tuple(conditions))
        current = step.after
        # Algebra reads sqrt(x)**2 as x: each line must be defined where the left side is.
        if claim.value != "==" or number < len(proof.steps):
            for need in domain.needs(ground.plain, current):
                if not domain.met(ground.full, need, ground.known):
                    raise Rejected("this line may be undefined where the left side is not", number)
    if claim.value != "==":
        order.judge(ground, proof, current)
    elif not alike(current, right):
        raise Rejected("the last step does not give the right side")
    for need in domain.needs(ground.plain, right):
        if not domain.met(ground.full, need, ground.known):
            raise Undefined(need.shown())
        account.obligations.append(Condition(need.shown(), need, ground.full, ground.known))
    account.domain += [need.shown(whole=True) for need in ground.open]
    return account


def letters_in(step: Step) -> frozenset[Term]:
    """The free letters of the line that a step gives, and of the instances that it uses."""
    found = step.after.letters
    for use in step.uses:
        places = (place for _, place in use.letters)
        own = (t for t in (use.multiplier, use.value) if t is not None)
        bound = {*use.over, *(k for k, _ in use.letters if use.kind == "telescoping")}
        found |= frozenset().union(*(t.letters for t in (*places, *own))) - bound
    return found


class Undefined(Rejected):
    """An obligation of the right side that does not follow; `condition` is what would have to be assumed."""

    def __init__(self, condition: Term):
        super().__init__("the right side may be undefined where the left side is not")
        self.condition = condition


# -- one step --------------------------------------------------------------------------------------------------------


def check_step(ground: Ground, before: Term, step: Step) -> list[Condition]:
    here, old, new, local = descend(ground, before, step)
    if step.rule in RULES:
        rule = RULES[step.rule]
        left, right = (new, old) if step.reverse else (old, new)
        found: dict[str, object] = {}
        if not match(rule.left, left, found):
            raise Rejected(f"{step.rule} does not apply at this place")
        try:
            expected = instantiate(rule.right, found)
        except KeyError:
            raise Rejected(f"{step.rule} does not apply at this place") from None
        if not alike(expected, right):
            raise Rejected(f"{step.rule} gives something else")
        return [met for c in rule.conditions for met in side_condition(here, c, found)]
    if step.rule not in PROCEDURES:
        raise Rejected(f"there is no rule {step.rule}")
    if step.uses and local:
        raise Rejected("a hypothesis holds at the point, not under a derivative, limit or mean")
    uses = step.uses
    if uses and uses[0].kind == "size":
        axis, places = places_of(ground, uses[0])
        old, new = (written_out(ground.plain.opened(t), axis, places) for t in (old, new))
        uses = uses[1:]
    gap = add_to(dict(here.poly(old)), here.poly(new), -1)
    add_to(gap, add_uses(ground, uses, here), 1 if step.reverse else -1)
    if not here.is_zero(gap) and (step.uses or sign(here, here.term(gap)) != ZERO):
        raise Rejected("the two normal forms differ")
    return []


# Steps that are no rows are identities of normal forms; the names tell a reader what they come to.
PROCEDURES = tuple(
    "algebra field_identity sum_normal_form limit_by_expansion laws_of_means replacement definition rename moment "
    "variable_rule kronecker_sifting square_of_a_sum case_distinction hypothesis lemma telescoping symmetry".split()
)


def descend(ground: Ground, before: Term, step: Step) -> tuple[Normal, Term, Term, bool]:
    """The facts at the step's path, and what stands there before and after; the rest must not change."""
    here, old, new, local = ground.full, before, step.after, False
    taken = before.letters | ground.claim.letters | ground.full.guarded | ground.context.letters
    for position in step.path:
        if not 0 <= position < len(old.args):
            raise Rejected(f"there is no position {list(step.path)}")
        same = len(old.args) == len(new.args) and (old.op, old.value, old.bound) == (new.op, new.value, new.bound)
        if not same or any(
            a is not b for p, (a, b) in enumerate(zip(old.args, new.args, strict=True)) if p != position
        ):
            raise Rejected("something changed outside of the step's position")
        if {k.value[0] for k in old.bound} & {k.value[0] for k in taken}:
            raise Rejected("a bound letter also stands outside of its binder")
        taken |= set(old.bound)
        inner: Normal | None = here
        if old.op in NONLOCAL:
            local = True
            inner = here.averaged() if old.op in ("E", "Var", "Cov") else here
            if old.op == "diff":
                inner = here.around(old.args[1].value)
            elif old.op == "limit" or (old.op == "at" and position == 0):
                inner = here.anywhere(old.value if old.op == "at" else old.args[1].value)
            if position > 0 and old.op in ("diff", "limit"):
                raise Rejected("the variable of a derivative or limit cannot be rewritten")
        elif old.bound and old.args[1] is not TRUE and position == 0:
            inner = here.under(old.args[1])
        elif old.op == "where" and position:
            inner = here.under(old.args[0] if position == 1 else negation(old.args[0]))
        here = inner if inner is not None else here
        old, new = old.args[position], new.args[position]
    return here, old, new, local


def side_condition(here: Normal, condition: tuple[object, ...], found: dict[str, object]) -> list[Condition]:
    """The condition of a row, met, where it is one on a value; raises Rejected where it is not known to hold."""
    kind, *patterns = condition
    values = [instantiate(p, found) if isinstance(p, Term) and p.op != "index" else found["?k"] for p in patterns]
    if kind == "nonzero":
        assert isinstance(values[0], Term)
        need = Need(cmp("!=", values[0], 0))
        if not domain.met(here, need, ()):
            raise Rejected("a denominator is not known to be different from 0")
        return [Condition(need.condition, need, here)]
    holds, why = SIDE_CONDITIONS[str(kind)]
    if not holds(here, *values):
        raise Rejected(why)
    return []


SIDE_CONDITIONS: dict[str, tuple[Callable[..., bool], str]] = {
    "constant": (lambda nf, a, x: not depends(nf, a, x.value), "an expression taken as constant is none"),
    "free": (lambda nf, a, k: a.letters.isdisjoint(k), "a part taken out of a sum holds its bound letter"),
    "certain": (lambda nf, a: not moments.random_names(nf, a), "an expression taken as certain holds a random name"),
    "independent": (
        lambda nf, a, b: moments.random_names(nf, a).isdisjoint(moments.random_names(nf, b)),
        "factors taken as independent share a random name",
    ),
    "separate": (
        lambda nf, f, k: moments.apart(nf, nf.opened(f), k),
        "terms taken as independent share a random entry",
    ),
}


# -- equations that are used -----------------------------------------------------------------------------------------


def add_uses(ground: Ground, uses: Iterable[Use], here: Normal | None = None) -> Poly:
    """The polynomial sum of multiplier * (left - right) of the equations used; it is 0 where they hold."""
    nf = here or ground.full
    total: Poly = {}
    for use in uses:
        condition = stated(ground, use, ground.full)
        if condition.value != "==":
            raise Rejected("the lemma is not an equation")
        if not ground.free(use.over):
            raise Rejected("an equation is summed over a letter of which more is known")
        if use.multiplier is not None:  # it may have the letters of this place, opened, and those of a normal form
            well_formed(use.multiplier, ground.context, reserved="")
        term = (use.multiplier if use.multiplier is not None else num(1)) * difference(condition)
        add_to(total, nf.poly(over("sum", term, *use.over)))
    return total


def places_of(ground: Ground, use: Use) -> tuple[str, tuple[Term, ...]]:
    """An axis whose size is a number by a hypothesis, and as many of its indices, known to be different."""
    places = tuple(place for _, place in use.letters)
    size_, count = ground.equations.get(use.number, (num(0), num(0)))
    if size_.op != "size" or count is not num(len(places)) or any(k.op != "index" for k in places):
        raise Rejected("the size of an axis is not known to be the number of places")
    apart = (ground.full.condition(cmp("!=", *pair)) == {UNIT: 1} for pair in combinations(places, 2))
    if {k.value[1] for k in places} != {size_.value} or not all(apart):
        raise Rejected("the places are not known to be different indices of the axis")
    return size_.value, places


def stated(ground: Ground, use: Use, here: Normal) -> Term:
    """What a use says at its letters: a hypothesis that is an equation, an earlier claim, or a sum that telescopes."""
    if use.kind == "telescoping":
        return telescoped(ground, use)
    if use.kind == "symmetry":
        return symmetry.equation(ground.plain, ground.context, use)
    context, mapping = ground.context, dict(use.letters)
    for k, place in mapping.items():
        well_formed(place, context, reserved="")
        if k in context.letters or k.value[1] != subscript_axis(place, context):
            raise Rejected("a declared letter is replaced, or one by something of another axis")
    if use.kind == "lemma":
        return lemma_at(ground, use, here)
    if use.kind != "hypothesis" or use.number not in ground.equations:
        raise Rejected(f"hypothesis {use.number + 1} is not an equation")
    return substitute(cmp("==", *ground.equations[use.number]), mapping)


def telescoped(ground: Ground, use: Use) -> Term:
    """sum(F(k + 1) - F(k) for k in n) = F(n) - F(0), or for k < j with F(j) - F(0); F is a function of the number k."""
    if use.value is None or len(use.letters) != 1:
        raise Rejected("telescoping takes a value, its letter, and where the sum ends")
    ((k, end),) = use.letters
    axis = k.value[1]
    whole = end is size(axis)
    if not whole and (k in end.letters or subscript_axis(end, ground.context) != axis):
        raise Rejected("a sum that telescopes ends with its axis, or before an index of it")
    if any(t.op in order.UNSURE for t in subterms(ground.plain.opened(use.value))):
        raise Rejected("a mean or limit that may not exist")
    after, first, last = (substitute(use.value, {k: at}) for at in (k + 1, num(0), end))
    sum_ = over("sum", after - use.value, k, where=TRUE if whole else cmp("<", k, end))
    condition = cmp("==", sum_, last - first)
    well_formed(condition, ground.context, reserved="")  # a subscript is no number: F(k + 1) is none where k is one
    return condition


def lemma_at(ground: Ground, use: Use, here: Normal) -> Term:
    """What a lemma says at the letters of the use: its hypotheses are met, and its left side is defined there."""
    context, mapping = ground.context, dict(use.letters)
    if not 0 <= use.number < len(context.lemmas):
        raise Rejected("there is no such lemma")
    lemma = context.lemmas[use.number]
    condition = substitute(lemma.condition, mapping)
    if condition.op != "cmp":
        raise Rejected(f"lemma {lemma.name} is no comparison")
    for v in lemma.variables:
        if context.declarations.get(v.name) != v:
            raise Rejected(f"lemma {lemma.name} speaks of another {v.name}")
    for h in lemma.hypotheses:
        if not (here.holds(substitute(h, mapping)) if pure_index(h, context) else shared(here, h, lemma, context)):
            raise Rejected(f"a hypothesis of lemma {lemma.name} is not met")
    for need in domain.needs(ground.plain, condition.args[0], "~"):
        if not domain.met(here, need, ground.known):
            raise Rejected(f"lemma {lemma.name} is used where its left side may be undefined")
    return condition


def shared(nf: Normal, hypothesis: Term, lemma: Lemma, context: Context) -> bool:
    """Whether a hypothesis of the lemma is one of the claim's, and says as much, its letters closed in both."""
    known = any(alike(nf.opened(h), nf.opened(hypothesis)) for h in context.hypotheses)
    return known and not hypothesis.letters & context.letters - lemma.letters
