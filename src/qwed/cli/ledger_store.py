"""The store that a `qwed ledger` command looks at, and the options that name it."""

import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from qwed.bootstrap import record_keys, signing_key_path, source_of
from qwed.cli.ect import read_jwks
from qwed.cli.errors import CannotRun
from qwed.ect.jwk import InvalidKey, PublicKey
from qwed.ect.key_files import read_ring
from qwed.ect.keys import KeyUnusable, node_issuer
from qwed.ect.signatures import keys_of
from qwed.ledger.audit import Tampering
from qwed.ledger.checkpoints import Checkpoint
from qwed.ledger.passkeys import PasskeyLibraryMissing
from qwed.ledger.record_keys import RecordKeys
from qwed.ledger.states import Waiting
from qwed.settings import MEMORY, PostgresUrl, Settings, read_settings
from qwed.stores import DatabaseUnusable
from qwed.stores.sqlite.counters import CounterAudit, verify_counters
from qwed.stores.sqlite.ledger import Followed, verify_ledger

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


def find_store(database: str | None, *, is_own: bool = True) -> LedgerStore:
    """`is_own`: the store of the deployment that the settings are about; another one's key is not here."""
    settings = read_settings(options={"database": database})
    if isinstance(settings.database, PostgresUrl):
        keys = _record_keys(settings, settings.database) if is_own else None
        return LedgerStore(settings, *_copy_to_file(settings.database, keys), is_copy=True)
    path = Path(settings.database)
    if settings.database == MEMORY or not path.exists():
        raise CannotRun(f"there is no store at {settings.database}")
    return LedgerStore(settings, path)


def verify_store(
    store: LedgerStore, keys: Mapping[str, PublicKey], known: Sequence[Checkpoint] = ()
) -> tuple[Followed, CounterAudit] | Tampering:
    """Everything that can be: entries, payloads, rows that decide, counters. Raises `CannotRun`."""
    try:
        found = verify_ledger(store.path, keys, known, store.waiting)
        if isinstance(found, Tampering):
            return found
        now_ms = time.time_ns() // 1_000_000
        return found, verify_counters(store.path, now_ms, is_copy=store.is_copy)
    except sqlite3.Error as error:
        raise CannotRun(f"{store.path} can't be read: {error}") from None
    except PasskeyLibraryMissing as error:
        raise CannotRun(str(error)) from None


def deployment_keys(settings: Settings, database: Path) -> Mapping[str, PublicKey]:
    """The public halves of the deployment's keys, from the file it signs with."""
    given = settings.database if isinstance(settings.database, PostgresUrl) else database
    path = signing_key_path(given, settings.data_dir)
    try:
        return read_ring(path, node_issuer(settings.node_name), source_of(settings.signing_key)).known()
    except KeyUnusable as error:
        raise CannotRun(f"{error}; give the public keys with --jwks") from None


def read_keys(path: str) -> Mapping[str, PublicKey]:
    try:
        return keys_of(read_jwks(path))
    except InvalidKey as error:
        raise CannotRun(f"{path}: {error}") from None


def _copy_to_file(database: PostgresUrl, keys: RecordKeys | None) -> tuple[Path, Sequence[Waiting]]:
    """The ledger of a database server, in a file that lasts as long as the command."""
    from qwed.stores.postgres import snapshot  # noqa: PLC0415 - an extra

    folder = click.get_current_context().with_resource(tempfile.TemporaryDirectory(prefix="qwed-ledger-"))
    path = Path(folder) / "ledger.db"
    try:
        return path, snapshot(database.reveal(), path, keys)
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
