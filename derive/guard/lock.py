"""A project's theorems as they were agreed on: statement, canonical form and hash in a file, and what changed since.

The canonical form of a theorem holds all it means: its claims, hypotheses, and the declarations and definitions they
rest on, imported ones included. It is the same however letters are named and sums and products ordered, and different
otherwise. Texts are shown, never compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from stat import S_ISREG
from typing import Any

from derive.kernel.context import Context, Declaration, Definition
from derive.language import LanguageError, catalogue, load
from derive.language.printer import to_text
from derive.language.theory import Theorem, Theory
from derive.term import Term, subterms

SCHEMA = 1
FILE = "derive.lock"
MAX_LETTERS = 4  # of which all orders are tried
COMMUTATIVE = frozenset({"add", "mul", "and", "or", "delta"})
SYMMETRIC = frozenset({"==", "!="})
MIRRORED = {">": "<", ">=": "<="}
PASSED_OVER = frozenset({"node_modules", "build", "dist", "site-packages"})

Form = Any  # nested lists of strings and numbers


class BadLock(ValueError):
    """The lock file cannot be used."""


@dataclass(frozen=True)
class Change:
    """What is different about one theorem: `lines` say how."""

    source: str
    theorem: str
    kind: str  # changed, missing, new
    lines: tuple[str, ...] = ()


# -- canonical forms ---------------------------------------------------------------------------------------------------


def form(term: Term, names: Mapping[Term, Any] | None = None, level: int = 0) -> Form:
    """The term as nested lists: bound letters by their binder, the letters in `names` so called, no order in a sum."""
    names = dict(names or {})
    if term.op == "index":
        known = names.get(term, term.value[0])
        return ["index", known if isinstance(known, str) else level - known, term.value[1]]
    inner = {**names, **{k: level + p for p, k in enumerate(term.bound)}}
    deep = level + len(term.bound)
    if term.op == "at":
        parts = [form(term.args[0], names, level), form(term.args[1], inner, deep)]
    else:
        parts = [form(a, inner, deep) for a in term.args]
    value = str(term.value) if term.value is not None else None
    if term.op == "cmp" and value in MIRRORED:
        parts, value = parts[::-1], MIRRORED[value]
    if term.op in COMMUTATIVE or (term.op == "cmp" and value in SYMMETRIC):
        parts = sorted(parts, key=written)
    return [term.op, value, [k.value[1] for k in term.bound], parts]


def written(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def closed_form(term: Term, fixed: Iterable[Term]) -> Form:
    """The form of a claim or hypothesis: the least one, over all ways to number its free letters."""
    free = sorted(term.letters - set(fixed), key=lambda k: k.value)
    orders = permutations(free) if len(free) <= MAX_LETTERS else [tuple(free)]
    numbered = [{k: f"?{p}" for p, k in enumerate(order)} for order in orders]
    return min((form(term, names) for names in numbered), key=written)


def _definition_form(definition: Definition) -> Form:
    names = {k: f"?{p}" for p, k in enumerate(definition.letters)}
    return [[k.value[1] for k in definition.letters], form(definition.body, names)]


def _declaration_form(d: Declaration) -> Form:
    law = None
    if d.law is not None:
        names = {k: f"?{p}" for p, k in enumerate(d.letters)}
        law = [d.law.family, [form(p, names) for p in d.law.parameters]]
    return [d.kind, list(d.axes), d.over, law]


def theorem_entry(theory: Theory, theorem: Theorem) -> dict[str, Any]:
    """What the lock file holds of one theorem."""
    context = theory.context(theorem)
    fixed = (*theory.letters, *theorem.letters)
    terms = [c.condition for c in theorem.claims] + list(context.hypotheses)
    definitions, declarations = _rests_on(terms, context)
    letters = {k: f"index[{k.value[1]}]" for k in fixed if any(k in subterms_of(t) for t in terms)}
    canonical = {
        "claims": [closed_form(c.condition, fixed) for c in theorem.claims],
        "hypotheses": sorted((closed_form(h, fixed) for h in context.hypotheses), key=written),
        "definitions": {d.name: _definition_form(d) for d in definitions},
        "declarations": {
            **{d.name: _declaration_form(d) for d in declarations},
            **{k.value[0]: ["letter", [], k.value[1], None] for k in letters},
        },
    }
    shown = {
        "definitions": {d.name: _equation(d) for d in definitions},
        "declarations": {
            **{d.name: _declared(d) for d in declarations},
            **{k.value[0]: f"{k.value[0]}: {text}" for k, text in letters.items()},
        },
        "hypotheses": [to_text(h) for h in context.hypotheses],
    }
    return {
        "statement": [c.statement for c in theorem.claims],
        "shown": shown,
        "canonical": canonical,
        "sha256": hashlib.sha256(written(canonical).encode()).hexdigest(),
    }


def subterms_of(term: Term) -> set[Term]:
    return set(subterms(term))


def _rests_on(terms: Iterable[Term], context: Context) -> tuple[list[Definition], list[Declaration]]:
    seen: set[str] = set()
    waiting = [n for t in terms for n in t.names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in context.definitions:
            waiting += context.definitions[name].body.names
        declaration = context.declarations.get(name)
        if declaration is not None and declaration.law is not None:
            waiting += [n for p in declaration.law.parameters for n in p.names]
    definitions = [d for n, d in sorted(context.definitions.items()) if n in seen]
    return definitions, [d for n, d in sorted(context.declarations.items()) if n in seen]


def _equation(d: Definition) -> str:
    letters = ", ".join(k.value[0] for k in d.letters)
    return f"{d.name}{f'[{letters}]' if letters else ''} = {to_text(d.body)}"


def _declared(d: Declaration) -> str:
    kind = f"index[{d.over}]" if d.kind == "index" else d.law.family if d.law else d.kind
    parameters = f"({', '.join(to_text(p) for p in d.law.parameters)})" if d.law and d.law.parameters else ""
    axes = f"[{', '.join(d.axes)}]" if d.axes else ""
    return f"{d.name}: {kind}{parameters}{axes}"


# -- the file ----------------------------------------------------------------------------------------------------------


def project_files(folder: Path) -> list[Path]:
    """The theories below a folder, hidden folders and installed packages left out."""
    found = []
    for path in sorted(folder.rglob("*.derive")):
        inside = path.relative_to(folder).parts[:-1]
        if not any(part.startswith(".") or part in PASSED_OVER for part in inside):
            found.append(path)
    return found


def key_of(source: str) -> str:
    """How the lock file calls a theory: a catalogue name, or a path in its shortest form."""
    return source if source in catalogue() else Path(os.path.normpath(source)).as_posix()


def lock_data(sources: Iterable[str]) -> dict[str, Any]:
    """The lock of these catalogue names and files. Raises LanguageError."""
    theories = {}
    for source in sources:
        theory = load(source)
        theories[key_of(source)] = {t.name: theorem_entry(theory, t) for t in theory.theorems}
    return {"schema": SCHEMA, "theories": theories}


def lock_text(data: dict[str, Any]) -> str:
    """The lock as the file's text: one line for a canonical form, so that a change shows where it is."""
    lines = ["{", f' "schema": {data["schema"]},', ' "theories": {']
    for t, (source, theorems) in enumerate(sorted(data["theories"].items())):
        lines.append(f"  {json.dumps(source)}: {{")
        for k, (name, entry) in enumerate(theorems.items()):
            parts = [f"    {json.dumps(key)}: {json.dumps(entry[key], ensure_ascii=False)}" for key in entry]
            lines += [f"   {json.dumps(name)}: {{", ",\n".join(parts), "   }" + ("," if k < len(theorems) - 1 else "")]
        lines.append("  }" + ("," if t < len(data["theories"]) - 1 else ""))
    return "\n".join([*lines, " }", "}"]) + "\n"


