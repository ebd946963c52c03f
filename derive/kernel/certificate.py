"""Certificates: proofs as JSON, and their replay. Reads anything; what is not a certificate is Rejected with a reason.

The format is described in docs/certificate.md. A term is a list: operator, payload, bound letters, arguments.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from derive.kernel.check import check
from derive.kernel.context import Context, Declaration, Definition, Law, Lemma
from derive.kernel.proof import Account, Proof, Rejected, Step, Use
from derive.term import BINDERS, TRUE, Term, make

FORMAT = "derive-certificate"
VERSION = 1
NAMED = frozenset({"const", "size", "var", "def", "fn", "cmp", "limit"})  # operators with a name as their payload
PLAIN = frozenset(
    "add mul neg div pow delta where diff E Var Cov and or not true false holds list".split()
)  # operators with arguments alone
MAX_DEPTH = 2000


def encode(term: Term) -> list[Any]:
    """The term as nested lists."""
    op = term.op
    if op == "num":
        return ["num", str(term.value)]
    if op == "index":
        return ["index", *term.value]
    if op == "diff":  # (body, variable, indices)
        return ["diff", encode(term.args[0]), term.args[1].value, *map(encode, term.args[1].args)]
    head: list[Any] = [op]
    if op in NAMED or op == "at":
        head.append(term.value)
    if op in BINDERS:
        head.append([list(k.value) for k in term.bound])
    return head + [encode(a) for a in term.args]


def decode(data: Any, depth: int = 0) -> Term:
    """The term of nested lists. Raises Rejected for anything else."""
    if not isinstance(data, list) or not data or not isinstance(data[0], str) or depth > MAX_DEPTH:
        raise Rejected("a term is a list that begins with its operator")
    op, rest = data[0], data[1:]
    if op == "num":
        try:
            return make("num", (), Fraction(_text(rest, 0)))
        except (ValueError, ZeroDivisionError):
            raise Rejected(f"{rest[0]} is not a rational number") from None
    if op == "index":
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
    elif op not in NAMED and op not in PLAIN:
        raise Rejected(f"{op} is not an operator")
    return make(op, [decode(a, depth + 1) for a in rest], value, bound)


def _text(data: Any, position: int) -> str:
    if not isinstance(data, list) or len(data) <= position or not isinstance(data[position], str):
        raise Rejected("a name is missing")
    return str(data[position])


def encode_context(context: Context, claims: Iterable[Term]) -> dict[str, Any]:
    """What the claims rest on: only the declarations and definitions that can be reached from them."""
    reached = _reached(context, [*claims, *context.hypotheses, *(lemma.condition for lemma in context.lemmas)])
    return {
        "axes": list(context.axes),
        "letters": sorted(list(k.value) for k in context.letters),
        "declarations": [_declaration(d) for d in context.declarations.values() if d.name in reached],
        "definitions": [
            {
                "name": d.name,
                "letters": [list(k.value) for k in d.letters],
                "body": encode(d.body),
                "rests_on": sorted(_reached(context, [d.body])),
            }
            for d in context.definitions.values()
            if d.name in reached
        ],
        "hypotheses": [encode(h) for h in context.hypotheses],
        "lemmas": [
            {
                "name": lemma.name,
                "theorem": lemma.theorem,
                "claim": lemma.number,
                "condition": encode(lemma.condition),
                "hypotheses": [encode(h) for h in lemma.hypotheses],
                "variables": [_declaration(v) for v in lemma.variables],
            }
            for lemma in context.lemmas
        ],
    }


def _reached(context: Context, terms: Iterable[Term]) -> set[str]:
    found: set[str] = set()
    stack = [name for t in terms for name in t.names]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            if name in context.definitions:
                stack += context.definitions[name].body.names
            law = context.declarations[name].law if name in context.declarations else None
            stack += [n for p in law.parameters for n in p.names] if law else []
    return found


def _declaration(d: Declaration) -> dict[str, Any]:
    law = None if d.law is None else {"family": d.law.family, "parameters": [encode(p) for p in d.law.parameters]}
    letters = [list(k.value) for k in d.letters]
    return {"name": d.name, "kind": d.kind, "axes": list(d.axes), "over": d.over, "law": law, "letters": letters}


def _use(use: Use) -> dict[str, Any]:
    return {
        "kind": use.kind,
        "number": use.number,
        "letters": [[encode(a), encode(b)] for a, b in use.letters],
        "multiplier": None if use.multiplier is None else encode(use.multiplier),
        "over": [list(k.value) for k in use.over],
    }


def encode_proof(proof: Proof, account: Account) -> dict[str, Any]:
    """The proof with the reason of each side condition."""
    reasons = [*account.conditions, *([()] * len(proof.steps))]
    return {
        "free_letters": sorted(list(k.value) for k in proof.claim.letters),
        "steps": [
            {
                "rule": s.rule,
                "path": list(s.path),
                "reverse": s.reverse,
                "after": encode(s.after),
                "uses": [_use(u) for u in s.uses],
                "conditions": [{"condition": encode(c.condition), "reason": c.reason} for c in why if c.reason],
            }
            for s, why in zip(proof.steps, reasons, strict=False)
        ],
        "uses": [_use(u) for u in proof.uses],
        "obligations": [{"condition": encode(c.condition), "reason": c.reason} for c in account.obligations],
        "domain": [encode(c) for c in account.domain],
    }


def digest(data: Any) -> str:
    """The SHA-256 of the data as canonical JSON."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Replay:
    """The outcome for one claim of a certificate."""

    theorem: str
    number: int
    statement: str
    ok: bool
    reason: str | None


