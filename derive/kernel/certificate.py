"""Certificates: proofs as JSON, and their replay. Reads anything; what is not a certificate is Rejected with a reason.

The format is described in docs/certificate.md. A term is a list: operator, payload, bound letters, arguments.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, get_args, get_origin, get_type_hints

from derive.kernel import examples
from derive.kernel import limits as _limits  # noqa: F401 - else the first limit of a replay would wait for it
from derive.kernel.check import MALFORMED, Names, check
from derive.kernel.context import Context, Declaration, Definition, Lemma
from derive.kernel.normal import Normal
from derive.kernel.proof import Line, Proof, Rejected, Step
from derive.kernel.wellformed import laws_complete, well_formed
from derive.term import BINDERS, TRUE, Letter, Term, alike, index, make, num

FORMAT = "derive-certificate"
VERSION = 3
VERDICTS = ("refuted", "undecided", "checked")  # of a claim that is not proved, the weakest first
NAMED = frozenset({"const", "size", "var", "def", "fn", "cmp", "limit", "at"})  # operators with a name as their payload
PLAIN = frozenset("add mul neg div pow delta where diff E Var Cov and or not true false holds list num index".split())
OPERATORS = NAMED | BINDERS | PLAIN
MAX_DEPTH = 2000
NUMBER = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")  # longer ones are nothing that a proof holds


# -- readers: data to what it stands for, or Rejected -----------------------------------------------------------------

Reader = Callable[[Any], Any]
Limit = Callable[[], AbstractContextManager[None]]  # what each claim is replayed in


def only(kind: type) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise Rejected("missing or malformed")
        return data

    return read


TEXT, WHOLE, TRUTH, LIST, OBJECT = map(only, (str, int, bool, list, dict))


def each(read: Reader) -> Reader:
    return lambda data: tuple(map(read, LIST(data)))


def field(data: Any, name: str, read: Reader) -> Any:
    try:
        return read(OBJECT(data).get(name))
    except Rejected as why:
        raise Rejected(f"{name}: {why.reason}", why.step) from None


def decode(data: Any, depth: int = 0) -> Term:
    """The term of nested lists; whether it is a well-formed one is judged where it is used."""
    op = data[0] if type(data) is list and data else ""
    try:
        if op == "index":
            return letter(data[1:])
        if TEXT(op) not in OPERATORS or depth > MAX_DEPTH:
            raise Rejected(f"{op} is not an operator, or nested too deeply")
        if op == "num":
            (_, text) = data
            return _number(TEXT(text))
        if op == "diff":  # (body, variable, indices)
            data = [op, data[1], ["var", *data[2:]]]
        value, bound, first = None, (), 1
        if op in NAMED:
            value, first = TEXT(data[1]), 2
        if op in BINDERS:
            bound, first = LETTERS(data[first]), first + 1
    except (IndexError, ValueError):
        raise Rejected(f"{op} lacks a part") from None
    return make(op, [decode(a, depth + 1) for a in data[first:]], value, bound)


@lru_cache(maxsize=1024)
def _number(text: str) -> Term:
    if not NUMBER.fullmatch(text):
        raise Rejected("that is not a rational number")
    return num(Fraction(text))


def letter(data: Any) -> Term:
    if len(LIST(data)) != 2 or not type(data[0]) is type(data[1]) is str:
        raise Rejected("a letter is a name and its axis")
    return index(*data)


def pair(data: Any) -> tuple[Term, Term]:
    """A letter and what it is replaced by."""
    first, place = map(decode, LIST(data))
    if first.op != "index":
        raise Rejected("an instance is a list of letters and what they are replaced by")
    return first, place


LETTERS, TERMS = each(letter), each(decode)
READERS: dict[Any, Reader] = {Term: decode, Letter: letter, str: TEXT, int: WHOLE, bool: TRUTH}


@cache
def reader(kind: Any) -> Reader:
    """What reads a value of the type; of a dataclass the fields by which it is compared."""
    if kind in READERS:
        return READERS[kind]
    if get_origin(kind) is tuple:
        inner, after = get_args(kind)
        return each(reader(inner)) if after is ... else pair
    if get_args(kind):  # that, or nothing
        read = reader(get_args(kind)[0])
        return lambda data: None if data is None else read(data)
    types = get_type_hints(kind, include_extras=True)
    parts = {f.name: reader(types[f.name]) for f in fields(kind) if f.compare}
    return lambda data: kind(**{name: field(data, name, read) for name, read in parts.items()})


def decode_proof(data: Any) -> Proof:
    """The steps and lines. Raises Rejected with the number of the first that is none."""
    found: dict[str, tuple[Any, ...]] = {"steps": (), "lines": ()}
    for name, read in (("steps", reader(Step)), ("lines", reader(Line))):
        for number, item in enumerate(field(data, name, LIST), len(found["steps"]) + 1):
            try:
                found[name] += (read(item),)
            except Rejected as why:
                raise Rejected(why.reason, number) from None
    return Proof(TRUE, **found)


# -- files ------------------------------------------------------------------------------------------------------------


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

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.claims: dict[str, list[tuple[Term, Context]]] = {}
        self.names: list[Names] = []

    def shared(self, context: Context) -> Names:
        for names in self.names:
            if names.take(context):
                return names
        self.names.append(Names())
        return self.shared(context)


def verify(data: Any, limit: Limit = nullcontext) -> list[Replay]:
    """Replay every proof of a decoded certificate, those of imported theorems first, each claim within the limit.

    Raises Rejected for what is no certificate, and for one that was edited in what belongs to no claim.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT or data.get("version") != VERSION:
        raise Rejected(f"not a certificate of version {VERSION}")
    found: list[Replay] = []
    proved = Proved(limit)
    for source in field(data, "imports", LIST):
        found += _theory(source, f"{field(source, 'theory', TEXT)}.", proved)
    field(data, "theory", TEXT)
    found += _theory(data, "", proved)
    if all(r.ok for r in found) and seal(data) != data.get("digest"):
        raise Rejected("edited after it was sealed: the names or verdicts of theorems, or which claims they have")
    return found


