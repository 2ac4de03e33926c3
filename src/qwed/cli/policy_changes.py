"""`qwed policy apply`, `history`, `show` and `rollback`: what is in force, and since when."""

from pathlib import Path

import click

from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table
from qwed.domain.json_types import Json


@click.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--reason", required=True, help="Why; it is recorded with the version.")
@click.option("--from-file", is_flag=True, help="Apply the file that the gateway was started with.")
@with_backend
def apply(backend: Backend, file: Path | None, reason: str, from_file: bool, as_json: bool) -> None:
    """Put FILE in force on every gateway of the deployment, at once.

    Where the policy comes from a file, change that file and use --from-file.
    """
    if (file is None) != from_file:
        raise click.UsageError("name a FILE, or say --from-file")
    if file is None:
        _tell(backend.reload_policy(reason), as_json)
    else:
        _tell(backend.apply_policy(file.read_text(encoding="utf-8"), reason), as_json)


@click.command()
@click.argument("version", type=int)
@click.option("--reason", required=True, help="Why; it is recorded with the version.")
@with_backend
def rollback(backend: Backend, version: int, reason: str, as_json: bool) -> None:
    """Put the policy of an older VERSION in force again, as the newest version."""
    _tell(backend.roll_back_policy(version, reason), as_json)


@click.command()
@click.option("--limit", default=50, show_default=True, help="How many changes.")
@with_backend
def history(backend: Backend, limit: int, as_json: bool) -> None:
    """List every change of what is in force: versions, rollbacks, stops. Newest first."""
    found = backend.policy_history(limit=limit)
    if as_json:
        print_json(found)
        return
    rows = [
        [str(c["version"]), c["kind"], c["at"], c["by"], printable(c["reason"]), c["policy_version"][:19]]
        for c in found["changes"]
    ]
    print_table("Changes", ["version", "what", "when", "who", "why", "policy"], rows)


@click.command()
@click.argument("version", type=int, required=False)
@with_backend
def show(backend: Backend, version: int | None, as_json: bool) -> None:
    """Print the text of VERSION [the one in force]."""
    found = backend.policy() if version is None else backend.policy_version(version)
    if as_json:
        print_json(found)
        return
    if found["text"] is None:
        number = found["policy_at"]
        hint = f"its policy is that of version {number}" if number else "the built-in policy is in force"
        click.echo(f"no text came with it: {hint}", err=True)
        return
    click.echo(found["text"], nl=not found["text"].endswith("\n"))


def _tell(answer: dict[str, Json], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    elif "approval_id" in answer:
        click.echo(f"waits for a second person: {answer['reason']}")
        click.echo(f"  qwed approvals approve {answer['approval_id']}")
    elif answer.get("unchanged"):
        click.echo(f"version {answer['version']} is in force, and says the same")
    else:
        click.echo(f"version {answer['version']} is in force: {answer['policy_version']}")
