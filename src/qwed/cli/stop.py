"""`qwed stop` and `qwed resume`: an operator's word before everything that the policy says."""

from collections.abc import Callable
from typing import Any

import click

from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.domain.json_types import Json


def _with_scope(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--reason", required=True, help="Why; it is recorded, and refusals quote it."),
        click.option("--tool", metavar="NAME", help="One tool or action type."),
        click.option("--team", metavar="TEAM", help="One team; a principal without one is its own."),
        click.option("--all", "everything", is_flag=True, help="Every agent."),
    ):
        command = option(command)
    return command


@click.command()
@_with_scope
@with_backend
def stop(
    backend: Backend, everything: bool, team: str | None, tool: str | None, reason: str, as_json: bool
) -> None:
    """Stop every agent, a team or a tool, on every gateway of the deployment at once.

    It holds from the next decision on, until qwed resume.
    """
    scope, name = _scope(everything, team, tool)
    _tell(backend.stop_acting(scope, name, reason), as_json)


@click.command()
@_with_scope
@with_backend
def resume(
    backend: Backend, everything: bool, team: str | None, tool: str | None, reason: str, as_json: bool
) -> None:
    """End a stop; name what was stopped."""
    scope, name = _scope(everything, team, tool)
    _tell(backend.resume_acting(scope, name, reason), as_json)


def _scope(everything: bool, team: str | None, tool: str | None) -> tuple[str, str | None]:
    given: list[tuple[str, str | None]] = [("all", None)] if everything else []
    given += [(scope, name) for scope, name in (("team", team), ("tool", tool)) if name is not None]
    if len(given) != 1:
        raise click.UsageError("say what is meant: --all, --team TEAM or --tool NAME")
    return given[0]


def _tell(change: dict[str, Json], as_json: bool) -> None:
    if as_json:
        print_json(change)
        return
    click.echo(f"version {change['version']} is in force")
    for one in change["stops"]:
        what = one["scope"] if one["name"] is None else f"{one['scope']} {one['name']}"
        click.echo(printable(f"  stopped: {what}, since {one['at']}, by {one['by']}: {one['reason']}"))
    if not change["stops"]:
        click.echo("  nothing is stopped")
