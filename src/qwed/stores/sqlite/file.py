"""The file: who owns it, how it is opened, and the schema it is brought up to."""

import fcntl
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.errors import DatabaseInUse, DatabaseUnusable

_MIGRATIONS: Final = "qwed.stores.migrations.sqlite"


@contextmanager
def unavailable() -> Iterator[None]:
    try:
        yield
    # What cannot be bound (a lone surrogate, a number beyond 64 bits) is refused like what cannot be written.
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise StoreUnavailable(f"the database cannot do this: {error}") from error


@contextmanager
def own_file(path: Path) -> Iterator[None]:
    """Nobody else uses the store meanwhile. Raises `DatabaseInUse` or `DatabaseUnusable`."""
    owner = own(path.resolve())
    try:
        yield
    finally:
        os.close(owner)


def schema_files() -> int:
    """How many there are: the version of an up-to-date file."""
    return sum(entry.name.endswith(".sql") for entry in resources.files(_MIGRATIONS).iterdir())


def own(path: Path) -> int:
    """Lock the file next to the database: it stays locked while this process lives."""
    if path.exists() and path.stat().st_nlink > 1:
        raise DatabaseUnusable(f"{path} has a second name (a hard link), under which another could open it")
    lock = path.with_name(path.name + ".lock")
    try:
        owner = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror} ({lock})") from None
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(owner, 20, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(owner)
        raise DatabaseInUse(
            f"{path} is in use by another process (pid {holder}); stop it, or use another --database"
        ) from None
    os.ftruncate(owner, 0)
    os.pwrite(owner, str(os.getpid()).encode(), 0)
    return owner


def connect_writer(path: Path) -> sqlite3.Connection:
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    _refuse_foreign(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # What is erased is overwritten, not only unlinked.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA cache_size = -8192")
    connection.execute("PRAGMA busy_timeout = 5000")
    return connection


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Before anything is written: a file that another program made is not ours to fill."""
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    found = connection.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchone()
    if have == 0 and found is not None:
        connection.close()
        raise DatabaseUnusable(
            f"{path} is another program's database (it has {found[0]!r}); use another --database"
        )


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the numbered files that this database has not seen, each in its own transaction."""
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    folder = resources.files(_MIGRATIONS)
    files = [
        folder / name for name in sorted(entry.name for entry in folder.iterdir()) if name.endswith(".sql")
    ]
    if have > len(files):
        raise DatabaseUnusable(
            f"the database has schema version {have}; this QWED knows {len(files)}: upgrade QWED"
        )
    for number, entry in enumerate(files[have:], start=have + 1):
        script = entry.read_text(encoding="utf-8")
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def ledger_name(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT name FROM ledger_name").fetchone()
    if row is None:
        row = (f"urn:uuid:{uuid.uuid4()}",)
        connection.execute("INSERT INTO ledger_name VALUES (?)", row)
    return str(row[0])
