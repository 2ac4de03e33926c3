"""Event streams that a test holds open while the world changes."""

import asyncio


class Stream:
    """One open `GET /events`, as the server sees it."""

    def __init__(self, world, **headers):
        self.sent = []
        self._gone = asyncio.Event()
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("gateway", 80),
            "scheme": "http",
        }
        self.task = asyncio.create_task(world._app(scope, self._receive, self._send))

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.sent.append(message)

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def text(self):
        return b"".join(message.get("body", b"") for message in self.sent).decode()

    async def leave(self):
        self._gone.set()
        await self.task


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)
