"""`qwed activity`: the audit trail."""

import time
from typing import Any

import click

from qwed.cli.groups import CommandGroup
from qwed.cli.shared import DECISION_COLOURS, Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table, when
from qwed.domain.json_types import Json

_COUNTED = ("approved", "corrected", "denied", "pending", "budget_exceeded")


@click.group(cls=CommandGroup)
def activity() -> None:
    """What agents did, and what was decided about it."""


@activity.command("list")
@click.argument("agent_id")
@click.option("--decision", help="APPROVED, DENIED, CORRECTED, PENDING or BUDGET_EXCEEDED.")
@click.option("--action-type", help="Only this type.")
@click.option("--conversation", "conversation_id", help="Only this conversation.")
@click.option("--from", "from_", metavar="TIME", help="ISO 8601, inclusive.")
@click.option("--to", metavar="TIME", help="ISO 8601, exclusive.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--cursor", help="The 'next' of an earlier page.")
@with_backend
def list_activity(backend: Backend, agent_id: str, as_json: bool, **given: Any) -> None:
    """List entries, newest first."""
    query = {name.rstrip("_"): value for name, value in given.items() if value is not None}
    page = backend.get_agent_activity(agent_id, **query)
    if as_json:
        print_json(page)
        return
    summary = page["summary"]
    counts = ", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in _COUNTED if summary[name])
    rows = [_row(entry) for entry in page["activities"]]
    total = summary["total_actions"]
    print_table(
        f"{total} action{'' if total == 1 else 's'}: {counts or 'none'}; {summary['total_cost_usd']} USD",
        ["time", "decision", "action", "code", "activity"],
        rows,
        below={"code": "action", "activity": "action"},
    )
    if "next" in page:
        click.echo(f"more: --cursor {page['next']}")


def _row(entry: dict[str, Json]) -> list[str]:
    return [
        when(entry["timestamp"]),
        entry["decision"],
        _say(entry),
        entry.get("error_code") or "",
        entry["activity_id"],
    ]


def _say(entry: dict[str, Json]) -> str:
    action = entry.get("action") or {}
    text = action.get("query") or action.get("code") or action.get("target") or ""
    return f"{entry['action_type']} {text}".strip()[:80]


@activity.command()
@click.argument("agent_id")
@click.option("--interval", default=1.0, show_default=True, help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Print what is there and stop.")
@with_backend
def tail(backend: Backend, agent_id: str, interval: float, once: bool, as_json: bool) -> None:
    """Follow an agent's activity until Ctrl-C."""
    seen: set[str] = set()
    while True:
        page = backend.get_agent_activity(agent_id, limit=100)
        fresh = [entry for entry in reversed(page["activities"]) if entry["activity_id"] not in seen]
        for entry in fresh:
            _print_line(entry, as_json=as_json)
        seen = {entry["activity_id"] for entry in page["activities"]}
        if once:
            return
        time.sleep(max(0.1, interval))


def _print_line(entry: dict[str, Json], *, as_json: bool) -> None:
    if as_json:
        print_json(entry)
        return
    decision = click.style(f"{entry['decision']:15}", fg=DECISION_COLOURS.get(entry["decision"]))
    click.echo(f"{entry['timestamp']}  {decision}  {printable(_say(entry))}  {entry.get('error_code') or ''}")
