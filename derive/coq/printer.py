"""Terms as Coq text. What is printed here is what a reader of a statement has to believe."""

from __future__ import annotations

from fractions import Fraction

from derive.coq.names import MEANS, NotExported, Scope, averaged, axis, kind_type, law_of, letter, variable
from derive.term import TRUE, Term

# Levels as Coq has them: what binds tighter has the smaller number.
TOP, SUM, PRODUCT, MINUS, POWER, CALL, APPLIED = 200, 50, 40, 35, 30, 10, 9
FUNCTIONS = {
    **{f: f for f in ("exp", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan")},
    **{f: f for f in ("sigmoid", "softplus", "relu", "log1p", "expm1")},
    "log": "ln",
    "abs": "Rabs",
    "max": "Rmax",
    "min": "Rmin",
}
FUNCTIONALS = {"E": "Mean", "Var": "Var", "Cov": "Cov"}
EXTREMA = {"max": "Max", "min": "Min"}
INDEX_TESTS = {
    "==": "Nat.eq_dec {} {}",
    "<=": "le_dec {} {}",
    "<": "lt_dec {} {}",
    ">=": "le_dec {1} {0}",
    ">": "lt_dec {1} {0}",
}
NUMBER_TESTS = {
    "==": "Req_EM_T {} {}",
    "<=": "Rle_dec {} {}",
    "<": "Rlt_dec {} {}",
    ">=": "Rle_dec {1} {0}",
    ">": "Rlt_dec {1} {0}",
}
RELATIONS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Printer:
    """Prints terms whose names are those of one scope."""

    def __init__(self, scope: Scope):
        self.scope = scope

    def is_place(self, term: Term) -> bool:
        """Whether the term is an index, not a number."""
        if term.op == "var":
            d = self.scope.context.declarations.get(term.value)
            return d is not None and d.kind == "index"
        return term.op in ("index", "argmax")

    def place(self, term: Term) -> str:
        """An index as Coq text."""
        if term.op == "index":
            return letter(term)
        if term.op == "var" and self.is_place(term):
            return f"({self._call(variable(term.value), term.args)})" if term.args else variable(term.value)
        if term.op == "argmax" and len(term.bound) == 1 and term.args[1] is TRUE:
            (k,) = term.bound
            return f"(Argmax {axis(k.value[1])} (fun {letter(k)} : nat => {self.value(term.args[0])}))"
        raise NotExported(f"an index of the form {term.op} stands in it")

    def value(self, term: Term, level: int = TOP) -> str:
        """A number as Coq text, in parentheses where it binds more loosely than the level."""
        text, own = self._value(term)
        return f"({text})" if own > level else text

    def _call(self, name: str, places: tuple[Term, ...]) -> str:
        return " ".join([name, *map(self.place, places)])

    def _value(self, term: Term) -> tuple[str, int]:
        op, args = term.op, term.args
        if op == "num":
            return _number(term.value)
        if op == "const" and term.value == "pi":
            return "PI", APPLIED
        if op == "size":
            return f"INR {axis(term.value)}", CALL
        if self.is_place(term):
            return f"INR {self.place(term)}", CALL
        if op == "var":
            if law_of(self.scope.context, term) is not None:
                return f"{self._call(variable(term.value), args)} om", CALL
            return self._call(variable(term.value), args), CALL if args else APPLIED
        if op == "def":
            text = self._defined(term)
            return text, CALL if " " in text else APPLIED
        if op == "add":
            parts = [self.value(args[0], SUM)]
            for a in args[1:]:
                sign, inner = ("-", a.args[0]) if a.op == "neg" else ("+", a)
                parts.append(f"{sign} {self.value(inner, PRODUCT)}")
            return " ".join(parts), SUM
        if op == "neg":
            return f"- {self.value(args[0], MINUS)}", MINUS
        if op == "mul":
            return " * ".join([self.value(args[0], PRODUCT), *(self.value(a, PRODUCT - 1) for a in args[1:])]), PRODUCT
        if op == "div":
            return f"{self.value(args[0], PRODUCT)} / {self.value(args[1], PRODUCT - 1)}", PRODUCT
        if op == "pow":
            return self._power(*args)
        if op == "fn":
            return self._function(term)
        if op == "delta":
            return f"delta {self.place(args[0])} {self.place(args[1])}", CALL
        if op == "where":
            return f"cases ({self.test(args[0])}) {self.value(args[1], APPLIED)} {self.value(args[2], APPLIED)}", CALL
        if op == "sum":
            body = args[0]
            text = self.value(body) if args[1] is TRUE else self.filtered(args[1], body)
            for k in reversed(term.bound):
                text = f"Sum {axis(k.value[1])} (fun {letter(k)} : nat => {text})"
            return text, CALL
        if op in EXTREMA and len(term.bound) == 1 and args[1] is TRUE:
            (k,) = term.bound
            return f"{EXTREMA[op]} {axis(k.value[1])} (fun {letter(k)} : nat => {self.value(args[0])})", CALL
        if op == "diff":
            body, entry = args
            rank = len(entry.args)
            at = " ".join([variable(entry.value), *map(self.place, entry.args)])
            return f"pd{rank} ({self.function(body, entry.value)}) {at}", CALL
        if op == "at":
            return f"({self.function(args[0], term.value)}) ({self.replacement(term)})", CALL
        if op in MEANS:
            return " ".join([FUNCTIONALS[op], "M", *(f"(fun om : Omega => {self.value(a)})" for a in args)]), CALL
        raise NotExported(WORDS.get(op, f"it holds {op}"))

    def function(self, body: Term, name: str) -> str:
        """The body as a function of a variable."""
        declaration = self.scope.context.declarations.get(name)
        if declaration is None:
            raise NotExported(f"{name} is no variable")
        return f"fun {variable(name)} : {kind_type(declaration)} => {self.value(body)}"

    def replacement(self, term: Term) -> str:
        """What an `at` puts in, as a function of its letters."""
        front = f"fun {' '.join(map(letter, term.bound))} : nat => " if term.bound else ""
        return front + self.value(term.args[1])

    def filter(self, term: Term) -> str:
        """Where the variable of a limit goes, as one of Coquelicot's filters."""
        _, _, point = term.args
        if point.op == "const" and point.value == "oo":
            return "Rbar_locally p_infty"
        if point.op == "neg" and point.args[0].op == "const":
            return "Rbar_locally m_infty"
        name = {"+": "at_right", "-": "at_left", "": "locally'"}[term.value]
        return f"{name} {self.value(point, APPLIED)}"

    def filtered(self, condition: Term, body: Term) -> str:
        return f"{self.indicator(condition, PRODUCT)} * {self.value(body, PRODUCT - 1)}"

    def _defined(self, term: Term) -> str:
        part = self.scope.defined[term.value]
        words = ["M"] if part.random else []
        words += [*map(axis, part.axes), *map(variable, part.variables), *map(letter, part.fixed)]
        words += map(self.place, term.args)
        words += ["om"] if part.sample else []
        return " ".join([part.name, *words])

    def _power(self, base: Term, exponent: Term) -> tuple[str, int]:
        if exponent.op == "neg" and exponent.args[0].op == "num":
            number: Fraction | None = -exponent.args[0].value
        else:
            number = exponent.value if exponent.op == "num" else None
        if number is not None and number.denominator == 1:
            if number >= 0:
                return f"{self.value(base, POWER - 1)} ^ {number}", POWER
            if number == -1:
                return f"/ {self.value(base, MINUS - 1)}", MINUS
            return f"/ {self.value(base, POWER - 1)} ^ {-number}", MINUS
        if exponent.op == "index" or self.is_place(exponent):
            raise NotExported("it holds a power with an index as its exponent")
        return f"Rpower {self.value(base, APPLIED)} {self.value(exponent, APPLIED)}", CALL

    def _function(self, term: Term) -> tuple[str, int]:
        name = FUNCTIONS.get(term.value)
        if name is None:
            raise NotExported(f"Coq's libraries have no {term.value}")
        return " ".join([name, *(self.value(a, APPLIED) for a in term.args)]), CALL

    # -- conditions --------------------------------------------------------------------------------------------------

    def test(self, condition: Term) -> str:
        """A condition as one that Coq decides."""
        if condition.op == "cmp" and condition.value != "!=":
            if all(map(self.is_place, condition.args)):
                return INDEX_TESTS[condition.value].format(*map(self.place, condition.args))
            return NUMBER_TESTS[condition.value].format(*(self.value(a, APPLIED) for a in condition.args))
        raise NotExported("it holds a case distinction by a compound condition")

    def indicator(self, condition: Term, level: int = TOP) -> str:
        """1 where the condition holds, else 0."""
        return self.value(indicator(condition), level)

    def condition(self, condition: Term) -> str:
        """A condition as a proposition."""
        op, args = condition.op, condition.args
        if op == "cmp":
            relation = RELATIONS[condition.value]
            if all(map(self.is_place, args)):
                return f"({self.place(args[0])} {relation} {self.place(args[1])})%nat"
            if any(a.op == "list" for a in args):
                raise NotExported("it is about a finite example")
            return f"{self.value(args[0], 69)} {relation} {self.value(args[1], 69)}"
        if op in ("and", "or"):
            return f" {'/' if op == 'and' else chr(92)}{chr(92) if op == 'and' else '/'} ".join(
                f"({self.condition(a)})" for a in args
            )
        if op == "not":
            return f"~ ({self.condition(args[0])})"
        if op in ("true", "false"):
            return op.capitalize()
        if op == "holds":
            return f"{self.value(args[0], 69)} = 1"
        if op == "all":
            guard = "" if args[1] is TRUE else f"{self.condition(args[1])} -> "
            return f"{self.over(condition.bound)}{guard}{self.condition(args[0])}"
        if op in MEANS:  # that it exists
            return " /\\ ".join(f"integrable M (fun om : Omega => {self.value(a)})" for a in averaged(condition))
        raise NotExported(f"it holds a condition of the form {op}")

    @staticmethod
    def over(letters: tuple[Term, ...]) -> str:
        """The quantifier over indices."""
        return "".join(f"forall {letter(k)}, ({letter(k)} < {axis(k.value[1])})%nat -> " for k in letters)


WORDS = {
    "prod": "it holds a product over an axis",
    "limit": "it holds a limit inside of a formula",
    "argmax": "it holds an argmax with a condition",
}


def indicator(condition: Term) -> Term:
    """The condition as a number, 1 or 0, in deltas, bits and case distinctions."""
    from derive.term import ONE, ZERO, add, delta, mul, neg, where

    op, args = condition.op, condition.args
    if op == "cmp" and all(a.op in ("index", "argmax") for a in args):
        if condition.value == "==":
            return delta(*args)
        if condition.value == "!=":
            return add(ONE, neg(delta(*args)))
    if op == "cmp":
        return where(condition, ONE, ZERO)
    if op == "and":
        return mul(*map(indicator, args))
    if op == "not":
        return add(ONE, neg(indicator(args[0])))
    if op == "or":
        first, rest = indicator(args[0]), indicator(args[1])
        if len(args) > 2:
            raise NotExported("a filter of three alternatives")
        return add(first, rest, neg(mul(first, rest)))
    if op == "holds":
        return args[0]
    if op == "true":
        return ONE
    raise NotExported(f"a filter of the form {op}")


def _number(value: Fraction) -> tuple[str, int]:
    if value.denominator == 1:
        return (str(value), APPLIED) if value >= 0 else (f"- {-value}", MINUS)
    top = str(value.numerator) if value >= 0 else f"- {-value.numerator}"
    return f"{top} / {value.denominator}", PRODUCT