def verify_file(path: str | Path) -> list[Replay]:
    """Replay every proof of a certificate. Raises Rejected where the file as a whole is none, or was edited."""
    try:
        data = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as why:
        raise Rejected(f"{path} is not a certificate: {why}") from None
    return verify(data)


def verify(data: Any) -> list[Replay]:
    """Replay every proof of a decoded certificate."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise Rejected(f"not a certificate of version {VERSION}")
    text, theorems = data.get("text"), data.get("theorems")
    if not isinstance(text, str) or not isinstance(theorems, list):
        raise Rejected("a certificate has a text and theorems")
    if hashlib.sha256(text.encode()).hexdigest() != data.get("sha256"):
        raise Rejected("the text is not the one that was certified: its SHA-256 differs")
    found: list[Replay] = []
    proved: dict[tuple[str, int], Any] = {}
    for theorem in theorems:
        claims = _part(theorem, "claims", list)
        for number, claim in enumerate(claims, 1):
            name, statement = _part(theorem, "name", str), _part(claim, "statement", str)
            try:
                _replay(claim, proved)
                proved[name, number] = (claim["claim"], claim["context"]["hypotheses"])
                found.append(Replay(name, number, statement, True, None))
            except Rejected as why:
                found.append(Replay(name, number, statement, False, str(why)))
            except RecursionError:
                found.append(Replay(name, number, statement, False, "nested too deeply"))
    return found


def _part(data: Any, name: str, kind: type) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get(name), kind):
        raise Rejected(f"{name} is missing or malformed")
    return data[name]


def _replay(claim: Any, proved: dict[tuple[str, int], Any]) -> None:
    context_data = _part(claim, "context", dict)
    context = decode_context(context_data)
    sealed = {k: v for k, v in claim.items() if k != "digest"}
    if digest(sealed) != claim.get("digest"):
        raise Rejected("the statement, the hypotheses or the steps were edited after they were certified")
    for lemma in _part(context_data, "lemmas", list):
        source = proved.get((_part(lemma, "theorem", str), _part(lemma, "claim", int)))
        if source is None or source[0] != lemma["condition"]:
            raise Rejected(f"the lemma {lemma['name']} is not proved before")
        if any(h not in lemma["hypotheses"] for h in source[1] if h not in context_data["hypotheses"]):
            raise Rejected(f"the lemma {lemma['name']} has lost a hypothesis")
    condition = decode(_part(claim, "claim", list))
    if claim.get("kind") == "example":
        from derive.kernel import examples

        examples.decide(condition, context)
        return
    check(replace(decode_proof(_part(claim, "proof", dict)), claim=condition), context)


def decode_context(data: dict[str, Any]) -> Context:
    declarations = {d.name: d for d in map(_declared, _part(data, "declarations", list))}
    definitions: dict[str, Definition] = {}
    for d in _part(data, "definitions", list):
        made_definition = Definition(
            _part(d, "name", str), _letters(_part(d, "letters", list)), decode(_part(d, "body", list))
        )
        if made_definition.name in declarations or made_definition.name in definitions:
            raise Rejected(f"{made_definition.name} is defined twice")
        if not made_definition.body.names <= set(declarations) | set(definitions):
            raise Rejected(f"{made_definition.name} rests on something that is not defined before it")
        if not made_definition.body.letters <= set(made_definition.letters) | _fixed(data):
            raise Rejected(f"the value of {made_definition.name} has a letter that is none of its own")
        definitions[made_definition.name] = made_definition
    return Context(
        tuple(_texts(_part(data, "axes", list))),
        declarations,
        definitions,
        tuple(decode(h) for h in _part(data, "hypotheses", list)),
        tuple(_lemma(m) for m in _part(data, "lemmas", list)),
        frozenset(_fixed(data)),
    )


def _declared(data: Any) -> Declaration:
    name, kind, axes = _part(data, "name", str), _part(data, "kind", str), _texts(_part(data, "axes", list))
    law = data.get("law")
    made = None
    if law is not None:
        made = Law(_part(law, "family", str), tuple(decode(p) for p in _part(law, "parameters", list)))
    return Declaration(name, kind, tuple(axes), data.get("over"), made, _letters(_part(data, "letters", list)))


def _lemma(data: Any) -> Lemma:
    return Lemma(
        _part(data, "name", str),
        decode(_part(data, "condition", list)),
        tuple(decode(h) for h in _part(data, "hypotheses", list)),
        tuple(_declared(v) for v in _part(data, "variables", list)),
        _part(data, "theorem", str),
        _part(data, "claim", int),
    )


def _fixed(data: dict[str, Any]) -> set[Term]:
    return set(_letters(_part(data, "letters", list)))


def _texts(data: list[Any]) -> list[str]:
    return [_text(data, p) for p in range(len(data))]


def _letters(data: list[Any]) -> tuple[Term, ...]:
    return tuple(make("index", (), (_text(k, 0), _text(k, 1))) for k in data)


def decode_proof(data: dict[str, Any]) -> Proof:
    steps: list[Step] = []
    for s in _part(data, "steps", list):
        path = _part(s, "path", list)
        if not all(isinstance(p, int) and not isinstance(p, bool) for p in path):
            raise Rejected("a path is a list of argument numbers", len(steps) + 1)
        try:
            uses = tuple(decode_use(u) for u in _part(s, "uses", list))
            after = decode(_part(s, "after", list))
        except Rejected as why:
            raise Rejected(why.reason, len(steps) + 1) from None
        steps.append(Step(_part(s, "rule", str), after, tuple(path), bool(s.get("reverse")), uses))
    uses = tuple(decode_use(u) for u in _part(data, "uses", list))
    return Proof(TRUE, tuple(steps), uses)


def decode_use(data: Any) -> Use:
    pairs = _part(data, "letters", list)
    if not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise Rejected("an instance is a list of pairs of letters")
    multiplier = data.get("multiplier")
    return Use(
        _part(data, "kind", str),
        _part(data, "number", int),
        tuple((decode(a), decode(b)) for a, b in pairs),
        (),
        None if multiplier is None else decode(multiplier),
        _letters(_part(data, "over", list)),
    )
