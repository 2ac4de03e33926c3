"""`qwed approvals`: what waits for you."""

import contextlib
import sys

import click

from qwed.cli.approval_texts import said, standing
from qwed.cli.groups import CommandGroup
from qwed.cli.shared import Backend, print_json, printable, shown, with_backend
from qwed.cli.tables import print_table, when
from qwed.domain.json_types import Json


@click.group(cls=CommandGroup)
def approvals() -> None:
    """Look at, approve or deny what waits for a person."""


@approvals.command("list")
@click.option(
    "--status", default="open", show_default=True, help="open, approved, denied, expired, redeemed."
)
@click.option("--agent", "agent_id", metavar="ID", help="Only this agent's.")
@with_backend
def list_approvals(backend: Backend, status: str, agent_id: str | None, as_json: bool) -> None:
    """List approvals, newest first."""
    found = backend.approvals(agent_id=agent_id, status=status)
    if as_json:
        print_json(found)
        return
    rows = [
        [a["id"], a["agent_id"], a["risk_level"], said(a["action"]), when(a["expires_at"])]
        for a in found["approvals"]
    ]
    print_table(
        f"Approvals: {status}",
        ["approval", "agent", "risk", "action", "expires"],
        rows,
        below={"agent": "approval"},
        empty="nothing waits for you" if status == "open" else f"no approval is {status}",
    )


@approvals.command()
@click.argument("approval_id")
@with_backend
def show(backend: Backend, approval_id: str, as_json: bool) -> None:
    """Show one approval: the whole action, why it waits, and the evidence."""
    approval = backend.get_approval(approval_id)
    if as_json:
        print_json(approval)
        return
    for name in ("id", "status", "agent_id", "risk_level", "reason", "user_intent", "expires_at"):
        click.echo(f"{name:12} {printable(str(approval[name]))}")
    for name in ("action", "evidence"):
        click.echo(f"{name}:")
        click.echo(f"  {shown(approval[name])}")
    for vote in approval["votes"]:
        verb = "approved" if vote["approves"] else "denied"
        click.echo(f"{verb} by {vote['by']} at {vote['at']} {printable(vote['note'] or '')}")


@approvals.command()
@click.argument("approval_id")
@click.option("--note", help="Why; it is part of the record.")
@with_backend
def approve(backend: Backend, approval_id: str, note: str | None, as_json: bool) -> None:
    """Approve: the agent may then use the grant, once."""
    _print(backend.approve(approval_id, note), as_json=as_json)


@approvals.command()
@click.argument("approval_id")
@click.option("--note", help="Why; it is part of the record.")
@with_backend
def deny(backend: Backend, approval_id: str, note: str | None, as_json: bool) -> None:
    """Deny."""
    _print(backend.deny(approval_id, note), as_json=as_json)


@approvals.command()
@click.option("--note", help="What your answers are recorded with.")
@with_backend
def watch(backend: Backend, note: str | None, as_json: bool) -> None:
    """A live inbox: choose with the arrows, a approves, d denies, q leaves.

    Without a terminal, or with --json, a line for each approval that begins to wait or no longer does.
    """
    from qwed.cli.watch import watch_lines, watch_live  # noqa: PLC0415 - costs more than the other commands

    with contextlib.suppress(KeyboardInterrupt):
        if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            watch_lines(backend, as_json=as_json)
        else:
            watch_live(backend, note)


def _print(approval: dict[str, Json], *, as_json: bool) -> None:
    if as_json:
        print_json(approval)
        return
    click.echo(standing(approval))
