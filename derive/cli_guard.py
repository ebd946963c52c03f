"""The commands that guard kernels and formulas: `derive test`, `derive lock`, and `derive check --locked`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from derive.guard.lock import Change

PASSED, FAILED, USAGE, BAD_INPUT, OPEN, TOOL_MISSING = 0, 1, 2, 3, 4, 5
DTYPES = ("float64", "float32", "float16", "bfloat16")


class Failure(click.ClickException):
    """An error with an exit status of its own."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.exit_code = status


def register(group: click.Group) -> None:
    """Add the commands to the group, and `--locked` to its `check`."""
    group.add_command(test)
    group.add_command(lock)
    _add_locked(group.commands["check"])


# -- derive test -------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.argument("formula", metavar="NAME.QUANTITY|FILE:QUANTITY")
@click.option("--dtype", type=click.Choice(DTYPES), default="float64", show_default=True)
@click.option("--ulp", type=click.FloatRange(min=0), metavar="N", help="Allow so many ulp instead of the bound.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--arguments", metavar="NAMES", help="What the function takes, in its order: 's, g', say.")
@click.option("--batch", type=click.IntRange(min=1), metavar="ROWS", help="Call with so many rows at once.")
@click.option("--sizes", metavar="SIZES", help="The sizes that it takes, if not all: 'n=16,64 e=d', say.")
@click.option("--inside", type=click.Choice(DTYPES), help="The dtype of intermediate results, where it is another.")
@click.option("--flush", is_flag=True, help="Subnormal numbers may become 0.")
@click.option("--undefined", type=click.Choice(("any", "zero", "nan")), default="any", show_default=True,
              help="What stands where the formula has no value.")  # fmt: skip
