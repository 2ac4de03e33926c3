"""Hosts of the `pass` list: bytes to and fro, unopened."""

import asyncio
import contextlib
from typing import Final

from qwed.broker.refusals import BrokerRefused
from qwed.domain.codes import Code

CONNECT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 900.0
PIECE_BYTES: Final = 64 * 1024

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_tunnel(host: str, port: int) -> Streams:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        raise BrokerRefused(
            Code.BROKER_UPSTREAM, f"{host}:{port} can't be reached ({type(error).__name__})"
        ) from None


async def join(client: Streams, server: Streams) -> tuple[int, int]:
    """Until both have ended, or nothing came for long; how many bytes went out and came in."""
    counts = [0, 0]
    ways = [
        asyncio.create_task(_pump(client[0], server[1], counts, 0)),
        asyncio.create_task(_pump(server[0], client[1], counts, 1)),
    ]
    try:
        await asyncio.gather(*ways)
    finally:
        for way in ways:
            way.cancel()
        server[1].close()
    return counts[0], counts[1]


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: list[int], place: int
) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(IDLE_SECONDS):
                piece = await reader.read(PIECE_BYTES)
            if not piece:
                break
            counts[place] += len(piece)
            writer.write(piece)
            async with asyncio.timeout(IDLE_SECONDS):
                await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
