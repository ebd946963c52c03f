"""One step of a proof as a Coq lemma: the way down to its place, and there the rule's lemma or a plain equation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from derive.coq.names import NotExported, axis, letter, variable
from derive.coq.normal import Bound, Equation, index_bound
from derive.coq.printer import MINUS, Printer, indicator
from derive.kernel.context import Context
from derive.kernel.proof import Step
from derive.term import TRUE, TWO, Term, alike, delta, mul, replace_variable, substitute
from derive.term import rebuild as rebuilt

CONVERSIONS = frozenset({"definition", "rename"})  # both sides are the same once names are unfolded


def opened(term: Term, context: Context) -> Term:
    """The term without defined names and replacements."""
    memo: dict[Term, Term] = {}

    def walk(t: Term) -> Term:
        if t not in memo:
            memo[t] = one(t)
        return memo[t]

    def one(t: Term) -> Term:
        if not t.args and t.op != "def":
            return t
        args = [walk(a) for a in t.args]
        if t.op == "def":
            d = context.definitions[t.value]
            return substitute(walk(d.body), dict(zip(d.letters, args, strict=True)))
        if t.op == "at":
            return replace_variable(args[0], t.value, t.bound, args[1])
        return rebuilt(t, args)

    return walk(term)


class Way:
    """Proofs of one step, from the whole expression down to its place."""

    def __init__(self, printer: Printer, context: Context, hypotheses: Mapping[int, str], letters: Iterable[Term]):
        self.printer, self.context, self.hypotheses = printer, context, hypotheses
        self.letters = frozenset(letters)

    def proof(self, before: Term, after: Term, step: Step) -> str:
        """The tactic script of `before = after`."""
        if step.rule in CONVERSIONS:
            return "reflexivity."
        for path in self.paths(before, step.path):
            try:
                equation = Equation(self.printer, self.letters)
                term = self.down(equation, before, after, path, step, path == step.path)
                return "\n".join([*equation.lines, f"exact {term}."])
            except Crossed:
                continue
        raise NotExported(f"a step {step.rule} inside of what cannot be entered")

    def paths(self, before: Term, path: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The path, and after it those that stop before what a hypothesis cannot enter."""
        found, here = [path], before
        for n, p in enumerate(path):
            if here.op in ("diff", "at", "where", "limit", "E", "Var", "Cov"):
                found.append(path[:n])
                break
            here = here.args[p]
        if () not in found:
            found.append(())
        return found

    def down(
        self, equation: Equation, before: Term, after: Term, path: tuple[int, ...], step: Step, exact: bool
    ) -> str:
        if not path:
            found = self.rule(equation, before, after, step) if exact else None
            return found or equation.equal(opened(before, self.context), opened(after, self.context))
        p, rest = path[0], path[1:]
        text, op = self.printer, before.op
        if p >= len(before.args) or len(after.args) != len(before.args) or after.op != op:
            raise NotExported("a step at a place that does not exist")
        one, other = before.args[p], after.args[p]
        if op == "sum" and p == 0:
            outer = equation.scope
            equation.scope = (*outer, *map(index_bound, before.bound))
            proof = self.down(equation, one, other, rest, step, exact)
            equation.scope = outer
            if before.args[1] is not TRUE:
                proof = f"(f_equal (Rmult {text.value(indicator(before.args[1]), MINUS - 30)}) {proof})"
            left = text.filtered(before.args[1], one) if before.args[1] is not TRUE else text.value(one)
            right = text.filtered(before.args[1], other) if before.args[1] is not TRUE else text.value(other)
            for k in reversed(before.bound):
                n, i = axis(k.value[1]), letter(k)
                proof = f"(Sum_ext {n} (fun {i} => {left}) (fun {i} => {right}) (fun {i} H{i} => {proof}))"
                left, right = (f"Sum {n} (fun {i} => {side})" for side in (left, right))
            return proof
        if op in ("diff", "at") and p == 0:
            name = before.args[1].value if op == "diff" else before.value
            outer = equation.scope
            equation.scope = (*outer, equation.under_variable(name))
            proof = self.down(equation, one, other, rest, step, exact)
            equation.scope = outer
            binder = text.function(one, name).split(" => ")[0]
            if op == "diff":
                f, g = text.function(one, name), text.function(other, name)
                return f"(partial_ext ({f}) ({g}) _ _ ({binder} => {proof}))"
            by = text.value(before.args[1])
            if before.bound:
                by = f"fun {' '.join(map(letter, before.bound))} => {by}"
            return f"(({binder} => {proof}) ({by}))"
        if op in ("add", "mul", "neg", "div", "pow", "fn"):
            proof = self.down(equation, one, other, rest, step, exact)
            return (
                equation.congruence(before, [proof if n == p else None for n in range(len(before.args))]) or "eq_refl"
            )
        raise Crossed

    # -- rules ---------------------------------------------------------------------------------------------------------

    def rule(self, equation: Equation, before: Term, after: Term, step: Step) -> str | None:
        """The rule's own lemma, where the step has the very form that the lemma states; else None."""
        if step.reverse:
            return None
        if step.rule == "hypothesis" and len(step.uses) == 1:
            return self.used(before, after, step)
        if before.op != "diff":
            return None
        body, entry = before.args
        text, name = self.printer, entry.value
        binder = text.function(body, name).split(" => ")[0]
        rank = len(entry.args)
        places = [text.place(a) for a in entry.args]
        z = variable(name)
        up = f"(upd{rank} {' '.join([z, *places])})" if rank else "(fun x : R => x)"
        x = f"({' '.join([z, *places])})" if rank else z

        def f(t: Term) -> str:
            return f"({binder} => {text.value(t)})"

        exists = "ltac:(exists_)"
        at = f"{z} ltac:(at_z)"
        if step.rule == "constant_rule":
            return f"(constant_rule {up} {x} {text.value(body, 9)})"
        if step.rule == "variable_rule":
            expected = mul(*(delta(a, b) for a, b in zip(body.args, entry.args, strict=True)))
            if expected is not after:
                return None
            return f"(variable_rule{rank} {' '.join([z, *places, *(text.place(a) for a in body.args)])})"
        if step.rule == "negation_rule":
            return f"(negation_rule {up} {x} {f(body.args[0])} {exists})"
        if step.rule == "sum_rule" and body.op == "add":
            return self.sums(body.args, up, x, f)
        if step.rule == "constant_factor" and len(body.args) == 2:
            return f"(constant_factor {up} {x} {text.value(body.args[0], 9)} {f(body.args[1])} {exists})"
        if step.rule == "constant_divisor":
            return f"(constant_divisor {up} {x} {text.value(body.args[1], 9)} {f(body.args[0])} {exists})"
        if step.rule == "product_rule" and len(body.args) == 2:
            return f"(product_rule {up} {x} {at} {f(body.args[0])} {f(body.args[1])} {exists} {exists})"
        if step.rule == "quotient_rule":
            return f"(quotient_rule {up} {x} {at} {f(body.args[0])} {f(body.args[1])} {exists} {exists} ltac:(known))"
        if step.rule == "square_rule" and body.op == "pow" and body.args[1] is TWO:
            return f"(square_rule {up} {x} {at} {f(body.args[0])} {exists})"
        if step.rule == "derivative_of_a_sum" and body.op == "sum" and len(body.bound) == 1 and body.args[1] is TRUE:
            (k,) = body.bound
            if after.op != "sum" or after.bound != body.bound:
                return None
            n, i = axis(k.value[1]), letter(k)
            inside = f"({binder} => fun {i} : nat => {text.value(body.args[0])})"
            return f"(derivative_of_a_sum {up} {x} {n} {inside} (fun {i} H{i} => {exists}))"
        if step.rule in CHAIN:
            more = " ltac:(known)" if step.rule in ("chain_rule_log", "chain_rule_sqrt") else ""
            return f"({step.rule} {up} {x} {at} {f(body.args[0])} {exists}{more})"
        return None

    def sums(self, args: tuple[Term, ...], up: str, x: str, f) -> str:  # type: ignore[no-untyped-def]
        """The derivative of a sum of several terms, one `+` or `-` after the other."""
        from derive.term import make

        proof = "eq_refl"
        total = args[0]
        for n, a in enumerate(args[1:], 1):
            rule, part = ("difference_rule", a.args[0]) if a.op == "neg" else ("sum_rule", a)
            step = f"({rule} {up} {x} {f(total)} {f(part)} ltac:(exists_) ltac:(exists_))"
            follow = "eq_refl"
            if a.op == "neg":  # what is shown is - (derivative) or the derivative of the negation
                return ""
            proof = step if n == 1 else f"(eq_trans {step} (f_equal2 Rplus {proof} {follow}))"
            total = make("add", args[: n + 1])
        return proof

    def used(self, before: Term, after: Term, step: Step) -> str | None:
        """A hypothesis at its letters."""
        use = step.uses[0]
        name = self.hypotheses.get(use.number)
        if use.kind != "hypothesis" or name is None:
            return None
        hypothesis = self.context.hypotheses[use.number]
        if hypothesis.op != "cmp" or hypothesis.value != "==":
            return None
        mapping = dict(use.letters)
        left, right = (substitute(a, mapping) for a in hypothesis.args)
        words = [name]
        for k in sorted(hypothesis.letters - self.context.letters, key=lambda t: str(t.value)):
            words += [self.printer.place(mapping.get(k, k)), "ltac:(places)"]
        call = f"({' '.join(words)})" if len(words) > 1 else name
        if alike(left, before) and alike(right, after):
            return call
        if alike(right, before) and alike(left, after):
            return f"(eq_sym {call})"
        return None


CHAIN = frozenset(f"chain_rule_{f}" for f in ("exp", "log", "sqrt", "sigmoid", "softplus"))


class Crossed(Exception):
    """The path enters what a lemma cannot."""


__all__ = ["Bound", "Way", "opened"]
