"""Many who listen at once: each hears what is its own, and nothing else."""

import asyncio
import json
from urllib.parse import urlsplit

from tests.support.server import Server

SUBSCRIBERS = 500
PER_KEY = 16
SECONDS = 120


class Listener:
    """One open stream, read as it comes."""

    def __init__(self, principal, reader, writer):
        self.principal = principal
        self._reader, self._writer = reader, writer

    async def until(self, kind):
        """The data of the first event of this kind."""
        lines = []
        while True:
            line = (await self._reader.readline()).decode().rstrip("\r\n")
            if line.startswith("data: ") and lines[-1:] == [f"event: {kind}"]:
                return json.loads(line.removeprefix("data: "))
            if line:
                lines.append(line)
            assert not self._reader.at_eof(), lines

    async def connected(self):
        while b": connected" not in await self._reader.readline():
            assert not self._reader.at_eof()

    def close(self):
        self._writer.close()


async def listen(server, principal, key):
    address = urlsplit(server.base_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    listener = Listener(principal, reader, writer)
    await listener.connected()
    return listener


def keys_for(server, principal, count):
    return [server.principal_key(principal) for _ in range(-(-count // PER_KEY))]


def test_500_subscribers_at_once_all_hear_their_own_principals_decisions(tmp_path):
    # A principal may have a quarter of the listeners, and they may be half of all connections.
    places = {
        "QWED_MAX_CONNECTIONS": "4096",
        "QWED_MAX_CONNECTIONS_PER_ADDRESS": "1024",
        "QWED_MAX_LISTENERS": "2000",
    }
    with Server(tmp_path, environment=places) as server:
        agents = {name: server.register(principal_id=name) for name in ("acme", "globex")}
        half = SUBSCRIBERS // 2
        wanted = [
            (name, key)
            for name in agents
            for key in [key for key in keys_for(server, name, half) for _ in range(PER_KEY)][:half]
        ]

        async def hear():
            listeners = await asyncio.gather(*(listen(server, *one) for one in wanted))
            for agent in agents.values():
                await asyncio.to_thread(ask, server, agent)
            heard = await asyncio.gather(*(listener.until("decision") for listener in listeners))
            for listener in listeners:
                listener.close()
            return [(listener.principal, event) for listener, event in zip(listeners, heard, strict=True)]

        heard = asyncio.run(asyncio.wait_for(hear(), SECONDS))

        assert len(heard) == SUBSCRIBERS
        assert all(event["agent_id"] == agents[principal]["agent_id"] for principal, event in heard)


def ask(server, agent):
    body = {
        "action": {"type": "calculate", "query": "2+2"},
        "context": {"conversation_id": "c", "step_number": 1},
    }
    answer = server.call("POST", f"/agents/{agent['agent_id']}/verify", key=agent["agent_token"], json=body)
    assert answer.json()["decision"] == "APPROVED"
