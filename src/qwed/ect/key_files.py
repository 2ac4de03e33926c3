"""A ring on disk: the private key in one file, what it used to be in another beside it.

qwed.db.key           the key that signs, PEM, mode 0600
qwed.db.key.retired   the public halves of its predecessors, JSON
qwed.db.key.records   the record keys that followed from them, mode 0600: they still verify
qwed.db.key.log       the ledger's Ed25519 key, mode 0600, once it no longer follows from the key that signs
"""

from pathlib import Path
from typing import Final

import msgspec

from qwed.ect import jwk
from qwed.ect.keys import (
    RECORD_PURPOSE,
    KeyRing,
    KeyUnusable,
    RetiredKey,
    generate,
    load_file,
    load_or_create,
    sync_directory,
    write_new,
)

SEED_BYTES: Final = 32
_RETIRED: Final = msgspec.json.Decoder(tuple[RetiredKey, ...])


def open_ring(path: Path, issuer: str) -> KeyRing:
    """The ring that begins with the key in `path`, made where there is none. Raises `KeyUnusable`."""
    return KeyRing(issuer, load_or_create(path), _retired(path), _log_seed(path))


def read_ring(path: Path, issuer: str) -> KeyRing:
    """As `open_ring`, and makes nothing. Raises `KeyUnusable`."""
    return KeyRing(issuer, load_file(path), _retired(path), _log_seed(path))


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


def revoke(path: Path, issuer: str, kid: str, at: int) -> KeyRing:
    """Raises `KeyUnusable`."""
    ring = open_ring(path, issuer).revoked(kid, at)
    try:
        _write_retired(path, ring)
    except OSError as error:
        raise KeyUnusable(f"{_retired_path(path)} can't be written: {error.strerror}") from None
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


def _retired_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.retired")


def _retired(path: Path) -> tuple[RetiredKey, ...]:
    file = _retired_path(path)
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
    file = _retired_path(path)
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    write_new(fresh, msgspec.json.encode(ring.retired))
    fresh.replace(file)
    sync_directory(file.parent)
