"""Well-formedness: a certificate may hold anything, and nothing malformed gets as far as the rules."""

from __future__ import annotations

from fractions import Fraction

from derive.kernel.context import Context
from derive.kernel.proof import Rejected
from derive.kernel.signs import RELATION
from derive.term import CONDITIONS, OO, Term, neg

FUNCTIONS = frozenset(
    "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu".split()
    + "lgamma digamma trigamma".split()
)
ARITY = {"neg": 1, "div": 2, "pow": 2, "E": 1, "Var": 1, "Cov": 2}  # operators that take values alone
REDUCTIONS = frozenset({"sum", "prod", "max", "min", "all", "any"})
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
        if (t, condition) not in known and (t, condition) not in new:
            new.add((t, condition))
            if condition != (t.op in CONDITIONS):
                raise Rejected(f"{t.op} stands where a {'condition' if condition else 'value'} must")
            stack += _parts(t, context)
            for k in (*t.bound, t) if t.op == "index" else t.bound:
                if k.value[0][0] in reserved:
                    raise Rejected(f"the letter {k.value[0]} is the kernel's own")
    known |= new  # only now: nothing of a term that is refused counts as seen


LAWS = {"random": 2, "normal": 2, "bernoulli": 1, "uniform": 2, "rademacher": 0}  # parameters of each


def laws_complete(context: Context) -> None:
    """Raise Rejected unless every random name has a known law with its parameters."""
    for d in context.declarations.values():
        if d.law is not None and LAWS.get(d.law.family) != len(d.law.parameters):
            raise Rejected(f"the law of {d.name} is not a known one with its parameters")


def _parts(t: Term, context: Context) -> list[tuple[Term, bool]]:
    """The parts of a term, each with whether it must be a condition. Raises Rejected for a term that is none."""
    op, args, count = t.op, t.args, len(t.args)
    if t.bound and op not in REDUCTIONS | {"at", "argmax"}:
        raise Rejected(f"{op} binds no letters")
    for k in t.bound:
        _letter(k, context)
    if op == "num":
        if not isinstance(t.value, Fraction) or args:
            raise Rejected("this is no number")
    elif op == "const":
        if t.value != "pi" or args:
            raise Rejected("infinity is no number" if t.value == "oo" else f"{t.value} is no constant")
    elif op == "size":
        if t.value not in context.axes or args:
            raise Rejected(f"{t.value} is no axis")
    elif op == "index":
        _letter(t, context)
    elif op in ("var", "def"):
        _entry(t, context)
        return [(a, False) for a in args if a.op != "num"]
    elif op == "fn":
        if t.value not in FUNCTIONS | {"max", "min"} or count != (2 if t.value in ("max", "min") else 1):
            raise Rejected(f"{t.value} is not a function of {count} arguments")
        return [(a, False) for a in args]
    elif op in ("add", "mul", "and", "or"):
        if count < 2:
            raise Rejected(f"{op} of fewer than two terms")
        return [(a, op in CONDITIONS) for a in args]
    elif op in ARITY:
        _count(t, ARITY[op])
        return [(a, False) for a in args]
    elif op == "delta":
        _count(t, 2)
        if len({subscript_axis(a, context) for a in args if a.op != "num"}) > 1:
            raise Rejected("delta of indices of different axes")
        return [(a, False) for a in args]
    elif op == "where":
        _count(t, 3)
        return list(zip(args, (True, False, False), strict=True))
    elif op in REDUCTIONS or op == "argmax":
        _count(t, 2)
        if not t.bound or len(set(t.bound)) != len(t.bound):
            raise Rejected(f"{op} without letters of its own")
        return [(args[0], op in ("all", "any")), (args[1], True)]
    elif op in ("diff", "limit", "at"):
        return _moved(t, context)
    elif op == "cmp":
        _count(t, 2)
        if t.value not in RELATION:
            raise Rejected(f"{t.value} is no relation")
        if all(is_index(a, context) for a in args) and len({subscript_axis(a, context) for a in args}) > 1:
            raise Rejected("indices of different axes are compared")
        return [(a, False) for a in args]
    elif op == "not":
        _count(t, 1)
        return [(args[0], True)]
    elif op in ("true", "false"):
        _count(t, 0)
    elif op == "holds":
        _count(t, 1)
        declaration = context.declarations.get(args[0].value) if args[0].op == "var" else None
        if declaration is None or declaration.kind not in ("bit", "random"):
            raise Rejected("only a bit holds")
        return [(args[0], False)]
    else:
        raise Rejected(f"{op} is not an operator")
    return []


def _count(t: Term, wanted: int) -> None:
    if len(t.args) != wanted:
        raise Rejected(f"{t.op} takes {wanted} arguments")


def _letter(k: Term, context: Context) -> None:
    value = k.value if k.op == "index" and not k.args else None
    if not (isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, str) and v for v in value)):
        raise Rejected("this is no index letter")
    if value[1] not in context.axes:
        raise Rejected(f"{value[1]} is no axis")


def _entry(t: Term, context: Context) -> None:
    axes = axes_of(t, context)
    if len(axes) != len(t.args):
        raise Rejected(f"{t.value} takes {len(axes)} subscripts")
    for a, axis in zip(t.args, axes, strict=True):
        if a.op != "num" and subscript_axis(a, context) != axis:
            raise Rejected(f"a subscript of {t.value} does not run over {axis}")


def _moved(t: Term, context: Context) -> list[tuple[Term, bool]]:
    """The parts of a derivative, a limit or an `at`: the variable must be one that can move."""
    body = t.args[0] if t.args else t
    name = t.value if t.op == "at" else t.args[1].value if len(t.args) > 1 and t.args[1].op == "var" else None
    declaration = context.declarations.get(name) if isinstance(name, str) else None
    if declaration is None:
        raise Rejected(f"{t.op} needs a declared variable")
    if t.op == "at":
        _count(t, 2)
        if tuple(k.value[1] for k in t.bound) != declaration.axes or len(set(t.bound)) != len(t.bound):
            raise Rejected(f"`at` needs a letter for each axis of {name}")
        return [(body, False), (t.args[1], False)]
    _entry(t.args[1], context)
    if t.op == "diff":
        _count(t, 2)
        if declaration.kind not in SMOOTH:
            raise Rejected(f"{name} cannot be differentiated by")
        return [(body, False), (t.args[1], False)]
    _count(t, 3)
    if declaration.axes or t.value not in ("+", "-", ""):
        raise Rejected("a limit is in a scalar, from above, from below or from both sides")
    return [(body, False)] + ([] if t.args[2] in (OO, neg(OO)) else [(t.args[2], False)])


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
