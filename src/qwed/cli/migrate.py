"""`qwed migrate`: from one file to many machines."""

import shutil
import tempfile
import time
from pathlib import Path

import click

from qwed.bootstrap import signing_key_path
from qwed.cli.shared import print_json
from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyUnusable, node_issuer
from qwed.ledger.audit import Tampering
from qwed.settings import PostgresUrl, Settings, parse_database, read_settings
from qwed.stores import DatabaseInUse, DatabaseUnusable
from qwed.stores.sqlite import own_file
from qwed.stores.sqlite.ledger import verify_ledger


@click.command()
@click.option("--database", metavar="PATH", help="The SQLite file [qwed.db]; no gateway may own it.")
@click.option("--to", required=True, metavar="URL", help="postgresql://user@host/database, an empty one.")
@click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")
def migrate(database: str | None, to: str, as_json: bool) -> int:
    """Move a SQLite store to PostgreSQL: everything is kept, and the ledger is verified there.

    The file stays as it is. The signing key is copied to qwed.key in QWED_DATA_DIR.
    """
    settings = read_settings(options={"database": database})
    file, target = settings.database, _target(to)
    if not isinstance(file, Path) or not file.exists():
        raise click.UsageError(f"there is no SQLite file at {file}")
    try:
        with own_file(file):
            counts = _moved(settings, file, target)
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


def _moved(settings: Settings, file: Path, target: PostgresUrl) -> dict[str, int]:
    from qwed.stores.postgres import snapshot  # noqa: PLC0415 - an extra
    from qwed.stores.postgres.moving import move  # noqa: PLC0415

    key = _copied_key(signing_key_path(file, settings.data_dir), signing_key_path(target, settings.data_dir))
    ring = read_ring(key, node_issuer(settings.node_name))
    # What is committed anew there has to be right here: nobody's edit becomes the gateway's own.
    if isinstance(found := verify_ledger(file, ring.known()), Tampering):
        raise DatabaseUnusable(f"the file does not verify, and is not moved: {found.says}")
    counts = move(file, target.reveal(), ring, time.time_ns() // 1_000_000)
    with tempfile.TemporaryDirectory(prefix="qwed-ledger-") as folder:
        copy = Path(folder) / "ledger.db"
        waiting = snapshot(target.reveal(), copy)
        found = verify_ledger(copy, ring.known(), (), waiting)
    if isinstance(found, Tampering):
        raise DatabaseUnusable(f"what arrived does not verify: {found.says}")
    return counts


def _copied_key(source: Path, target: Path) -> Path:
    """The key goes along: the ledger's signatures are its own."""
    for suffix in ("", ".retired"):
        old, new = source.with_name(source.name + suffix), target.with_name(target.name + suffix)
        if old.exists() and not new.exists():
            shutil.copy2(old, new)
    return target
