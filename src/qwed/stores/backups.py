"""A backup: a folder with a copy of a store, what is in it, and the deployment's signature over that.

store.db or tables/*     the copy of the database
keys/                    the signing key, if it was asked for
manifest.json            what was kept, with the size and hash of every file
manifest.jws             the signature over the manifest, written last

The folder has another name until all of it is on the disk: what has the name that was asked for is whole.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from qwed.ect.jwk import PublicKey
from qwed.ect.keys import KeyRing, sync_directory
from qwed.ledger.audit import Tampering
from qwed.ledger.states import Waiting
from qwed.stores.errors import DatabaseInUse, DatabaseUnusable
from qwed.stores.sqlite.counters import verify_counters
from qwed.stores.sqlite.ledger import Followed, verify_ledger

FORMAT: Final = 1
KEY_FILE: Final = "keys/signing.key"
KEY_SUFFIXES: Final = ("", ".retired", ".records", ".log", ".root")
PART_SUFFIX: Final = ".part"
MAX_MANIFEST_BYTES: Final = 4 * 1024 * 1024
_MANIFEST: Final = "manifest.json"
_SIGNATURE: Final = "manifest.jws"
_TYPE: Final = "qwed-backup+jwt"
_CHUNK: Final = 1024 * 1024


class BackupFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a backup, as it was written."""

    bytes: int
    sha256: str


class BackupTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a database server: what its file holds, in this order of columns."""

    rows: int
    columns: tuple[str, ...]


class BackupManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup says of itself."""

    format: int
    kind: Literal["sqlite", "postgresql"]
    qwed: str
    made_ms: int
    schema: int
    ledger: str
    entries: int
    head: str
    has_keys: bool
    rows: int
    files: dict[str, BackupFile]
    tables: dict[str, BackupTable] = {}
    sequences: dict[str, int] = {}
    #: Parts of the activity, each from and to which moment.
    parts: tuple[tuple[int, int], ...] = ()


_READER: Final = msgspec.json.Decoder(BackupManifest)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to fill; it gets its name at the end. Raises `DatabaseUnusable` or `DatabaseInUse`."""
    if out.exists():
        raise DatabaseUnusable(f"{out} is there already: it is not overwritten")
    part = out.with_name(out.name + PART_SUFFIX)
    try:
        part.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise DatabaseUnusable(f"{part} can't be made: {error.strerror}") from None
    try:
        _lock(lock, part)
        _empty(part)
        with _remove_on_failure(part):
            yield part
            _rename(part, out)
    finally:
        os.close(lock)


@contextmanager
def _remove_on_failure(part: Path) -> Iterator[None]:
    """From here on everything in it is ours."""
    try:
        yield
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _lock(descriptor: int, part: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise DatabaseInUse(f"another backup writes {part}") from None


def _empty(part: Path) -> None:
    """What a backup that was interrupted left; what nobody of us wrote is not removed."""
    ours = {"store.db", "store.db-journal", "tables", "keys", "ledger.db", _MANIFEST, _SIGNATURE}
    foreign = sorted({entry.name for entry in part.iterdir()} - ours)
    if foreign:
        raise DatabaseUnusable(f"{part} has files that no backup wrote ({foreign[0]}): choose another --out")
    for entry in part.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _rename(part: Path, out: Path) -> None:
    try:
        part.rename(out)
        sync_directory(out.parent)
    except OSError as error:
        raise DatabaseUnusable(f"{out} can't be written: {error.strerror}") from None


def digest_of(path: Path) -> BackupFile:
    """Read from the disk: what was written, not what was meant."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return BackupFile(size, digest.hexdigest())


def files_of(folder: Path) -> dict[str, BackupFile]:
    """Every file but the manifest's own, flushed to the disk first."""
    found = {}
    for path in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
        flush(path)
        name = path.relative_to(folder).as_posix()
        if name not in (_MANIFEST, _SIGNATURE):
            found[name] = digest_of(path)
    for path in (entry for entry in folder.rglob("*") if entry.is_dir()):
        sync_directory(path)
    return found


def flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_manifest(folder: Path, manifest: BackupManifest, ring: KeyRing) -> None:
    """The manifest, and the deployment's word that it is the one."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    claims = {"sha256": hashlib.sha256(text).hexdigest(), "iss": ring.issuer}
    for name, content in ((_MANIFEST, text), (_SIGNATURE, ring.sign(_TYPE, claims).encode())):
        path = folder / name
        path.write_bytes(content)
        flush(path)
    sync_directory(folder)


def read_manifest(folder: Path, ring: KeyRing) -> BackupManifest:
    """What the backup holds, if one of these keys signed it and every file is as it was written.

    Raises `DatabaseUnusable`.
    """
    text, token = _read(folder / _MANIFEST), _read(folder / _SIGNATURE)
    claims = ring.verify(_TYPE, token.decode("ascii", "replace"))
    if claims is None or claims.get("sha256") != hashlib.sha256(text).hexdigest():
        raise DatabaseUnusable(f"{folder} was changed, or another deployment's key signed it")
    try:
        manifest = _READER.decode(text)
    except msgspec.MsgspecError:
        raise DatabaseUnusable(f"{folder} is from another version of QWED: upgrade this one") from None
    if manifest.format != FORMAT:
        raise DatabaseUnusable(f"{folder} has format {manifest.format}; this QWED reads {FORMAT}")
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file() or digest_of(path) != expected:
            raise DatabaseUnusable(f"{path} is not as the backup wrote it: the backup is damaged")
    return manifest


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise DatabaseUnusable(
            f"{path.parent} is not a whole backup ({path.name}: {error.strerror})"
        ) from None
    if len(text) > MAX_MANIFEST_BYTES:
        raise DatabaseUnusable(f"{path} is too long")
    return text


def verify_copy(
    path: Path, keys: Mapping[str, PublicKey], waiting: Sequence[Waiting] = (), *, is_copy: bool = False
) -> Followed:
    """As `qwed ledger verify` does it. Raises `DatabaseUnusable` where anything differs."""
    try:
        found = verify_ledger(path, keys, (), waiting)
        if isinstance(found, Tampering):
            raise DatabaseUnusable(f"the ledger does not verify: {found.says}")
        counted = verify_counters(path, time.time_ns() // 1_000_000, is_copy=is_copy)
    except sqlite3.Error as error:
        raise DatabaseUnusable(f"the ledger can't be read: {error}") from None
    if counted.differences:
        raise DatabaseUnusable(f"the ledger does not verify: {'; '.join(counted.differences)}")
    return found
