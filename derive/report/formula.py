"""Mathematics that people write in prose: read by a grammar, written out anew, or refused as a whole.

Only the macros listed here exist. What is accepted is balanced, has at most one subscript and one superscript on each
atom and every argument its macro needs, so that neither pdflatex nor a browser can stumble over it or be told to act.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from derive.report.escape import SIGNS
from derive.report.notation import GREEK
from derive.report.typeset import Math, above, below, fenced, fraction, grid, root, run, sign, words

LONGEST = 2000
DEEPEST = 20

_SYMBOLS = frozenset(GREEK.values()) | frozenset(
    """
    varepsilon vartheta varphi varrho varsigma log ln exp sin cos tan sinh cosh tanh arctan max min sup inf lim det
    dim ker Pr arg deg sum prod int partial nabla infty pm mp cdot times div ast star circ bullet odot otimes oplus
    leq geq le ge neq ne equiv approx sim simeq propto ll gg to mapsto leftarrow rightarrow Rightarrow Leftarrow
    Leftrightarrow iff implies in notin ni subset subseteq cup cap setminus emptyset forall exists neg land lor
    wedge vee ldots cdots vdots ddots dots mid parallel perp top bot ell hbar Re Im prime quad qquad colon langle
    rangle lvert rvert lVert rVert vert Vert lfloor rfloor lceil rceil surd
    """.split()
)
_PUNCTUATION = {r"\,": r"\,", r"\;": r"\;", r"\:": r"\:", r"\!": r"\!", r"\{": r"\{", r"\}": r"\}", r"\|": r"\Vert"}
_PUNCTUATION |= {r"\%": r"\%", r"\ ": r"\ "}
_ONE = frozenset("mathbf mathbb mathcal mathit hat bar tilde vec dot ddot overline underline widehat widetilde".split())
_TWO = frozenset("frac dfrac tfrac binom".split())
_WORDS = frozenset({"text", "mathrm", "operatorname", "textrm", "textit", "textbf"})
_PLAIN = re.compile(r"[A-Za-z0-9 ,.;:()'/+=-]*")
_GRIDS = frozenset("matrix pmatrix bmatrix vmatrix cases aligned".split())
_DELIMITERS = {d: d for d in (*"()[]./", r"\{", r"\}")} | {"|": r"\vert", r"\|": r"\Vert"}
_DELIMITERS |= {
    f"\\{d}": f"\\{d}" for d in "langle rangle lvert rvert lVert rVert vert Vert lfloor rfloor lceil rceil".split()
}
_CHARACTERS = {c: c for c in "+-*/=<>()[],.;:!"} | {"|": r"\vert"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)


class _Refused(Exception):
    pass


def safe_formula(text: str) -> Math | None:
    """The formula as what is typeset, or None where any part of it is not in the grammar."""
    if len(text) > LONGEST:
        return None
    try:
        return _Reader(text).whole()
    except _Refused:
        return None


class _Reader:
    def __init__(self, text: str):
        self.tokens = _TOKEN.findall(text)
        self.place = 0
        self.deep = 0

    def peek(self) -> str:
        """The next token that is not a blank; nothing at the end."""
        while self.place < len(self.tokens) and self.tokens[self.place].isspace():
            self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise _Refused
        self.place += 1
        return token

    def whole(self) -> Math:
        read = self.items(lambda token: token == "")
        if read.kind == "run" and not read.parts:
            raise _Refused
        return read

    def items(self, at_end: Callable[[str], bool]) -> Math:
        """What stands up to a token that ends it."""
        self.deep += 1
        if self.deep > DEEPEST:
            raise _Refused
        parts: list[Math] = []
        while not at_end(self.peek()):
            parts.append(self.scripted())
        self.deep -= 1
        return run(*parts)

    def scripted(self) -> Math:
        """An atom with its scripts."""
        read = self.atom()
        seen: set[str] = set()
        primes = 0
        while self.peek() in ("^", "_", "'"):
            mark = self.take()
            if mark == "'":
                if "^" in seen:
                    raise _Refused
                primes += 1
                continue
            if mark in seen or (mark == "^" and primes):
                raise _Refused
            seen.add(mark)
            read = (above if mark == "^" else below)(read, self.argument())
        return above(read, run(*[sign(r"\prime")] * primes)) if primes else read

    def argument(self) -> Math:
        return self.group() if self.peek() == "{" else self.atom()

    def group(self) -> Math:
        self.take("{")
        read = self.items(lambda token: token in ("}", ""))
        self.take("}")
        return read

    def atom(self) -> Math:
        token = self.take()
        if token == "{":
            self.place -= 1
            return Math("group", (self.group(),))
        if len(token) == 1:
            return sign(self.character(token))
        name = token[1:]
        if token in _PUNCTUATION:
            return sign(_PUNCTUATION[token])
        if name in _SYMBOLS:
            return sign(token)
        if name in _ONE:
            return Math("accent", (self.argument(),), name)
        if name in _TWO:
            return fraction(self.argument(), self.argument(), name)
        if name == "sqrt":
            return root(self.argument())
        if name in _WORDS:
            return words(self.words()) if name.startswith("text") else Math("upright", (), self.words())
        if name == "left":
            return self.fenced()
        if name == "begin":
            return self.grid()
        raise _Refused

    def character(self, token: str) -> str:
        if token.isascii() and token.isalnum():
            return token
        if token in _CHARACTERS:
            return _CHARACTERS[token]
        if token in GREEK:
            return "\\" + GREEK[token]
        if token in SIGNS:
            return SIGNS[token]
        raise _Refused

    def words(self) -> str:
        """Words in braces, their blanks kept."""
        self.take("{")
        start = self.place
        while self.take() != "}":
            pass
        text = re.sub(r"\s+", " ", "".join(self.tokens[start : self.place - 1]))
        if not _PLAIN.fullmatch(text):
            raise _Refused
        return text

    def fenced(self) -> Math:
        left = self.delimiter()
        inside = self.items(lambda token: token in (r"\right", ""))
        self.take(r"\right")
        return fenced(inside, left, self.delimiter())

    def delimiter(self) -> str:
        token = self.take()
        if token not in _DELIMITERS:
            raise _Refused
        return _DELIMITERS[token]

    def grid(self) -> Math:
        """A matrix or the like: at most ten columns."""
        name = self.words()
        if name not in _GRIDS:
            raise _Refused
        rows: list[list[Math]] = [[]]
        while True:
            rows[-1].append(self.items(lambda token: token in ("&", r"\\", r"\end", "")))
            mark = self.take()
            if mark == r"\end":
                break
            if mark == r"\\":
                rows.append([])
        if self.words() != name or max(map(len, rows)) > (2 if name == "cases" else 10):
            raise _Refused
        return grid(name, rows)
