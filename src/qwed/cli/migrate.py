"""`qwed migrate`: from one file to many machines."""

import shutil
import tempfile
import time
from pathlib import Path

import click

from qwed.bootstrap import record_keys, signing_key_path, source_of
from qwed.cli.shared import print_json
from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyUnusable, node_issuer
from qwed.ledger.audit import Tampering
from qwed.settings import PostgresUrl, Settings, parse_database, read_settings
from qwed.stores import DatabaseInUse, DatabaseUnusable
from qwed.stores.backups import KEY_SUFFIXES
from qwed.stores.sqlite import own_file
from qwed.stores.sqlite.ledger import verify_ledger

TELL_SECONDS = 2.0


@click.command()
@click.option("--database", metavar="PATH", help="The SQLite file [qwed.db]; no gateway may own it.")
@click.option("--to", required=True, metavar="URL", help="postgresql://user@host/database, an empty one.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def migrate(database: str | None, to: str, as_json: bool) -> int:
    """Move a SQLite store to PostgreSQL: everything is kept, and the ledger is verified there.

    The file stays as it is. First of all the keys, the database and the whole file are checked; nothing is
    written before. The signing key goes to qwed.key in QWED_DATA_DIR. What was interrupted goes on where it
    stopped when it is run again; until it is done, no gateway starts there.
    """
    settings = read_settings(options={"database": database})
    file, target = settings.database, _target(to)
    if not isinstance(file, Path) or not file.exists():
        raise click.UsageError(f"there is no SQLite file at {file}")
    try:
        with own_file(file):
            counts = _move(settings, file, target)
    except (DatabaseInUse, DatabaseUnusable, KeyUnusable) as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        print_json({"moved": counts, "ledger": "valid"})
    else:
        rows = sum(counts.values())
        entries = counts["ledger"]
        click.echo(f"moved {rows} rows of {len(counts)} tables; the ledger verifies: {entries} entries")
        click.echo("now start it with: qwed serve --database postgresql://…")
    return 0


def _target(text: str) -> PostgresUrl:
    try:
        target = parse_database(text)
    except ValueError as error:
        raise click.UsageError(f"--to: {error}") from None
    if not isinstance(target, PostgresUrl):
        raise click.UsageError("--to takes postgresql://user@host:port/database")
    return target


def _move(settings: Settings, file: Path, target: PostgresUrl) -> dict[str, int]:
    from qwed.stores.postgres import snapshot  # noqa: PLC0415 - an extra
    from qwed.stores.postgres.move_tables import Move, move, require_target  # noqa: PLC0415

    here, there = signing_key_path(file, settings.data_dir), signing_key_path(target, settings.data_dir)
    ring = read_ring(here, node_issuer(settings.node_name), source_of(settings.signing_key))
    _require_same_key(here, there)
    keys = record_keys(settings.record_key, here, ring)
    require_target(target.reveal())
    # What is committed anew there has to be right here: nobody's edit becomes the gateway's own.
    click.echo(f"verifying {file}", err=True)
    if isinstance(found := verify_ledger(file, ring.known()), Tampering):
        raise DatabaseUnusable(f"the file does not verify, and is not moved: {found.says}")
    _copy_key(here, there)
    now_ms = time.time_ns() // 1_000_000
    counts = move(Move(file, target.reveal(), ring, now_ms, keys, _Told()))
    click.echo("verifying what arrived", err=True)
    with tempfile.TemporaryDirectory(prefix="qwed-ledger-") as folder:
        copy = Path(folder) / "ledger.db"
        waiting = snapshot(target.reveal(), copy, keys)
        found = verify_ledger(copy, ring.known(), (), waiting)
    if isinstance(found, Tampering):
        raise DatabaseUnusable(f"what arrived does not verify: {found.says}")
    return counts


class _Told:
    """How far it has come, on the standard error, now and then."""

    def __init__(self) -> None:
        self._next = time.monotonic() + TELL_SECONDS

    def __call__(self, table: str, rows: int, total: int) -> None:
        if time.monotonic() > self._next:
            self._next = time.monotonic() + TELL_SECONDS
            click.echo(f"{table}: {rows} of {max(rows, total)} rows", err=True)


def _require_same_key(source: Path, target: Path) -> None:
    is_same = source.exists() and target.exists() and target.read_bytes() == source.read_bytes()
    if target.exists() and not is_same:
        raise KeyUnusable(f"{target} is another key than {source}: set QWED_DATA_DIR to a folder without one")


def _copy_key(source: Path, target: Path) -> None:
    """The key goes along: the ledger's signatures are its own."""
    for suffix in KEY_SUFFIXES:
        old, new = source.with_name(source.name + suffix), target.with_name(target.name + suffix)
        if old.exists() and not new.exists():
            shutil.copy2(old, new)
