"""A store's file, copied beside a gateway that uses it, and put back where none does."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from qwed.ect.keys import sync_directory
from qwed.stores.backups import BackupFile, digest_of, flush
from qwed.stores.errors import DatabaseInUse, DatabaseUnusable
from qwed.stores.sqlite.file import connect_reader, schema_files

#: Pages at a time: in between, an interrupt is heard.
_PAGES: Final = 4096


def copy_file(path: Path, target: Path) -> tuple[int, int]:
    """One moment of the store, in a file that needs no other; its schema's number and how many rows it has.

    Raises `DatabaseUnusable`.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(connect_reader(path.resolve())) as source, closing(sqlite3.connect(target)) as copy:
            # The transaction keeps the moment: what is written meanwhile belongs to the next backup.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            source.backup(copy, pages=_PAGES)
            copy.execute("PRAGMA journal_mode = DELETE")
            return require_known_schema(copy), _count_rows(copy)
    except sqlite3.Error as error:
        raise DatabaseUnusable(f"{path} can't be copied: {error}") from None


def require_known_schema(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if not 0 < version <= schema_files():
        raise DatabaseUnusable(
            f"the file has schema version {version}; this QWED knows 1 to {schema_files()}"
        )
    return version


def _count_rows(connection: sqlite3.Connection) -> int:
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return sum(connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for (name,) in names)  # noqa: S608


def is_there(path: Path) -> bool:
    """An empty file is what a lock leaves, and no store."""
    return path.exists() and path.stat().st_size > 0


def bring_beside(copy: Path, path: Path, expected: BackupFile) -> Path:
    """The copy, on the disk of the store, under a name that no gateway opens. Raises `DatabaseUnusable`."""
    part = path.with_name(f"{path.name}.restoring")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        shutil.copyfile(copy, part)
        flush(part)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DatabaseUnusable(f"{part} can't be written: {error.strerror}") from None
    if digest_of(part) != expected:
        part.unlink(missing_ok=True)
        raise DatabaseUnusable(f"{part} is not what was copied: the disk lost something")
    return part


def keep_earlier(path: Path, at_ms: int) -> Path:
    """The store that is replaced, whole, under another name. The caller owns it.

    Raises `DatabaseInUse` or `DatabaseUnusable`.
    """
    kept, number = path.with_name(f"{path.name}.before-restore-{at_ms}"), 1
    # The same backup may be restored again: what was kept then stays.
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.before-restore-{at_ms}-{number}")
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as earlier:
            # What its log holds goes into the file first: a log left behind would be read with the new file.
            mode = earlier.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise DatabaseInUse(f"another process reads {path}: stop it, then restore") from None
        raise DatabaseUnusable(
            f"{path} can't be read ({error}): move it and its -wal file away, then restore"
        ) from None
    if mode != "delete":
        raise DatabaseUnusable(f"{path} still has a log: stop who reads it, then restore")
    part = kept.with_name(kept.name + ".part")
    try:
        shutil.copy2(path, part)
        flush(part)
        part.rename(kept)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DatabaseUnusable(f"{kept} can't be written: {error.strerror}") from None
    return kept


def put_in_place(part: Path, path: Path) -> None:
    """From one moment to the next. Raises `DatabaseUnusable`."""
    try:
        part.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        raise DatabaseUnusable(f"{path} can't be replaced: {error.strerror}") from None
