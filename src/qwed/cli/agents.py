"""`qwed agents`."""

from typing import Any

import click

from qwed.cli.shared import Backend, print_json, print_table, printable, with_backend


@click.group()
def agents() -> None:
    """Your agents."""


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
    rows = [
        [a["agent_id"], a["name"], a["type"], str(a["trust_level"]), a["status"], a["principal_id"]]
        for a in found["agents"]
    ]
    print_table("Agents", ["agent", "name", "type", "trust", "status", "principal"], rows)
    if "next" in found:
        click.echo(f"more: --after {found['next']}")


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
    for name in ("agent_id", "name", "type", "trust_level", "status", "principal_id", "created_at"):
        click.echo(f"{name:14} {printable(str(agent[name]))}")
    for name, value in agent["permissions"].items():
        click.echo(f"{name:14} {printable(', '.join(value)) or '-'}")
    cost, requests = budget["cost"], budget["requests"]
    click.echo(f"{'spent today':14} {cost['current_daily_usd']} of {_limit(cost['max_daily_usd'])} USD")
    click.echo(f"{'this hour':14} {requests['current_hour']} of {_limit(requests['max_per_hour'])} requests")


def _limit(value: Any) -> str:
    return "unlimited" if value is None else str(value)


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
@with_backend
def reactivate(backend: Backend, agent_id: str, as_json: bool) -> None:
    """Lift a suspension."""
    agent = backend.reactivate(agent_id)
    if as_json:
        print_json(agent)
        return
    click.echo(f"{agent_id} is active")
