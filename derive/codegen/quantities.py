"""What a name of a theory compiles to: a definition, a theorem's right side, one side of a claim, a reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from derive.codegen.prepare import reachable
from derive.codegen.reverse import accumulated
from derive.codegen.source import Compiled, Part, Quantity
from derive.codegen.value import CodegenError
from derive.kernel.context import Context, Declaration, Definition
from derive.language.printer import to_text
from derive.language.theory import Claim, Theorem, Theory
from derive.term import NONLOCAL, TRUE, Term, alike, defined, diff, fresh, make, mul, over, substitute, subterms, var

Trusted = Callable[[Theory, Theorem], bool]  # whether what the theorem of that theory says is taken for true


def compile_quantity(theory: Theory, name: str, stable: bool | str = True, wide: bool | None = None) -> Compiled:
    """The named quantity as a vectorised NumPy function.

    A definition (of the file, imported, or `theorem.name` of a theorem), or a theorem, of which the right side of its
    last equation is compiled (the last whose right side is free of derivatives and means, if there is one).
    `stable=False` keeps to what is written, without shift by the maximum and the like; a name of one of `forms` takes
    that form. `wide` is that of `Quantity.compile`. Raises KeyError for an unknown name and CodegenError
    for what cannot be vectorised. Several names with commas between them give one function that returns them all.
    """
    return quantity(theory, name).compile(stable, wide)


def compile_side(theory: Theory, theorem: Theorem, claim: Claim, side: str = "right", stable: bool = True) -> Compiled:
    """One side ("left" or "right") of a claim as a function; its axes are the letters in their order in the claim."""
    return side_of(theory, theorem, claim, side).compile(stable)


def vjp(
    theory: Theory,
    name: str,
    wrt: str,
    stable: bool | str = True,
    wide: bool | None = None,
    trusted: Trusted = lambda owner, theorem: True,
) -> Compiled:
    """The reverse mode of a quantity by one variable: a function of the cotangent and the quantity's variables.

    Of a definition it is the right side of a theorem about sum(g[i] * diff(name[i], wrt[j]) for i in n), or, for a
    scalar, the cotangent times the right side of one about diff(name, wrt[j]), if that theorem is `trusted`. Where none
    says it for all the theory's values, the cotangent is carried back through the definitions, or through a theorem's
    right side. Raises CodegenError for what has no derivative.
    """
    return reverse_mode(theory, name, wrt, trusted).compile(stable, wide)


def joined(theory: Theory, names: list[str]) -> Quantity:
    """Several quantities as one function that returns them all and computes once what they share.

    Raises CodegenError where a name means different things in them.
    """
    found = [quantity(theory, name) for name in names]
    declarations: dict[str, Declaration] = {}
    definitions: dict[str, Definition] = {}
    for q in found:
        for table, own in ((declarations, q.context.declarations), (definitions, q.context.definitions)):
            for name, meaning in own.items():
                if table.setdefault(name, meaning) != meaning:  # type: ignore[attr-defined]
                    raise CodegenError(f"{name} means different things in {' and '.join(names)}")
    unique = [
        tuple(dict.fromkeys(k for part in parts for k in part))
        for parts in zip(*(_lists(q) for q in found), strict=True)
    ]
    letters, fixed, given = unique
    return Quantity(
        "_".join(q.name for q in found),
        make("list", [q.term for q in found]),
        replace(found[0].context, declarations=declarations, definitions=definitions),
        letters,
        fixed,
        given=given,
        formula=", ".join(names),
        parts=tuple(Part(q.name, q.letters, q.title, q.formula or to_text(q.term)) for q in found),
    )


def _lists(q: Quantity) -> tuple[tuple[Term, ...], ...]:
    return q.letters, q.fixed, q.given


def quantity(theory: Theory, name: str) -> Quantity:
    """What `compile_quantity` compiles."""
    names = [part.strip() for part in name.split(",")]
    if len(names) > 1:
        return joined(theory, names)
    owner, place, context, fixed = found(theory, name)
    if isinstance(place, Theorem):
        return side_of(owner, place, last_equation(place))
    letters = _loose(place.letters, fixed)
    body = substitute(place.body, dict(zip(place.letters, letters, strict=True)))
    term = defined(place.name, *letters)
    title = f"{theory.name}.{name}"
    return Quantity(place.name, term, context, letters, fixed, title=title, formula=to_text(body))


def side_of(theory: Theory, theorem: Theorem, claim: Claim, side: str = "right") -> Quantity:
    """What `compile_side` compiles."""
    if claim.condition.op != "cmp" or claim.condition.args[1].op == "list":
        raise CodegenError(f"the claim has no sides: {claim.statement}")
    left, right = claim.condition.args
    fixed = (*theory.letters, *theorem.letters)
    letters = tuple(k for k in in_order(claim.condition) if k not in fixed)
    term, context = (left if side == "left" else right), theory.context(theorem)
    title = f"{theory.name}.{theorem.name}"
    return Quantity(theorem.name, term, context, letters, fixed, title=title, given=context.hypotheses)


def reverse_mode(theory: Theory, name: str, wrt: str, trusted: Trusted = lambda owner, theorem: True) -> Quantity:
    """What `vjp` compiles: what a theorem without hypotheses of its own says of all entries; else by accumulation."""
    matches = (
        (owner, theorem, chain_end(theorem, claim), match)
        for owner, theorem in theorems(theory)
        for claim in theorem.claims
        if not theorem.hypotheses
        and _means_the_same(name, theory, owner)
        and (match := cotangent_of(claim.condition, name, wrt))
        and match[1].letters.isdisjoint((*owner.letters, *theorem.letters))
        and plain(chain_end(theorem, claim))
        and trusted(owner, theorem)
    )
    stated = next(matches, None)
    if stated is None:
        return carried_back(theory, name, wrt)
    owner, theorem, claim, (cotangent, entry) = stated
    context, right = owner.context(theorem), claim.condition.args[1]
    if cotangent is None:
        cotangent = _unused("g", context)
        context = replace(context, declarations={**context.declarations, cotangent: Declaration(cotangent, "real")})
        right = mul(var(cotangent), right)
    fixed = (*owner.letters, *theorem.letters)
    return Quantity(
        f"{name}_vjp",
        right,
        context,
        entry.args,
        fixed,
        first=(cotangent,),
        also=tuple(variables_of(defined(name), context)),
        title=f"{owner.name}.{theorem.name}",
        given=context.hypotheses,
    )


def _means_the_same(name: str, theory: Theory, owner: Theory) -> bool:
    """Whether the definition is the same in both theories, with all that it rests on."""
    context = Context(owner.axes, owner.declarations, owner.definitions)
    used = reachable(defined(name), context)
    variables = variables_of(defined(name), context)
    return all(theory.definitions.get(d.name) == d for d in used) and all(
        theory.declarations.get(v) == owner.declarations[v] for v in variables
    )


def carried_back(theory: Theory, name: str, wrt: str) -> Quantity:
    """The reverse mode of a definition, or of a theorem's right side, by accumulation; CodegenError without one."""
    try:
        q = quantity(theory, name)
    except KeyError:
        raise CodegenError(f"{theory.name} has no definition or theorem named {name}") from None
    return backward(q, wrt)


