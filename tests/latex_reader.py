"""Reads back the LaTeX that reports print, so that a printer that drops or moves a part is caught."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from derive.language.places import transform
from derive.report.notation import Notation
from derive.term import (
    MINUS_ONE,
    ONE,
    OO,
    PI,
    TRUE,
    ZERO,
    Term,
    add,
    cmp,
    defined,
    delta,
    diff,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    power,
    rebuild,
    size,
    var,
    where,
)

TOKEN = re.compile(
    r"\\(?:text|mathrm|mathbf|mathbb)\{(?:[^{}\\]|\\_)*\}|\\(?:begin|end)\{\w+\}|\{\}"
    r"|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S"
)
SKIPPED = {r"\quad", r"\,", r"\!", "{}"}
RELATIONS = {"=": "==", r"\neq": "!=", "<": "<", r"\leq": "<=", ">": ">", r"\geq": ">="}
FUNCTIONS = {
    **{f"\\{name}": name for name in ("log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "max", "min")},
    r"\arctan": "atan", r"\mathrm{sgn}": "sign",
    r"\mathrm{ReLU}": "relu", r"\sigma": "sigmoid", r"\psi": "digamma", r"\Gamma": "lgamma",
    **{rf"\mathrm{{{name}}}": name for name in (
        "log1p", "expm1", "erf", "sigmoid", "softplus", "lgamma", "digamma", "trigamma")},
}  # fmt: skip
CONSTANTS = {r"\pi": PI, r"\infty": OO}
BIG = {r"\sum": "sum", r"\prod": "prod", r"\max": "max", r"\min": "min"}
MOMENTS = {r"\mathbb{E}": "E", r"\mathrm{Var}": "Var", r"\mathrm{Cov}": "Cov"}
STOPS = {*")]},+-&", "", r"\right", r"\\", r"\colon", r"\to", r"\mapsto", r"\in", *RELATIONS}


class Unreadable(AssertionError):
    pass


def tokens(text: str) -> list[str]:
    """The tokens of a formula, without spacing and without the scaffolding of lines."""
    found: list[str] = []
    nested: list[str] = []
    for token in TOKEN.findall(text):
        if token.startswith(r"\begin"):
            nested.append(token)
        if token.startswith(r"\end"):
            nested.pop()
        scaffold = token.startswith((r"\begin{aligned}", r"\end{aligned}"))
        inside_lines = bool(nested) and nested[-1] == r"\begin{aligned}" and token in (r"\\", "&")
        if not (token in SKIPPED or scaffold or inside_lines):
            found.append(token)
    return found


class Reader:
    """Reads formulas over the names of a notation: `kinds` says var, def or size of each name.

    `letters` gives the axis of each index letter, `axes` those of each array.
    """

    def __init__(
        self,
        notation: Notation,
        kinds: dict[str, str],
        letters: dict[str, str],
        axes: dict[str, tuple[str, ...]],
    ):
        self.symbols = [(tokens(s.base), tokens(s.tag), name) for name, s in notation.symbols.items()]
        self.symbols.sort(key=lambda row: (-len(row[0]), -len(row[1])))
        self.kinds = kinds
        self.letters = dict(letters)
        self.axes = axes
        self.tokens: list[str] = []
        self.place = 0

    def read(self, text: str) -> Term:
        self.tokens, self.place = tokens(text), 0
        term = self.condition()
        if self.place != len(self.tokens):
            raise Unreadable(f"left over: {self.tokens[self.place :]} of {text}")
        return term

    # -- tokens

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if expected and token not in expected:
            raise Unreadable(f"{expected} wanted, {token!r} found before {self.tokens[self.place :][:8]}")
        self.place += 1
        return token

    def group(self) -> list[str]:
        """The tokens of a group in braces."""
        self.take("{")
        start, deep = self.place, 1
        while deep:
            token = self.take()
            deep += (token == "{") - (token == "}")
        return self.tokens[start : self.place - 1]

    def inside(self, read, opening="{", closing="}"):
        self.take(opening)
        result = read()
        self.take(closing)
        return result

    # -- conditions

    def condition(self) -> Term:
        start = self.place
        body = self.either()
        word = self.peek()
        if word in (r"\text{ for all }", r"\text{ for some }"):
            self.take()
            letters, saved = self.binder_letters()
            test = TRUE
            if self.peek() == r"\text{ with }":
                self.take()
                test = self.either()
            end, self.place = self.place, start
            body = self.either()
            self.place, self.letters = end, saved
            body = make("all" if "all" in word else "any", (body, test), None, letters)
        return body

    def either(self) -> Term:
        return self.joined(r"\text{ or }", "or", lambda: self.joined(r"\text{ and }", "and", self.relation))

    def joined(self, word: str, op: str, part) -> Term:
        parts = [part()]
        while self.peek() == word:
            self.take()
            parts.append(part())
        return make(op, parts) if len(parts) > 1 else parts[0]

    def relation(self) -> Term:
        if self.peek() == r"\text{not }":
            self.take()
            return make("not", (self.bracketed(),))
        if self.peek() in (r"\text{true}", r"\text{false}"):
            return make(self.take()[6:-1])
        links, left = [], self.sum()
        while self.peek() in RELATIONS:
            sign = RELATIONS[self.take()]
            right = self.sum()
            links.append(cmp(sign, left, right))
            left = right
        return left if not links else links[0] if len(links) == 1 else make("and", links)

    # -- arithmetic

    def sum(self) -> Term:
        first = neg(self.product()) if self.peek() == "-" and self.take() else self.product()
        parts = [first]
        while self.peek() in ("+", "-"):
            parts.append(self.product() if self.take() == "+" else neg(self.product()))
        return make("add", parts) if len(parts) > 1 else parts[0]

    def product(self) -> Term:
        parts = [self.factor()]
        while self.peek() not in STOPS and not self.peek().startswith((r"\text", r"\end")):
            if self.peek() == "/":
                self.take()
                return div(mul(*parts), self.power())
            if self.peek() == r"\cdot":
                self.take()
            parts.append(self.factor())
        return make("mul", parts) if len(parts) > 1 else parts[0]

    def factor(self) -> Term:
        token = self.peek()
        if token == r"\arg":
            self.take()
            self.take(r"\max")
            return self.big("argmax")
        if token in BIG and self.peek(1) == "_":
            return self.big(BIG[self.take()])
        if token == r"\lim":
            return self.limit()
        if token == r"\frac" and self.peek(2) == r"\partial":
            return self.derivative()
        return self.power()

    def power(self) -> Term:
        base = self.atom()
        if self.peek() == "^":
            self.take()
            return power(base, self.inside(self.sum))
        return base

    def big(self, op: str) -> Term:
        self.take("_")
        self.take("{")
        start = self.place
        letters, saved = self.binder_letters()
        test = TRUE
        if self.peek() == r"\colon":
            self.take()
            test = self.condition()
        elif self.peek() != "}":
            self.place = start
            test = self.condition()
        self.take("}")
        body = self.factor() if op == "prod" else self.product()
        self.letters = saved
        return make(op, (body, test), None, letters)

    def binder_letters(self) -> tuple[list[Term], dict[str, str]]:
        """The letters a binder lists, which are in force from here on, and what was in force before."""
        saved, letters = dict(self.letters), []
        while True:
            name = self.symbol_name()
            if self.peek() == r"\in":
                self.take()
                self.letters[name] = self.inside(self.symbol_name, "[", "]")
            letters.append(index(name, self.letters[name]))
            if self.peek() != ",":
                return letters, saved
            self.take()

    def limit(self) -> Term:
        self.take(r"\lim")
        self.take("_")
        self.take("{")
        variable = self.atom()
        self.take(r"\to")
        inside = self.place
        deep = 0
        while deep or self.peek() != "}":
            deep += {"{": 1, "}": -1}.get(self.take(), 0)
        side = self.tokens[self.place - 2] if self.tokens[self.place - 4 : self.place - 2] == ["^", "{"] else ""
        side = side if side in ("+", "-") else ""
        end, self.place = self.place, inside
        point = self.atom() if side else self.sum()
        self.place = end
        self.take("}")
        return make("limit", (self.factor(), variable, point), side)

    def derivative(self) -> Term:
        self.take(r"\frac")
        self.take("{")
        self.take(r"\partial")
        if self.peek() == "^":
            self.take()
            self.group()
        body = None if self.peek() == "}" else self.atom()
        self.take("}")
        self.take("{")
        entries = []
        while self.peek() == r"\partial":
            self.take()
            entry, times = self.atom(), 1
            if self.peek() == "^":
                self.take()
                times = int(self.inside(self.sum).value)
            entries += [entry] * times
        self.take("}")
        body = self.factor() if body is None else body
        for entry in reversed(entries):
            body = diff(body, entry)
        return body

    def atom(self) -> Term:
        token = self.peek()
        if token in CONSTANTS:
            return CONSTANTS[self.take()]
        if re.fullmatch(r"\d+(\.\d+)?", token):
            return num(Fraction(self.take()))
        if token == r"\delta" and self.peek(1) == "_":
            self.take()
            self.take()
            return delta(*self.inside(self.subscripts))
        if token == r"\frac":
            self.take()
            return div(self.inside(self.sum), self.inside(self.sum))
        if token == r"\sqrt":
            self.take()
            return fn("sqrt", self.inside(self.sum))
        if token == r"\mathbf{1}":
            self.take()
            return where(self.bracketed("[", "]"), ONE, ZERO)
        if token in MOMENTS:
            self.take()
            return make(MOMENTS[token], self.arguments("[", "]"))
        if token == r"\begin{cases}":
            return self.cases()
        if token == r"\left" and self.peek(1) == r"\lvert":
            return fn("abs", self.bracketed(r"\lvert", r"\rvert"))
        if token == r"\left" and self.peek(1) == ".":
            return self.replaced()
        if token in ("(", r"\left"):
            parts = self.arguments()
            return parts[0] if len(parts) == 1 else make("list", parts)
        name = self.try_symbol()
        if name is not None:
            return self.entry(*name)
        if token == "e":
            self.take()
            return fn("exp", self.inside(self.sum) if self.peek() == "^" and self.take() else ONE)
        if token == r"\log" and self.peek(1) == r"\Gamma":
            self.take()
            token = self.peek()
        if token in FUNCTIONS:
            self.take()
            bare = self.peek() not in ("(", r"\left")
            return fn(FUNCTIONS[token], *([self.atom()] if bare else self.arguments()))
        raise Unreadable(f"no formula begins with {self.tokens[self.place :][:8]}")

    def arguments(self, left: str = "(", right: str = ")") -> list[Term]:
        def listed() -> list[Term]:
            parts = [self.condition()]
            while self.peek() == ",":
                self.take()
                parts.append(self.condition())
            return parts

        tall = self.peek() == r"\left"
        if tall:
            self.take()
        self.take(left)
        parts = listed()
        if tall:
            self.take(r"\right")
        self.take(right)
        return parts

    def bracketed(self, left: str = "(", right: str = ")") -> Term:
        (part,) = self.arguments(left, right)
        return part

    def cases(self) -> Term:
        self.take(r"\begin{cases}")
        rows = []
        while True:
            value = self.sum()
            self.take("&")
            if self.take(r"\text{if }", r"\text{otherwise}") == r"\text{otherwise}":
                break
            rows.append((self.condition(), value))
            self.take(r"\\")
        self.take(r"\end{cases}")
        for test, then in reversed(rows):
            value = where(test, then, value)
        return value

    def replaced(self) -> Term:
        self.take(r"\left")
        self.take(".")
        body = self.condition()
        self.take(r"\right")
        self.take(r"\rvert")
        self.take("_")
        self.take("{")
        saved, start = dict(self.letters), self.place
        old = self.atom()
        self.letters.update(zip([k.value[0] for k in old.args], self.axes.get(old.value, ()), strict=False))
        self.place = start
        old = self.atom()
        self.take(r"\mapsto")
        new = self.sum()
        self.take("}")
        self.letters = saved
        return make("at", (body, new), old.value, old.args)

    # -- names

    def symbol_name(self) -> str:
        found = self.try_symbol()
        if found is None:
            raise Unreadable(f"a name is wanted before {self.tokens[self.place :][:8]}")
        name, subscripts = found
        if subscripts:
            raise Unreadable(f"{name} has subscripts")
        return name

    def try_symbol(self) -> tuple[str, list[Term]] | None:
        """The name that stands here with its subscripts, or None with nothing taken."""
        for base, tag, name in self.symbols:
            end = self.place + len(base)
            if self.tokens[self.place : end] != base or self.peek(len(base)) == "'":
                continue
            tagged = self.tokens[end : end + 2 + len(tag)] == ["_", "{", *tag]
            after = self.tokens[end + 2 + len(tag) : end + 3 + len(tag)]
            if tag and not (tagged and after[0] in (",", "}")):
                continue
            self.place = end
            subscripts: list[Term] = []
            if self.peek() == "_":
                self.take()
                self.take("{")
                self.place += len(tag)
                if self.peek() == ",":
                    self.take()
                subscripts = self.subscripts()
                self.take("}")
            return name, subscripts
        return None

    def subscripts(self) -> list[Term]:
        parts: list[Term] = []
        while self.peek() != "}":
            if self.peek() == ",":
                self.take()
            parts.append(self.factor())
        return parts

    def entry(self, name: str, subscripts: Iterable[Term]) -> Term:
        if name in self.letters:
            return index(name, self.letters[name])
        kind = self.kinds[name]
        return size(name) if kind == "size" else (var if kind == "var" else defined)(name, *subscripts)


def canonical(term: Term) -> Term:
    """The term with what print alike made alike: nested sums and products, signs and numbers."""
    return transform(term, _canonical)


def _canonical(term: Term) -> Term | None:
    op, args = term.op, term.args
    if op == "neg":
        return _canonical(make("mul", (MINUS_ONE, args[0]))) or make("mul", (MINUS_ONE, args[0]))
    if op == "add":
        return add(*args)
    if op == "mul":
        factors = [f for a in args for f in (a.args if a.op == "mul" else (a,))]
        number = num(1)
        for f in factors:
            number = num(number.value * f.value) if f.op == "num" else number
        rest = [f for f in factors if f.op != "num"]
        return mul(*([number] if number is not ONE or not rest else []), *rest)
    if op == "div" and all(a.op == "num" for a in args) and args[1].value:
        return num(args[0].value / args[1].value)
    if op == "div" and args[0].op == "num" and args[0].value < 0:
        return _canonical(mul(MINUS_ONE, div(num(-args[0].value), args[1])))
    if op == "pow" and args[0] is num(10) and args[1].op == "num" and args[1].value.denominator == 1:
        return num(Fraction(10) ** int(args[1].value))
    if op == "holds":
        return cmp("==", args[0], ONE)
    if op in ("and", "or"):
        return make(op, [p for a in args for p in (a.args if a.op == op else (a,))])
    if op == "list" and len(args) == 1:
        return args[0]
    return rebuild(term, args)
