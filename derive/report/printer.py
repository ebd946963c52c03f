"""Terms in the notation of a textbook, in LaTeX that both pdflatex and GitHub's renderer read, or in another dialect.

Everything printed can be read back: no part is dropped or abbreviated, and an operator without a row is an error. Where
a formula is wider than the room it has, its sums, products, fractions and groups are laid out on several lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby, pairwise

from derive.report.boxes import (
    ATOM,
    CONDITION,
    OVER_PRODUCTS,
    OVER_SUMS,
    POWER,
    PREFIX,
    PRODUCT,
    RELATION,
    SUM,
    TERM,
    Box,
    at_least,
    fence,
    filled,
    followed,
    listed,
    number,
    row,
    stacked,
    width,
)
from derive.report.notation import Notation, Symbol, literal
from derive.report.typeset import (
    LATEX,
    Dialect,
    Math,
    above,
    below,
    fenced,
    fraction,
    grid,
    hung,
    lines,
    root,
    run,
    sign,
    words,
)
from derive.term import ONE, TRUE, ZERO, Term, make, num, subterms

RELATIONS = {"==": "=", "!=": r"\neq", "<": "<", "<=": r"\leq", ">": ">", ">=": r"\geq"}
BIG = {"sum": r"\sum", "prod": r"\prod", "max": r"\max", "min": r"\min", "argmax": r"\arg\max"}
MOMENTS = {"E": r"\mathbb{E}", "Var": r"\mathrm{Var}", "Cov": r"\mathrm{Cov}"}
EXISTING = frozenset({*MOMENTS, "limit"})  # where such a term stands for a condition, it says that there is a value
CONSTANTS = {"pi": r"\pi", "oo": r"\infty"}
# Functions written like `\log x`, without parentheses where the argument is a name or a number.
BARE = {name: f"\\{name}" for name in ("log", "sin", "cos", "tan", "sinh", "cosh", "tanh")} | {"atan": r"\arctan"}
WORDS = {"sign": r"\mathrm{sgn}", "relu": r"\mathrm{ReLU}", "max": r"\max", "min": r"\min"}
# Functions with a Greek sign, kept only where no name of the theory is written with that sign.
GREEK_SIGNS = {"sigmoid": r"\sigma", "digamma": r"\psi", "lgamma": r"\Gamma"}
GREEK_FORMS = {"lgamma": r"\log\Gamma"}

ROOM = 41.0  # what a line of a page holds, in em
_NARROWEST = 9.0  # below this nothing is broken any further
_LONG_EXPONENT = 13.0
_DEEP = 40


def positive_part(term: Term) -> Term | None:
    """The term without its leading minus sign, or None where it has none."""
    if term.op == "neg":
        return term.args[0]
    if term.op == "num" and term.value < 0:
        return num(-term.value)
    if term.op == "mul" and (first := positive_part(term.args[0])) is not None:
        return make("mul", (first, *term.args[1:]))
    if term.op == "div" and (top := positive_part(term.args[0])) is not None and top.op == "num":
        return make("div", (top, term.args[1]))
    return None


def flattened(term: Term) -> list[Term]:
    """The operands of a sum or product, those of the same operation inside it included."""
    return [part for arg in term.args for part in (flattened(arg) if arg.op == term.op else [arg])]


@dataclass(frozen=True)
class Printer:
    """Prints terms with the symbols of one notation in one dialect."""

    notation: Notation
    words: Mapping[str, str] = field(default_factory=dict)  # those within formulas, in another language
    dialect: Dialect = LATEX
    _flat: dict[tuple[Term, bool], Box] = field(default_factory=dict, compare=False, repr=False)

    def inline(self, term: Term) -> str:
        """The term on one line."""
        return self.dialect.write(self.box(term).math)

    def display(self, term: Term, relation: str | None = None, room: float = ROOM) -> str:
        """The term as a displayed formula, on as many lines as it needs; after a relation sign where one is given."""
        if relation is None:
            return self.dialect.write(self.box(term, room).math)
        body = at_least(self.box(term, room - 2.0), SUM)
        return self.dialect.write(hung(sign(RELATIONS[relation]), body.math))

    def letters(self, letters: Iterable[Term]) -> str:
        """Letters in a row, with their axes where those of one need saying."""
        letters = tuple(letters)
        axes = any(self.notation.is_crowded(k.value[0]) for k in letters)
        return self.dialect.write(listed([self.letter(k, axes) for k in letters]).math)

    def name_of(self, name: str, subscripts: Sequence[Term] = ()) -> str:
        """A declared name with subscripts."""
        return self.dialect.write(self.entry(self.notation.symbol(name), subscripts).math)

    def width(self, term: Term) -> float:
        return self.box(term).width

    def box(self, term: Term, room: float = math.inf, small: bool = False) -> Box:
        """The term printed in the room; `small` is for scripts, where fractions are written with a slash."""
        key = (term, small)
        if key not in self._flat:
            if term.depth > _DEEP:
                self._prepare(term)
            self._flat[key] = ROWS[term.op](self, term, math.inf, small)
        box = self._flat[key]
        return box if small or box.width <= room or room < _NARROWEST else ROWS[term.op](self, term, room, small)

    def _prepare(self, term: Term) -> None:
        """Print the parts of a deep term from the inside out, so that no depth is too much for Python's stack."""
        for part in sorted(subterms(term), key=lambda t: t.depth):
            for small in (False, True):
                if (part, small) not in self._flat:
                    self._flat[part, small] = ROWS[part.op](self, part, math.inf, small)

    def said(self, text: str) -> Math:
        """Words within a formula."""
        return words(self.words.get(text, text))

    # -- names ------------------------------------------------------------------------------------------------------

    def entry(self, symbol: Symbol, subscripts: Sequence[Term]) -> Box:
        """A symbol with its subscripts."""
        boxes = [self.box(s, small=True) for s in subscripts]
        letters = not symbol.tag and all(_is_letter(b.math) for b in boxes)
        scripts = [*([sign(symbol.tag)] if symbol.tag else []), *(b.math for b in boxes)]
        base, wide = sign(symbol.base), width(symbol.base)
        word = "word" if symbol.base.startswith(r"\mathrm") else ""
        if not scripts:
            return Box(base, wide, first=word, last=word)
        wide += 0.7 * (width(symbol.tag) + sum(b.width + 0.3 for b in boxes))
        return Box(below(base, run(*scripts, sep=" " if letters else ", ")), wide, first=word)

    def name(self, term: Term, room: float, small: bool) -> Box:
        return self.entry(self.notation.symbol(term.value), term.args)

    def index(self, term: Term, room: float, small: bool) -> Box:
        return self.entry(self.notation.letter(term.value[0]), ())

    def number(self, term: Term, room: float, small: bool) -> Box:
        if term.value < 0:
            return self.minus(num(-term.value), room, small)
        box = number(term.value)
        if small and box.math.kind == "fraction":
            text = f"{term.value.numerator} / {term.value.denominator}"
            return Box(sign(text), 0.55 * len(text), TERM, first="digit", last="digit")
        return box

    def constant(self, term: Term, room: float, small: bool) -> Box:
        return Box(sign(CONSTANTS[term.value]), 0.8)

    def delta(self, term: Term, room: float, small: bool) -> Box:
        return self.entry(Symbol(r"\delta"), term.args)

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def minus(self, positive: Term, room: float, small: bool) -> Box:
        box = at_least(self.box(positive, room - 1.0, small), TERM)
        return Box(run(sign("-"), box.math, sep=""), box.width + 0.8, SUM, box.reach, box.tall, last=box.last)

    def negation(self, term: Term, room: float, small: bool) -> Box:
        return self.minus(term.args[0], room, small)

    def sum(self, term: Term, room: float, small: bool) -> Box:
        parts: list[Box] = []
        terms = flattened(term)
        for place, arg in enumerate(terms):
            positive = positive_part(arg)
            box = self.box(arg if positive is None else positive, room - 1.5, small)
            box = at_least(box, TERM) if place == len(terms) - 1 else followed(box, TERM)
            mark = "-" if positive is not None else "+" if place else ""
            parts.append(_after(mark, box, 1.3, sep=" " if place else "") if mark else box)
        return stacked([row(line, SUM) for line in filled(parts, room)])

    def product(self, term: Term, room: float, small: bool) -> Box:
        positive = positive_part(term)
        if positive is not None:
            return self.minus(positive, room, small)
        factors = flattened(term)
        rooms = self._rooms(factors, room, small)
        boxes = [
            at_least(self.box(f, space, small), PRODUCT) if f is factors[-1] and place == len(factors) - 1
            else followed(self.box(f, space, small), PRODUCT)
            for place, (f, space) in enumerate(zip(factors, rooms, strict=True))
        ]  # fmt: skip
        spaced = [*boxes[:1], *(_after(*_glue(before, box)) for before, box in pairwise(boxes))]
        rows = filled(spaced, room)
        starts = list(accumulate((len(line) for line in rows), initial=0))
        for start in starts[1:-1]:
            spaced[start] = replace(spaced[start], math=run(sign(r"\cdot"), boxes[start].math))
        return stacked([row(spaced[start:end], PRODUCT) for start, end in pairwise(starts)])

    def _rooms(self, factors: Sequence[Term], room: float, small: bool) -> list[float]:
        """The room of each factor: the widest one takes what the others leave, if that is enough to be broken well."""
        widths = [self.box(f, small=small).width + 1.3 for f in factors]
        widest = widths.index(max(widths))
        left = room - (sum(widths) - widths[widest])
        if left < min(room, 2 * _NARROWEST):
            return [room - 1.5] * len(factors)
        return [left if place == widest else math.inf for place in range(len(factors))]

    def quotient(self, term: Term, room: float, small: bool) -> Box:
        positive = positive_part(term)
        if positive is not None:
            return self.minus(positive, room, small)
        if small:
            top = followed(self.box(term.args[0], small=True), PRODUCT)
            bottom = at_least(self.box(term.args[1], small=True), POWER)
            return row([top, Box(sign("/"), 0.5), bottom], TERM)
        top, bottom = (self.box(arg, room - 0.4) for arg in term.args)
        wide = max(top.width, bottom.width) + 0.3
        return Box(fraction(top.math, bottom.math), wide, PREFIX, tall=True)

    def power(self, term: Term, room: float, small: bool) -> Box:
        exponent = self.box(term.args[1], small=True)
        base = at_least(self.box(term.args[0], room - 0.7 * exponent.width - 1.0, small), ATOM)
        wide = base.width + 0.72 * exponent.width
        return Box(above(base.math, exponent.math), wide, POWER, tall=base.tall, first=base.first)

    def function(self, term: Term, room: float, small: bool) -> Box:
        if term.value == "exp":
            return self.exponential(term.args[0], room, small)
        if term.value == "sqrt":
            inner = self.box(term.args[0], room - 1.2, small)
            return Box(root(inner.math), inner.width + 0.9, POWER, tall=inner.tall)
        if term.value == "abs":
            return fence(self.box(term.args[0], room - 1.0, small), r"\lvert", r"\rvert")
        name = self.function_name(term.value)
        inner = listed([self.box(arg, room - width(name) - 1.5, small) for arg in term.args])
        first = "word" if name.startswith(r"\mathrm") else ""
        if term.value in BARE and term.args[0].op in ("var", "def", "size", "index", "const"):
            return Box(run(sign(name), inner.math), width(name) + inner.width + 0.2, PREFIX, OVER_PRODUCTS)
        inside = fence(inner)
        wide = width(name) + inside.width
        return Box(run(sign(name), inside.math, sep=""), wide, PREFIX, tall=inside.tall, first=first)

    def function_name(self, name: str) -> str:
        """How a function is written."""
        greek = GREEK_SIGNS.get(name)
        if greek and self.notation.free(greek):
            return GREEK_FORMS.get(name, greek)
        return BARE.get(name) or WORDS.get(name) or literal(name)

    def exponential(self, argument: Term, room: float, small: bool) -> Box:
        inner = self.box(argument, small=True)
        if self.notation.free("e") and argument is ONE:
            return Box(sign("e"), 0.5, POWER)
        if self.notation.free("e") and not inner.tall and inner.width <= min(room, _LONG_EXPONENT):
            return Box(above(sign("e"), inner.math), 0.5 + 0.72 * inner.width, POWER)
        inside = fence(self.box(argument, room - 3.0, small))
        return Box(run(sign(r"\exp"), inside.math, sep=""), inside.width + 1.6, PREFIX, tall=inside.tall)

    # -- binders and operators ----------------------------------------------------------------------------------------

    def ranges(self, letters: Iterable[Term], condition: Term) -> Box:
        """What stands beneath a binder: its letters, their axes where that needs saying, and its filter."""
        letters = tuple(letters)
        crowded = [k for k in letters if self.notation.is_crowded(k.value[0])]
        if len(letters) == 1 and not crowded and condition.op == "cmp" and condition.args[0] is letters[0]:
            return self.box(condition, small=True)
        parts = [self.letter(k) for k in letters]
        box = listed(parts)
        if condition is TRUE:
            return box
        inner = self.box(condition, small=True)
        return Box(run(box.math, sign(r"\colon"), inner.math), box.width + 0.5 + inner.width)

    def letter(self, letter: Term, axis: bool = False) -> Box:
        """A letter that is bound, with its axis where it runs over several, or where that is asked for."""
        box = self.box(letter)
        if not axis and not self.notation.is_crowded(letter.value[0]):
            return box
        over = self.entry(self.notation.symbol(letter.value[1]), ())
        inside = run(sign("["), over.math, sign("]"), sep="")
        return Box(run(box.math, sign(r"\in"), inside), box.width + 1.9 + over.width)

    def prefixed(
        self, head: Math, head_width: float, body: Term, room: float, small: bool, level: int = PRODUCT
    ) -> Box:
        """An operator written before its operand."""
        inner = at_least(self.box(body, room - head_width, small), level)
        wide, reach = head_width + inner.width, max(OVER_PRODUCTS, inner.reach)
        return Box(run(head, inner.math), wide, PREFIX, reach, tall=True)

    def big(self, term: Term, room: float, small: bool) -> Box:
        letters = self.ranges(term.bound, term.args[1])
        own = width(BIG[term.op])
        # Within scripts the letters stand beside the sign, not beneath it.
        wide = (own + 0.72 * letters.width if small else max(own + 0.9, 0.72 * letters.width)) + 0.3
        level = PREFIX if term.op == "prod" else PRODUCT
        return self.prefixed(below(sign(BIG[term.op]), letters.math), wide, term.args[0], room, small, level)

    def limit(self, term: Term, room: float, small: bool) -> Box:
        body, variable, point = term.args
        place = self.box(variable), self.box(point, small=True)
        target = above(at_least(place[1], ATOM).math, sign(term.value)) if term.value else place[1].math
        head = below(sign(r"\lim"), run(place[0].math, sign(r"\to"), target))
        return self.prefixed(head, 0.72 * (place[0].width + place[1].width) + 2.0, body, room, small, PREFIX)

    def derivative(self, term: Term, room: float, small: bool) -> Box:
        entries: list[Term] = []
        while term.op == "diff":
            entries.append(term.args[1])
            term = term.args[0]
        order = _times(sign(r"\partial"), len(entries))
        runs = [(self.box(entry), len(list(again))) for entry, again in groupby(entries)]
        under = run(*(run(sign(r"\partial"), _times(e.math, times)) for e, times in runs), sep=r" \, ")
        wide = sum(e.width + (0.8 if times == 1 else 1.2) for e, times in runs) + 0.3
        if term.op in ("var", "def"):
            top = self.box(term)
            return Box(fraction(run(order, top.math), under), max(wide, top.width + 1.0), PREFIX, tall=True)
        return self.prefixed(fraction(order, under), wide, term, room, small, PREFIX)

    def replaced(self, term: Term, room: float, small: bool) -> Box:
        old = self.entry(self.notation.symbol(term.value), term.bound)
        new = self.box(term.args[1], small=True)
        wide = 0.72 * (old.width + 1.4 + new.width)
        body = self.box(term.args[0], room - wide - 0.5, small)
        body = fence(body) if body.reach or body.level < PREFIX else body
        change = run(old.math, sign(r"\mapsto"), new.math)
        return Box(below(fenced(body.math, ".", r"\rvert"), change), body.width + 0.5 + wide, PREFIX, tall=True)

    def moment(self, term: Term, room: float, small: bool) -> Box:
        inner = listed([self.box(arg, room - 2.5, small) for arg in term.args])
        inside = fence(inner, "[", "]")
        wide = inside.width + (0.8 if term.op == "E" else 1.7)
        return Box(run(sign(MOMENTS[term.op]), inside.math, sep=""), wide, tall=inside.tall, first="word")

    def cases(self, term: Term, room: float, small: bool) -> Box:
        condition, then, otherwise = term.args
        if then is ONE and otherwise is ZERO:
            inside = fence(self.box(condition, room - 1.5, small), "[", "]")
            one = run(sign(r"\mathbf{1}"), inside.math, sep="")
            return Box(one, inside.width + 0.6, tall=inside.tall, first="word")
        rows: list[tuple[Box, Box]] = []
        while term.op == "where":
            condition, then, otherwise = term.args
            test = self.box(condition)
            rows.append((self.box(then, room - 3.5 - min(test.width, room / 2)), test))
            term = otherwise
        last = self.box(term, room - 8.0)
        cells = [(value.math, run(self.said("if "), test.math)) for value, test in rows]
        cells.append((last.math, self.said("otherwise")))
        wide = max([value.width for value, _ in rows] + [last.width]) + max([t.width for _, t in rows] + [4.5]) + 3.0
        return Box(grid("cases", cells), wide, PREFIX, OVER_SUMS, tall=True)

    def entries(self, term: Term, room: float, small: bool) -> Box:
        return fence(listed([self.box(arg, small=small) for arg in term.args]))

    # -- conditions -------------------------------------------------------------------------------------------------

    def relation(self, term: Term, room: float, small: bool) -> Box:
        mark = sign(RELATIONS[term.value])
        left, right = (at_least(self.box(arg, small=small), SUM) for arg in term.args)
        flat = row([left, Box(mark, 1.4), right], RELATION)
        if flat.width <= room:
            return flat
        if left.width <= room / 3:
            right = at_least(self.box(term.args[1], room - left.width - 1.6), SUM)
            return replace(row([left, Box(mark, 1.4), right], RELATION), math=hung(run(left.math, mark), right.math))
        left = at_least(self.box(term.args[0], room), SUM)
        right = at_least(self.box(term.args[1], room - 3.5), SUM)
        both = lines(left.math, hung(run(sign(r"\quad"), mark), right.math))
        return Box(both, max(left.width, right.width + 3.0), CONDITION, OVER_SUMS, tall=True)

    def conjunction(self, term: Term, room: float, small: bool) -> Box:
        """Conditions joined by "and"; those that form a chain are written as one: `0 < b < 1`."""
        chains: list[list[Term]] = []
        for part in term.args:
            before = chains[-1][-1] if chains else None
            if part.op == "cmp" and before is not None and before.op == "cmp" and before.args[1] is part.args[0]:
                chains[-1].append(part)
            else:
                chains.append([part])
        return self._joined([self._chain(chain, small) for chain in chains], self.said(" and "), room)

    def _chain(self, parts: list[Term], small: bool) -> Box:
        box = at_least(self.box(parts[0], small=small), RELATION)
        for part in parts[1:]:
            right = at_least(self.box(part.args[1], small=small), SUM)
            box = row([box, Box(sign(RELATIONS[part.value]), 1.4), right], RELATION)
        return box

    def alternative(self, term: Term, room: float, small: bool) -> Box:
        parts = [at_least(self.box(arg, small=small), RELATION) for arg in term.args]
        return self._joined(parts, self.said(" or "), room)

    def _joined(self, parts: Sequence[Box], word: Math, room: float) -> Box:
        joined = [parts[0], *(replace(p, math=run(word, p.math), width=p.width + 2.2) for p in parts[1:])]
        box = stacked([row(line, CONDITION) for line in filled(joined, room)])
        return replace(box, level=RELATION if len(parts) == 1 else CONDITION)

    def denial(self, term: Term, room: float, small: bool) -> Box:
        inner = fence(self.box(term.args[0], room - 3.0, small))
        return Box(run(self.said("not "), inner.math), inner.width + 2.0, RELATION, tall=inner.tall)

    def quantified(self, term: Term, room: float, small: bool) -> Box:
        word = self.said(" for all " if term.op == "all" else " for some ")
        body, condition = term.args
        inner = at_least(self.box(body, room - 9.0, small), RELATION)
        letters = listed([self.letter(k) for k in term.bound])
        exists = [self.said(" exists")] if body.op in EXISTING else []
        parts = [inner.math, *exists, word, letters.math]
        wide = inner.width + 3.0 * len(exists) + 4.5 + letters.width
        if condition is not TRUE:
            test = at_least(self.box(condition, small=small), RELATION)
            parts += [self.said(" with "), test.math]
            wide += 2.5 + test.width
        return Box(run(*parts), wide, CONDITION, tall=inner.tall)

    def bit(self, term: Term, room: float, small: bool) -> Box:
        return row([self.box(term.args[0], small=small), Box(sign("= 1"), 1.9)], RELATION)

    def truth(self, term: Term, room: float, small: bool) -> Box:
        return Box(self.said(term.op), 2.2, RELATION)


