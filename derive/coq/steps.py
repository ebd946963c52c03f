"""One step of a proof as a Coq lemma: the way down to its place, and there the rule's lemma or a plain equation."""

from __future__ import annotations

from derive.coq.names import NotExported, axis, letter, variable
from derive.coq.normal import Equation
from derive.coq.printer import MINUS, indicator
from derive.coq.prover import Prover
from derive.coq.sums import index_bound
from derive.kernel.proof import Step
from derive.term import ONE, TRUE, TWO, ZERO, Term, add, alike, delta, make, mul

CONVERSIONS = frozenset({"definition", "rename"})  # both sides are the same once names are unfolded


class Way:
    """Proofs of one step, from the whole expression down to its place."""

    def __init__(self, prover: Prover):
        self.prover, self.printer, self.context = prover, prover.printer, prover.context

    def proof(self, before: Term, after: Term, step: Step) -> str:
        """The tactic script of `before = after`."""
        if step.rule in CONVERSIONS:
            return "reflexivity."
        for path in self.paths(before, step.path):
            exact = path == step.path
            try:
                return self.prover.script(
                    lambda e, path=path, exact=exact: self.down(e, before, after, path, step, exact)
                )
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
            return found or self.plain(equation, before, after, step)
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
            return f"(({binder} => {proof}) ({text.replacement(before)}))"
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
        if step.rule in ("hypothesis", "lemma") and len(step.uses) == 1:
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
        if ONE in body.args and step.rule in ("quotient_rule", "product_rule"):
            return None  # factors 1 are left out
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
        """A hypothesis or lemma at its letters."""
        call, says = self.prover.used(step.uses[0])
        if says.op != "cmp" or says.value != "==":
            return None
        left, right = says.args
        if alike(left, before) and alike(right, after):
            return call
        if alike(right, before) and alike(left, after):
            return f"(eq_sym {call})"
        return None

    def plain(self, equation: Equation, before: Term, after: Term, step: Step) -> str:
        """An equation by normal forms, with what the step puts in."""
        left, right = self.prover.open(before), self.prover.open(after)
        if not step.uses:
            return equation.equal(left, right)
        if step.rule in ("hypothesis", "lemma"):
            call, says = self.prover.used(step.uses[0])
            a, b = (self.prover.open(t) for t in says.args)
            first, second = (a, b) if not step.reverse else (b, a)
            turned = f"(eq_sym {call})" if step.reverse else call
            return equation.chain(equation.equal(left, first), turned, equation.equal(second, right)) or "eq_refl"
        parts = [self.prover.null(equation, use) for use in step.uses]
        together = add(right, *(whole for whole, _ in parts))
        proof = equation.equal(left, together)
        zero = make("add", (right, *(ZERO for _ in parts)))
        dropped = "eq_refl"
        for _, p in parts:
            dropped = f"(f_equal2 Rplus {dropped} {p})"
        last = equation.say(self.printer.value(zero), self.printer.value(right), "ring")
        return equation.chain(proof, dropped, last) or "eq_refl"


CHAIN = frozenset(f"chain_rule_{f}" for f in ("exp", "log", "sqrt", "sigmoid", "softplus"))


class Crossed(Exception):
    """The path enters what a lemma cannot."""


__all__ = ["Way"]