def read_lock(path: Path) -> dict[str, Any]:
    """The content of a lock file. Raises BadLock."""
    try:
        if not S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise ValueError("it is not a regular file")
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadLock(f"there is no {path}; `derive lock` writes it") from None
    except (OSError, ValueError) as problem:
        raise BadLock(f"{path} cannot be read: {problem}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("theories"), dict):
        raise BadLock(f"{path} is not a lock file of schema {SCHEMA}")
    for theorems in data["theories"].values():
        if not isinstance(theorems, dict) or not all(isinstance(e, dict) and "sha256" in e for e in theorems.values()):
            raise BadLock(f"{path} is damaged")
    return data


# -- changes -----------------------------------------------------------------------------------------------------------


def changes(locked: dict[str, Any], only: Iterable[str] | None = None) -> list[Change]:
    """What is different now, of all locked theories or of those named."""
    chosen = [key_of(name) for name in only] if only is not None else list(locked["theories"])
    found: list[Change] = []
    for source in chosen:
        before = locked["theories"].get(source)
        if before is None:
            found.append(Change(source, "", "new", ("the theory is not in the lock file",)))
            continue
        try:
            now = lock_data([source])["theories"][source]
        except LanguageError as problem:
            found.append(Change(source, "", "missing", (str(problem),)))
            continue
        found += _theory_changes(source, before, now)
    return found


def _theory_changes(source: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    for name, old in before.items():
        if name not in now:
            yield Change(source, name, "missing", tuple(f"was: {s}" for s in old.get("statement", ())))
        elif digest(old) != now[name]["sha256"]:
            yield Change(source, name, "changed", tuple(_how(old, now[name])))
    for name in now:
        if name not in before:
            yield Change(source, name, "new", tuple(now[name]["statement"]))


def digest(entry: dict[str, Any]) -> str:
    """The hash of an entry's canonical form; a hash that is not that of its form is none."""
    real = hashlib.sha256(written(entry.get("canonical")).encode()).hexdigest()
    return real if real == entry["sha256"] else ""


def _how(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Which part of the theorem's meaning differs, as it was and as it is."""
    if not digest(old):
        yield "the entry in the lock file was edited: its hash is not that of its canonical form"
        return
    was, is_ = old["canonical"], new["canonical"]
    if len(was["claims"]) != len(is_["claims"]):
        yield f"had {len(was['claims'])} claims, has {len(is_['claims'])}"
    for k, (a, b) in enumerate(zip(was["claims"], is_["claims"], strict=False)):
        if a != b:
            yield f"claim {k + 1} was: {old['statement'][k]}"
            yield f"claim {k + 1} is:  {new['statement'][k]}"
    if was["hypotheses"] != is_["hypotheses"]:
        yield f"hypotheses were: {'; '.join(old['shown']['hypotheses']) or 'none'}"
        yield f"hypotheses are:  {'; '.join(new['shown']['hypotheses']) or 'none'}"
    for part in ("definitions", "declarations"):
        for name in sorted({*was[part], *is_[part]}):
            a, b = was[part].get(name), is_[part].get(name)
            if a != b:
                yield f"{part[:-1]} was: {old['shown'][part].get(name, f'{name} did not occur')}"
                yield f"{part[:-1]} is:  {new['shown'][part].get(name, f'{name} does not occur')}"
