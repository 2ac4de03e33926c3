"""Files that may be hostile: never waited for, never read without bound, never followed blindly."""

import hashlib
import os
import stat

import msgspec

MAX_BYTES = 256 * 1024


class Content(msgspec.Struct, frozen=True):
    raw: bytes
    sha256: str


class Unreadable(msgspec.Struct, frozen=True):
    why: str


def read_regular(path: str, max_bytes: int = MAX_BYTES) -> Content | Unreadable:
    """The bytes of a regular file (or of what a link to one leads to)."""
    try:
        # Opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Unreadable(f"cannot be read ({error.strerror})")
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return Unreadable("is not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        return Unreadable(f"cannot be read ({error.strerror})")
    finally:
        os.close(descriptor)
    if len(raw) > max_bytes:
        return Unreadable(f"is larger than {max_bytes // 1024} KiB")
    return Content(raw, hashlib.sha256(raw).hexdigest())