def backward(q: Quantity, wrt: str) -> Quantity:
    """The reverse mode of what is compiled, by one of its variables: by accumulation; CodegenError without one."""
    name, letters, context = q.name, q.letters, q.context
    if q.parts:
        raise CodegenError(f"a reverse mode is that of one quantity, not of {q.formula}")
    if wrt not in context.declarations:
        raise CodegenError(f"{q.title or name} has no variable {wrt}")
    if context.declarations[wrt].kind not in ("real", "positive", "nonnegative", "random"):
        raise CodegenError(f"nothing is differentiated by {wrt}, which is no real number")
    if q.term is not defined(name, *letters):
        name = _unused(name, context)
        whole = Definition(name, letters, q.term)
        context = replace(context, definitions={**context.definitions, name: whole})
    cotangent = _unused("g", context)
    term, entry, context = accumulated(name, letters, context, wrt, cotangent, q.fixed)
    slope = diff(q.term, var(wrt, *entry))
    told = over("sum", mul(var(cotangent, *letters), slope), *letters) if letters else mul(var(cotangent), slope)
    return Quantity(
        f"{q.name}_vjp",
        term,
        context,
        entry,
        q.fixed,
        first=(cotangent,),
        title=f"{q.title or q.name}, backwards by {wrt}",
        formula=to_text(told),
        given=context.hypotheses,
    )


