"""How names are written in mathematics: one symbol for each name of a theory, no two alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from derive.term import Term, subterms

_LOWER = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi - pi rho - "
    "sigma tau upsilon phi chi psi omega"
).split()
_UPPER = "- - Gamma Delta - - - Theta - - Lambda - - Xi - Pi - - Sigma - Upsilon Phi - Psi Omega".split()

# The Greek letters that LaTeX has a macro for, by character; the others are Latin in looks.
GREEK: dict[str, str] = {
    **{chr(0x3B1 + place): name for place, name in enumerate(_LOWER) if name != "-"},
    **{chr(0x391 + place): name for place, name in enumerate(_UPPER) if name != "-"},
    "ς": "varsigma",
    "ϑ": "vartheta",
    "ϕ": "varphi",
    "ϵ": "varepsilon",
    "ϱ": "varrho",
    "ϖ": "varpi",
}
_WORDS = frozenset(GREEK.values())
_SHORT = {"eps": "epsilon", "lam": "lambda", "sig": "sigma"}
# What stands above a letter, said behind it: xhat, mu_bar. The English words among them are no letters.
_ACCENTED = re.compile(r"([^\W_]+?)(_?)(hat|bar|tilde)")
_ENGLISH = frozenset({"chat", "that", "what"})
_LETTERS = ("r", "t", "u", "v", "w", "l", "m", *(f"k{n}" for n in range(1, 1000)))
# Symbols the mathematics itself uses, so that no name may look like them.
RESERVED = frozenset({(r"\delta", ""), (r"\pi", ""), (r"\infty", "")})


@dataclass(frozen=True)
class Symbol:
    """How a name is written: its base, and what stands first among its subscripts."""

    base: str
    tag: str = ""

    def text(self) -> str:
        return f"{self.base}_{{{self.tag}}}" if self.tag else self.base


def literal(name: str) -> str:
    """The name letter for letter, upright, safe in mathematics whatever it holds."""
    parts: list[str] = []
    for run in re.findall(r"[A-Za-z0-9_]+|[^A-Za-z0-9_]", name):
        if run in GREEK:
            parts.append(f"\\{GREEK[run]}{{}}")
        elif re.fullmatch(r"\w+", run, re.ASCII):
            parts.append(r"\mathrm{" + run.replace("_", r"\_") + "}")
        else:
            parts.append(rf"\mathrm{{U{ord(run):04X}}}")
    return "".join(parts)


def _letter(word: str) -> str | None:
    """The sign of a one-letter or Greek word."""
    if len(word) == 1 and word.isascii() and word.isalpha():
        return word
    if word in GREEK:
        return "\\" + GREEK[word]
    word = _SHORT.get(word, word)
    return "\\" + word if word in _WORDS else None


def _candidates(name: str) -> Iterator[Symbol]:
    """Ways to write the name, the best first; the last ones never run out."""
    bare = name.rstrip("_")
    if sign := _letter(bare):
        yield Symbol(sign)
    if (match := _ACCENTED.fullmatch(name)) and name not in _ENGLISH and (sign := _letter(match[1])):
        yield Symbol(rf"\{match[3]}{{{sign}}}")
    if match := re.fullmatch(r"d([A-Z])", name):
        yield Symbol(rf"\mathrm{{d}}{match[1]}")
    if (match := re.fullmatch(r"([^\W\d_]+?)_?(\d+)", name)) and (sign := _letter(match[1])):
        yield Symbol(sign, match[2])
    if (match := re.fullmatch(r"([^\W_]+)_([^\W_]+)", name)) and (sign := _letter(match[1])):
        yield Symbol(sign, literal(match[2]))
    yield Symbol(literal(name))
    for primes in range(1, 1000):
        yield Symbol(literal(name) + "'" * primes)


@dataclass(frozen=True)
class Notation:
    """The symbols of one theory's names, and which letters need their axis said because they run over several.

    `renamed` gives letters another name where theirs is a name of the theory too.
    """

    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    crowded: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)

    def symbol(self, name: str) -> Symbol:
        return self.symbols.get(name) or Symbol(literal(name))

    def letter(self, name: str) -> Symbol:
        """How an index letter is written."""
        return self.symbol(self.renamed.get(name, name))

    def is_crowded(self, letter: str) -> bool:
        """Whether the letter runs over several axes."""
        return self.renamed.get(letter, letter) in self.crowded

    def free(self, symbol: str) -> bool:
        """Whether no name of the theory is written with this sign."""
        return all(s.base != symbol for s in self.symbols.values())


def notation(names: Iterable[str], letters: Mapping[str, frozenset[str]] | None = None) -> Notation:
    """The notation for these names and index letters; `letters` says over which axes each letter runs."""
    letters = dict(letters or {})
    names = set(names)
    spare = (c for c in _LETTERS if c not in names and c not in letters)
    renamed = {letter: next(spare) for letter in sorted(letters) if letter in names}
    for old, new in renamed.items():
        letters[new] = letters.pop(old)
    ordered = sorted({*names, *letters}, key=lambda name: (len(name), name.isascii(), name))
    chosen: dict[str, Symbol] = {}
    used = set(RESERVED)
    for name in ordered:
        symbol = next(s for s in _candidates(name) if (s.base, s.tag) not in used)
        used.add((symbol.base, symbol.tag))
        chosen[name] = symbol
    # A sign with a number beneath reads as an entry of an array where the array is there too: write such names out.
    arrays = {s.base for name, s in chosen.items() if name not in letters and not s.tag}
    for name, symbol in chosen.items():
        if symbol.tag and symbol.base in arrays:
            chosen[name] = Symbol(literal(name))
    return Notation(chosen, frozenset(name for name, axes in letters.items() if len(axes) > 1), renamed)


def names_in(terms: Iterable[Term]) -> tuple[set[str], dict[str, frozenset[str]]]:
    """The names and sizes, and the index letters with their axes, that occur in the terms."""
    names: set[str] = set()
    letters: dict[str, frozenset[str]] = {}
    for term in terms:
        for part in subterms(term):
            if part.op in ("var", "def", "at", "size"):
                names.add(part.value)
            for letter in (*part.bound, *([part] if part.op == "index" else [])):
                name, axis = letter.value
                letters[name] = letters.get(name, frozenset()) | {axis}
                names.add(axis)
    return names, letters
