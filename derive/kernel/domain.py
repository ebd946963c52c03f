"""Where a term is defined: what it needs, what is known from the left side, and why the right side's needs are met.

Algebra is total, so this judgement stands apart. A need is a condition, for all values of its own letters that satisfy
its guards. Needs of the left side become facts where being defined implies them; needs of the right side are
obligations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

from derive.kernel import moments
from derive.kernel.boundaries import changes_sign, lasting
from derive.kernel.cases import ways
from derive.kernel.derivative import depends
from derive.kernel.integrable import MEANS, integrable
from derive.kernel.normal import Normal
from derive.kernel.poly import CASES, PIECEWISE, constant
from derive.kernel.powers import integral
from derive.kernel.signs import NEG, POS, RELATION, ZERO, Fact, difference, mul_signs, sign, split
from derive.term import (
    CONDITIONS,
    FALSE,
    OO,
    TRUE,
    Term,
    alike,
    both,
    cmp,
    fn,
    index,
    make,
    negation,
    num,
    over,
    rebuild,
    substitute,
    subterms,
    var,
    where,
)


@dataclass(frozen=True)
class Need:
    """`condition` must hold for all `letters` that satisfy `guards`.

    `implied` says whether the term that has the need is undefined wherever the condition fails, so that the condition
    is a fact where the term is defined. A condition with the operator E, limit or max stands for "this is defined".
    """

    condition: Term
    letters: tuple[Term, ...] = ()
    guards: tuple[Term, ...] = ()
    implied: bool = True
    sure: bool = True  # whether the term has the need at all, or only may have it
    touched: bool = False  # whether a second derivative may exist where it fails, and be another than the formal one

    def shown(self, whole: bool = False) -> Term:
        """The need as a condition, for all its letters; `whole`: with the case in which it is one."""
        condition, guards = self.condition, both(*self.guards)
        letters = [k for k in self.letters if k in condition.letters | guards.letters]
        if letters:
            return over("all", condition, *letters, where=guards)
        known = whole and guards is not TRUE and condition.op in CONDITIONS
        return make("or", (negation(guards), condition)) if known else condition


class Walk:
    """The needs of one term, found part by part."""

    def __init__(self, nf: Normal):
        self.nf = nf
        self.found: dict[Need, None] = {}

    def need(self, condition: Term, scope: Scope, implied: bool = True, crossed: bool = True) -> None:
        guards = scope.guards
        touched = scope.twice and (scope.carried or not crossed)
        implied = implied and not scope.carried
        if scope.random and moments.random_names(self.nf, condition):
            if condition.op in CONDITIONS and not scope.moved and not scope.moving:
                condition, guards = almost_surely(self.nf, condition, guards)
            else:
                implied = False
        for name, letters, by in reversed(scope.moved):  # from the inside out
            if by is None and depends(self.nf, condition, name):
                return  # what must hold near the point of a limit is asked by the limit itself
            still = tuple(g for g in guards if not depends(self.nf, g, name))  # the others speak of another value
            implied = implied and condition.op == "cmp" and still == guards
            guards = still
            if by is not None:
                condition = replaced(self.nf, condition, name, letters, by)
        self.found[Need(condition, scope.letters, guards, implied, touched=touched)] = None


def almost_surely(nf: Normal, condition: Term, guards: tuple[Term, ...]) -> tuple[Term, tuple[Term, ...]]:
    """That the condition fails with probability 0, in the cases that random names make too; and the other guards."""
    own = [g for g in guards if moments.random_names(nf, g)]
    fails = make("E", (where(both(*own, negation(condition)), 1, 0),))
    return cmp("==", fails, 0), tuple(g for g in guards if g not in own)


def replaced(nf: Normal, condition: Term, name: str, letters: tuple[Term, ...], by: Term) -> Term:
    """What a condition says of an expression in which entries are replaced."""
    if not depends(nf, condition, name):
        return condition
    if condition.op in ("cmp", "and", "or", "not"):
        return rebuild(condition, [replaced(nf, a, name, letters, by) for a in condition.args])
    return make("at", (condition, by), name, letters)


@dataclass(frozen=True)
class Scope:
    """Where in the term the walk is."""

    letters: tuple[Term, ...] = ()
    guards: tuple[Term, ...] = ()
    moving: frozenset[str] = frozenset()  # the variables of the derivatives around
    twice: bool = False  # whether there is more than one
    random: bool = False
    moved: tuple[tuple[str, tuple[Term, ...], Term | None], ...] = ()  # the `at`s around, and the limits, by nothing
    carried: bool = False  # whether a derivative moves what an `at` puts in
    taken: tuple[Term, ...] = ()  # under a derivative, when a kink here is one of the whole: max(|x|, 1) has none at 0
    prefix: str = "&"  # of the letters that are opened here

    def opened(self, bound: tuple[Term, ...]) -> tuple[Term, ...]:
        """Letters for the bound ones, named by how deep they stand, so that the same part is met again."""
        first = len(self.letters) + 1
        return tuple(index(f"{self.prefix}{first + p}", k.value[1]) for p, k in enumerate(bound))

    def with_(self, **changes: object) -> Scope:
        return Scope(**{**self.__dict__, **changes})


def needs(nf: Normal, term: Term, prefix: str = "&") -> list[Need]:
    """What must hold for the term to be defined."""
    return list(_part(Walk(nf), term, Scope(prefix=prefix)))


def _part(w: Walk, t: Term, scope: Scope) -> dict[Need, None]:
    """The needs of a part, found once for each normal form."""
    slot = (t, scope)
    if slot not in w.nf.needs:
        around_, w.found = w.found, {}
        _look(w, t, scope)
        w.nf.needs[slot], w.found = w.found, around_
    return w.nf.needs[slot]


def _visit(w: Walk, t: Term, scope: Scope) -> None:
    if t.args or t.op == "def":
        w.found.update(_part(w, t, scope))


def _look(w: Walk, t: Term, scope: Scope) -> None:
    op, args = t.op, t.args
    moves = any(depends(w.nf, t, name) for name in scope.moving)
    if op == "def":
        _visit(w, w.nf.unfold(t), scope)
    elif t.bound and op != "at":
        _binder(w, t, scope)
    elif op == "where":
        _visit(w, args[0], scope.with_(taken=(*scope.taken, FALSE)))
        _visit(w, args[1], scope.with_(guards=(*scope.guards, args[0])))
        _visit(w, args[2], scope.with_(guards=(*scope.guards, negation(args[0]))))
        if moves:
            _switch(w, args[0], args[1], args[2], scope)
    elif op == "diff":
        _visit(w, args[0], scope.with_(moving=scope.moving | {args[1].value}, twice=bool(scope.moving)))
        for a in args[1].args:
            _visit(w, a, scope)
    elif op == "at":
        letters = scope.opened(t.bound)
        by = substitute(args[1], dict(zip(t.bound, letters, strict=True)))
        if depends(w.nf, args[0], t.value):  # else nothing is replaced
            beneath = scope.with_(letters=scope.letters + letters, prefix=scope.prefix + "'")
            for need in _part(w, by, beneath):  # which entries are replaced is not looked at, so these are no facts
                w.found[Need(need.condition, need.letters, need.guards, False, False)] = None
        inside = scope.with_(moved=(*scope.moved, (t.value, t.bound, args[1])))
        if any(depends(w.nf, args[1], name) for name in scope.moving):  # what is replaced moves with it
            inside = inside.with_(moving=scope.moving | {t.value}, carried=True)
        _visit(w, args[0], inside)
    elif op == "limit":
        _limit(w, t, scope)
    elif op in ("E", "Var", "Cov"):
        w.need(t, scope, False)
        for condition in (c for name in sorted(scope.moving) for c in moments.lawful(w.nf, t, name)):
            w.need(condition, scope, False)
        for a in args:
            _visit(w, a, _averaged(w, scope))
    else:
        if op == "div":
            w.need(cmp("!=", args[1], 0), scope)
        elif op == "pow":
            _power(w, t, scope, moves)
        elif op == "fn":
            _function(w, t, scope, moves)
        for p, a in enumerate(args):
            _visit(w, a, scope.with_(taken=(*scope.taken, *_taken(t, p))) if moves and op == "fn" else scope)


def _averaged(w: Walk, scope: Scope) -> Scope:
    """The scope inside of a mean, which takes all values of a random name, not only that of a case outside."""
    guards = tuple(g for g in scope.guards if not moments.random_names(w.nf, g))
    taken = tuple(TRUE if moments.random_names(w.nf, g) else g for g in scope.taken)
    return scope.with_(random=True, guards=guards, taken=taken)


def _taken(t: Term, place: int) -> tuple[Term, ...]:
    """When the argument at this place is what the value comes from, its value near the point included."""
    relation = {"relu": ">=", "sign": "==", "max": ">=", "min": "<="}.get(t.value)
    return () if relation is None else (cmp(relation, t.args[place], t.args[1 - place] if len(t.args) > 1 else num(0)),)


def _limit(w: Walk, t: Term, scope: Scope) -> None:
    """That the limit exists; under a derivative that it does at the point is not enough."""
    body, variable, point = t.args
    claimed = t
    for name in sorted(scope.moving):
        if depends(w.nf, t, name):
            claimed = make("diff", (claimed, var(name)))
    w.need(claimed, scope, False)
    _visit(w, body, scope.with_(moved=(*scope.moved, (variable.value, (), None))))
    if point not in (OO, -OO):
        _visit(w, point, scope)


def _binder(w: Walk, t: Term, scope: Scope) -> None:
    letters = scope.opened(t.bound)
    mapping = dict(zip(t.bound, letters, strict=True))
    body, filter_ = (substitute(a, mapping) for a in t.args)
    guards = scope.guards if filter_ is TRUE else (*scope.guards, filter_)
    relation = {"max": ">=", "min": "<="}.get(t.op)
    best = () if relation is None else (cmp(relation, body, t),)
    taken = (*scope.taken, FALSE) if t.op == "argmax" else (*scope.taken, *best)
    inner = scope.with_(letters=scope.letters + letters, guards=guards, taken=taken)
    outside = scope.with_(letters=scope.letters + letters)
    _visit(w, filter_, outside)
    _borders(w, filter_, outside)
    _visit(w, body, inner)
    if t.op in ("max", "min", "argmax"):
        if filter_ is not TRUE:
            w.need(over("any", t.args[1], *t.bound), scope)
        if any(depends(w.nf, t.args[0], name) for name in scope.moving):
            _attained_once(w, t, scope)


def _attained_once(w: Walk, t: Term, scope: Scope) -> None:
    """The derivative of a maximum exists where it is attained once, entries that are the same function apart."""
    if len(t.bound) != 1 or t.args[1] is not TRUE:
        w.need(t, scope, False, False)
        return
    (k,) = t.bound
    body = -t.args[0] if t.op == "min" else t.args[0]
    first, second = scope.opened((k, k))
    near = around(w.nf, scope)
    gap = near.canonical(substitute(body, {k: first}) - substitute(body, {k: second}))
    if gap is num(0):
        return
    at = over("argmax", body, *t.bound)
    scope = kinked(scope)
    inner = scope.with_(letters=(*scope.letters, first), guards=(*scope.guards, cmp("!=", first, at)))
    _edge(w, cmp("<", substitute(body, {k: first}), substitute(body, {k: at})), inner, gap, cmp("!=", first, second))


def _edge(w: Walk, condition: Term, scope: Scope, u: Term, case: Term = TRUE, sure: bool = True) -> None:
    """The need that u is not at a 0 where it changes its sign, which is a fact only if it does so at every one."""
    nf = w.nf.under(case) or w.nf
    crossed, certain = changes_sign(nf, nf.canonical(u), u)
    w.need(condition, scope, sure and certain and not scope.taken, crossed)


def _power(w: Walk, t: Term, scope: Scope, moves: bool) -> None:
    base, exponent = t.args
    value = constant(w.nf.poly(exponent)) if not exponent.letters and not exponent.names else None
    if value is not None and value.denominator == 1:
        if value < 0:
            w.need(cmp("!=", base, 0), scope)
    elif value is not None:
        w.need(cmp(">=" if value > 0 and (not moves) else ">", base, 0), scope)
    elif integral(near := unmoved(w.nf, scope), near.poly(exponent)) and not moves:
        if sign(near, exponent) & NEG:
            w.need(make("or", (cmp(">=", exponent, 0), cmp("!=", base, 0))), scope)
    elif moves:  # an exponent that strictly moves is no integer beside the point
        near, scalars = around(w.nf, scope), (n for n in scope.moving if not w.nf.context.declarations[n].axes)
        slopes = [near.canonical(make("diff", (exponent, var(name)))) for name in scalars]
        w.need(cmp(">", base, 0), scope, any(not sign(near, slope) & ZERO for slope in slopes))
    else:
        edge = both(cmp(">=", base, 0), cmp(">", exponent, 0))
        w.need(make("or", (cmp(">", base, 0), edge)), scope, False)


def _function(w: Walk, t: Term, scope: Scope, moves: bool) -> None:
    name, u = t.value, t.args[0]
    if name == "log":
        w.need(cmp(">", u, 0), scope)
    elif name == "log1p":
        w.need(cmp(">", 1 + u, 0), scope)
    elif name == "sqrt":
        w.need(cmp(">" if moves else ">=", u, 0), scope)
    elif name == "tan":
        w.need(cmp("!=", fn("cos", u), 0), scope)
    elif name in ("lgamma", "digamma", "trigamma"):
        w.need(cmp(">", u, 0), scope, False)
    elif name == "sign" and moves:
        _crossing(w, u, scope, True)
    elif name in PIECEWISE and moves:
        _crossing(w, u if len(t.args) == 1 else difference(cmp("==", *t.args)), kinked(scope))


def kinked(scope: Scope) -> Scope:
    """The scope of a kink, where the whole is continuous: it matters where what it stands in is taken."""
    return scope.with_(
        guards=(*scope.guards, *(g for g in scope.taken if g is not FALSE)),
        taken=tuple(g for g in scope.taken if g is FALSE),
    )


def _crossing(w: Walk, u: Term, scope: Scope, jumps: bool = False, sure: bool = True) -> None:
    """The boundary u = 0 of abs, relu, …: no point of the domain where u changes its sign there.

    What `jumps`, a sign or a case, is another number there if u only touches 0.
    """
    near = around(w.nf, scope)  # what holds at the point only does not keep a formula from changing
    signs = sign(near, u) & sign(near, near.canonical(u))
    if signs & ZERO and (signs & NEG and signs & POS or (jumps and signs != ZERO)):
        _edge(w, cmp("!=", u, 0), scope, u, sure=sure)


def around(nf: Normal, scope: Scope) -> Normal:
    """The facts that hold around the point, in the directions of the derivatives, whatever an `at` puts in."""
    nf = unmoved(nf, scope)
    for name in sorted(scope.moving):
        nf = nf.around(name)
    return nf


def unmoved(nf: Normal, scope: Scope) -> Normal:
    """The normal form that does not assume the declared kind of what an `at` or a limit around replaces."""
    for name, _, _ in scope.moved:
        nf = nf.anywhere(name)
    return nf


def _switch(w: Walk, condition: Term, then: Term, other: Term, scope: Scope) -> None:
    """The boundary of a `where`, if the two formulas differ."""
    gap = around(w.nf, scope).poly(then - other)
    if not gap:
        return
    plain = not any(
        a.op in CASES | {"max", "argmax"} or _discrete(w.nf, a) for m in gap for b, _ in m for a in subterms(b)
    )
    _borders(w, condition, scope, plain and (not sign(w.nf, w.nf.term(gap)) & ZERO or lasting(w.nf, gap)))


def _borders(w: Walk, condition: Term, scope: Scope, sure: bool = False) -> None:
    """That no part of a condition changes at the point; `sure`: the whole is another formula if it does."""
    for part, place in _compared(condition, scope):
        u = difference(part)
        if not w.nf.index_like(*part.args) and any(depends(w.nf, u, name) for name in scope.moving):
            _crossing(w, u, place, True, sure and part is condition and part.value not in ("==", "!="))


def _compared(condition: Term, scope: Scope) -> Iterator[tuple[Term, Scope]]:
    """The comparisons that a condition is made of, each for all letters that are bound around it."""
    if condition.op == "cmp":
        yield condition, scope
    elif condition.op == "holds":
        yield cmp("!=", condition.args[0], 0), scope
    elif condition.bound:
        letters = scope.opened(condition.bound)
        body, filter_ = (substitute(a, dict(zip(condition.bound, letters, strict=True))) for a in condition.args)
        inner = scope.with_(letters=scope.letters + letters, guards=(*scope.guards, *split(filter_)))
        yield from _compared(body, inner)
    elif condition.op in ("and", "or", "not"):
        for a in condition.args:
            yield from _compared(a, scope)


def _discrete(nf: Normal, term: Term) -> bool:
    declaration = nf.context.declarations.get(term.value) if term.op == "var" else None
    return declaration is not None and declaration.kind not in ("real", "positive")


# -- from needs to facts, and from facts to reasons ------------------------------------------------------------------


def facts_from(nf: Normal, needed: Iterable[Need], source: str) -> Iterator[Fact]:
    """The facts that hold where a term with these needs is defined, but for what the sign of a normal form tells."""
    for need in (n for n in needed if n.implied):
        for part, others in ways(need.condition) if need.condition.op == "or" else ((need.condition, TRUE),):
            guards = (*need.guards, *split(others))
            here = nf.extended(guards)
            if here is not None and part.op == "cmp":
                gap, told = difference(part), RELATION[part.value]
                factors = gap.args if gap.op == "mul" else (gap,)  # products are not multiplied out
                if reduce(mul_signs, (sign(here, here.canonical(f)) for f in factors)) & ~told:
                    yield Fact(gap, told, frozenset(need.letters), guards, source)


def met(nf: Normal, need: Need, known: Iterable[Need]) -> bool:
    """Whether the need is known to be met under the facts of `nf`."""
    here = nf.extended(need.guards)
    if here is None:
        return True
    condition, op = need.condition, need.condition.op
    here = here.averaged() if op in MEANS else here  # a mean takes all values of its names, also in a case of them
    if op in CONDITIONS:
        return here.holds(condition)
    if op in MEANS and integrable(here, condition, known):
        return True
    if op == "limit" and has_limit(here, condition):
        return True
    return any(
        other.sure and other.condition.op == op and not other.guards and _same_special(here, other, need)
        for other in known
    )


def has_limit(nf: Normal, term: Term) -> bool:
    """Whether the limit is known to exist."""
    return not any(t.op == "limit" for mono in nf.poly(term) for a, _ in mono for t in subterms(a))


def _same_special(nf: Normal, left: Need, right: Need) -> bool:
    """Whether two "this is defined" needs speak of the same term, up to the letters of binders around."""
    a, b = left.condition, right.condition
    free = sorted(left.letters, key=lambda k: k.value[0])
    targets = sorted(b.letters, key=lambda k: k.value[0])
    mapping = {}
    for k in free:
        if k in a.letters:
            mapping[k] = next((t for t in targets if t.value[1] == k.value[1]), k)
    a = substitute(a, mapping)
    if a.op in ("at", "diff", "limit"):  # an equal value elsewhere may be undefined where this one is not
        return alike(nf.opened(a), nf.opened(b))
    if a.op in MEANS:  # an equal mean may be one of what is not integrable
        return all(nf.equal(x, y) for x, y in zip(a.args, b.args, strict=True))
    return a.op == b.op and nf.equal(a, b)
