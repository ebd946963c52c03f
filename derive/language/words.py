"""The words of the language: which there are, which names may be declared, and what to suggest instead."""

from __future__ import annotations

import difflib
import keyword
import re
import unicodedata
from collections.abc import Container, Iterable

SCALARS = ("real", "positive", "nonnegative", "integer", "bit")  # kinds of numbers
SMOOTH = frozenset({"real", "positive", "nonnegative", "random"})  # kinds one can differentiate by
# The parameters of each law, in order.
LAWS = {
    "random": ("mean", "variance"),
    "normal": ("mu", "var"),
    "bernoulli": ("p",),
    "uniform": ("a", "b"),
    "rademacher": (),
}
FUNCTIONS = (
    "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu "
    "lgamma digamma trigamma"
).split()
REDUCTIONS = ("sum", "prod", "max", "min", "argmax")
QUANTIFIERS = ("all", "any")
SPECIAL = ("delta", "where", "diff", "at", "limit", "E", "Var", "Cov")
CONSTANTS = ("pi", "oo")
STATEMENTS = ("axis", "index", "assume", "by")
RESERVED = frozenset([*SCALARS, *LAWS, *FUNCTIONS, *REDUCTIONS, *QUANTIFIERS, *SPECIAL, *CONSTANTS, *STATEMENTS])
CALLABLE = frozenset([*FUNCTIONS, *REDUCTIONS, *QUANTIFIERS, *SPECIAL])

# How each word is used: shown where it is used otherwise.
USAGE = {
    **{name: f"{name}(x)" for name in FUNCTIONS},
    "sum": "sum(x[k] for k in n)",
    "prod": "prod(x[k] for k in n)",
    "max": "max(x[k] for k in n), or max(a, b)",
    "min": "min(x[k] for k in n), or min(a, b)",
    "argmax": "argmax(x[k] for k in n)",
    "all": "all(x[k] > 0 for k in n)",
    "any": "any(x[k] > 0 for k in n)",
    "delta": "delta(i, j)",
    "where": "where(condition, a, b)",
    "diff": "diff(expression, x) or diff(expression, z[j])",
    "at": "at(expression, z[k], replacement)",
    "limit": 'limit(expression, T, 0, "+")',
    "E": "E(x)",
    "Var": "Var(x)",
    "Cov": "Cov(x, y)",
    "axis": "n: axis",
    "index": "i: index[n]",
    "assume": "assume(condition)",
    "by": 'assert a == b, by(theorem, "caption")',
    "random": "q: random(mean=0, variance=1)[n]",
    "normal": "q: normal(0, 1)[n]",
    "bernoulli": "q: bernoulli(1/2)[n]",
    "uniform": "q: uniform(0, 1)[n]",
    "rademacher": "q: rademacher[n]",
    **{kind: f"x: {kind} or x: {kind}[n]" for kind in SCALARS},
}

# What people write for it elsewhere.
ELSEWHERE = {
    "ln": "log",
    "product": "prod",
    "Sum": "sum",
    "Product": "prod",
    "arctan": "atan",
    "fabs": "abs",
    "Abs": "abs",
    "sgn": "sign",
    "expectation": "E",
    "var": "Var",
    "variance": "Var",
    "cov": "Cov",
    "grad": "diff",
    "derivative": "diff",
    "Derivative": "diff",
    "D": "diff",
    "subs": "at",
    "replace": "at",
    "Piecewise": "where",
    "select": "where",
    "KroneckerDelta": "delta",
    "kronecker": "delta",
    "gammaln": "lgamma",
    "loggamma": "lgamma",
    "logistic": "sigmoid",
    "expit": "sigmoid",
    "inf": "oo",
    "infinity": "oo",
    "π": "pi",
    "Pi": "pi",
    "maximum": "max",
    "minimum": "min",
    "float": "real",
    "double": "real",
    "int": "integer",
    "bool": "bit",
    "gaussian": "normal",
    "Normal": "normal",
}

# What has no name in the language, and how it is written.
WRITTEN_OUT = {
    "mean": "sum(x[k] for k in n)/n; of a random name, E(q)",
    "average": "sum(x[k] for k in n)/n; of a random name, E(q)",
    "softmax": "exp(z[i])/sum(exp(z[k]) for k in n)",
    "log_softmax": "z[i] - log(sum(exp(z[k]) for k in n))",
    "logsumexp": "log(sum(exp(z[k]) for k in n))",
    "lse": "log(sum(exp(z[k]) for k in n))",
    "dot": "sum(x[k]*y[k] for k in n)",
    "inner": "sum(x[k]*y[k] for k in n)",
    "matmul": "sum(A[i, k]*B[k, j] for k in n)",
    "norm": "sqrt(sum(x[k]**2 for k in n))",
    "trace": "sum(A[i, i] for i in n)",
    "std": "sqrt(Var(q))",
    "pow": "x**y",
    "square": "x**2",
    "rsqrt": "1/sqrt(x)",
    "reciprocal": "1/x",
    "erfc": "1 - erf(x)",
    "log2": "log(x)/log(2)",
    "log10": "log(x)/log(10)",
    "exp2": "2**x",
    "gelu": "x*(1 + erf(x/sqrt(2)))/2",
    "silu": "x*sigmoid(x)",
    "swish": "x*sigmoid(x)",
    "logit": "log(p/(1 - p))",
    "clip": "max(a, min(x, b))",
    "clamp": "max(a, min(x, b))",
    "gamma": "exp(lgamma(x))",
    "factorial": "exp(lgamma(n + 1))",
}

# What has no name either, and is no function.
NUMBERS_WRITTEN_OUT = {
    "e": "Euler's number is exp(1), and a power of it exp(x)",
    "tau": "write 2*pi",
    "nan": "what has no value is left out by a hypothesis: assume(x != 0)",
}

_ASCII = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def is_name(name: str) -> bool:
    """Whether the name is made of ASCII or Greek letters, digits and underscores, and begins with no digit."""
    if _ASCII.match(name):
        return True
    return bool(name) and name.isidentifier() and all(c.isascii() or is_greek(c) for c in name)


def is_greek(character: str) -> bool:
    """Whether the character is a Greek letter (the micro sign is read as one, as Python reads it)."""
    return character == "µ" or unicodedata.name(character, "").startswith("GREEK ")


def other_name(word: str, taken: Container[str]) -> str:
    """A free name that resembles the word and is no word of the language."""
    letter = word[0]
    candidates = [letter.lower(), letter.upper(), f"{word}_", *(f"{letter.lower()}{n}" for n in range(1, 1000))]
    return next(c for c in candidates if c not in RESERVED and c not in taken and not keyword.iskeyword(c))


MOST_LISTED = 12  # names that a message lists


def instead(name: str, known: Iterable[str]) -> str:
    """What to say to one who asked for an unknown name: which was probably meant, or which there are."""
    names = list(dict.fromkeys(known))
    meant = similar(name, names)
    if meant:
        return f"did you mean {meant!r}?"
    return (
        f"it has {', '.join(names[:MOST_LISTED])}{', ...' if len(names) > MOST_LISTED else ''}"
        if names
        else "it has none"
    )


def similar(name: str, known: Iterable[str]) -> str | None:
    """The known name that the given one was probably meant to be, or None."""
    known = list(known)
    if name in ELSEWHERE and ELSEWHERE[name] in known:
        return ELSEWHERE[name]
    folded = {k.lower(): k for k in reversed(known)}
    if name.lower() in folded:
        return folded[name.lower()]
    close = difflib.get_close_matches(name, known[:2000], n=1, cutoff=0.75) if 1 < len(name) < 60 else []
    return close[0] if close else None
