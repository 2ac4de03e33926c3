"""`qwed ledger replay`: every recorded decision, made again from the record."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
import msgspec

from qwed.cli.errors import CannotRun
from qwed.cli.ledger_store import DATABASE_OPTION, JSON_OPTION, find_store
from qwed.cli.shared import print_json
from qwed.domain.json_types import Json
from qwed.gateway.decide.replay import NotReplayable, Replayed, replay
from qwed.gateway.kernel.coroutines import run
from qwed.stores.sqlite.recorded_decisions import count_activities, read_payloads, read_shared

MAX_TOLD: Final = 20


@click.command("replay")
@DATABASE_OPTION
@JSON_OPTION
def replay_ledger(database: str | None, as_json: bool) -> int:
    """Decide every recorded decision again, on the facts of its time. Exit codes: 0 all the same or not
    replayable, 1 some came out differently, 2 could not look."""
    path = find_store(database).path
    counts: Counter[str] = Counter()
    different: list[dict[str, Json]] = []
    try:
        for entry, found in _replay_all(path, is_quiet=as_json):
            counts[_name_of(found)] += 1
            if found.differs:
                different.append({"activity_id": entry["activity_id"], "differs": found.differs})
    except sqlite3.Error as error:
        raise CannotRun(f"{path} can't be read: {error}") from None
    if as_json:
        print_json({**counts, "differences": different})
    else:
        _tell(counts, different)
    return 1 if different else 0


def _replay_all(path: Path, *, is_quiet: bool) -> Iterable[tuple[dict[str, Json], Replayed]]:
    shared = read_shared(path)

    async def look_up(digest: str) -> bytes | None:
        return shared.get(digest)

    with click.progressbar(
        read_payloads(path), length=count_activities(path), label="replaying", hidden=is_quiet
    ) as payloads:
        for payload in payloads:
            entry = msgspec.json.decode(payload)
            yield entry, run(replay(entry, look_up))


def _name_of(found: Replayed) -> str:
    if found.reason is not None:
        return found.reason.name.lower()
    return "same" if found.is_same else "different"


def _tell(counts: Counter[str], different: list[dict[str, Json]]) -> None:
    decided = counts["same"] + counts["different"]
    word = click.style("DIFFERENT", fg="red", bold=True) if different else click.style("SAME", fg="green")
    click.echo(f"{word}  {counts['same']} of {decided} decisions came out as they were recorded")
    for reason in NotReplayable:
        if counts[reason.name.lower()]:
            click.echo(f"      {counts[reason.name.lower()]} not replayed: {reason.value}")
    for found in different[:MAX_TOLD]:
        click.echo(f"      {found['activity_id']}: {'; '.join(found['differs'])}")
    if len(different) > MAX_TOLD:
        click.echo(f"      and {len(different) - MAX_TOLD} more: --json lists all")
