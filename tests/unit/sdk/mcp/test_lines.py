"""Messages over a pipe, however long."""

import asyncio
import json
from typing import Any

import pytest

from qwed_sdk.mcp.channels import CHUNK_BYTES, LineChannel, MessageTooLarge
from qwed_sdk.mcp.messages import MalformedMessage

MOST = 3 * CHUNK_BYTES


async def heard(*lines: bytes, step: int = 100_000) -> list[Any]:
    """What a channel makes of these bytes: ids, and what it skipped."""
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    channel = LineChannel(reader, None, MOST)  # type: ignore[arg-type]

    async def feed() -> None:
        for line in lines:
            for start in range(0, len(line), step):
                reader.feed_data(line[start : start + step])
                await asyncio.sleep(0)
        reader.feed_eof()

    feeding = asyncio.ensure_future(feed())
    found: list[Any] = []
    while True:
        try:
            message = await channel.receive()
        except MessageTooLarge as skipped:
            found.append(("skipped", skipped.id))
            continue
        except MalformedMessage:
            found.append("malformed")
            continue
        if message is None:
            break
        found.append(message.id)
    await feeding
    return found


def answer(id: Any, size: int, *, id_last: bool = False) -> bytes:
    result = {"content": [{"type": "text", "text": "x" * size}]}
    first = {"jsonrpc": "2.0", "id": id, "result": result}
    last = {"result": result, "jsonrpc": "2.0", "id": id}
    return json.dumps(last if id_last else first, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("step", [7_001, 100_000, 10_000_000])
@pytest.mark.parametrize("id_last", [False, True])
def test_a_message_that_is_too_large_is_skipped_and_its_id_is_known(step: int, id_last: bool):
    lines = (
        answer(1, 10),
        answer("two", 5 * MOST, id_last=id_last),
        answer(3, 2 * CHUNK_BYTES),
        answer(4, 10),
    )

    assert asyncio.run(heard(*lines, step=step)) == [1, ("skipped", "two"), 3, 4]


def test_the_bound_is_kept_to_the_byte():
    room = MOST - len(answer(1, 0))

    found = asyncio.run(heard(answer(1, room), answer(2, room + 1)))

    assert found == [1, ("skipped", 2)]


@pytest.mark.parametrize(
    "line", [b"x" * (2 * MOST), b'{"params":{"id":9,' + b" " * 2 * MOST + b"}}", b"[" * 2 * MOST]
)
def test_where_no_id_can_be_told_there_is_none(line: bytes):
    assert asyncio.run(heard(line + b"\n", answer(2, 1))) == [("skipped", None), 2]


def test_the_last_line_needs_no_end():
    assert asyncio.run(heard(answer(1, 2 * CHUNK_BYTES).rstrip(b"\n"))) == [1]