def _theory(data: Any, prefix: str, proved: Proved) -> Iterator[Replay]:
    text = field(data, "text", TEXT)
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != data.get("sha256"):
        raise Rejected("the text is not the one that was certified: its SHA-256 differs")
    for theorem in field(data, "theorems", LIST):
        name, claims = field(theorem, "name", TEXT), field(theorem, "claims", LIST)
        left = [field(c, "verdict", TEXT) for c in field(theorem, "open", LIST)]
        weakest = next((v for v in VERDICTS if v in left), "proved" if claims and not left else "undecided")
        if theorem.get("verdict") != weakest:
            raise Rejected(f"{name} is not {theorem.get('verdict')}: the weakest of its claims is {weakest}")
        for number, claim in enumerate(claims, 1):
            why = None
            try:
                with proved.limit():
                    proved.claims.setdefault(name, []).append(_replay(claim, proved))
            except Rejected as rejected:
                why = str(rejected)
            except MALFORMED as wrong:
                why = "nested too deeply" if isinstance(wrong, RecursionError) else f"malformed: {type(wrong).__name__}"
            yield Replay(prefix + name, number, field(claim, "statement", TEXT), why is None, why)


def _replay(claim: Any, proved: Proved) -> tuple[Term, Context]:
    """The claim and what it rests on, its proof accepted. What the kernel finds comes before what the digest tells."""
    found = _judged(claim, proved)
    if digest({k: v for k, v in claim.items() if k != "digest"}) != claim.get("digest"):
        raise Rejected("edited after it was certified: the statement, or what else stands beside the steps in words")
    return found


def _judged(claim: Any, proved: Proved) -> tuple[Term, Context]:
    context = field(claim, "context", decode_context)
    condition = field(claim, "claim", decode)
    if claim.get("kind") == "example":
        examples.decide(condition, context, names=proved.shared(context))
        return condition, context
    data = field(claim, "proof", OBJECT)
    proof = replace(decode_proof(data), claim=condition)
    uses = [u for part in (*proof.steps, *proof.lines) for u in part.uses]  # type: ignore[attr-defined]
    used = {u.number for u in uses if u.kind == "lemma"}
    lemmas = [_proved(m, context, proved) if number in used else m for number, m in enumerate(context.lemmas)]
    context = replace(context, lemmas=tuple(lemmas)) if used else context
    account = check(proof, context, names=proved.shared(context))
    found = {"obligations": [c.condition for c in account.obligations], "domain": account.domain}
    if sorted(list(k.value) for k in condition.letters) != data.get("free_letters"):
        raise Rejected("the certificate names other free letters than the claim has")
    for name, conditions in found.items():
        if not _told(conditions, field(data, name, LIST)):
            raise Rejected(f"the certificate names other {name} than the kernel found")
    for number, (met, step) in enumerate(zip(account.conditions, data["steps"], strict=False), 1):
        if not _told([c.condition for c in met], field(step, "conditions", LIST)):
            raise Rejected("the certificate names other side conditions than the kernel found", number)
    return condition, context


