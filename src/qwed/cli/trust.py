"""`qwed trust`: how far an agent is trusted, why, and what would change it."""

from typing import Any, Final

import click

from qwed.cli.gauges import LEVELS, gauge, status_text, trust_gauge
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, console, print_json, printable, with_backend
from qwed.cli.tables import print_table, when
from qwed.cli.trust_scores import reinstate, replay, score, seed
from qwed.domain.json_types import Json

MAX_LISTED: Final = 10
_CAUSES: Final = {
    "registered": "it was registered so",
    "set": "a person set it",
    "granted": "a person granted what it asked for",
    "suspended": "a person suspended it",
    "complaint": "its principal complained, which suspends",
    "reactivated": "a person reactivated it",
    "security_violation": "it violated the security policy, which costs two levels",
    "repeated_denials": "too many of its actions were denied, which costs one level",
    "budget_abuse": "it went on after its budget was exhausted, which costs one level",
}
_MAY: Final = {"APPROVED": "approved", "PENDING": "put to a person", "DENIED": "denied"}


@click.group(cls=CommandGroup)
def trust() -> None:
    """How far an agent is trusted, why, and what would change it."""


trust.add_command(replay)
trust.add_command(score)
trust.add_command(seed)
trust.add_command(reinstate)


@trust.command()
@click.argument("agent_id")
@with_backend
def show(backend: Backend, agent_id: str, as_json: bool) -> None:
    """Show an agent's level, what it may do there, and how near it is to losing it."""
    found = backend.trust_history(agent_id, limit=1)
    if as_json:
        print_json(found)
        return
    out = console()
    if "trust_level" not in found:
        out.print(f"{agent_id} is deregistered; its history stays: qwed trust history {agent_id}")
        return
    plain = not out.is_utf8
    out.line("agent", agent_id)
    out.line("trust", trust_gauge(found["trust_level"], plain=plain))
    out.line("status", status_text(found["status"]))
    for risk, decision in found["may"].items():
        out.line(f"{risk} risk", _MAY[decision])
    _print_conduct(out, found["conduct"], plain=plain)


def _print_conduct(out: Any, conduct: dict[str, Json], *, plain: bool) -> None:
    window, blocked, refused = conduct["window"], conduct["blocked_tools_today"], conduct["refused_today"]
    denials = gauge(window["denials"], window["max_denials"], plain=plain, unit=" allowed")
    out.line(
        "denials", denials, f"among its last {window['actions']} actions (weighed from {window['size']} on)"
    )
    out.line("blocked tools", gauge(blocked["uses"], blocked["violation_at"], plain=plain), "today")
    out.line("over budget", gauge(refused["requests"], refused["abuse_at"], plain=plain), "today")


@trust.command()
@click.argument("agent_id")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--cursor", help="Continue where a page ended.")
@with_backend
def history(backend: Backend, agent_id: str, limit: int, cursor: str | None, as_json: bool) -> None:
    """List every change of level or status, newest first."""
    found = backend.trust_history(agent_id, cursor=cursor, limit=limit)
    if as_json:
        print_json(found)
        return
    rows = [
        [
            when(change["timestamp"]),
            _describe_move(change),
            change["cause"],
            change["reason"] or "",
            change["by"],
        ]
        for change in found["changes"]
    ]
    print_table(
        f"Trust of {agent_id}", ["when", "level", "cause", "reason", "by"], rows, below={"by": "cause"}
    )
    if "next" in found:
        click.echo(f"more: --cursor {found['next']}")


def _describe_move(change: dict[str, Json]) -> str:
    if change["cause"] in ("suspended", "complaint", "reactivated"):
        return str(change["status"])
    if change["cause"] == "registered":
        return str(change["to_level"])
    return f"{change['from_level']} -> {change['to_level']}"


@trust.command()
@click.argument("agent_id")
@with_backend
def explain(backend: Backend, agent_id: str, as_json: bool) -> None:
    """Say in sentences why an agent has the level it has."""
    found = backend.trust_history(agent_id, limit=1000)
    if as_json:
        print_json(found)
        return
    level = found.get("trust_level")
    if level is None:
        click.echo(f"{agent_id} is deregistered: nobody trusts it with anything.")
    else:
        click.echo(f"{agent_id} is at trust level {level} ({LEVELS[level]}) and {found['status']}.")
        said = ", ".join(f"{risk} risk is {_MAY[decision]}" for risk, decision in found["may"].items())
        click.echo(f"What is verified at {said}.")
    for change in _deciding(found["changes"]):
        _print_reason(change)


def _deciding(changes: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The last that moved the level, and the last that changed the status."""
    status = ("suspended", "complaint", "reactivated")
    moves = [c for c in changes if c["from_level"] != c["to_level"] or c["cause"] == "registered"]
    switches = [c for c in changes if c["cause"] in status]
    return moves[:1] + switches[:1]


def _print_reason(change: dict[str, Json]) -> None:
    moved = "" if change["cause"] == "registered" else f" ({_describe_move(change)})"
    click.echo(f"\n{change['timestamp']}{moved}: {_CAUSES[change['cause']]}.")
    if change["reason"]:
        click.echo(f"  reason      {printable(change['reason'])}")
    click.echo(f"  by          {change['by']}")
    click.echo(f"  recorded as {change['activity_id']}")
    named = change["activities"][:MAX_LISTED]
    for activity_id in named:
        click.echo(f"  because of  {activity_id}")
    if len(change["activities"]) > len(named):
        click.echo(f"  and {len(change['activities']) - len(named)} more")


@trust.command("set")
@click.argument("agent_id")
@click.argument("level")
@click.option("--reason", required=True, help="Why; it is part of the record.")
@with_backend
def set_level(backend: Backend, agent_id: str, level: str, reason: str, as_json: bool) -> None:
    """Set an agent's LEVEL: 0 to 3, or untrusted, supervised, autonomous, trusted."""
    agent = backend.set_trust(agent_id, read_level(level), reason)
    if as_json:
        print_json(agent)
        return
    click.echo(f"{agent_id} is at trust level {agent['trust_level']} ({LEVELS[agent['trust_level']]})")


@trust.command()
@click.argument("agent_id")
@click.argument("level")
@click.option("--justification", required=True, help="Why it should be trusted more.")
@with_backend
def request(backend: Backend, agent_id: str, level: str, justification: str, as_json: bool) -> None:
    """Ask for the next LEVEL; a person answers, with the gateway's own figures before them."""
    current = backend.get_agent(agent_id)["trust_level"]
    asked = backend.request_trust(agent_id, current, read_level(level), justification)
    if as_json:
        print_json(asked)
        return
    click.echo(f"{asked['approval']['id']} waits for somebody else's answer: qwed approvals show")


def read_level(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) == 1 else text
