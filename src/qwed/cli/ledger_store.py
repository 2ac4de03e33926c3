"""The store that a `qwed ledger` command looks at, and the options that name it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from qwed.bootstrap import record_keys, signing_key_path, source_of
from qwed.cli.errors import CannotRun
from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyUnusable, node_issuer
from qwed.ledger.record_keys import RecordKeys
from qwed.ledger.states import Waiting
from qwed.settings import MEMORY, PostgresUrl, Settings, read_settings
from qwed.stores import DatabaseUnusable

DATABASE_OPTION = click.option(
    "--database", metavar="PATH", help="The store [qwed.db]; a running gateway may own it."
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Plain JSON, for programs.")


class LedgerStore(NamedTuple):
    """A store's file (or a copy of its ledger), and which entries about its rows still wait."""

    settings: Settings
    path: Path
    waiting: Sequence[Waiting] = ()
    is_copy: bool = False


def find_store(database: str | None) -> LedgerStore:
    settings = read_settings(options={"database": database})
    if isinstance(settings.database, PostgresUrl):
        return LedgerStore(settings, *_copy_to_file(settings, settings.database), is_copy=True)
    path = Path(settings.database)
    if settings.database == MEMORY or not path.exists():
        raise CannotRun(f"there is no store at {settings.database}")
    return LedgerStore(settings, path)


def _copy_to_file(settings: Settings, database: PostgresUrl) -> tuple[Path, Sequence[Waiting]]:
    """The ledger of a database server, in a file that lasts as long as the command."""
    from qwed.stores.postgres import snapshot  # noqa: PLC0415 - an extra

    folder = click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="qwed-ledger-"))
    path = Path(folder) / "ledger.db"
    try:
        return path, snapshot(database.reveal(), path, _record_keys(settings, database))
    except DatabaseUnusable as error:
        raise CannotRun(str(error)) from None


def _record_keys(settings: Settings, database: PostgresUrl) -> RecordKeys | None:
    """None on a machine that has no key: then what waits is taken as it is."""
    path = signing_key_path(database, settings.data_dir)
    try:
        ring = read_ring(path, node_issuer(settings.node_name), source_of(settings.signing_key))
        return record_keys(settings.record_key, path, ring)
    except KeyUnusable:
        return None
