"""Well-formedness: a certificate may hold anything, and nothing malformed gets as far as the rules."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from derive.kernel.context import Context, Declaration
from derive.kernel.proof import Rejected
from derive.kernel.signs import RELATION
from derive.term import BINDERS, CONDITIONS, OO, PI, ZERO, Term, var

FUNCTIONS = frozenset(
    "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu".split()
    + "lgamma digamma trigamma".split()
)
# What the arguments of an operator are: v a value, c a condition, with + two or more of them.
SHAPES = {
    **dict.fromkeys(("num", "const", "size", "index", "true", "false"), ""),
    **dict.fromkeys(("neg", "E", "Var", "holds"), "v"),
    **dict.fromkeys(("div", "pow", "Cov", "delta", "cmp", "diff", "at"), "vv"),
    **dict.fromkeys(("sum", "prod", "max", "min", "argmax"), "vc"),
    **dict.fromkeys(("all", "any"), "cc"),
    "add": "v+",
    "mul": "v+",
    "and": "c+",
    "or": "c+",
    "not": "c",
    "where": "cvv",
    "limit": "vvv",
    "var": "v*",
    "def": "v*",
    "fn": "v*",
}
SMOOTH = frozenset({"real", "positive", "nonnegative", "random"})  # kinds one can differentiate by
OURS = "@$&^%~?#"  # first characters of letters that the kernel opens for itself


def well_formed(term: Term, context: Context, reserved: str = OURS) -> None:
    """Raise Rejected unless every name is declared, every subscript on its axis, every part what it must be.

    No letter may begin with a reserved character.
    """
    known, new = context.formed.setdefault(reserved, set()), set()
    stack = [(term, term.op in CONDITIONS)]
    while stack:
        t, condition = stack.pop()
        if condition != (t.op in CONDITIONS):
            raise Rejected(f"{t.op} stands where a {'condition' if condition else 'value'} must")
        if t not in known and t not in new:
            new.add(t)
            stack += _parts(t, context)
            for k in (t,) if t.op == "index" else t.bound:
                if k.value[0][0] in reserved:
                    raise Rejected(f"the letter {k.value[0]} is the kernel's own")
    known |= new  # only now: nothing of a term that is refused counts as seen


LAWS = {"random": 2, "normal": 2, "bernoulli": 1, "uniform": 2, "rademacher": 0}  # parameters of each


def laws_complete(context: Context) -> None:
    """Raise Rejected unless every name is a word, and every random one has a known law with its parameters."""
    letters = context.letters.union(
        *(d.letters for d in context.declarations.values()), *(d.letters for d in context.definitions.values())
    )
    for name in (*context.axes, *context.declarations, *context.definitions, *(k.value[0] for k in letters)):
        wanted(name.isidentifier(), f"{name} is no word")  # other names are the kernel's own
    for d in context.declarations.values():
        if d.law is not None and LAWS.get(d.law.family) != len(d.law.parameters):
            raise Rejected(f"the law of {d.name} is not a known one with its parameters")


def _parts(t: Term, context: Context) -> list[tuple[Term, bool]]:
    """The parts of a term, each with whether it must be a condition. Raises Rejected for a term that is none."""
    shape, count = SHAPES.get(t.op), len(t.args)
    if shape is None:
        raise Rejected(f"{t.op} is not an operator")
    kinds = shape[0] * count if shape[1:] in ("+", "*") else shape
    if len(kinds) != count or (shape[1:] == "+" and count < 2):
        raise Rejected(f"{t.op} does not take {count} arguments")
    if bool(t.bound) != (t.op in BINDERS) and not (t.op == "at" and not t.bound):
        raise Rejected(f"{t.op} {'binds no letters' if t.bound else 'without letters of its own'}")
    if t.bound and len(set(t.bound)) != len(t.bound):
        raise Rejected(f"{t.op} binds a letter twice")
    for k in t.bound:
        _letter(k, context)
    if t.op in CHECKS:
        CHECKS[t.op](t, context)
    parts = [(a, kind == "c") for a, kind in zip(t.args, kinds, strict=True)]
    return [p for p in parts if p[0] not in (OO, -OO)] if t.op == "limit" else parts


def wanted(holds: bool, why: str) -> None:
    if not holds:
        raise Rejected(why)


def _letter(k: Term, context: Context) -> None:
    value = k.value if k.op == "index" and not k.args else None
    if not (isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, str) and v for v in value)):
        raise Rejected("this is no index letter")
    wanted(value[1] in context.axes, f"{value[1]} is no axis")


def _entry(t: Term, context: Context) -> None:
    axes = axes_of(t, context)
    wanted(len(axes) == len(t.args), f"{t.value} takes {len(axes)} subscripts")
    for a, axis in zip(t.args, axes, strict=True):
        if not _number(a, context):
            wanted(subscript_axis(a, context) == axis, f"a subscript of {t.value} does not run over {axis}")


def _number(subscript: Term, context: Context) -> bool:
    """Whether this is an index by its number: 0, which every axis has, or any in an example, which fixes the sizes."""
    return subscript is ZERO or (subscript.op == "num" and context.example)


def _function(t: Term, context: Context) -> None:
    count = 2 if t.value in ("max", "min") else 1 if t.value in FUNCTIONS else 0
    wanted(count == len(t.args) > 0, f"{t.value} is not a function of {len(t.args)} arguments")


def _one_axis(t: Term, context: Context) -> None:
    if t.op == "delta" or all(is_index(a, context) for a in t.args):
        axes = {subscript_axis(a, context) for a in t.args if not _number(a, context)}
        wanted(len(axes) < 2, "indices of different axes are compared")
    wanted(t.op == "delta" or t.value in RELATION, f"{t.value} is no relation")


def _bit(t: Term, context: Context) -> None:
    wanted(_moving(t.args[0], context).kind in ("bit", "random"), "only a bit holds")


def _moving(entry: Term, context: Context) -> Declaration:
    """The declaration of an entry, which must be one of a declared variable."""
    wanted(entry.op == "var", "this is no variable")
    _entry(entry, context)
    return context.declarations[entry.value]


def _derivative(t: Term, context: Context) -> None:
    wanted(_moving(t.args[1], context).kind in SMOOTH, f"{t.args[1].value} cannot be differentiated by")


def _limit(t: Term, context: Context) -> None:
    scalar = not _moving(t.args[1], context).axes
    wanted(scalar and t.value in ("+", "-", ""), "a limit is in a scalar, from above, from below or from both sides")


def _replacement(t: Term, context: Context) -> None:
    axes = axes_of(var(t.value), context)
    wanted(tuple(k.value[1] for k in t.bound) == axes, f"`at` needs a letter for each axis of {t.value}")
    whose = context.declarations[t.value].over
    wanted(whose is None or subscript_axis(t.args[1], context) == whose, f"{t.value} is an index of {whose}")


# What an operator asks of its payload and arguments beyond their number.
CHECKS: dict[str, Callable[[Term, Context], None]] = {
    "num": lambda t, context: wanted(isinstance(t.value, Fraction), "this is no number"),
    "const": lambda t, context: wanted(t is PI, "infinity is no number" if t is OO else f"{t.value} is no constant"),
    "size": lambda t, context: wanted(t.value in context.axes, f"{t.value} is no axis"),
    "index": _letter,
    "var": _entry,
    "def": _entry,
    "fn": _function,
    "delta": _one_axis,
    "cmp": _one_axis,
    "holds": _bit,
    "diff": _derivative,
    "limit": _limit,
    "at": _replacement,
}


def axes_of(term: Term, context: Context) -> tuple[str, ...]:
    """The axes of a declared or defined name. Raises Rejected for any other."""
    if term.op == "def":
        definition = context.definitions.get(term.value)
        if definition is None:
            raise Rejected(f"{term.value} is not defined")
        return tuple(k.value[1] for k in definition.letters)
    declaration = context.declarations.get(term.value)
    if declaration is None:
        raise Rejected(f"{term.value} is not declared")
    return declaration.axes


def is_index(term: Term, context: Context) -> bool:
    declaration = context.declarations.get(term.value) if term.op == "var" else None
    return term.op in ("index", "argmax") or (declaration is not None and declaration.kind == "index")


def subscript_axis(term: Term, context: Context) -> str:
    """The axis that a subscript runs over. Raises Rejected for what is no subscript."""
    if term.op == "index" and isinstance(term.value, tuple) and len(term.value) == 2:
        return str(term.value[1])
    if term.op == "argmax" and len(term.bound) == 1:
        return str(term.bound[0].value[1])
    declaration = context.declarations.get(term.value) if term.op == "var" else None
    if declaration is None or declaration.over is None:
        raise Rejected("a subscript is a letter, an index or an argmax")
    return declaration.over
