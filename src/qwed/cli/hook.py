"""`qwed hook`: put the gateway before the tools of a coding agent, and see that it stays there."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, print_json, with_backend
from qwed.coding import hook_install
from qwed.coding.hook_doctor import SeenCall, examine
from qwed.coding.hook_install import InstallPlan
from qwed.coding.hook_settings import AGENTS, Unreadable
from qwed.coding.surroundings import inherit
from qwed.domain.json_types import Json
from qwed.settings import read_settings

_ENGINES: Final = ("workspace",)
_TOOLS: Final = ("file_edit", "file_search")


@click.group(cls=CommandGroup)
def hook() -> None:
    """Put the gateway before the tools of a coding agent: install, uninstall, status, run, doctor."""


def _which(command: Callable[..., Any]) -> Callable[..., Any]:
    agent = click.argument("agent", type=click.Choice(tuple(AGENTS)))
    scope = click.option(
        "--scope", type=click.Choice(("user", "project")), default="user", help="Whose settings [user]."
    )
    return agent(scope(command))


def _place(agent: str, scope: str) -> hook_install.HookPlace:
    return hook_install.place_of(agent, scope, Path.home(), Path.cwd())


@hook.command()
@_which
@click.option(
    "--principal", "principal_id", default=None, metavar="ID", help="Who owns the agent [the login name]."
)
@click.option("--gateway", metavar="URL", help="Where the hook asks [QWED_BASE_URL, else this machine's].")
@click.option("--yes", is_flag=True, help="Write without asking.")
@with_backend
def install(
    backend: Backend,
    agent: str,
    scope: str,
    principal_id: str | None,
    gateway: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Write the hook into the agent's own settings, after showing the difference."""
    place = _place(agent, scope)
    plan = _plan(lambda: hook_install.plan_install(place))
    if not _is_agreed(plan, yes=yes, as_json=as_json):
        return
    registered = backend.register_agent(
        name=f"{agent} on {os.uname().nodename}"[:100],
        type="autonomous",
        principal_id=principal_id or inherit(("USER",)).get("USER", "developer"),
        framework=agent,
        permissions={"allowed_engines": list(_ENGINES), "allowed_tools": list(_TOOLS)},
    )
    hook_install.install(plan, gateway or _gateway(), registered["agent_token"], registered["agent_id"])
    left_open = list(place.agent.open_ways)
    if as_json:
        print_json({"agent_id": registered["agent_id"], "file": str(place.file), "left_open": left_open})
        return
    click.echo(f"installed in {place.file}; {agent} is agent {registered['agent_id']} from now on")
    for way in left_open:
        click.echo(f"not closed by the hook: {way} (qwed run closes it)")
    click.echo(f"see it bite: qwed hook doctor {agent}")


@hook.command()
@_which
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def uninstall(agent: str, scope: str, yes: bool, as_json: bool) -> None:
    """Give the settings back as they were."""
    place = _place(agent, scope)
    plan = _plan(lambda: hook_install.plan_uninstall(place))
    if not plan.diff:
        _say(as_json, {"file": str(place.file), "changed": False}, f"{place.file} has no hook of QWED")
        return
    if _is_agreed(plan, yes=yes, as_json=as_json):
        hook_install.uninstall(plan)
        _say(as_json, {"file": str(place.file), "changed": True}, f"{place.file} is as it was")


@hook.command()
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def status(as_json: bool) -> None:
    """List which agents have the hook, and where."""
    rows = hook_install.status(Path.home(), Path.cwd())
    if as_json:
        print_json({"hooks": rows})
        return
    for row in rows:
        click.echo(f"{row['agent']:12} {row['scope']:8} {row['state']:14} {row['file']}")


@hook.command()
@click.argument("agent", type=click.Choice(tuple(AGENTS)))
def run(agent: str) -> None:
    """Ask the gateway about one hook call on standard input, as the agent would."""
    place = _place(agent, "user")
    if not place.script.is_file() or not place.settings.is_file():
        raise click.ClickException(f"no hook is installed for {agent}: qwed hook install {agent}")
    arguments = [sys.executable, "-I", "-S", str(place.script), agent, str(place.settings)]
    os.execv(sys.executable, arguments)  # noqa: S606 - our own script


@hook.command()
@click.argument("agent", type=click.Choice(tuple(AGENTS)))
@click.option("--program", metavar="PATH", help="The agent's program [found on the PATH].")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def doctor(agent: str, program: str | None, as_json: bool) -> int:
    """Start the real agent with a harmless forbidden call, and say whether it was stopped."""
    seen = examine(AGENTS[agent], program, Path.cwd())
    _say(
        as_json,
        {"agent": agent, "result": seen.result, "detail": seen.detail},
        f"{_MARKS[seen.result]} {seen.detail}",
    )
    return 0 if seen.result == SeenCall.DENIED else 1


_MARKS: Final = {SeenCall.DENIED: "✓", SeenCall.RAN: "✗", SeenCall.NOT_TRIED: "?"}


def _gateway() -> str:
    settings = read_settings()
    scheme = "https" if settings.tls_cert else "http"
    return settings.base_url or f"{scheme}://{settings.host}:{settings.port}"


def _plan(make: Callable[[], InstallPlan]) -> InstallPlan:
    try:
        return make()
    except Unreadable as problem:
        raise click.ClickException(str(problem)) from None


def _is_agreed(plan: InstallPlan, *, yes: bool, as_json: bool) -> bool:
    if not as_json:
        click.echo(plan.diff or f"{plan.place.file}: nothing changes")
    if yes:
        return True
    if as_json:
        raise click.UsageError("--json asks nothing: add --yes")
    return click.confirm("write this?")


def _say(as_json: bool, value: dict[str, Json], text: str) -> None:
    if as_json:
        print_json(value)
    else:
        click.echo(text)
