"""Files that may be hostile: never waited for, never read without bound, never followed blindly."""

import hashlib
import os
import stat
from functools import cached_property

import msgspec

MAX_BYTES = 256 * 1024


class Content(msgspec.Struct, frozen=True, dict=True):
    raw: bytes

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()


class UnreadableFile(msgspec.Struct, frozen=True):
    why: str


def read_regular(path: str, max_bytes: int = MAX_BYTES) -> Content | UnreadableFile:
    """The bytes of a regular file (or of what a link to one leads to)."""
    try:
        # Opening a pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return UnreadableFile(f"cannot be read ({error.strerror})")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return UnreadableFile("is not a regular file")
        if status.st_size > max_bytes:
            return UnreadableFile(f"is larger than {max_bytes // 1024} KiB")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(status.st_size + 1)
    except OSError as error:
        return UnreadableFile(f"cannot be read ({error.strerror})")
    finally:
        os.close(descriptor)
    # Files of /proc claim to be empty, and one that grows is not the one that was judged.
    if len(raw) != status.st_size:
        return UnreadableFile("does not have the size that it states")
    return Content(raw)