def _told(conditions: list[Term], listed: list[Any]) -> bool:
    """Whether these are the conditions that are listed, alone or each with its reason in words."""
    told = [decode(c.get("condition") if isinstance(c, dict) else c) for c in listed]
    return len(told) == len(conditions) and all(map(alike, told, conditions))


def _proved(lemma: Lemma, context: Context, proved: Proved) -> Lemma:
    """The lemma with the hypotheses and fixed letters of the claim proved before that it is; Rejected if it is none."""
    wanted = Normal(context).opened(lemma.condition)
    for condition, source in proved.claims.get(lemma.theorem, ()):
        there = Normal(source)
        if alike(there.opened(condition), wanted):
            hypotheses = tuple(map(there.opened, source.hypotheses))
            for name in source.reached(wanted.names.union(*(h.names for h in hypotheses))):
                tables = (source.declarations, context.declarations), (source.definitions, context.definitions)
                if any(a.get(name) != b.get(name) for a, b in tables):
                    raise Rejected(f"the lemma {lemma.name} speaks of another {name}")
            return replace(lemma, hypotheses=hypotheses, letters=source.letters)
    raise Rejected(f"the lemma {lemma.name} is not proved before")


def decode_context(data: Any) -> Context:
    """What a claim rests on. Raises Rejected unless its parts fit together."""
    declared = field(data, "declarations", each(reader(Declaration)))
    defined = field(data, "definitions", each(reader(Definition)))
    context = Context(
        field(data, "axes", each(TEXT)),
        {d.name: d for d in declared},
        {d.name: d for d in defined},
        field(data, "hypotheses", TERMS),
        field(data, "lemmas", each(reader(Lemma))),
        frozenset(field(data, "letters", LETTERS)),
    )
    if len({*context.declarations, *context.definitions}) < len(declared) + len(defined):
        raise Rejected("a name is declared or defined twice")
    sound(context)
    return context


KINDS = frozenset({"real", "positive", "nonnegative", "integer", "bit", "index", "random"})


def twice(letters: tuple[Term, ...]) -> bool:
    return len(set(letters)) < len(letters)


def sound(context: Context) -> None:
    """Raises Rejected unless every declaration says what its kind needs, and nothing rests on itself."""
    laws_complete(context)
    axes = set(context.axes)
    for d in context.declarations.values():
        law, over = d.law, {*d.axes, *(() if d.over is None else (d.over,))}
        if d.kind not in KINDS or not over <= axes or (d.over is not None) != (d.kind == "index"):
            raise Rejected(f"{d.name} is not declared as it should be")
        if (law is not None) != (d.kind == "random"):
            raise Rejected(f"the law of {d.name} is none")
        if law is not None and (tuple(k.value[1] for k in d.letters) != d.axes or twice(d.letters)):
            raise Rejected(f"the law of {d.name} has other letters than its axes")
    before = set(context.declarations)
    for f in context.definitions.values():
        if not f.body.names <= before or not f.body.letters <= {*f.letters, *context.letters} or twice(f.letters):
            raise Rejected(f"{f.name} rests on something that is not defined before it, or on a letter not its own")
        before.add(f.name)
        well_formed(f.body, context)
    law_names = {d.name for d in context.declarations.values() if d.law is not None}
    for d in context.declarations.values():
        for p in () if d.law is None else d.law.parameters:
            well_formed(p, context)
            if law_names & context.reached(p.names) or not p.letters <= {*d.letters, *context.letters}:
                raise Rejected(f"the law of {d.name} rests on a random name, or on a letter not its own")
    for h in (*context.hypotheses, *(m.condition for m in context.lemmas)):
        if h.op != "cmp" or all(a.op != "list" for a in h.args):  # `z == [2, 1]` is judged where examples are
            well_formed(make("not", (h,)), context)  # a condition, as what is negated must be
