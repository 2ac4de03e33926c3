"""Which content a file had when it was last read, as long as its status says it has not changed.

A change within the same tick of the clock as the last look would not show, so what was young then
is read again. The change time is compared too: unlike the others, no program can set it.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

_SECOND: Final = 1_000_000_000
# Some file systems keep whole seconds, or pairs of them.
_COARSEST_TICK: Final = 2 * _SECOND


class _Known(NamedTuple):
    mode: int
    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    id: str


_decoder: Final = msgspec.msgpack.Decoder(dict[bytes, _Known])


class StatCache:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[bytes, _Known] = {}
        self._next: dict[bytes, _Known] = {}

    def load(self) -> None:
        """A cache that cannot be read is an empty one."""
        try:
            self._known = _decoder.decode(self._file.read_bytes())
        except (OSError, msgspec.MsgspecError):
            self._known = {}

    def id_of(self, path: bytes, status: os.stat_result) -> str | None:
        known = self._known.get(path)
        if known is not None and known[:5] == signature(status):
            self._next[path] = known
            return known.id
        return None

    def learn(self, path: bytes, status: os.stat_result, object_id: str, now_ns: int) -> None:
        """`now_ns` was the file system's time before the file was read."""
        if _is_settled(status, now_ns):
            self._next[path] = _Known(*signature(status), object_id)

    def save(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.msgpack.encode(self._next))
        new.replace(self._file)


def signature(status: os.stat_result) -> tuple[int, int, int, int, int]:
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_settled(status: os.stat_result, now_ns: int) -> bool:
    tick = 0 if status.st_ctime_ns % _SECOND else _COARSEST_TICK
    return max(status.st_mtime_ns, status.st_ctime_ns) + tick < now_ns