@click.option("--reduction", type=click.Choice(("none", "sum", "mean")), default="none", show_default=True)
@click.option("--ignore-index", type=int, metavar="LABEL", help="A label that takes its row out.")
@click.option("--arrays", type=click.Choice(("numpy", "torch", "jax")), help="The library whose arrays it takes.")
@click.option("--at", metavar="JSON", help="One input instead of all, as a failure prints it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def test(function: str, formula: str, at: str | None, as_json: bool, **options: Any) -> int:
    """Hold someone's function against a verified formula.

    \b
      derive test kernels:softmax_backward softmax.vjp --dtype float32
      derive test kernels.py:layer_norm norms.derive:layer_norm

    The inputs are made for the formula, the allowed error follows from dtype, sizes and condition.

    Exit status: 0 within bounds; 1 not; 2 usage; 3 bad formula file; 4 nothing was promised, or the formula is not
    proved; 5 a library is missing.
    """
    from derive.codegen import CodegenError
    from derive.guard.calling import BadCall
    from derive.guard.message import data, text
    from derive.guard.target import UnknownTarget
    from derive.language import LanguageError
    from derive.testing import examine

    found = load_function(function)
    try:
        given = None if at is None else json.loads(at)
    except ValueError as problem:
        raise click.BadParameter(f"no JSON: {problem}", param_hint="--at") from None
    if given is not None and not isinstance(given, dict):
        raise click.BadParameter("an object of arrays by name is expected", param_hint="--at")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the function prints is no part of the answer
            outcome = examine(found, formula, at=given, **options)
    except LanguageError as problem:
        click.echo(problem.render(), err=True)
        return BAD_INPUT
    except (UnknownTarget, BadCall, CodegenError, ValueError) as problem:
        raise click.UsageError(str(problem)) from None
    except ModuleNotFoundError as problem:
        raise Failure(f"{problem.name} is not installed", TOOL_MISSING) from None
    click.echo(json.dumps(data(outcome), indent=1, ensure_ascii=True) if as_json else text(outcome))
    if not outcome.ok or outcome.target.verdict == "refuted":
        return FAILED
    return OPEN if outcome.nothing_checked or outcome.target.verdict not in (None, "proved") else PASSED


def load_function(name: str) -> Callable[..., Any]:
    """The function of "module:function" or "path/to/file.py:function". Raises click's errors."""
    module, _, attribute = name.rpartition(":")
    if not module or not attribute:
        raise click.UsageError(f"{name!r} names no function: write MODULE:FUNCTION")
    for folder in (str(Path.cwd()), str(Path(module).resolve().parent) if module.endswith(".py") else ""):
        if folder and folder not in sys.path:
            sys.path.insert(0, folder)  # as Python does for a script
    try:
        found: Any = _from_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is not None and (module == problem.name or module.startswith(f"{problem.name}.")):
            raise click.UsageError(f"there is no module {problem.name!r}") from None
        raise Failure(f"{module} needs {problem.name}, which is not installed", TOOL_MISSING) from None
    except Exception as problem:
        raise click.UsageError(f"{module} cannot be imported: {type(problem).__name__}: {problem}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise click.UsageError(f"{module} has no {attribute!r}")
        found = getattr(found, part)
    if not callable(found):
        raise click.UsageError(f"{name} is not a function")
    return found  # type: ignore[no-any-return]


def _from_file(path: Path) -> Any:
    if not path.exists():
        raise click.UsageError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# -- derive lock -------------------------------------------------------------------------------------------------------

lock_file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("names", metavar="[NAME|FILE]...", nargs=-1)
@click.option("--file", "path", type=lock_file, default=Path("derive.lock"), show_default=True, metavar="FILE")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; say what has changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def lock(names: tuple[str, ...], path: Path, only_check: bool, as_json: bool) -> int:
    """Write down what the theorems of a project say, so that a change of one is noticed.

    Without a name, all theories below this folder. `derive check --locked` compares.
    """
    from derive.guard.lock import BadLock, changes, lock_data, lock_text, project_files, read_lock
    from derive.language import LanguageError
    from derive.report.files import write_text

    if only_check:
        try:
            found = changes(read_lock(path), [*names] or None)
        except BadLock as problem:
            raise Failure(str(problem), BAD_INPUT) from None
        click.echo(json.dumps(changes_data(found), indent=1) if as_json else changes_text(found))
        return FAILED if found else PASSED
    sources = [*names] or [p.relative_to(Path.cwd()).as_posix() for p in project_files(Path.cwd())]
    if not sources:
        raise click.UsageError("there is no .derive file below this folder; name a theory")
    try:
        data = lock_data(sources)
    except LanguageError as problem:
        click.echo(problem.render(), err=True)
        return BAD_INPUT
    try:
        write_text(path, lock_text(data))
    except OSError as problem:
        raise Failure(f"cannot write {path}: {problem.strerror}", USAGE) from None
    count = sum(len(theorems) for theorems in data["theories"].values())
    if as_json:
        click.echo(json.dumps({"schema": 1, "file": str(path), "theories": len(data["theories"]), "theorems": count}))
    else:
        click.echo(f"{path}: {_counted(count, 'theorem')} of {_counted(len(data['theories']), 'theory')}")
    return PASSED


def _counted(count: int, noun: str) -> str:
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun if count == 1 else many}"


def changes_text(found: list[Change]) -> str:
    """Which theorems have changed, and how."""
    from derive.language.errors import printable

    if not found:
        return "nothing has changed since the lock was written"
    lines = []
    for change in found:
        what = f"{change.source}: {change.theorem}" if change.theorem else change.source
        lines.append(f"{change.kind} {printable(what)}")
        lines += [f"    {printable(line)}" for line in change.lines]
    return "\n".join(lines)


def changes_data(found: list[Change]) -> dict[str, Any]:
    return {
        "schema": 1,
        "changes": [
            {"theory": c.source, "theorem": c.theorem or None, "kind": c.kind, "how": list(c.lines)} for c in found
        ],
    }


def _add_locked(check: click.Command) -> None:
    """Give `derive check` the options --locked and --lock-file."""
    inner = check.callback
    assert inner is not None

    def callback(locked: bool, lock_path: Path, **options: Any) -> int:
        if not locked and not options["names"]:
            raise click.MissingParameter(ctx=click.get_current_context(), param=names)
        if not locked:
            return inner(**options) or PASSED
        from derive.guard.lock import BadLock, changes, read_lock

        try:
            data = read_lock(lock_path)
            options["names"] = options["names"] or tuple(data["theories"])
            found = changes(data, options["names"])
        except BadLock as problem:
            raise Failure(str(problem), BAD_INPUT) from None
        status = inner(**options) or PASSED
        if found:
            click.echo(changes_text(found), err=True)
        return FAILED if found and status in (PASSED, OPEN) else status

    (names,) = (p for p in check.params if p.name == "names")
    names.required = False  # with --locked, all that the lock file names
    check.callback = callback
    check.params += [
        click.Option(["--locked"], is_flag=True, help="Fail where a theorem is not what the lock file says."),
        click.Option(["--lock-file", "lock_path"], type=lock_file, default=Path("derive.lock"), metavar="FILE",
                     help="The lock file.  [default: derive.lock]"),
    ]  # fmt: skip
