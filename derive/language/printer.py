"""Terms and theories as text in the formula language, with as few parentheses as it takes.

What is printed is read back as the same term, up to the names of bound letters. (A negative number, or a fraction that
is no decimal, is read back as the operation on numbers that it is written as; the parser makes neither.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from derive.language.words import RESERVED
from derive.term import CONDITIONS, TRUE, Term, fresh, index, make, substitute, subterms

# Precedence, as Python's: what binds tighter is higher.
OR, AND, NOT, COMPARE, ADD, MUL, NEG, POW, ATOM = range(9)
_NO_AXIS = ""


def to_text(term: Term, avoid: Iterable[str] = ()) -> str:
    """The term in the formula language, on one line. No bound letter is called by one of the names to avoid."""
    taken = RESERVED | term.names | axes_of(term) | frozenset(avoid)
    term = _told_apart(term, taken, frozenset())
    written: _Written = {}
    for t in sorted(subterms(term), key=lambda t: t.depth):
        written[t] = _PRINT[t.op](t, written)
    return written[term][0]


def need_text(need: Term) -> str:
    """What a domain asks for: a condition; of a mean or a limit that it exists."""
    letters = need.bound if need.op == "all" else ()
    value = need.args[0] if letters else need
    if value.op in CONDITIONS:
        return to_text(need)
    of = f" for all {', '.join(k.value[0] for k in letters)}" if letters else ""
    return f"{to_text(value)} exists{of}"


def axes_of(term: Term) -> frozenset[str]:
    """The axes that the term speaks of: those of its letters, free and bound, and its sizes."""
    found = {k.value[1] for k in term.letters}
    for t in subterms(term):
        found |= {k.value[1] for k in t.bound}
        if t.op == "size":
            found.add(t.value)
    return frozenset(found)


def _told_apart(term: Term, taken: frozenset[str], around: frozenset[str]) -> Term:
    """The same term with bound letters that nobody could take for another name, or for a letter in sight."""
    if not term.args:
        return term
    args = list(term.args)
    if not term.bound:
        for position, argument in enumerate(args):
            args[position] = _told_apart(argument, taken, around)
        return make(term.op, args, term.value)
    first = 1 if term.op == "at" else 0  # the body of `at` is outside the scope of its letters
    free = frozenset().union(*(a.letters for a in args[first:])) - frozenset(term.bound)
    used = taken | around | {k.value[0] for k in free}
    bound, renamed = [], {}
    for letter in term.bound:
        new = fresh(letter, [index(name, _NO_AXIS) for name in used])
        used |= {new.value[0]}
        bound.append(new)
        if new is not letter:
            renamed[letter] = new
    inside = around | {k.value[0] for k in bound}
    for position, argument in enumerate(args):
        if position < first:
            args[position] = _told_apart(argument, taken, around)
        else:
            args[position] = _told_apart(substitute(argument, renamed), taken, inside)
    return make(term.op, args, term.value, bound)


# -- one operator at a time: the text of a term from the texts of its parts ------------------------------------------

_Written = dict[Term, tuple[str, int]]


def _within(written: _Written, term: Term, least: int) -> str:
    """The text of a part; in parentheses if it binds less tightly than `least`."""
    text, level = written[term]
    return f"({text})" if level < least else text


def _operand(written: _Written, term: Term) -> str:
    """A part behind a sign; one that begins with a sign is put in parentheses, as one writes."""
    text = _within(written, term, NEG)
    return f"({text})" if text.startswith("-") else text


def _listed(written: _Written, terms: Iterable[Term]) -> str:
    return ", ".join(written[t][0] for t in terms)


def _num(term: Term, written: _Written) -> tuple[str, int]:
    value: Fraction = term.value
    text, level = decimal(abs(value)), ATOM
    if text is None:
        text, level = f"{abs(value).numerator}/{value.denominator}", MUL
    return (f"-{text}", min(level, NEG)) if value < 0 else (text, level)


def decimal(value: Fraction) -> str | None:
    """A value from 0 up as a decimal number, exactly, or None where it has no finite one."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    places = max(twos, fives)
    if rest != 1:
        return None
    digits = str(value.numerator * 10**places // value.denominator)
    if places == 0:
        return digits
    if places > len(digits) + 6:
        return f"{digits}e-{places}"
    digits = digits.rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _add(term: Term, written: _Written) -> tuple[str, int]:
    parts = [_within(written, term.args[0], ADD)]
    for part in term.args[1:]:
        if part.op == "neg":
            text = _within(written, part.args[0], MUL)
            parts.append(f" - ({text})" if text.startswith("-") else f" - {text}")
        else:
            text = _within(written, part, MUL)
            parts.append(f" + ({text})" if text.startswith("-") else f" + {text}")
    return "".join(parts), ADD


def _mul(term: Term, written: _Written) -> tuple[str, int]:
    return "*".join([_within(written, term.args[0], MUL), *(_operand(written, a) for a in term.args[1:])]), MUL


def _div(term: Term, written: _Written) -> tuple[str, int]:
    return f"{_within(written, term.args[0], MUL)}/{_operand(written, term.args[1])}", MUL


def _neg(term: Term, written: _Written) -> tuple[str, int]:
    return f"-{_operand(written, term.args[0])}", NEG


def _pow(term: Term, written: _Written) -> tuple[str, int]:
    return f"{_within(written, term.args[0], ATOM)}**{_within(written, term.args[1], NEG)}", POW


def _value(term: Term, written: _Written) -> tuple[str, int]:
    return str(term.value), ATOM


def _index(term: Term, written: _Written) -> tuple[str, int]:
    return str(term.value[0]), ATOM


def _entry(term: Term, written: _Written) -> tuple[str, int]:
    return f"{term.value}[{_listed(written, term.args)}]" if term.args else str(term.value), ATOM


def _fn(term: Term, written: _Written) -> tuple[str, int]:
    return f"{term.value}({_listed(written, term.args)})", ATOM


def _call(term: Term, written: _Written) -> tuple[str, int]:
    return f"{term.op}({_listed(written, term.args)})", ATOM


def _binder(term: Term, written: _Written) -> tuple[str, int]:
    body, test = term.args
    loops = "".join(f" for {k.value[0]} in {k.value[1]}" for k in term.bound)
    clause = "" if test is TRUE else f" if {written[test][0]}"
    return f"{term.op}({written[body][0]}{loops}{clause})", ATOM


def _diff(term: Term, written: _Written) -> tuple[str, int]:
    entries = []
    while term.op == "diff":
        entries.append(term.args[1])
        term = term.args[0]
    return f"diff({_listed(written, [term, *reversed(entries)])})", ATOM


def _at(term: Term, written: _Written) -> tuple[str, int]:
    body, new = term.args
    letters = f"[{', '.join(k.value[0] for k in term.bound)}]" if term.bound else ""
    return f"at({written[body][0]}, {term.value}{letters}, {written[new][0]})", ATOM


def _limit(term: Term, written: _Written) -> tuple[str, int]:
    side = f', "{term.value}"' if term.value else ""
    return f"limit({_listed(written, term.args)}{side})", ATOM


def _cmp(term: Term, written: _Written) -> tuple[str, int]:
    left, right = term.args
    return f"{_within(written, left, ADD)} {term.value} {_within(written, right, ADD)}", COMPARE


def _and(term: Term, written: _Written) -> tuple[str, int]:
    """Comparisons that share a side are written as a chain."""
    parts: list[str] = []
    previous: Term | None = None
    for part in term.args:
        if previous is not None and part.op == previous.op == "cmp" and part.args[0] is previous.args[1]:
            parts[-1] += f" {part.value} {_within(written, part.args[1], ADD)}"
        else:
            parts.append(_within(written, part, NOT))
        previous = part
    return " and ".join(parts), COMPARE if len(parts) == 1 else AND


def _or(term: Term, written: _Written) -> tuple[str, int]:
    return " or ".join([_within(written, a, AND) for a in term.args]), OR


def _not(term: Term, written: _Written) -> tuple[str, int]:
    return f"not {_within(written, term.args[0], NOT)}", NOT


def _holds(term: Term, written: _Written) -> tuple[str, int]:
    return _within(written, term.args[0], ATOM), ATOM


def _truth(term: Term, written: _Written) -> tuple[str, int]:
    return "0 == 0" if term is TRUE else "0 != 0", COMPARE


def _list(term: Term, written: _Written) -> tuple[str, int]:
    return f"[{_listed(written, term.args)}]", ATOM


_PRINT: dict[str, Callable[[Term, _Written], tuple[str, int]]] = {
    "num": _num,
    "const": _value,
    "size": _value,
    "index": _index,
    "var": _entry,
    "def": _entry,
    "add": _add,
    "mul": _mul,
    "neg": _neg,
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    **dict.fromkeys(("sum", "prod", "max", "min", "argmax", "all", "any"), _binder),
    **dict.fromkeys(("delta", "where", "E", "Var", "Cov"), _call),
    "diff": _diff,
    "at": _at,
    "limit": _limit,
    "cmp": _cmp,
    "and": _and,
    "or": _or,
    "not": _not,
    "true": _truth,
    "false": _truth,
    "holds": _holds,
    "list": _list,
}
