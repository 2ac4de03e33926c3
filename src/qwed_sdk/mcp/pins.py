"""What was pinned: per server, each tool's definition as it was first seen or as a person accepted it."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

MAX_FILE_BYTES: Final = 16 * 1024 * 1024


class PinsUnusable(Exception):
    """The file cannot be trusted or read; the sentence says why. Without pins nothing may run."""


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """`accepted`: a person looked at this very definition, and it passes whatever it looks like."""

    sha256: str
    accepted: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    servers: dict[str, dict[str, Pin]] = {}
    #: Server → who it is; several may be one program that is pointed at different things.
    identities: dict[str, str] = {}


class Pinned(msgspec.Struct, frozen=True):
    """What is known of one server and of the others, for whoever looks at its tools."""

    own: Mapping[str, Pin] = {}
    #: Definitions pinned for the same program, started with other arguments.
    twins: Mapping[str, Pin] = {}
    #: Tool → the other server that has it.
    elsewhere: Mapping[str, str] = {}


class Pins:
    """A file that only its owner may write; several proxies may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, server: str, identity: str) -> Pinned:
        """Raises `PinsUnusable`."""
        kept = self._load()
        twins: dict[str, Pin] = {}
        elsewhere: dict[str, str] = {}
        for name, pins in kept.servers.items():
            if name == server:
                continue
            if kept.identities.get(name) == identity:
                twins |= pins
            else:
                elsewhere |= dict.fromkeys(pins, name)
        return Pinned(kept.servers.get(server, {}), twins, elsewhere)

    def _load(self) -> _File:
        try:
            # Whatever lies there must not be waited for.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return _File()
        except OSError as error:
            raise PinsUnusable(f"{self.path}: cannot be read ({error.strerror})") from None
        try:
            self._require_own(os.fstat(descriptor))
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(content) > MAX_FILE_BYTES:
            raise PinsUnusable(f"{self.path}: is larger than {MAX_FILE_BYTES} bytes")
        try:
            return msgspec.json.decode(content, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise PinsUnusable(f"{self.path}: is damaged ({error}); remove it and pin again") from None

    def add(self, server: str, identity: str, pins: Mapping[str, Pin]) -> None:
        """Keep these, beside what is there. Raises `PinsUnusable`."""
        if not pins:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._alone():
                kept = self._load()
                own = {**kept.servers.get(server, {}), **pins}
                self._write(_File({**kept.servers, server: own}, {**kept.identities, server: identity}))
        except OSError as error:
            raise PinsUnusable(f"{self.path}: cannot be written ({error.strerror})") from None

    def _require_own(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise PinsUnusable(f"{self.path}: is not a regular file")
        if status.st_uid != os.geteuid():
            raise PinsUnusable(f"{self.path}: belongs to somebody else")
        if status.st_mode & 0o022:
            raise PinsUnusable(f"{self.path}: others may write it; make it 0600")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = self.path.with_name(self.path.name + ".lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _write(self, content: _File) -> None:
        """Whole or not at all; a temporary file of `mkstemp` is 0600."""
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(content, order="sorted"), indent=1))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink()
            raise
