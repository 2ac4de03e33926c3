"""`qwed policy backtest`: what another policy would have decided."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from qwed.cli.shared import Backend, print_json, printable, with_backend
from qwed.cli.tables import print_table
from qwed.domain.json_types import Json
from qwed.domain.times import DAY_MS, iso

_SPAN: Final = re.compile(r"([0-9]{1,6})([dh])")
_HOUR_MS: Final = DAY_MS // 24
MAX_TOLD: Final = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--since", metavar="SPAN", help="Only the last days or hours (7d, 12h), or since a time.")
@click.option("--agent", metavar="ID", help="Only the decisions of this agent.")
@click.option("--reprove", is_flag=True, help="Make the proofs that changed engine settings ask for.")
@with_backend
def backtest(
    backend: Backend, file: Path, since: str | None, agent: str | None, reprove: bool, as_json: bool
) -> None:
    """Decide the record again under the policy in FILE, and list what comes out differently.

    First it says what it can't say. Nothing is recorded, and nothing changes.
    """
    text, start = file.read_text(encoding="utf-8"), _start(since)
    with click.progressbar(length=1000, label="deciding again", hidden=as_json) as bar:
        report = backend.backtest_policy(
            text, since=start, agent_id=agent, reprove=reprove, progress=_progress(bar)
        )
    if as_json:
        print_json(report)
    else:
        _tell(report)


def _start(since: str | None) -> str | None:
    if since is None:
        return None
    span = _SPAN.fullmatch(since)
    if span is None:
        return since
    length = int(span[1]) * (DAY_MS if span[2] == "d" else _HOUR_MS)
    return iso(time.time_ns() // 1_000_000 - length)


def _progress(bar: Any) -> Callable[[int, int], None]:
    def show(done: int, total: int) -> None:
        bar.update(1000 * done // max(1, total) - bar.pos)

    return show


def _tell(report: dict[str, Json]) -> None:
    for reason, count in report["cannot_say"].items():
        click.echo(f"can't say   {count}: {reason}")
    if report["agents_may_have_gone_on_differently"]:
        count = report["agents_may_have_gone_on_differently"]
        click.echo(
            f"can't say   {count} came after a decision that changes: the agent may have gone on differently"
        )
    if report["not_counted_by_rules"]:
        count = report["not_counted_by_rules"]
        click.echo(f"can't say   {count} acted and could not be counted: rules with a window may differ")
    if not report["windows_are_whole"]:
        click.echo("can't say   there were more windows than are kept: rules with a window may differ")
    if report["proven_again"]:
        click.echo(f"proven now  {report['proven_again']}, as the other policy sets the engines")
    changed = sum(row["count"] for row in (*report["direct"], *report["follow_on"]))
    click.echo(f"the same    {report['same']} of {report['decisions']} decisions")
    click.echo(f"changed     {changed}")
    for title, name in (("Direct changes", "direct"), ("Follow-on changes", "follow_on")):
        rows = [[printable(r["action_type"]), r["then"], r["now"], str(r["count"])] for r in report[name]]
        if rows:
            print_table(title, ["action", "then", "now", "decisions"], rows)
    if report["by_rule"]:
        counts = [[printable(name), str(count)] for name, count in report["by_rule"].items()]
        print_table("Rules behind the changes", ["rule", "decisions"], counts)
    for one in report["changes"][:MAX_TOLD]:
        now = one["now"]
        why = ", ".join((now["code"] or "no objection", *now["rules"]))
        click.echo(
            printable(
                f"  {one['activity_id']} {one['action_type']}: {one['then']['decision']} then,"
                f" {now['decision']} now ({why})"
            )
        )
