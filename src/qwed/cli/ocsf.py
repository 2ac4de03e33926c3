"""`qwed ledger ocsf`: the record for a SIEM, as JSON lines that go on where the last run stopped."""

import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

import click

from qwed.cli.errors import CannotRun
from qwed.cli.ledger_store import DATABASE_OPTION, find_store
from qwed.cli.ocsf_post import OcsfReceiver, batches_of, keep_cursor
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.wire import encode_json
from qwed.reports.as_ocsf import events_of
from qwed.stores.sqlite.ledger import SqliteLedger

_PAGE: Final = 500
_CURSOR: Final = re.compile(r"([0-9]{1,18}) (\S{1,100})\n?")


@click.command("ocsf")
@DATABASE_OPTION
@click.option("--after", type=click.IntRange(min=0), help="Start after this entry [0, or the cursor].")
@click.option(
    "--cursor", metavar="FILE", help="Start after the entry it names; at the end it names the last."
)
@click.option("--out", metavar="FILE", help="Where to add the lines [standard output].")
@click.option("--post", metavar="URL", help="Where to send them instead, in batches; needs --cursor.")
@click.option("--authorization", metavar="PLACE", help="The header for --post: env:NAME or file:PATH.")
@click.option("--follow", type=click.IntRange(1, 3600), metavar="SECONDS", help="Look again so often.")
def write_ocsf(
    database: str | None,
    after: int | None,
    cursor: str | None,
    out: str | None,
    post: str | None,
    authorization: str | None,
    follow: int | None,
) -> int:
    """Write signed entries as OCSF events: API activity, and a detection finding for what was refused.

    The cursor moves when lines are written or taken: an interrupted run repeats some, under the same
    metadata.uid.
    """
    if post is not None and (out is not None or cursor is None):
        raise click.UsageError("--post needs --cursor, and no --out")
    if follow is not None and cursor is None:
        raise click.UsageError("--follow needs --cursor")
    receiver = None if post is None else OcsfReceiver(post, authorization)
    while True:
        lines, last = _export(find_store(database).path, after, cursor, out, receiver)
        if lines or follow is None:
            click.echo(f"events: {lines}; last entry: {last}", err=True)
        if follow is None:
            return 0
        after = None
        time.sleep(follow)


def _export(
    path: Path, after: int | None, cursor: str | None, out: str | None, receiver: OcsfReceiver | None
) -> tuple[int, int]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("BEGIN")
            ledger = SqliteLedger(lambda sql, *values: connection.execute(sql, values).fetchall())
            start = _start(ledger.name(), after, cursor)
            if receiver is not None and cursor is not None:
                return _send_all(ledger, start, receiver, Path(cursor))
            lines, last = _write_all(ledger, start, out)
            if cursor is not None:
                keep_cursor(Path(cursor), last, ledger.name())
            return lines, last
    except (sqlite3.Error, StoreUnavailable) as error:
        raise CannotRun(f"{path} can't be read: {error}") from None
    except OSError as error:
        raise CannotRun(f"the events can't be written: {error.strerror}") from None


def _send_all(ledger: SqliteLedger, after: int, receiver: OcsfReceiver, cursor: Path) -> tuple[int, int]:
    size, name, count = _size(ledger, after), ledger.name(), 0
    for batch in batches_of(_events(ledger, after, size), size):
        receiver.send(batch)
        keep_cursor(cursor, batch.last, name)
        count += len(batch.lines)
    return count, size


def _start(ledger: str, after: int | None, cursor: str | None) -> int:
    if after is not None or cursor is None or not Path(cursor).exists():
        return after or 0
    found = _CURSOR.fullmatch(Path(cursor).read_text("utf-8", "replace"))
    if found is None:
        raise CannotRun(f"{cursor} is no cursor: name another file, or begin with --after")
    if found[2] != ledger:
        raise CannotRun(f"{cursor} is a place in another ledger: name another file, or begin with --after")
    return int(found[1])


def _size(ledger: SqliteLedger, after: int) -> int:
    signed = ledger.checkpoint()
    size = 0 if signed is None else signed.size
    if after > size:
        raise CannotRun(f"the signed ledger ends at entry {size}, before {after}: was the store put back?")
    return size


def _write_all(ledger: SqliteLedger, after: int, out: str | None) -> tuple[int, int]:
    size = _size(ledger, after)
    if out is None:
        return _write(sys.stdout.buffer, ledger, after, size)
    with Path(out).open("ab") as file:
        written = _write(file, ledger, after, size)
        file.flush()
        os.fsync(file.fileno())
    return written


def _write(file: BinaryIO, ledger: SqliteLedger, after: int, size: int) -> tuple[int, int]:
    count = 0
    for _, line in _events(ledger, after, size):
        file.write(line)
        count += 1
    file.flush()
    return count, size


def _events(ledger: SqliteLedger, after: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Each line with the number of its entry."""
    name = ledger.name()
    while after < size:
        items = ledger.stretch(after, min(_PAGE, size - after))
        if not items:
            return
        for item in items:
            if item.activity is not None:
                for event in events_of(item.seq, name, item.activity):
                    yield item.seq, encode_json(event) + b"\n"
        after = items[-1].seq
