"""The command line. Results go to stdout, progress and errors to stderr; the exit status tells the verdict."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from derive import __version__
from derive.cli_coq import register as register_coq
from derive.cli_guard import register

if TYPE_CHECKING:
    from derive.engine.verdict import TheoryResult
    from derive.kernel.certificate import Replay
    from derive.language.errors import LanguageError
    from derive.language.theory import Theory

ALL_PROVED, REFUTED, USAGE, BAD_INPUT, OPEN, TOOL_MISSING, INTERRUPTED, INTERNAL = 0, 1, 2, 3, 4, 5, 130, 70
TIMEOUT = 30.0


class Failure(click.ClickException):
    """An error with an exit status of its own."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.exit_code = status


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    gc.set_threshold(50_000, 20, 100)  # terms live as long as the process: looking for garbage took a tenth of it
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        status = derive.main(args=arguments, prog_name="derive", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ALL_PROVED
    except Exception:
        traceback.print_exc()
        click.echo("derive: internal error; please report it with the file that caused it", err=True)
        return INTERNAL
    return status if isinstance(status, int) else ALL_PROVED


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="derive")
@click.pass_context
def derive(context: click.Context) -> None:
    """Find, check and explain derivations.

    A theory is a catalogue name (see `derive list`) or a file NAME.derive.

    Exit status: 0 all proved; 1 something refuted; 2 usage; 3 bad input file; 4 checked or undecided, nothing refuted;
    5 an optional tool is missing.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
time_limit = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time for each claim; then it is undecided.",
)


folder = click.Path(file_okay=False, path_type=Path)


@derive.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the catalogue: theories, theorems, statements."""
    from derive.cli_data import catalogue_data
    from derive.cli_text import catalogue_text
    from derive.language import load_catalogue

    theories = load_catalogue()
    click.echo(_dumped(catalogue_data(theories)) if as_json else catalogue_text(theories))


@derive.command()
@click.argument("name", metavar="NAME[.THEOREM]")
@as_json
@time_limit
def show(name: str, as_json: bool, timeout: float) -> int:
    """Show statements and steps."""
    from derive.cli_data import check_data, show_data
    from derive.cli_text import show_text
    from derive.language.words import instead

    source, theorem = _split(name)
    theory = _load(source)
    if isinstance(theory, Exception):
        return _bad_files([(source, theory)], as_json, check_data)
    if theorem is not None and all(t.name != theorem for t in theory.theorems):
        names = [t.name for t in theory.theorems]
        raise click.UsageError(f"{theory.name} has no theorem {theorem!r}; {instead(theorem, names)}")
    with _progress() as tell:
        result = _checked(theory, timeout, tell, theorem)
    click.echo(_dumped(show_data(source, result)) if as_json else show_text(result))
    return _status([result])


@derive.command()
@click.argument("names", metavar="NAME|FILE...", nargs=-1, required=True)
@as_json
@time_limit
@click.option("--evidence", is_flag=True, help="Also derive each theorem again with SymPy at sizes 1 to 4.")
@click.option("--certificate", type=folder, metavar="DIR", help="Write certificates into this folder.")
def check(names: tuple[str, ...], as_json: bool, timeout: float, evidence: bool, certificate: Path | None) -> int:
    """Prove or refute every claim."""
    from derive.cli_data import check_data
    from derive.cli_text import check_text

    found: list[tuple[str, TheoryResult | LanguageError]] = []
    agreements: dict[str, Any] = {}
    with _progress() as tell:
        for name in names:
            theory = _load(name)
            if isinstance(theory, Exception):
                found.append((name, theory))
                continue
            result = _checked(theory, timeout, tell)
            found.append((name, result))
            if evidence:
                agreements[name] = _agreement(result, tell)
            if certificate is not None:
                _write_certificate(result, certificate)
    if as_json:
        click.echo(_dumped(check_data(found, agreements)))
    else:
        for name, result_or_error in found:
            if isinstance(result_or_error, Exception):
                _complain(result_or_error)
            else:
                click.echo(check_text(result_or_error, agreements.get(name)))
    return _overall(found)


