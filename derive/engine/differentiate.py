"""`derive diff`: one derivative without a claimed answer, simplified and folded into the user's names.

The declarations that the formula needs are inferred from it, the answer is the shortest (in nodes) of the forms that
the engine knows how to write, and the kernel proves that it is the derivative.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from derive.engine.forms import forms
from derive.engine.prove import Attempt, prove
from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected
from derive.language import loads
from derive.language.theory import Theory
from derive.term import Term, cmp


@dataclass(frozen=True)
class Derivative:
    """An answer of `derive diff`: `left` is the derivative as asked, `right` its short form, `attempt` the proof."""

    theory: Theory
    left: Term
    right: Term
    attempt: Attempt


def differentiate(expression: str, by: tuple[str, ...], given: tuple[str, ...] = ()) -> Derivative:
    """The derivative of the expression by the entries, in that order.

    `given` are lines of the formula language, declarations and definitions; what they leave open is inferred. Raises
    LanguageError for text that is not in the language, Rejected where the engine has no rule.
    """
    axes = [line for line in given if line.partition(":")[2].strip() == "axis"]
    rest = [line for line in given if line not in axes]
    text = "".join(f"{line}\n" for line in (*axes, *inferred(expression, by, given), *rest))
    asked = f"diff({expression}, {', '.join(by)})"
    theory = loads(f"{text}\n\ndef derivative():\n    assert {asked} == 0\n", name="diff")
    theorem = theory["derivative"]
    condition = theorem.claims[0].condition
    context = theory.context(theorem)
    ground = Ground(condition, context)
    left = condition.args[0]
    right = shortest(ground.full, left)
    return Derivative(theory, left, right, prove(cmp("==", left, right), context))


def shortest(nf: Normal, term: Term) -> Term:
    """The shortest form that is known of the term and equal to it, by its number of nodes."""
    return next((f for f in forms(nf, term) if equal(nf, f, term)), term)


def equal(nf: Normal, form: Term, term: Term) -> bool:
    try:
        return nf.equal(form, term)
    except Rejected:
        return False


# -- declarations inferred from a formula --------------------------------------------------------------------------


@dataclass
class Use:
    """How a formula uses names: the subscripts of each array, the axes of bound letters."""

    arrays: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    scalars: set[str] = field(default_factory=set)
    letters: dict[str, str] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)


def inferred(expression: str, by: tuple[str, ...], given: tuple[str, ...]) -> list[str]:
    """Declarations for the names that nothing declares: an axis for each `for k in n`, real scalars and arrays."""
    use = Use()
    for text in (expression, *by):
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []  # the parser of the language says what is wrong
        _collect(tree.body, use)
    declared: set[str] = set()
    axes_given: set[str] = set()
    for line in given:
        name, _, kind = line.partition(":")
        declared.add(name.split("=")[0].split("[")[0].strip())
        if kind.strip() == "axis":
            axes_given.add(name.strip())
        if "=" in line and ":" not in line.split("=")[0]:
            try:
                _collect(ast.parse(line.partition("=")[2].strip(), mode="eval").body, use)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return []
    axis_of = dict(use.letters)
    places: dict[tuple[str, int], str] = {}
    for _ in range(3):  # an axis spreads from letters to the places of arrays and back
        for name, all_subscripts in use.arrays.items():
            for subscripts in all_subscripts:
                for p, letter in enumerate(subscripts):
                    if letter in axis_of:
                        places.setdefault((name, p), axis_of[letter])
                    elif (name, p) in places:
                        axis_of[letter] = places[name, p]
    axes = dict.fromkeys([*use.letters.values(), *axis_of.values()])
    lines = []
    arrays = []
    for name, all_subscripts in use.arrays.items():
        if name in declared:
            continue
        dims = [places.get((name, p), "n") for p in range(len(all_subscripts[0]))]
        axes.update(dict.fromkeys(dims))
        arrays.append(f"{name}: real[{', '.join(dims)}]")
    lines += [f"{axis}: axis" for axis in axes if axis not in declared and axis not in axes_given]
    lines += arrays
    taken = declared | set(axes) | set(use.arrays) | set(axis_of)
    from derive.language.words import RESERVED

    return lines + [f"{name}: real" for name in sorted(use.scalars) if name not in taken and name not in RESERVED]


def _collect(node: ast.AST, use: Use) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
            parts = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
            letters = tuple(p.id if isinstance(p, ast.Name) else "" for p in parts)
            use.arrays.setdefault(inner.value.id, []).append(letters)
            use.scalars -= set(letters)
        elif (
            isinstance(inner, ast.comprehension)
            and isinstance(inner.target, ast.Name)
            and isinstance(inner.iter, ast.Name)
        ):
            use.letters[inner.target.id] = inner.iter.id
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            use.calls.add(inner.func.id)
    subscripts = {x for all_ in use.arrays.values() for s in all_ for x in s}
    for inner in ast.walk(node):
        known = subscripts | use.calls | set(use.arrays) | set(use.letters) | set(use.letters.values())
        if isinstance(inner, ast.Name) and inner.id not in known:
            use.scalars.add(inner.id)
