"""The commands that hand proofs to Coq: `derive export --coq`, and `derive verify --coq`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

PASSED, REFUSED, USAGE, BAD_INPUT, OPEN, TOOL_MISSING = 0, 1, 2, 3, 4, 5


class Failure(click.ClickException):
    """An error with an exit status of its own."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.exit_code = status


def register(group: click.Group) -> None:
    """Add `export` to the group, and `--coq` to its `verify`."""
    group.add_command(export)
    _add_coq(group.commands["verify"])


@click.command()
@click.argument("names", metavar="NAME|FILE...", nargs=-1, required=True)
@click.option("--coq", "to_coq", is_flag=True, help="As Coq files, one a theory.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", default=Path("."), show_default=True
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, metavar="SECONDS"
)
def export(names: tuple[str, ...], to_coq: bool, out: Path, timeout: float) -> int:
    """Write proofs for another prover.

    Each theory is proved, and what is proved is written to DIR/NAME.v, each step a lemma; a certificate NAME.json is
    taken as it is. Theorems on the rounding errors of its code go to DIR/NAME_rounding.v. The library they rest on is
    written beside them. What cannot be exported is named with the reason.

    Exit status: 0 all proved claims were exported; 3 bad input file; 4 some were not.
    """
    from derive.codegen.rounding_theorem import rounding_file
    from derive.coq.export import export as exported
    from derive.coq.names import NotExported
    from derive.coq.run import LIBRARY, ROUNDING
    from derive.kernel.proof import Rejected
    from derive.language import LanguageError, load
    from derive.paths import coq_dir

    if not to_coq:
        raise click.UsageError("say where to: --coq")
    status, some = PASSED, False
    for name in names:
        try:
            result = exported(certificate(name, timeout), _folder(name))
        except LanguageError as problem:
            click.echo(problem.render(), err=True)
            status = BAD_INPUT
            continue
        except (NotExported, Rejected, KeyError, OSError, TypeError, ValueError) as problem:
            click.echo(f"{name} is no certificate that can be exported: {problem}", err=True)
            status = BAD_INPUT
            continue
        try:
            out.mkdir(parents=True, exist_ok=True)
            _write(out / f"{result.theory}.v", result.text())
            rounding = None if name.endswith(".json") else rounding_file(load(name))
            if rounding is not None:
                _write(out / rounding.name, rounding.text())
            for library in (*LIBRARY, *(ROUNDING if rounding is not None else ())):
                _write(out / library, (coq_dir() / library).read_text(encoding="utf-8"))
        except OSError as problem:
            raise Failure(f"cannot write to {out}: {problem.strerror}", USAGE) from problem
        for claim in result.claims:
            if claim.reason is not None:
                click.echo(f"not exported: {result.theory}.{claim.theorem}, claim {claim.number}: {claim.reason}")
                status = status or OPEN
        done = sum(c.reason is None for c in result.claims)
        some = some or bool(done)
        click.echo(f"{out / f'{result.theory}.v'}: {done} of {len(result.claims)} claims")
        if rounding is not None:
            click.echo(f"{out / rounding.name}: rounding errors of {len(rounding.theorems)} functions")
    return status or (PASSED if some else OPEN)


def _write(path: Path, text: str) -> None:
    beside = path.with_suffix(".tmp")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def _folder(name: str) -> str | None:
    return str(Path(name).parent) if Path(name).exists() else None


def certificate(name: str, timeout: float) -> dict[str, Any]:
    """The certificate of a theory that is proved now, or of a file that holds one. Raises LanguageError, ValueError."""
    if name.endswith(".json"):
        from derive.language.certified import read

        data = read(name)
        if not isinstance(data, dict):
            raise ValueError("not an object")
        return data
    from derive.engine.certify import certificate_of
    from derive.engine.check import check_theory
    from derive.language import load

    return certificate_of(check_theory(load(name), timeout))


def _add_coq(command: click.Command) -> None:
    """Give `verify` the option `--coq`."""
    plain = command.callback
    assert plain is not None

    def callback(files: tuple[Path, ...], as_json: bool, timeout: float, coq: bool) -> int:
        status: int = plain(files=files, as_json=as_json, timeout=timeout)
        if not coq or status == BAD_INPUT:
            return status
        return status or recheck(files, as_json)

    command.callback = callback
    command.params.append(
        click.Option(["--coq"], is_flag=True, help="Have Coq check the proofs too (coqc must be installed).")
    )


def recheck(files: tuple[Path, ...], as_json: bool) -> int:
    """Have Coq check certificates; print what it says."""
    from derive.coq.export import export as exported
    from derive.coq.names import NotExported
    from derive.coq.run import CoqMissing, Library, check
    from derive.language import LanguageError
    from derive.language.certified import read

    status, some = PASSED, False
    try:
        with Library() as library:
            for path in files:
                try:
                    result = exported(read(path), str(path.parent))
                except (LanguageError, NotExported) as problem:
                    click.echo(f"{path} cannot be exported: {problem}", err=True)
                    status = BAD_INPUT
                    continue
                outcome = check(result, library)
                for claim in result.claims:
                    if claim.reason is not None and not as_json:
                        click.echo(
                            f"  – {result.theory}.{claim.theorem}, claim {claim.number}: not exported: {claim.reason}"
                        )
                for refused in outcome.refused:
                    place = f"{result.theory}.{refused.theorem}, claim {refused.number}"
                    click.echo(f"  ✘ {place}: refused by Coq: {refused.message}", err=as_json)
                for name in sorted(outcome.foreign):
                    click.echo(f"  ✘ {result.theory} rests on the axiom {name}", err=as_json)
                if outcome.refused or outcome.foreign:
                    status = REFUSED
                some = some or bool(outcome.accepted)
                click.echo(
                    f"{result.theory}: {len(outcome.accepted)} of {len(result.claims)} claims re-checked by Coq",
                    err=as_json,
                )
    except CoqMissing as why:
        raise Failure(str(why), TOOL_MISSING) from None
    return status or (PASSED if some else OPEN)
