"""`qwed redact`: what old entries say is erased; that they were there stays."""

import click

from qwed.cli.shared import Backend, print_json, with_backend
from qwed.domain.json_types import Json


@click.command()
@click.argument("agent_id", required=False)
@click.argument("activity_id", required=False)
@click.option("--reason", required=True, help="Why; it stays in the record, so do not repeat the text.")
@click.option("--before", metavar="TIME", help="Entries older than this (ISO 8601).")
@click.option("--containing", metavar="TEXT", help="Entries that hold this text, exactly as written.")
@click.option("--conversation", "conversation_id", help="Entries of this conversation, and its name.")
@click.option("--token", "jti", metavar="JTI", help="An execution context token that was submitted.")
@click.option("--dry-run", is_flag=True, help="Count what would be erased, and erase nothing.")
@with_backend
def redact(
    backend: Backend,
    agent_id: str | None,
    activity_id: str | None,
    reason: str,
    jti: str | None,
    dry_run: bool,
    as_json: bool,
    **selection: str | None,
) -> int:
    """Erase one entry (by its id), all of an agent's entries that match, or a token."""
    given = {name: value for name, value in selection.items() if value is not None}
    if jti is not None:
        if agent_id is not None or given or dry_run:
            raise click.UsageError("a token stands alone: no agent, --before, --containing, --dry-run")
        total = {"redacted": len(backend.redact_token(jti, reason)["redacted"]), "skipped": []}
    elif agent_id is None:
        raise click.UsageError("name an agent, or a token with --token")
    elif activity_id is not None:
        if given or dry_run:
            raise click.UsageError("an activity's id stands alone: no --before, --containing, --dry-run")
        answer = backend.redact(agent_id, activity_id, reason)
        total = {"redacted": len(answer["redacted"]), "skipped": []}
    else:
        total = _page_by_page(backend, agent_id, {"reason": reason, "dry_run": dry_run, **given})
    if as_json:
        print_json(total)
    else:
        _print(total, dry_run)
    return 1 if total["skipped"] else 0


def _page_by_page(backend: Backend, agent_id: str, selection: dict[str, Json]) -> dict[str, Json]:
    count, skipped = 0, []
    cursor: dict[str, Json] = {}
    while True:
        page = backend.redact_matching(agent_id, **selection, **cursor)
        count += page.get("redacted", 0) + page.get("would_be_redacted", 0)
        skipped += page["skipped"]
        if "next" not in page:
            return {"redacted": count, "skipped": skipped}
        cursor = {"cursor": page["next"]}


def _print(total: dict[str, Json], dry_run: bool) -> None:
    click.echo(f"{total['redacted']} {'would be erased' if dry_run else 'erased'}")
    for entry in total["skipped"]:
        click.echo(f"  {entry['activity_id']}: {entry['reason']}", err=True)
