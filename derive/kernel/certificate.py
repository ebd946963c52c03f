"""Certificates: proofs as JSON, and their replay. Reads anything; what is not a certificate is Rejected with a reason.

The format is described in docs/certificate.md. A term is a list: operator, payload, bound letters, arguments.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from derive.kernel.check import Names, check, pure_index
from derive.kernel.context import Context, Declaration, Definition, Law, Lemma
from derive.kernel.normal import Normal
from derive.kernel.proof import Cite, Condition, Line, Part, Proof, Rejected, Step, Use
from derive.kernel.wellformed import laws_complete, well_formed
from derive.term import BINDERS, TRUE, Term, alike, make, num

FORMAT = "derive-certificate"
VERSION = 2
VERDICTS = ("refuted", "undecided", "checked")  # of a claim that is not proved, the weakest first
NAMED = frozenset({"const", "size", "var", "def", "fn", "cmp", "limit"})  # operators with a name as their payload
PLAIN = frozenset(
    "add mul neg div pow delta where E Var Cov and or not true false holds list".split()
)  # operators with arguments alone
MAX_DEPTH = 2000
NUMBER = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")  # longer ones are nothing that a proof holds


def decode(data: Any, depth: int = 0) -> Term:
    """The term of nested lists. Raises Rejected for anything else."""
    if not isinstance(data, list) or not data or not isinstance(data[0], str) or depth > MAX_DEPTH:
        raise Rejected("a term is a list that begins with its operator")
    op, rest = data[0], data[1:]
    if op in PLAIN:
        return make(op, [decode(a, depth + 1) for a in rest])
    if op == "num":
        return _number(_text(rest, 0) if len(rest) == 1 else "")
    if op == "index" and len(rest) == 2:
        return make("index", (), (_text(rest, 0), _text(rest, 1)))
    if op == "diff":
        entry = make("var", [decode(a, depth + 1) for a in rest[2:]], _text(rest, 1))
        return make("diff", (decode(rest[0], depth + 1), entry))
    value: str | None = None
    if op in NAMED or op == "at":
        value, rest = _text(rest, 0), rest[1:]
    bound: list[Term] = []
    if op in BINDERS:
        if not rest or not isinstance(rest[0], list) or not all(isinstance(k, list) and len(k) == 2 for k in rest[0]):
            raise Rejected(f"{op} without its bound letters")
        bound, rest = [make("index", (), (_text(k, 0), _text(k, 1))) for k in rest[0]], rest[1:]
    elif op not in NAMED:
        raise Rejected(f"{op} is not an operator")
    return make(op, [decode(a, depth + 1) for a in rest], value, bound)


@lru_cache(maxsize=1024)
def _number(text: str) -> Term:
    if not NUMBER.fullmatch(text):
        raise Rejected("that is not a rational number")
    return num(Fraction(text))


def _text(data: Any, position: int) -> str:
    if not isinstance(data, list) or len(data) <= position or not isinstance(data[position], str):
        raise Rejected("a name is missing")
    return str(data[position])


def digest(data: Any) -> str:
    """The SHA-256 of the data as canonical JSON."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def seal(certificate: dict[str, Any]) -> str:
    """The digest of a whole certificate but for itself: each claim stands in it by its own."""

    def named(theory: dict[str, Any]) -> dict[str, Any]:
        theorems = [t | {"claims": [c.get("digest") for c in t["claims"]]} for t in theory["theorems"]]
        return {k: v for k, v in theory.items() if k != "digest"} | {"theorems": theorems}

    return digest(named(certificate) | {"imports": [named(i) for i in certificate["imports"]]})


@dataclass(frozen=True)
class Replay:
    """The outcome for one claim of a certificate."""

    theorem: str
    number: int
    statement: str
    ok: bool
    reason: str | None


class Proved:
    """The claims that were accepted, by theorem, each with what it rests on; and the names that they share."""

    def __init__(self) -> None:
        self.claims: dict[str, list[tuple[Term, Context]]] = {}
        self.names: list[Names] = []

    def shared(self, context: Context) -> Names:
        for names in self.names:
            if names.take(context):
                return names
        self.names.append(Names())
        return self.shared(context)