class _Formulas(click.Command):
    """A command whose arguments may begin with a minus sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {a}" if re.match(r"-(?!-|h$)", a) else a for a in args])


@derive.command(cls=_Formulas)
@click.argument("expression", metavar="EXPR")
@click.argument("by", metavar="WRT...", nargs=-1, required=True)
@click.option("--given", multiple=True, metavar="DECL", help="A declaration, definition, assume(...) or import.")
@click.option("--steps", is_flag=True, help="Show the derivation too.")
@click.option("--latex", "as_latex", is_flag=True, help="Print LaTeX.")
@as_json
@time_limit
def diff(
    expression: str,
    by: tuple[str, ...],
    given: tuple[str, ...],
    steps: bool,
    as_latex: bool,
    as_json: bool,
    timeout: float,
) -> int:
    """One derivative, simplified, in the names that are given.

    EXPR is a formula, WRT what to differentiate by, one after the other:

    \b
      derive diff "log(sum(exp(z[k]) for k in n))" "z[j]"
      derive diff "x**2*y" x y --given "x: positive" --steps

    What is not declared is inferred: an axis for each `for k in n`, real numbers and arrays. The derivative stands
    alone on the first line; where it holds, and what was inferred, goes to stderr.
    """
    from derive.cli_diff import NotFound, answer, diff_data, diff_text, error_data, notes, open_data
    from derive.language import LanguageError

    try:
        found = answer(expression, by, given, timeout)
    except LanguageError as problem:
        if as_json:
            click.echo(_dumped(error_data(problem)))
        else:
            _complain(problem)
        return BAD_INPUT
    except NotFound as why:
        if as_json:
            click.echo(_dumped(open_data(why)))
        else:
            click.echo(f"no derivative was found: {why}", err=True)
        return OPEN
    if as_json:
        click.echo(_dumped(diff_data(found)))
    else:
        click.echo(diff_text(found, steps, as_latex))
        for note in notes(found):
            click.echo(note, err=True)
    return REFUTED if found.verdict == "refuted" else ALL_PROVED if found.verdict == "proved" else OPEN


def _chosen(option: str, text: str, known: Sequence[str]) -> tuple[str, ...]:
    """The parts of a list that an option was given. Raises BadParameter unless all are known and there is one."""
    chosen = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [part for part in chosen if part not in known]
    if unknown or not chosen:
        raise click.BadParameter(f"{', '.join(unknown) or 'nothing'}; choose of {', '.join(known)}", param_hint=option)
    return chosen


@derive.command()
@click.argument("names", metavar="[NAME|FILE]...", nargs=-1)
@click.option(
    "--format", "formats", default="md,tex,html", show_default=True, metavar="LIST", help="Of md, tex, html, pdf."
)
@click.option("--out", type=folder, metavar="DIR", default=Path("reports"), show_default=True)
@click.option(
    "--lang",
    default="en",
    show_default=True,
    metavar="LIST",
    help="Of en, zh; in Chinese a file is called NAME.zh.FORMAT. Reports in both link to each other.",
)
@click.option(
    "--template",
    "house",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="Templates of your own, which stand for those of the same names.",
)
@click.option("--open", "open_", is_flag=True, help="Open the first report written.")
@click.option("--no-cache", is_flag=True, help="Compute everything again, and keep nothing of it.")
@time_limit
def report(
    names: tuple[str, ...],
    formats: str,
    out: Path,
    lang: str,
    house: Path | None,
    open_: bool,
    no_cache: bool,
    timeout: float,
) -> int:
    """Write reports; without a name, of the whole catalogue, with an index."""
    from derive.cli_text import unprinted_text, written_text
    from derive.language import LanguageError, catalogue
    from derive.report.figures import wanted
    from derive.report.languages import LANGUAGES
    from derive.report.page import BadTemplate
    from derive.report.pdf import MissingTool
    from derive.report.several import report_all
    from derive.report.store import Store, default_store
    from derive.report.write import FORMATS, Options, write_index

    chosen = _chosen("--format", formats, FORMATS)
    codes = _chosen("--lang", lang, LANGUAGES)
    store = Store() if no_cache else default_store()
    ways = [Options(timeout, not names, code, house, tuple(c for c in codes if c != code)) for code in codes]
    sources, files, bad = [], [], False
    with _progress() as tell:
        for name in names or catalogue():
            theory = _load(name)
            try:
                if isinstance(theory, Exception):
                    raise theory
                wanted(theory)
            except LanguageError as problem:  # of the theory, or of what is to be drawn of it
                _complain(problem)
                bad = True
            else:
                sources.append(name)
        try:
            made = [report_all(sources, chosen, out, options, store, tell) for options in ways]
        except BadTemplate as problem:
            raise Failure(f"{house}: {problem}", USAGE) from problem
        except MissingTool as problem:
            raise Failure(str(problem), TOOL_MISSING) from problem
        except OSError as problem:
            raise Failure(f"cannot write to {out}: {problem.strerror}", USAGE) from problem
        for options, reports in zip(ways, made, strict=True):
            files += [file for _, written in reports for file in written]
            if not names:
                files += write_index([entry for entry, _ in reports], chosen, out, options, store)
    entries = [entry for entry, _ in made[0]]
    if entries:
        click.echo(written_text(entries, files))
    if {"tex", "pdf"} & set(chosen):
        for entry in (entry for reports in made for entry, _ in reports if entry.unprinted):
            click.echo(unprinted_text(entry), err=True)
    if open_ and files:
        click.launch(str(next((f for f in files if f.suffix == ".html"), files[0])))
    return BAD_INPUT if bad else _worst([[t.verdict for t in entry.theorems] for entry in entries])


@derive.command()
@click.argument("name", metavar="NAME.QUANTITY")
@click.option("--vjp", "wrt", metavar="X", help="A cotangent times the derivative by X, instead of the quantity.")
@click.option("--backend", default="numpy", show_default=True, metavar="NAME", help="The language of the code.")
@time_limit
def code(name: str, wrt: str | None, backend: str, timeout: float) -> int:
    """Source code of a definition, or of a theorem's right side: ready to paste, with nothing of derive in it.

    Backends are numpy, torch and jax, which import that library alone, and js, which imports nothing. The theorems
    that the code rests on are checked; its heading, the exit status and stderr tell where one is not proved.
    """
    from derive.cli_code import BACKENDS, Refused, code_of

    if backend not in BACKENDS:
        raise Failure(f"there is no backend {backend!r}: code is written for {', '.join(BACKENDS)}", TOOL_MISSING)
    source, quantity = _split(name)
    theory = _load(source)
    if isinstance(theory, Exception):
        _complain(theory)
        return BAD_INPUT
    known: dict[tuple[str, str], TheoryResult] = {}
    with _progress() as tell:

        def result_of(owner: Theory, theorem: str) -> TheoryResult:
            if (owner.name, theorem) not in known:
                known[owner.name, theorem] = _checked(owner, timeout, tell, theorem)
            return known[owner.name, theorem]

        def proved(owner: Theory, theorem: str) -> bool:
            return result_of(owner, theorem).theorems[0].verdict == "proved"

        try:
            found = code_of(theory, quantity, wrt, backend, proved)
        except KeyError as problem:
            raise click.UsageError(problem.args[0]) from None
        except Refused as why:
            raise Failure(str(why), OPEN) from None
        results = [result_of(owner, theorem) for owner, theorem in found.rests_on]
    click.echo(found.source(results), nl=False)
    for result, (owner, theorem) in zip(results, found.rests_on, strict=True):
        verdict = result.theorems[0].verdict
        if verdict != "proved":
            click.echo(f"warning: the code rests on {owner.name}.{theorem}, which is {verdict}", err=True)
    return _status(results) if results else ALL_PROVED


@derive.command()
@click.argument("files", metavar="CERTIFICATE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@as_json
@time_limit
def verify(files: tuple[Path, ...], as_json: bool, timeout: float) -> int:
    """Replay certificates with the kernel alone, and compare what they prove with their texts."""
    from derive.cli_data import verify_data
    from derive.cli_limit import LATE, limited
    from derive.cli_text import verify_text
    from derive.kernel.proof import Rejected
    from derive.language.certified import replayed

    found: list[tuple[str, list[Replay] | Rejected]] = []
    for path in files:
        try:
            found.append((str(path), replayed(path, lambda: limited(timeout))))
        except Rejected as problem:
            found.append((str(path), problem))
    click.echo(_dumped(verify_data(found)) if as_json else verify_text(found))
    if any(isinstance(replays, Exception) for _, replays in found):
        return BAD_INPUT
    replays = [replay for _, part in found if not isinstance(part, Exception) for replay in part]
    if any(not replay.ok and replay.reason != LATE for replay in replays):
        return REFUTED
    return ALL_PROVED if replays and all(replay.ok for replay in replays) else OPEN


# -- what the commands share ------------------------------------------------------------------------------------------


def _dumped(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=True)


def _load(source: str) -> Theory | LanguageError:
    """The theory, or what is wrong with it."""
    from derive.language import LanguageError, load

    try:
        return load(source)
    except LanguageError as problem:
        return problem


def _split(name: str) -> tuple[str, str | None]:
    """A theory and, after a dot or a colon, what is meant of it."""
    from derive.language import catalogue

    if name in catalogue() or Path(name).exists():
        return name, None
    for dot in (found.start() for found in reversed([*re.finditer("[.:]", name)])):
        if name[:dot] in catalogue() or Path(name[:dot]).exists():
            return name[:dot], name[dot + 1 :]
    return name, None


def _checked(theory: Theory, timeout: float, tell: Callable[[str], None], only: str | None = None) -> TheoryResult:
    from derive.engine.check import check_theory

    return check_theory(theory, timeout, only, lambda theorem: tell(f"{theory.name}: {theorem}"))


def _agreement(result: TheoryResult, tell: Callable[[str], None]) -> Any:
    from derive.report.numbers import agreement

    tell(f"{result.theory.name}: again with SymPy")
    return agreement(result.theory)


def _write_certificate(result: TheoryResult, folder: Path) -> None:
    from derive.engine.certify import certificate_of
    from derive.report.files import write_text

    text = json.dumps(certificate_of(result), ensure_ascii=False, separators=(",", ":"))
    write_text(folder / f"{result.theory.name}.json", text + "\n")


def _complain(problem: LanguageError) -> None:
    click.echo(problem.render(), err=True)


def _bad_files(found: list[tuple[str, Any]], as_json: bool, data: Callable[..., dict[str, Any]]) -> int:
    for _, problem in found:
        if not as_json:
            _complain(problem)
    if as_json:
        click.echo(_dumped(data(found)))
    return BAD_INPUT


def _overall(found: list[tuple[str, Any]]) -> int:
    if any(isinstance(result, Exception) for _, result in found):
        return BAD_INPUT
    return _status([result for _, result in found])


def _status(results: list[TheoryResult]) -> int:
    """The exit status that says what was found."""
    return _worst([[t.verdict for t in result.theorems] for result in results])


def _worst(theories: list[list[str]]) -> int:
    """The exit status for the verdicts of these theories' theorems."""
    verdicts = {verdict for theory in theories for verdict in theory}
    if "refuted" in verdicts:
        return REFUTED
    return ALL_PROVED if verdicts == {"proved"} and all(theories) else OPEN


def _progress() -> Any:
    from derive.cli_progress import Progress

    return Progress(sys.stderr)


register(derive)
register_coq(derive)

if __name__ == "__main__":
    main()
