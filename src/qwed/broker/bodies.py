"""The body of a request: a small one in memory, compared by its fields; a large one on disk, by its hash."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import IO, Final

from qwed.broker.refusals import BrokerRefused
from qwed.broker.wire import Wire
from qwed.domain.codes import Code

MAX_FIELD_BYTES: Final = 1024 * 1024
MAX_HASHED_BYTES: Final = 4 * 1024 * 1024 * 1024
PIECE_BYTES: Final = 64 * 1024


class KeptBody:
    """A body that was read to its end. Beyond a megabyte it lies in a file without a name."""

    def __init__(self, file: IO[bytes], length: int, digest: str) -> None:
        self._file = file
        self.length = length
        self.digest = digest

    def whole(self) -> bytes:
        self._file.seek(0)
        return self._file.read(MAX_FIELD_BYTES)

    async def pieces(self) -> AsyncIterator[bytes]:
        self._file.seek(0)
        while piece := await asyncio.to_thread(self._file.read, PIECE_BYTES):
            yield piece

    def to_send(self) -> AsyncIterator[bytes] | bytes:
        return self.whole() if self.length <= MAX_FIELD_BYTES else self.pieces()


@contextmanager
def open_kept_file() -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(MAX_FIELD_BYTES) as file:
        yield file


async def read_body(wire: Wire, file: IO[bytes], *, is_hashed: bool) -> KeptBody:
    """Raises `BrokerRefused` for one that is too large to be compared."""
    most = MAX_HASHED_BYTES if is_hashed else MAX_FIELD_BYTES
    length, digest = 0, hashlib.sha256()
    while (piece := await wire.body_piece()) is not None:
        length += len(piece)
        if length > most:
            raise BrokerRefused(Code.BROKER_REQUEST, f"the body has more than {most} bytes")
        digest.update(piece)
        if length <= MAX_FIELD_BYTES:
            file.write(piece)
        else:
            await asyncio.to_thread(file.write, piece)
    return KeptBody(file, length, digest.hexdigest())
