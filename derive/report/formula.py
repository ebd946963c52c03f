"""Mathematics that people write in prose: read by a grammar, written out anew, or refused as a whole.

Only the macros listed here exist. What is accepted is balanced, has at most one subscript and one superscript on each
atom and every argument its macro needs, so that neither pdflatex nor a browser can stumble over it or be told to act.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from derive.report.escape import SIGNS
from derive.report.notation import GREEK

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


def safe_formula(text: str) -> str | None:
    """The formula written out anew, or None where any part of it is not in the grammar."""
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

    def whole(self) -> str:
        written = self.items(lambda token: token == "")
        if not written:
            raise _Refused
        return written

    def items(self, at_end: Callable[[str], bool]) -> str:
        """What stands up to a token that ends it."""
        self.deep += 1
        if self.deep > DEEPEST:
            raise _Refused
        parts: list[str] = []
        while not at_end(self.peek()):
            parts.append(self.scripted())
        self.deep -= 1
        return " ".join(parts)

    def scripted(self) -> str:
        """An atom with its scripts."""
        written = self.atom()
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
            written += f"{mark}{{{self.argument()}}}"
        return written + (f"^{{{' '.join([chr(92) + 'prime'] * primes)}}}" if primes else "")

    def argument(self) -> str:
        return self.group() if self.peek() == "{" else self.atom()

    def group(self) -> str:
        self.take("{")
        written = self.items(lambda token: token in ("}", ""))
        self.take("}")
        return written

    def atom(self) -> str:
        token = self.take()
        if token == "{":
            self.place -= 1
            return f"{{{self.group()}}}"
        if len(token) == 1:
            return self.character(token)
        name = token[1:]
        if token in _PUNCTUATION:
            return _PUNCTUATION[token]
        if name in _SYMBOLS:
            return token
        if name in _ONE:
            return f"{token}{{{self.argument()}}}"
        if name in _TWO:
            return f"{token}{{{self.argument()}}}{{{self.argument()}}}"
        if name == "sqrt":
            return rf"\sqrt{{{self.argument()}}}"
        if name in _WORDS:
            return self.words(name)
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

    def words(self, name: str) -> str:
        """Upright words, their blanks kept."""
        self.take("{")
        start = self.place
        while self.take() != "}":
            pass
        words = re.sub(r"\s+", " ", "".join(self.tokens[start : self.place - 1]))
        if not _PLAIN.fullmatch(words):
            raise _Refused
        return rf"\text{{{words}}}" if name.startswith("text") else rf"\mathrm{{{words}}}"

    def fenced(self) -> str:
        left = self.delimiter()
        inside = self.items(lambda token: token in (r"\right", ""))
        self.take(r"\right")
        right = self.delimiter()
        return rf"\left{left} {inside} \right{right}"

    def delimiter(self) -> str:
        token = self.take()
        if token not in _DELIMITERS:
            raise _Refused
        return _DELIMITERS[token]

    def grid(self) -> str:
        """A matrix or the like: at most ten columns."""
        name = self.words("begin").removeprefix(r"\mathrm{").removesuffix("}")
        if name not in _GRIDS:
            raise _Refused
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(self.items(lambda token: token in ("&", r"\\", r"\end", "")))
            mark = self.take()
            if mark == r"\end":
                break
            if mark == r"\\":
                rows.append([])
        if self.words("end") != rf"\mathrm{{{name}}}" or max(map(len, rows)) > (2 if name == "cases" else 10):
            raise _Refused
        body = r" \\ ".join(" & ".join(row) for row in rows)
        return rf"\begin{{{name}}} {body} \end{{{name}}}"
