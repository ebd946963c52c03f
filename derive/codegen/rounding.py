"""What generated code computes, one rounded operation after the other, as Coq text with a proof of how far it is off.

One row an operation, each with its lemma in coq/Errors.v; `rounding_theorem` makes a theorem of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from derive.codegen.bounds import sum_of_others
from derive.codegen.conditioning import FUNCTIONS, NARROW_FUNCTIONS
from derive.codegen.counts import NONE, Count, NoBound
from derive.codegen.differences import exact, scaled_difference
from derive.codegen.source import Plan
from derive.coq.names import NotExported, Scope, axis, letter
from derive.coq.printer import Printer
from derive.kernel.context import Context, Declaration
from derive.language.places import transform
from derive.term import TRUE, Term, add, fn, var


@dataclass(frozen=True)
class Part:
    """A part of the formula as it is computed: Coq's text of it, a script that proves the judgement, the roundings.

    `size` is None where the part is not negative and its own size.
    """

    text: str
    script: str
    count: Count
    second: int  # times what is of second order in a difference under exp
    size: Term | None = None


@dataclass
class Writer:
    """Writes the computation of one plan. `facts` are the hypotheses it asks for, by what they say."""

    plan: Plan
    narrow: bool
    context: Context = field(init=False)
    printer: Printer = field(init=False)
    given: dict[str, str] = field(default_factory=dict)  # declaration: its hypothesis, in order
    facts: dict[str, str] = field(default_factory=dict)  # what is said of a gap: the name of the hypothesis
    stored: dict[str, Term] = field(default_factory=dict)  # the variables that stand for case distinctions
    trees: int = 0

    def __post_init__(self) -> None:
        self.context = replace(self.plan.context, definitions={}, hypotheses=())

    def shifts(self, term: Term) -> Term:
        """The term with each case distinction between stored numbers made a variable: the theorem holds for all."""

        def named(t: Term) -> Term | None:
            if t.op != "where" or t.letters or not exact(t, {}):
                return None
            known = next((n for n, was in self.stored.items() if was is t), None)
            name = known or f"shift{len(self.stored) + 1}"
            self.stored[name] = t
            return var(name)

        found = transform(term, named)
        extra = {n: Declaration(n, "real") for n in self.stored}
        if extra.keys() & self.plan.context.declarations.keys():
            raise NotExported("a variable has the name of a shift")
        self.context = replace(self.context, declarations={**self.plan.context.declarations, **extra})
        self.printer = Printer(Scope(self.context))
        return found

    def written(self, term: Term) -> Term:
        """The term with the case distinctions as they stand in the plan."""
        return transform(term, lambda t: self.stored.get(t.value) if t.op == "var" else None)

    def value(self, term: Term) -> str:
        return self.printer.value(term, 9)

    def part(self, term: Term) -> Part:
        """A part as it is computed. Raises NoBound for an operation that coq/Errors.v has no lemma for."""
        if term.op == "num" and 0 <= term.value <= 256 and term.value.denominator == 1:
            return Part(self.value(term), "apply good_exact; lra", NONE, 0)
        if term.op != "num" and exact(term, {}):
            return Part(self.value(term), "apply off_exact", NONE, 0, fn("abs", term))
        row = ROWS.get(term.op)
        if row is None:
            raise NoBound(f"no lemma on the rounding of {term.op}")
        return row(self, term)

    def hypothesis(self, says: str, letters: frozenset[Term]) -> str:
        """The hypothesis that says this for all letters, at those letters."""
        listed = sorted(letters, key=lambda k: str(k.value))
        plain = _renamed(says, {letter(k): f"j{n}" for n, k in enumerate(listed)})
        front = "".join(f"forall j{n}, (j{n} < {axis(k.value[1])})%nat -> " for n, k in enumerate(listed))
        name = self.facts.setdefault(front + plain, f"Hgap{len(self.facts) + 1}")
        return f"apply {name}; assumption" if listed else f"exact {name}"


def _renamed(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[\w']+", lambda found: names.get(found[0], found[0]), text)


def _function(w: Writer, term: Term) -> Part:
    name, x = term.value, term.args[0]
    own = Count(FUNCTIONS[name] * (NARROW_FUNCTIONS if w.narrow else 1))
    if name == "exp":
        found = scaled_difference(x, {}) if w.plan.form.corrected else None
        if found is not None and found.factor is None:
            a, b = w.value(found.x), w.value(found.y)
            w.given.setdefault("fexp : R -> R", f"Hexp : exp_within p {own} fexp")
            gap = w.hypothesis(f"Rabs ({a} - {b}) <= gap", x.letters)
            script = (
                f"eapply (good_exp_difference p Hp _ _ _ _ gap); [exact Hexp | float | float | {gap} | exact Hsmall]"
            )
            return Part(f"(exp_difference p fexp {a} {b})", script, own + 1, 1)
        if exact(x, {}):
            w.given.setdefault("fexp : R -> R", f"Hexp : exp_within p {own} fexp")
            return Part(f"(fexp {w.value(x)})", "apply good_exp; exact Hexp", own, 0)
    if name == "log1p":
        inner = w.part(x)
        if inner.size is None:
            w.given.setdefault("flog : R -> R", f"Hlog : log1p_within p {own} flog")
            script = f"apply (good_log1p p Hp); [exact Hlog | {inner.script}]"
            return Part(f"(flog {inner.text})", script, inner.count + own, inner.second)
    raise NoBound(f"no lemma on the rounding of {name} here")


def _sum(w: Writer, term: Term) -> Part:
    body, condition = term.args
    if len(term.bound) != 1:
        raise NoBound("no lemma on sums over several axes")
    (k,) = term.bound
    n, i = axis(k.value[1]), letter(k)
    inner = w.part(body)
    if inner.size is not None:
        raise NoBound("no lemma on sums of either sign")
    text, true, script = inner.text, w.value(body), inner.script
    if condition is not TRUE:
        if condition.op != "cmp" or condition.value != "!=" or condition.args[0] is not k:
            raise NoBound("no lemma on this filter")
        place = w.printer.place(condition.args[1])
        one = f"(fun {i} : nat => {text})"
        script = f"apply (good_left_out p Hp {place} _ _ {one} (fun {i} : nat => {true})); {script}"
        text, true = f"(left_out {place} {one} {i})", f"(1 - delta {i} {place}) * {true}"
    functions = f"(fun {i} : nat => {text}) (fun {i} : nat => {true})"
    intro = f"intros {i} H{i}; {script}"
    if sum_of_others(w.written(term)) and w.plan.form.corrected and not w.narrow:
        w.given["fsum : (nat -> R) -> R"] = f"Hsum : sums_within p 2 {n} fsum"
        script = f"eapply (good_own_sum p Hp {n} 2 fsum _ _ {functions}); [exact Hsum | {intro} | second_order]"
        return Part(f"(fsum (fun {i} : nat => {text}))", script, inner.count + 2, inner.second)
    w.trees += 1
    t = f"t{w.trees}"
    w.given[f"{t} : tree"] = f"H{t} : adds {n} {t}"
    script = f"eapply (good_sum p Hp {n} {t} _ _ {functions}); [exact H{t} | {intro}]"
    return Part(
        f"(rounded p {t} (fun {i} : nat => {text}))", script, inner.count + Count(0, ((k.value[1], 1),)), inner.second
    )


def _add(w: Writer, term: Term) -> Part:
    parts = [(t.args[0], True) if t.op == "neg" else (t, False) for t in term.args]
    found: Part | None = None
    for t, negative in parts:
        new = w.part(t)
        if negative:
            new = _loose(t, new)
            new = replace(new, text=f"(- {new.text})", script=f"apply off_opp; {new.script}")
        if found is None:
            found, whole = new, t
            continue
        count, second = found.count.most(new.count) + 1, max(found.second, new.second)
        text = f"(rnd p ({found.text} + {new.text}))"
        if found.size is None and new.size is None:
            script = f"eapply (good_plus p Hp); [{found.script} | {new.script}]"
            found = Part(text, script, count, second)
        else:
            a, b = _loose(whole, found), _loose(t, new)
            assert a.size is not None and b.size is not None
            found = Part(text, f"eapply (off_plus p Hp); [{a.script} | {b.script}]", count, second, add(a.size, b.size))
        whole = add(whole, t)
    assert found is not None
    return found


def _loose(term: Term, part: Part) -> Part:
    """The part with its size beside it."""
    if part.size is not None:
        return part
    return replace(part, size=term, script=f"apply (off_good p Hp); {part.script}")


def _mul(w: Writer, term: Term) -> Part:
    found = w.part(term.args[0])
    for t in term.args[1:]:
        new = w.part(t)
        if found.size is not None or new.size is not None:
            raise NoBound("no lemma on products of either sign")
        script = f"eapply (good_mult p Hp); [{found.script} | {new.script}]"
        text = f"(rnd p ({found.text} * {new.text}))"
        found = Part(text, script, found.count + new.count + 1, found.second + new.second)
    return found


def _div(w: Writer, term: Term) -> Part:
    above, below = (w.part(t) for t in term.args)
    if above.size is not None or below.size is not None:
        raise NoBound("no lemma on quotients of either sign")
    script = f"eapply (good_div p Hp); [positive | {above.script} | {below.script}]"
    text = f"(rnd p ({above.text} / {below.text}))"
    return Part(text, script, above.count + below.count + 1, above.second + below.second)


ROWS: dict[str, Callable[[Writer, Term], Part]] = {
    "fn": _function,
    "sum": _sum,
    "add": _add,
    "mul": _mul,
    "div": _div,
}