def found(theory: Theory, name: str) -> tuple[Theory, Definition | Theorem, Context, tuple[Term, ...]]:
    """The theory that owns the named definition or theorem, the thing itself, its context and its fixed indices."""
    letters = frozenset(theory.letters)
    base = Context(theory.axes, theory.declarations, theory.definitions, theory.hypotheses, letters=letters)
    if name in theory.definitions:
        return theory, theory.definitions[name], base, theory.letters
    for owner, theorem in theorems(theory):
        if theorem.name == name:
            return owner, theorem, owner.context(theorem), (*owner.letters, *theorem.letters)
        for definition in theorem.definitions:
            if f"{theorem.name}.{definition.name}" == name:
                return owner, definition, owner.context(theorem), (*owner.letters, *theorem.letters)
    raise KeyError(f"{theory.name} has no definition or theorem named {name}")


def theorems(theory: Theory) -> Iterator[tuple[Theory, Theorem]]:
    """The theorems of a theory, then those of the theories that it imports from."""
    for theorem in theory.theorems:
        yield theory, theorem
    for imported in theory.imports:
        yield from theorems(imported.theory)


def last_equation(theorem: Theorem) -> Claim:
    """The last equation whose right side is plain, or else the last equation, or else the last claim."""
    equations = [c for c in theorem.claims if c.condition.op == "cmp" and c.condition.value == "=="]
    return ([c for c in equations if plain(c)] or equations or list(theorem.claims))[-1]


def plain(claim: Claim) -> bool:
    """Whether the claim's right side is free of derivatives, replacements, limits and means."""
    return not any(t.op in NONLOCAL for t in subterms(claim.condition.args[1]))


def chain_end(theorem: Theorem, claim: Claim) -> Claim:
    """The last equation of the chain that the claim stands in."""
    for other in theorem.claims:
        goes_on = other.line == claim.line and other.condition.op == "cmp" and other.condition.value == "=="
        if goes_on and other is not claim and alike(other.condition.args[0], claim.condition.args[1]):
            return chain_end(theorem, other)
    return claim


def cotangent_of(condition: Term, name: str, wrt: str) -> tuple[str | None, Term] | None:
    """The cotangent's name and the entry differentiated by, if the left side is a reverse mode of the definition.

    The entry is any one: its subscripts are different letters. The name is None where the left side is the derivative
    of a scalar by itself.
    """
    if condition.op != "cmp" or condition.value != "==":
        return None
    left = condition.args[0]
    bound: tuple[Term, ...] = ()
    if left.op == "sum" and left.args[1] is TRUE:
        left, bound = left.args[0], left.bound
    factors = left.args if left.op == "mul" else (left,)
    derivatives = [f for f in factors if f.op == "diff"]
    others = [f for f in factors if f.op != "diff"]
    if len(derivatives) != 1 or len(others) > 1:
        return None
    body, entry = derivatives[0].args
    if body.op != "def" or body.value != name or entry.value != wrt or set(body.args) != set(bound):
        return None
    if len(body.args) != len(bound) or not entry.letters.isdisjoint(bound):
        return None
    if len(entry.letters) != len(entry.args):
        return None
    if not others:
        return (None, entry) if not bound else None
    cotangent = others[0]
    return (cotangent.value, entry) if cotangent.op == "var" and cotangent.args == body.args else None


def variables_of(term: Term, context: Context) -> list[str]:
    """The variables that the term's value depends on, through definitions too: not what `at` replaces."""
    memo: dict[Term, frozenset[str]] = {}

    def walk(t: Term) -> frozenset[str]:
        if t not in memo:
            found = frozenset().union(*map(walk, t.args))
            if t.op == "at":
                found = walk(t.args[0]) - {t.value} | walk(t.args[1])
            elif t.op == "def" and t.value in context.definitions:
                found |= walk(context.definitions[t.value].body)
            elif t.op == "var":
                found |= {t.value}
            memo[t] = found
        return memo[t]

    seen = walk(term)
    return [n for n in context.declarations if n in seen]


def in_order(term: Term) -> list[Term]:
    """The free letters of the term in order of appearance."""
    order: list[Term] = []

    def walk(t: Term) -> None:
        if t.op == "index" and t in term.letters and t not in order:
            order.append(t)
        for a in t.args:
            if not a.letters.isdisjoint(term.letters):
                walk(a)

    walk(term)
    return order


def _loose(letters: tuple[Term, ...], fixed: tuple[Term, ...]) -> tuple[Term, ...]:
    """The letters under names that no fixed index has."""
    loose: list[Term] = []
    for letter in letters:
        taken = (*fixed, *loose, *(k for k in letters if k is not letter))
        loose.append(fresh(letter, taken))
    return tuple(loose)


def _unused(name: str, context: Context) -> str:
    while name in context.declarations or name in context.definitions or name in context.axes:
        name += "_"
    return name
