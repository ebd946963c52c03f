"""Where theories come from: the catalogue, files, texts; and which file an import means."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path

from derive.language.errors import LanguageError
from derive.language.expressions import Reader
from derive.language.files import read_theory, scope_of
from derive.language.imports import ImportProblem
from derive.language.letters import infer
from derive.language.source import Source, parse, read
from derive.language.theory import Theorem, Theory
from derive.language.words import is_name, similar
from derive.term import Term

CATALOGUE = Path(__file__).resolve().parent.parent / "theories"
SUFFIX = ".derive"
MAX_CHAIN = 50  # files that import one another in a row


def catalogue() -> tuple[str, ...]:
    """The names of the built-in theories, sorted."""
    return tuple(sorted(path.stem for path in CATALOGUE.glob(f"*{SUFFIX}")))


def load(source: str | Path) -> Theory:
    """The theory of a catalogue name or of a file. Raises LanguageError."""
    if isinstance(source, str) and source in catalogue():
        return _load(CATALOGUE / f"{source}{SUFFIX}", (), {})
    path = Path(source)
    if isinstance(source, str) and is_name(source) and not os.path.exists(path):
        file = source + SUFFIX
        hint = f"did you mean {file!r}?" if os.path.exists(file) else _meant(source)
        raise LanguageError(f"there is no theory {source!r} in the catalogue, and no such file", hint=hint)
    if not os.path.lexists(path) and (place := _with_ending(str(source))):
        raise LanguageError("there is no such file", hint=f"did you mean {place!r}?", path=path)
    return _load(path, (), {})


def _meant(name: str) -> str:
    """What to say to one who asked for a theory of the catalogue that there is not."""
    meant = similar(name, catalogue())
    return f"did you mean {meant!r}?" if meant else "the catalogue has " + ", ".join(catalogue())


def _with_ending(source: str) -> str | None:
    """A file and what is meant of it, where the ending was left out between them."""
    before, dot, name = source.rpartition(".")
    file = before + SUFFIX
    return f"{file}.{name}" if dot and is_name(name) and os.path.exists(file) else None


def load_catalogue() -> list[Theory]:
    """All built-in theories in the order of their names, each file read once."""
    done: dict[Path, Theory] = {}
    return [_load(CATALOGUE / f"{name}{SUFFIX}", (), done) for name in catalogue()]


def loads(text: str, name: str = "theory", folder: str | Path | None = None) -> Theory:
    """The theory of a text; its imports are looked up in the folder, then in the catalogue. Raises LanguageError."""
    return read_theory(Source(text, name), _importer(Path(folder) if folder is not None else None, (), {}))


def expression(text: str, theory: Theory, theorem: Theorem | None = None) -> Term:
    """The term of one expression in the words of a theory, and of one of its theorems. Raises LanguageError."""
    return _single(text, theory, theorem, Reader.expression)


def condition(text: str, theory: Theory, theorem: Theorem | None = None) -> Term:
    """The term of one condition in the words of a theory, and of one of its theorems. Raises LanguageError."""
    return _single(text, theory, theorem, Reader.statement)


def _single(text: str, theory: Theory, theorem: Theorem | None, read_node: Callable[[Reader, ast.expr], Term]) -> Term:
    source = Source(text, "expression")
    body = parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise source.error(body[0] if body else ast.Pass(), "one expression is expected", "write diff(s[i], z[j]), say")
    node = body[0].value
    scope = scope_of(theory, source, theorem)
    return read_node(Reader(scope, infer(scope, [node]), random=True), node)


def _load(path: Path, chain: tuple[Path, ...], done: dict[Path, Theory]) -> Theory:
    """The theory of a file; `chain` are the files that are being read, `done` those that have been."""
    place = _place(path)
    if place not in done:
        source = read(path)
        done[place] = read_theory(source, _importer(path.parent, (*chain, place), done))
    return done[place]


def _place(path: Path) -> Path:
    """The one path of a file that may be called by several."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError) as problem:
        raise LanguageError(f"the file cannot be read: {problem}", path=path) from None


def _importer(folder: Path | None, chain: tuple[Path, ...], done: dict[Path, Theory]) -> Callable[[str], Theory]:
    def importer(name: str) -> Theory:
        sibling = folder / f"{name}{SUFFIX}" if folder is not None else None
        built_in = CATALOGUE / f"{name}{SUFFIX}"
        if sibling is not None and os.path.lexists(sibling):
            path = sibling
        elif name in catalogue():
            path = built_in
        else:
            raise ImportProblem(f"there is no theory {name!r} beside this file or in the catalogue", _meant(name))
        if _place(path) in chain:
            ring = " → ".join([*(p.stem for p in chain[chain.index(_place(path)) :]), name])
            raise ImportProblem(f"the import leads back to itself: {ring}", "move what both need into a third file")
        if len(chain) >= MAX_CHAIN:
            raise ImportProblem(
                f"more than {MAX_CHAIN} files import one another in a row", "import what is needed directly"
            )
        try:
            return _load(path, chain, done)
        except LanguageError as problem:
            raise ImportProblem(f"{name!r} cannot be imported: {problem}", problem.hint) from problem

    return importer