def verify_file(path: str | Path) -> list[Replay]:
    """Replay every proof of a certificate. Raises Rejected where the file as a whole is none, or was edited."""
    try:
        data = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as why:
        raise Rejected(f"{path} is not a certificate: {why}") from None
    return verify(data)


def verify(data: Any) -> list[Replay]:
    """Replay every proof of a decoded certificate, those of imported theorems first.

    Raises Rejected for what is no certificate, and for one that was edited in what belongs to no claim.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise Rejected(f"not a certificate of version {VERSION}")
    found: list[Replay] = []
    proved = Proved()
    for source in _part(data, "imports", list):
        found += _theory(source, f"{_part(source, 'theory', str)}.", proved)
    _part(data, "theory", str)
    found += _theory(data, "", proved)
    if all(r.ok for r in found) and seal(data) != data.get("digest"):
        raise Rejected("edited after it was sealed: the names or verdicts of theorems, or which claims they have")
    return found


def _theory(data: Any, prefix: str, proved: Proved) -> Iterator[Replay]:
    text = _part(data, "text", str)
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != data.get("sha256"):
        raise Rejected("the text is not the one that was certified: its SHA-256 differs")
    for theorem in _part(data, "theorems", list):
        name, claims = _part(theorem, "name", str), _part(theorem, "claims", list)
        left = [_part(c, "verdict", str) for c in _part(theorem, "open", list)]
        weakest = next((v for v in VERDICTS if v in left), "proved" if claims and not left else "undecided")
        if theorem.get("verdict") != weakest:
            raise Rejected(f"{name} is not {theorem.get('verdict')}: the weakest of its claims is {weakest}")
        for number, claim in enumerate(claims, 1):
            why = None
            try:
                proved.claims.setdefault(name, []).append(_replay(claim, proved))
            except Rejected as rejected:
                why = str(rejected)
            except RecursionError:
                why = "nested too deeply"
            yield Replay(prefix + name, number, _part(claim, "statement", str), why is None, why)


def _part(data: Any, name: str, kind: type) -> Any:
    found = data.get(name) if isinstance(data, dict) else None
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise Rejected(f"{name} is missing or malformed")
    return found


def _replay(claim: Any, proved: Proved) -> tuple[Term, Context]:
    """The claim and what it rests on, its proof accepted. What the kernel finds comes before what the digest tells."""
    found = _judged(claim, proved)
    if digest({k: v for k, v in claim.items() if k != "digest"}) != claim.get("digest"):
        raise Rejected("edited after it was certified: the statement, or what else stands beside the steps in words")
    return found


def _judged(claim: Any, proved: Proved) -> tuple[Term, Context]:
    context = decode_context(_part(claim, "context", dict))
    condition = decode(_part(claim, "claim", list))
    if claim.get("kind") == "example":
        from derive.kernel import examples

        examples.decide(condition, context)
        return condition, context
    data = _part(claim, "proof", dict)
    proof = replace(decode_proof(data), claim=condition)
    uses = [u for part in (*proof.steps, *proof.lines) for u in part.uses]  # type: ignore[attr-defined]
    for number in sorted({u.number for u in uses if u.kind != "hypothesis" and 0 <= u.number < len(context.lemmas)}):
        _covered(context.lemmas[number], context, proved)
    account = check(proof, context, names=proved.shared(context))
    found = {"obligations": account.obligations, "domain": [Condition(c, "") for c in account.domain]}
    if sorted(list(k.value) for k in condition.letters) != data.get("free_letters"):
        raise Rejected("the certificate names other free letters than the claim has")
    for name, conditions in found.items():
        if [c.condition for c in conditions] != _conditions(_part(data, name, list)):
            raise Rejected(f"the certificate names other {name} than the kernel found")
    for number, (met, step) in enumerate(zip(account.conditions, data["steps"], strict=False), 1):
        if [c.condition for c in met if c.reason] != _conditions(_part(step, "conditions", list)):
            raise Rejected("the certificate names other side conditions than the kernel found", number)
    return condition, context


def _conditions(listed: list[Any]) -> list[Term]:
    """The conditions, alone or each with its reason in words."""
    return [decode(c.get("condition") if isinstance(c, dict) else c) for c in listed]


def _tables(context: Context) -> tuple[dict[str, Any], ...]:
    return context.declarations, context.definitions


def _covered(lemma: Lemma, context: Context, proved: Proved) -> None:
    """Raises Rejected unless the lemma is a claim proved before, of the same names, with all its hypotheses."""
    here = Normal(context)
    wanted = here.opened(lemma.condition)
    why: str | None = "is not proved before"
    for condition, source in proved.claims.get(lemma.theorem, ()):
        there = Normal(source)
        if alike(there.opened(condition), wanted):
            why = _unlike(lemma, wanted, here, there)
            if why is None:
                return
    raise Rejected(f"the lemma {lemma.name} {why}")


def _unlike(lemma: Lemma, wanted: Term, here: Normal, there: Normal) -> str | None:
    """Why a lemma is not the claim proved before that says the same; None where it is."""
    source, context = there.context, here.context
    if not lemma.letters <= source.letters:
        return "takes a letter for a declared index that was none"
    given = [here.opened(h) for h in lemma.hypotheses]
    shared = [here.opened(h) for h in context.hypotheses]
    wants = [(h, there.opened(h)) for h in source.hypotheses]
    for name in source.reached(wanted.names.union(*(h.names for _, h in wants))):
        if any(a.get(name) != b.get(name) for a, b in zip(_tables(source), _tables(context), strict=True)):
            return f"speaks of another {name}"
    for h, opened in wants:
        # What is said of indices alone is met at each instance; what is said of all letters must be so here too.
        everywhere = not pure_index(h, source) and context.letters & h.letters <= source.letters
        if not any(alike(opened, g) for g in (*given, *(shared if everywhere else ()))):
            return "has lost a hypothesis"
    return None


def decode_context(data: dict[str, Any]) -> Context:
    """What a claim rests on. Raises Rejected unless its parts fit together."""
    declared = [_declared(d) for d in _part(data, "declarations", list)]
    defined = [
        Definition(_part(d, "name", str), _letters(_part(d, "letters", list)), decode(_part(d, "body", list)))
        for d in _part(data, "definitions", list)
    ]
    context = Context(
        tuple(_texts(_part(data, "axes", list))),
        {d.name: d for d in declared},
        {d.name: d for d in defined},
        tuple(decode(h) for h in _part(data, "hypotheses", list)),
        tuple(_lemma(m) for m in _part(data, "lemmas", list)),
        frozenset(_letters(_part(data, "letters", list))),
    )
    if len({*context.declarations, *context.definitions}) < len(declared) + len(defined):
        raise Rejected("a name is declared or defined twice")
    sound(context)
    return context


KINDS = frozenset({"real", "positive", "nonnegative", "integer", "bit", "index", "random"})


def sound(context: Context) -> None:
    """Raises Rejected unless every declaration says what its kind needs, and nothing rests on itself."""
    laws_complete(context)
    axes = set(context.axes)
    for d in (*context.declarations.values(), *(v for m in context.lemmas for v in m.variables)):
        law, over = d.law, {*d.axes, *(() if d.over is None else (d.over,))}
        if d.kind not in KINDS or not over <= axes or (d.over is not None) != (d.kind == "index"):
            raise Rejected(f"{d.name} is not declared as it should be")
        if (law is not None) != (d.kind == "random"):
            raise Rejected(f"the law of {d.name} is none")
        if law is not None and tuple(k.value[1] for k in d.letters) != d.axes:
            raise Rejected(f"the law of {d.name} has other letters than its axes")
    before = set(context.declarations)
    for f in context.definitions.values():
        if not f.body.names <= before or not f.body.letters <= {*f.letters, *context.letters}:
            raise Rejected(f"{f.name} rests on something that is not defined before it, or on a letter not its own")
        before.add(f.name)
        well_formed(f.body, context)
    law_names = {d.name for d in context.declarations.values() if d.law is not None}
    for d in context.declarations.values():
        for p in () if d.law is None else d.law.parameters:
            well_formed(p, context)
            if law_names & context.reached(p.names) or not p.letters <= {*d.letters, *context.letters}:
                raise Rejected(f"the law of {d.name} rests on a random name, or on a letter not its own")
    for h in (*context.hypotheses, *(c for m in context.lemmas for c in (m.condition, *m.hypotheses))):
        if h.op != "cmp" or all(a.op != "list" for a in h.args):  # `z == [2, 1]` is judged where examples are
            well_formed(h, context)


def _declared(data: Any) -> Declaration:
    name, kind, axes = _part(data, "name", str), _part(data, "kind", str), _texts(_part(data, "axes", list))
    law, ranges = data.get("law"), data.get("over")
    if ranges is not None and not isinstance(ranges, str):
        raise Rejected("an index ranges over an axis")
    made = None
    if law is not None:
        made = Law(_part(law, "family", str), tuple(decode(p) for p in _part(law, "parameters", list)))
    return Declaration(name, kind, tuple(axes), ranges, made, _letters(_part(data, "letters", list)))


def _lemma(data: Any) -> Lemma:
    return Lemma(
        _part(data, "name", str),
        decode(_part(data, "condition", list)),
        tuple(decode(h) for h in _part(data, "hypotheses", list)),
        tuple(_declared(v) for v in _part(data, "variables", list)),
        _part(data, "theorem", str),
        _part(data, "claim", int),
        frozenset(_letters(_part(data, "letters", list))),
    )


def _texts(data: list[Any]) -> list[str]:
    return [_text(data, p) for p in range(len(data))]


def _letters(data: list[Any]) -> tuple[Term, ...]:
    return tuple(make("index", (), (_text(k, 0), _text(k, 1))) for k in data)


def decode_proof(data: dict[str, Any]) -> Proof:
    """The steps and lines. Raises Rejected with the number of the first that is none."""
    steps = [_numbered(n, _step, s) for n, s in enumerate(_part(data, "steps", list), 1)]
    lines = [_numbered(n, _decoded_line, m) for n, m in enumerate(_part(data, "lines", list), len(steps) + 1)]
    return Proof(TRUE, tuple(steps), tuple(lines))


def _numbered(number: int, decoder: Callable[[Any], Any], data: Any) -> Any:
    try:
        return decoder(data)
    except Rejected as why:
        raise Rejected(why.reason, number) from None


def _step(data: Any) -> Step:
    path = _part(data, "path", list)
    if not all(isinstance(p, int) and not isinstance(p, bool) for p in path):
        raise Rejected("a path is a list of argument numbers")
    after, reverse = decode(_part(data, "after", list)), _part(data, "reverse", bool)
    return Step(_part(data, "rule", str), after, tuple(path), reverse, _uses(data))


def _decoded_line(data: Any) -> Line:
    parts = [
        Part(
            decode(_part(p, "multiplier", list)),
            tuple(_decoded_cite(c) for c in _part(p, "cites", list)),
            _letters(_part(p, "over", list)),
            decode(_part(p, "where", list)),
        )
        for p in _part(data, "parts", list)
    ]
    return Line(
        decode(_part(data, "condition", list)),
        _part(data, "rule", str),
        tuple(decode(v) for v in _part(data, "values", list)),
        tuple(parts),
        tuple(None if c is None else _decoded_cite(c) for c in _part(data, "cites", list)),
        _letters(_part(data, "letters", list)),
        decode(_part(data, "where", list)),
        _uses(data),
    )


def _decoded_cite(data: Any) -> Cite:
    return Cite(_part(data, "line", int), _decoded_pairs(data))


def _decoded_pairs(data: Any) -> tuple[tuple[Term, Term], ...]:
    pairs = _part(data, "letters", list)
    if not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise Rejected("an instance is a list of pairs of letters")
    found = tuple((decode(a), decode(b)) for a, b in pairs)
    if any(k.op != "index" for k, _ in found):
        raise Rejected("an instance replaces letters")
    return found


def _uses(data: Any) -> tuple[Use, ...]:
    return tuple(decode_use(u) for u in _part(data, "uses", list))


def decode_use(data: Any) -> Use:
    letters, multiplier = _decoded_pairs(data), data.get("multiplier")
    return Use(
        _part(data, "kind", str),
        _part(data, "number", int),
        letters,
        None if multiplier is None else decode(multiplier),
        _letters(_part(data, "over", list)),
    )
