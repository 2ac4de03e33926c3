"""`qwed report`: what was measured in a period, and what was not."""

import os
import sys
from pathlib import Path

import click

from qwed.cli.shared import Backend, print_json, with_backend
from qwed.reports import RendererMissing, ReportFormat

_FORMATS = [form.value for form in ReportFormat]


@click.command()
@click.option("--from", "from_", metavar="TIME", help="ISO 8601, inclusive [the first record].")
@click.option("--to", metavar="TIME", help="ISO 8601, exclusive [now].")
@click.option("--agent", "agent_id", metavar="ID", help="Only this agent [everything you may see].")
@click.option("--format", "form", type=click.Choice(_FORMATS), help="[by the file's name, else json]")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write [the terminal]."
)
@with_backend
def report(
    backend: Backend,
    from_: str | None,
    to: str | None,
    agent_id: str | None,
    form: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Write a compliance report as JSON, CSV or PDF."""
    form = form or _format_of(out)
    if form == ReportFormat.PDF and out is None and sys.stdout.isatty():
        raise click.UsageError("a PDF is no text for a terminal: name a file with --out")
    try:
        content = backend.compliance_report(
            form, agent_id=agent_id, from_=from_, to=to, progress=_progress if sys.stderr.isatty() else None
        )
    except RendererMissing as error:
        raise click.ClickException(str(error)) from None
    if out is None:
        click.echo(content, nl=form == ReportFormat.JSON)
        return
    _write(out, content)
    if as_json:
        print_json({"file": str(out), "format": form, "bytes": len(content)})
    else:
        click.echo(f"{out}: {len(content):,} bytes of {form}")


def _format_of(out: Path | None) -> str:
    suffix = "" if out is None else out.suffix.lstrip(".").lower()
    return suffix if suffix in _FORMATS else ReportFormat.JSON.value


def _write(out: Path, content: bytes) -> None:
    """For its owner's eyes: a report names keys, agents and notes."""
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
    except OSError as error:
        raise click.ClickException(f"{out} can't be written: {error.strerror}") from None


def _progress(done: int, total: int) -> None:
    end = "\n" if done >= total else ""
    click.echo(f"\rcounting {done:,} of {total:,} entries{end}", nl=False, err=True)