def _times(base: Math, number: int) -> Math:
    """The sign with how many times it stands there."""
    return base if number == 1 else above(base, sign(str(number)))


def _is_letter(math: Math) -> bool:
    return math.kind == "sign" and re.fullmatch(r"[A-Za-z]|\\[a-z]+", math.value) is not None


def _after(mark: str, box: Box, wide: float, sep: str = " ") -> Box:
    """The box with a sign of that width before it, if there is one."""
    return replace(box, math=run(sign(mark), box.math, sep=sep) if mark else box.math, width=box.width + wide)


def _glue(before: Box, after: Box) -> tuple[str, Box, float]:
    """What stands between two factors, the second one, and how wide it is: a dot before a number, a thin space around
    words, or nothing."""
    if after.first == "digit" or (before.last == "digit" and after.first == "digit"):
        return r"\cdot", after, 0.8
    return (r"\," if "word" in (before.last, after.first) else ""), after, 0.3


ROWS: dict[str, Callable[[Printer, Term, float, bool], Box]] = {
    "num": Printer.number,
    "const": Printer.constant,
    "size": Printer.name,
    "index": Printer.index,
    "var": Printer.name,
    "def": Printer.name,
    "add": Printer.sum,
    "mul": Printer.product,
    "neg": Printer.negation,
    "div": Printer.quotient,
    "pow": Printer.power,
    "fn": Printer.function,
    **dict.fromkeys(BIG, Printer.big),
    "delta": Printer.delta,
    "where": Printer.cases,
    "diff": Printer.derivative,
    "at": Printer.replaced,
    "limit": Printer.limit,
    **dict.fromkeys(MOMENTS, Printer.moment),
    "cmp": Printer.relation,
    "and": Printer.conjunction,
    "or": Printer.alternative,
    "not": Printer.denial,
    "true": Printer.truth,
    "false": Printer.truth,
    "all": Printer.quantified,
    "any": Printer.quantified,
    "holds": Printer.bit,
    "list": Printer.entries,
}
