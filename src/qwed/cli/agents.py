"""`qwed agents`."""

from typing import Any

import click

from qwed.cli.gauges import NARROW, gauge, status_text, trust_gauge
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, Terminal, console, print_json, with_backend
from qwed.cli.tables import print_table
from qwed.domain.json_types import Json


@click.group(cls=CommandGroup)
def agents() -> None:
    """Manage agents."""


@agents.command("list")
@click.option("--after", help="Continue after this agent id.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@with_backend
def list_agents(backend: Backend, after: str | None, limit: int, as_json: bool) -> None:
    """List agents."""
    found = backend.agents(after, limit)
    if as_json:
        print_json(found)
        return
    out = console()
    rows = [_row(agent, backend.get_agent_budget(agent["agent_id"]), out) for agent in found["agents"]]
    columns = ["agent", "name", "trust", "status", "USD today", "this hour"]
    print_table(
        "Agents",
        columns + (["principal", "type"] if out.is_wide else []),
        rows,
        below={"name": "agent"},
        empty="no agents yet: qwed agents register NAME --principal ID",
    )
    if "next" in found:
        click.echo(f"more: --after {found['next']}")


def _row(agent: dict[str, Json], budget: dict[str, Json], out: Terminal) -> list[Any]:
    plain, cost, requests = not out.is_utf8, budget["cost"], budget["requests"]
    row = [
        agent["agent_id"],
        agent["name"],
        trust_gauge(agent["trust_level"], plain=plain, short=True),
        status_text(agent["status"]),
        gauge(cost["current_daily_usd"], cost["max_daily_usd"], plain=plain, width=NARROW),
        gauge(requests["current_hour"], requests["max_per_hour"], plain=plain, width=NARROW),
    ]
    return row + ([agent["principal_id"], agent["type"]] if out.is_wide else [])


@agents.command()
@click.argument("agent_id")
@with_backend
def show(backend: Backend, agent_id: str, as_json: bool) -> None:
    """Show one agent and its budget."""
    agent = backend.get_agent(agent_id)
    budget = backend.get_agent_budget(agent_id)
    if as_json:
        print_json({**agent, "budget_status": budget})
        return
    out = console()
    plain = not out.is_utf8
    for name in ("agent_id", "name", "type", "principal_id", "created_at"):
        out.line(name, str(agent[name]))
    out.line("trust", trust_gauge(agent["trust_level"], plain=plain))
    out.line("status", status_text(agent["status"]), agent.get("status_reason") or "")
    for name, value in agent["permissions"].items():
        out.line(name, ", ".join(value) or "-")
    for name, used, limit, unit in _budgets(budget):
        out.line(name, gauge(used, limit, plain=plain, unit=unit))


def _budgets(budget: dict[str, Json]) -> list[tuple[str, Any, Any, str]]:
    cost, requests, tokens = budget["cost"], budget["requests"], budget["tokens"]
    return [
        ("spent today", cost["current_daily_usd"], cost["max_daily_usd"], " USD"),
        ("this hour", requests["current_hour"], requests["max_per_hour"], " requests"),
        ("today", requests["current_day"], requests["max_per_day"], " requests"),
        ("tokens today", tokens["current_daily"], tokens["max_daily"], ""),
    ]


@agents.command()
@click.argument("name")
@click.option("--principal", "principal_id", required=True, metavar="ID", help="Who owns the agent.")
@click.option(
    "--type", "kind", type=click.Choice(["supervised", "autonomous", "trusted"]), default="supervised"
)
@click.option("--engine", "engines", multiple=True, help="An engine it may use; repeatable [math, logic].")
@with_backend
def register(
    backend: Backend, name: str, principal_id: str, kind: str, engines: tuple[str, ...], as_json: bool
) -> None:
    """Register an agent; its token is shown once."""
    permissions = {"permissions": {"allowed_engines": engines}} if engines else {}
    agent = backend.register_agent(name=name, type=kind, principal_id=principal_id, **permissions)
    if as_json:
        print_json(agent)
        return
    click.echo(f"agent_id     {agent['agent_id']}")
    click.echo(f"agent_token  {agent['agent_token']}")
    click.echo("the token is shown this once; only its hash is stored", err=True)


@agents.command()
@click.argument("agent_id")
@click.option("--reason", help="Why; it is part of the record.")
@with_backend
def suspend(backend: Backend, agent_id: str, reason: str | None, as_json: bool) -> None:
    """Suspend: every further action is denied."""
    agent = backend.suspend(agent_id, reason)
    if as_json:
        print_json(agent)
        return
    click.echo(f"{agent_id} is suspended")


@agents.command()
@click.argument("agent_id")
@click.option("--reason", help="What it did; it is part of the record.")
@with_backend
def complain(backend: Backend, agent_id: str, reason: str | None, as_json: bool) -> None:
    """Suspend for what it did: reactivating then takes a key with the scope trust."""
    agent = backend.complain(agent_id, reason)
    if as_json:
        print_json(agent)
        return
    click.echo(f"{agent_id} is suspended for a violation")


@agents.command()
@click.argument("agent_id")
@with_backend
def reactivate(backend: Backend, agent_id: str, as_json: bool) -> None:
    """Lift a suspension."""
    agent = backend.reactivate(agent_id)
    if as_json:
        print_json(agent)
        return
    click.echo(f"{agent_id} is active")
