"""A ring on disk: the private key in one file, what it used to be in another beside it.

qwed.db.key           the key that signs, PEM, mode 0600
qwed.db.key.retired   the public halves of its predecessors, JSON
qwed.db.key.records   the record keys that followed from them, mode 0600: they still verify
qwed.db.key.log       the ledger's Ed25519 key, mode 0600, once it no longer follows from the key that signs
qwed.db.key.root      for a signing key in an HSM or a cloud: what the other keys follow from, mode 0600
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from qwed.ect import jwk
from qwed.ect.keys import (
    RECORD_PURPOSE,
    KeyRing,
    KeyUnusable,
    RetiredKey,
    generate,
    is_private,
    load,
    load_file,
    load_or_create,
    sync_directory,
    write_new,
)
from qwed.ect.remote_keys import is_remote
from qwed.ect.signing_keys import SigningKey

SEED_BYTES: Final = 32
_RETIRED: Final = msgspec.json.Decoder(tuple[RetiredKey, ...])


class KeySource(NamedTuple):
    """Where the signing key is, if not in the file of its place: a URI, and the variables it may name."""

    uri: str
    environ: Mapping[str, str]


def open_ring(path: Path, issuer: str, source: KeySource | None = None) -> KeyRing:
    """The ring that begins with the key in `path`, made where there is none. Raises `KeyUnusable`."""
    if source is None:
        return _ring(path, issuer, load_or_create(path))
    return _ring(path, issuer, load(*source), _root(path, is_made=True) if is_remote(source.uri) else None)


def read_ring(path: Path, issuer: str, source: KeySource | None = None) -> KeyRing:
    """As `open_ring`, and makes nothing. Raises `KeyUnusable`."""
    if source is None:
        return _ring(path, issuer, load_file(path))
    return _ring(path, issuer, load(*source), _root(path) if is_remote(source.uri) else None)


def _ring(path: Path, issuer: str, key: SigningKey, root: bytes | None = None) -> KeyRing:
    return KeyRing(issuer, key, _read_retired(path), _log_seed(path), root)


def _root(path: Path, *, is_made: bool = False) -> bytes:
    """Keys for records and witnesses follow from it: a key in an HSM or a cloud shows itself to nobody."""
    file = path.with_name(f"{path.name}.root")
    try:
        if is_made and not file.exists():
            write_new(file, f"{os.urandom(SEED_BYTES).hex()}\n".encode())
    except FileExistsError:
        # Of two processes that start together, one made it.
        pass
    except OSError as error:
        raise KeyUnusable(f"{file} can't be written: {error.strerror}") from None
    try:
        found = file.stat()
        if not is_private(stat.S_IMODE(found.st_mode), found.st_uid, os.geteuid()):
            raise KeyUnusable(f"others can read {file}: chmod 600 it")
        root = bytes.fromhex(file.read_text("ascii").strip())
    except OSError as error:
        raise KeyUnusable(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        root = b""
    if len(root) != SEED_BYTES:
        raise KeyUnusable(f"{file} does not hold {SEED_BYTES} bytes: restore it from a backup")
    return root


def retire_for(path: Path, issuer: str, at: int, source: KeySource | None, new: KeySource) -> KeyRing:
    """The key that signs is retired for the one that `new` names, which signs from the next start on.

    The old private key stays where it is until somebody removes it. Raises `KeyUnusable`.
    """
    before = open_ring(path, issuer, source)
    ring = before.rotated(load(*new), at)
    try:
        _keep_record_key(path, before)
        _write_log_seed(path, before.log_seed())
        _write_retired(path, ring)
    except OSError as error:
        raise KeyUnusable(f"{path} can't be rotated: {error.strerror}") from None
    return open_ring(path, issuer, new)


def rotate(
    path: Path, issuer: str, at: int, algorithm: str = "ES256", *, new_log_key: bool = False
) -> KeyRing:
    """A new key signs; the old private one is gone. The ledger's key for witnesses stays, unless a new one
    is wanted. Raises `KeyUnusable`."""
    before = open_ring(path, issuer)
    ring = before.rotated(generate(algorithm), at)
    try:
        _keep_record_key(path, before)
        if not new_log_key:
            _write_log_seed(path, before.log_seed())
        # First what is published: a crash in between leaves the old key signing, and known twice.
        _write_retired(path, ring)
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        write_new(fresh, ring.active.unsafe_pem())
        fresh.replace(path)
        if new_log_key:
            _log_path(path).unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise KeyUnusable(f"{path} can't be rotated: {error.strerror}") from None
    return open_ring(path, issuer)


def revoke(path: Path, issuer: str, kid: str, at: int, source: KeySource | None = None) -> KeyRing:
    """Raises `KeyUnusable`."""
    ring = open_ring(path, issuer, source).revoked(kid, at)
    try:
        _write_retired(path, ring)
    except OSError as error:
        raise KeyUnusable(f"{_path_of_retired(path)} can't be written: {error.strerror}") from None
    return ring


def read_older_records(path: Path) -> tuple[bytes, ...]:
    """The record keys of earlier signing keys, the newest first. Raises `KeyUnusable`."""
    file = _records_path(path)
    try:
        return tuple(bytes.fromhex(line) for line in reversed(file.read_text("ascii").split()))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise KeyUnusable(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        raise KeyUnusable(f"{file} does not hold record keys: restore it from a backup") from None


def _keep_record_key(path: Path, ring: KeyRing) -> None:
    file = _records_path(path)
    known = [key.hex() for key in reversed(read_older_records(path))]
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    lines = dict.fromkeys((*known, ring.derive(RECORD_PURPOSE).hex()))
    write_new(fresh, "".join(f"{line}\n" for line in lines).encode())
    fresh.replace(file)


def _log_seed(path: Path) -> bytes | None:
    file = _log_path(path)
    try:
        seed = bytes.fromhex(file.read_text("ascii").strip())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeyUnusable(f"{file} can't be read: {error.strerror}") from None
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        raise KeyUnusable(f"{file} does not hold the ledger's key: restore it from a backup")
    return seed


def _write_log_seed(path: Path, seed: bytes) -> None:
    file = _log_path(path)
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    write_new(fresh, f"{seed.hex()}\n".encode())
    fresh.replace(file)


def _log_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.log")


def _records_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.records")


def _path_of_retired(path: Path) -> Path:
    return path.with_name(f"{path.name}.retired")


def _read_retired(path: Path) -> tuple[RetiredKey, ...]:
    file = _path_of_retired(path)
    try:
        retired = _RETIRED.decode(file.read_bytes())
        for key in retired:
            jwk.read(key.public)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise KeyUnusable(f"{file} can't be read: {error.strerror}") from None
    except (msgspec.MsgspecError, jwk.InvalidKey):
        raise KeyUnusable(f"{file} does not hold retired keys: restore it from a backup") from None
    return retired


def _write_retired(path: Path, ring: KeyRing) -> None:
    file = _path_of_retired(path)
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    write_new(fresh, msgspec.json.encode(ring.retired))
    fresh.replace(file)
    sync_directory(file.parent)
