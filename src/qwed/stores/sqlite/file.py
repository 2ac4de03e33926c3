"""The file: who owns it, how it is opened, and the schema it is brought up to."""

import fcntl
import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Final

from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.errors import DatabaseInUse, DatabaseUnusable

_MIGRATIONS: Final = "qwed.stores.migrations.sqlite"
#: With less room than this a group of records may not fit.
MIN_FREE_BYTES: Final = 4 * 1024 * 1024


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
        owner.end()


def schema_files() -> int:
    """How many there are: the version of an up-to-date file."""
    return len(read_scripts())


class Ownership:
    """The database belongs to this process, whatever becomes of the names of its files."""

    def __init__(self, path: Path, note: int, database: int) -> None:
        self._path, self._note, self._database = path, note, database

    def check(self) -> None:
        """Whether the file that is open is still the one under its name. Raises `StoreUnavailable`."""
        ours = os.fstat(self._database)
        try:
            there = self._path.stat()
        except OSError:
            raise StoreUnavailable(f"{self._path} was removed while it is in use: stop the gateway") from None
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            raise StoreUnavailable(f"{self._path} was replaced while it is in use: stop the gateway")

    def check_room(self) -> None:
        """Raises `StoreUnavailable` where nothing more can be written."""
        disk = os.statvfs(self._path)
        if disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES:
            raise StoreUnavailable(f"the disk of {self._path} is full")

    def end(self) -> None:
        """After every connection is closed: closing a file ends the locks that SQLite has on it, too."""
        _owned.discard(_identity(self._database))
        os.close(self._database)
        os.close(self._note)


#: What this process owns. A second look at such a file must not even open it: closing it would end the locks
#: that SQLite has on it.
_owned: set[tuple[int, int]] = set()


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def own(path: Path) -> Ownership:
    """Lock the database itself, and the file next to it, which says who has it."""
    note = _lock_note(path)
    try:
        return Ownership(path, note, _lock_database(path))
    except BaseException:
        os.close(note)
        raise


def _lock_database(path: Path) -> int:
    if path.exists() and (path.stat().st_dev, path.stat().st_ino) in _owned:
        raise DatabaseInUse(f"{path} is in use by this process")
    try:
        database = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(database, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(database)
        raise DatabaseInUse(
            f"{path} is in use by another process; stop it, or use another --database"
        ) from None
    _owned.add(_identity(database))
    return database


def _lock_note(path: Path) -> int:
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


def was_cut_off(path: Path) -> bool:
    """Whoever closes the file leaves no log of what is not in it yet."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def find_damage(path: Path) -> str | None:
    """What SQLite says of every page and index."""
    try:
        with closing(connect_reader(path.resolve())) as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
    except sqlite3.Error as error:
        found = [str(error)]
    if found == ["ok"]:
        return None
    return f"{path} is damaged ({found[0]}): keep it as evidence, and restore a backup"


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Before anything is written: a file that another program made is not ours to fill."""
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    found = connection.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchone()
    if have == 0 and found is not None:
        connection.close()
        raise DatabaseUnusable(
            f"{path} is another program's database (it has {found[0]!r}); use another --database"
        )


def read_scripts() -> list[str]:
    """What brings a file from each version to the next, in order."""
    folder = resources.files(_MIGRATIONS)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def migrate(connection: sqlite3.Connection, path: Path, scripts: Sequence[str] | None = None) -> None:
    """Apply the numbered files that this database has not seen, all in one transaction, after a copy.
    A file that can't be brought up to date stays as it was."""
    scripts = read_scripts() if scripts is None else scripts
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    if have > len(scripts):
        raise DatabaseUnusable(
            f"the database has schema version {have}; this QWED knows {len(scripts)}: upgrade QWED"
        )
    if have == len(scripts):
        return
    if have:
        _refuse_unknown_schema(connection, scripts[:have], path)
        _keep_copy(connection, path, have)
    text = "\n".join(scripts[have:])
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{text}\nPRAGMA user_version = {len(scripts)};\nCOMMIT;")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _refuse_unknown_schema(connection: sqlite3.Connection, scripts: Sequence[str], path: Path) -> None:
    """A file of a development version may have the number of a schema and not its tables."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as expected:
        for script in scripts:
            expected.executescript(script)
        wanted = _columns(expected)
    if (found := _columns(connection)) != wanted:
        table = sorted({name for name, *_ in found ^ wanted})[0]
        raise DatabaseUnusable(
            f"{path} says that it has schema version {len(scripts)}, but its table {table!r} is another:"
            " a development version made it. Nothing was changed; open it with the QWED that made it, or use"
            " another --database"
        )


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Every column of every table, by name and type."""
    return set(
        connection.execute(
            "SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
        )
    )


def _keep_copy(connection: sqlite3.Connection, path: Path, version: int) -> None:
    """The file as it was, beside it: whoever has to go back opens it with the QWED from before."""
    copy = path.with_name(f"{path.name}.schema-{version}")
    part = copy.with_name(copy.name + ".part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(part)) as other:
            connection.backup(other)
    except sqlite3.Error as error:
        part.unlink(missing_ok=True)
        raise DatabaseUnusable(
            f"{path} has to be brought up to date, and no copy can be made: {error}. Make room beside it"
        ) from error
    part.rename(copy)


def ledger_name(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT name FROM ledger_name").fetchone()
    if row is None:
        row = (f"urn:uuid:{uuid.uuid4()}",)
        connection.execute("INSERT INTO ledger_name VALUES (?)", row)
    return str(row[0])
