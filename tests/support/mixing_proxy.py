"""A proxy before a gateway that mixes answers up on purpose.

It holds answers back until two are there and gives each to the asker of the other: whole, or only the bodies
under the right heads. Every `period`-th pair is swapped; what is alone for too long goes out as it is.
"""

import asyncio
import threading
from typing import Literal
from urllib.parse import urlsplit

Swap = Literal["whole", "bodies"]


class MixingProxy:
    def __init__(self, base_url: str, swap: Swap, period: int = 3) -> None:
        self._gateway = urlsplit(base_url)
        self.swap = swap
        self._period = period
        self._waiting: tuple[bytes, asyncio.Future[bytes]] | None = None
        self._pairs = 0
        self.swapped = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        )
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._gateway.hostname, self._gateway.port)
        try:
            while True:
                there[1].write(await _message(reader))
                writer.write(await self._mixed(await _message(there[0])))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            there[1].close()

    async def _mixed(self, answer: bytes) -> bytes:
        if self._waiting is None:
            mine: asyncio.Future[bytes] = self._loop.create_future()
            self._waiting = (answer, mine)
            try:
                return await asyncio.wait_for(mine, 0.02)
            except TimeoutError:
                self._waiting = None
                return answer
        other, theirs = self._waiting
        self._waiting = None
        self._pairs += 1
        if theirs.done() or self._pairs % self._period:
            theirs.done() or theirs.set_result(other)
            return answer
        self.swapped += 1
        theirs.set_result(answer if self.swap == "whole" else _with_body(other, answer))
        return other if self.swap == "whole" else _with_body(answer, other)


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    return head + await reader.readexactly(length)


def _with_body(of_head: bytes, of_body: bytes) -> bytes:
    """The head of one answer and the body of the other, with the right length."""
    body = of_body.partition(b"\r\n\r\n")[2]
    lines = of_head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(b"content-length:")]
    return b"\r\n".join([*kept, b"content-length: %d" % len(body)]) + b"\r\n\r\n" + body
