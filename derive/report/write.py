"""Reports as files; what was written once, from the same texts by the same program, is taken from the store."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from derive.engine.check import check_theory
from derive.engine.verdict import TheoryResult
from derive.language.theory import Theory
from derive.paths import coq_dir, template_dir
from derive.report import pdf
from derive.report.data import plain, restored
from derive.report.document import Document, document, source_of
from derive.report.entry import Entry, entry
from derive.report.figures import figures_text, wanted
from derive.report.files import write_bytes, write_text
from derive.report.languages import file_name
from derive.report.numbers import DTYPES, SEED, Evidence, gather
from derive.report.plots import drawings
from derive.report.store import BELOW_REPORTS, Store, digest_of_files, key_of, surroundings

FORMATS = ("md", "tex", "html", "pdf")
_OURS = (".py", ".toml")
PACKAGE = Path(__file__).resolve().parent.parent
_EVIDENCE = ("report/numbers.py", "report/figures.py", "report/words.py")  # what it comes from of this layer
_TIMES_UP = ("time limit", "time ran out")  # in the reasons of results that a faster machine would not give


@dataclass(frozen=True)
class Options:
    """How reports are made. `index` says that a list of all reports will lie beside them, `beside` in which other
    languages they will; `house` is a folder of templates that stand for those of the package; `timeout` is in seconds
    for each claim."""

    timeout: float = 30.0
    index: bool = False
    language: str = "en"
    house: Path | None = None
    beside: tuple[str, ...] = ()


def report_theory(
    theory: Theory,
    formats: Sequence[str],
    folder: Path,
    options: Options = Options(),
    store: Store | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Entry, list[Path]]:
    """Check the theory and write its report in these formats. Returns what was found, in short, and the files.

    What the store holds is not computed again. Raises LanguageError where the file of figures beside the theory is
    none, MissingTool for a format that needs one, and BadTemplate for a template of the house that asks for what is
    not there.
    """
    store = store or Store()
    wanted(theory)
    keys = _keys(theory, formats, options)
    with store.alone(keys["entry"]):
        kept = {name: store.get(key) for name, key in keys.items()}
        if any(data is None for data in kept.values()):
            kept = _made(theory, formats, options, store, tell)
            if kept.pop("steady"):
                for name, data in kept.items():
                    store.put(keys[name], data)
    tell(f"{theory.name}: writing")
    files = [_written(folder, *item) for form in formats for item in kept[form]]
    return restored(Entry, kept["entry"]), files


def is_kept(theory: Theory, formats: Sequence[str], options: Options, store: Store) -> bool:
    """Whether the store holds the report in all these formats."""
    return all(store.get(key) is not None for key in _keys(theory, formats, options).values())


def _written(folder: Path, name: str, text: str, packed: bool) -> Path:
    """Write one file as the store keeps it: its name, and its text or, where `packed`, its bytes in base 64."""
    path = folder / name
    write_bytes(path, base64.b64decode(text) if packed else text.encode())
    return path


def _made(
    theory: Theory, formats: Sequence[str], options: Options, store: Store, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The report, as the store keeps it, and whether another run would come to the same."""
    result = check_theory(theory, options.timeout, progress=lambda theorem: tell(f"{theory.name}: {theorem}"))
    evidence = _evidence(result, options.timeout, store, tell)
    made = document(result, evidence, options.language)
    kept: dict[str, Any] = {"entry": plain(entry(made)), "steady": _steady(result, evidence)}
    for form in formats:
        tell(f"{theory.name}: {form}")
        kept[form] = _rendered(made, form, options)
    return kept


def _rendered(made: Document, form: str, options: Options) -> list[tuple[str, str, bool]]:
    """The file of that format, and those that lie beside it, as `_written` takes them."""
    from derive.report.render import render

    figures = {"md": "svg", "tex": "pdf", "pdf": "pdf"}.get(form)
    beside = drawings(made, figures) if figures else {}
    name = file_name(made.name, form, made.language)
    if form == "pdf":
        made_of = partial(render, made, house=options.house)
        return [(name, _packed(pdf.pdf(made_of, beside)), True)]
    text = render(made, form, options.index, options.house, options.beside)
    return [(name, text, False), *((name, _packed(data), True) for name, data in beside.items())]


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _evidence(result: TheoryResult, timeout: float, store: Store, tell: Callable[[str], None]) -> Evidence:
    below = digest_of_files(PACKAGE, (*BELOW_REPORTS, *_EVIDENCE), (".py",))
    key = key_of(evidence=_texts(result.theory), below=below, timeout=timeout, seed=SEED, dtypes=DTYPES, **_where())
    try:
        return restored(Evidence, store.get(key))
    except (TypeError, ValueError):
        found = gather(result, tell)
    if _steady(result, found):
        store.put(key, plain(found))
    return found


def _steady(result: TheoryResult, evidence: Evidence) -> bool:
    """Whether no time limit was reached on the way."""
    reasons = [c.reason for t in result.theorems for c in t.claims] + [a.reason for a in evidence.agreement.values()]
    return not any(word in reason for reason in reasons if reason for word in _TIMES_UP)


def _keys(theory: Theory, formats: Sequence[str], options: Options) -> dict[str, str]:
    """For each format, and for the entry in the list, the digest of all that it depends on."""
    common = {
        "texts": _texts(theory),
        "source": source_of(theory),
        "timeout": options.timeout,
        "index": options.index,
        "language": options.language,
        "beside": options.beside,
        **_layout(options),
    }
    programs = {"pdf": pdf.program()}
    return {name: key_of(what=[name, programs.get(name)], **common, **_where()) for name in ("entry", *formats)}


def _layout(options: Options) -> dict[str, Any]:
    """What lays a report out."""
    return {
        "package": digest_of_files(PACKAGE, suffixes=_OURS),
        "templates": digest_of_files(template_dir()),
        "coq": digest_of_files(coq_dir(), suffixes=(".json",)),
        "house": digest_of_files.__wrapped__(options.house) if options.house else "",
    }


def _where() -> dict[str, Any]:
    return {"surroundings": dict(surroundings())}


def _texts(theory: Theory) -> list[list[Any]]:
    """The theory's name and text, what is to be drawn of it, and the same of all that it imports."""
    return [[theory.name, theory.text, figures_text(theory)], *(_texts(item.theory) for item in theory.imports)]


def write_report(
    result: TheoryResult,
    formats: Sequence[str],
    folder: Path,
    tell: Callable[[str], None] = lambda _: None,
    language: str = "en",
) -> tuple[Document, list[Path]]:
    """Write the report of what was checked in these formats. Returns the document and its files."""
    made = document(result, gather(result, tell), language)
    return made, [_written(folder, *item) for form in formats for item in _rendered(made, form, Options())]


def write_index(
    entries: Sequence[Entry], formats: Sequence[str], folder: Path, options: Options, store: Store
) -> list[Path]:
    """Write the lists of all reports: Markdown, and HTML where the reports are HTML."""
    forms = [form for form in ("md", "html") if form == "md" or form in formats]
    paths = [folder / file_name("index", form, options.language) for form in forms]
    for form, path in zip(forms, paths, strict=True):
        key = key_of(
            index=plain(tuple(entries)),
            form=form,
            language=options.language,
            beside=options.beside,
            **_layout(options),
            **_where(),
        )
        text = store.get(key)
        if text is None:
            from derive.report.render import render_index

            text = render_index(tuple(entries), form, options.language, options.house, options.beside)
            store.put(key, text)
        write_text(path, text)
    return paths
