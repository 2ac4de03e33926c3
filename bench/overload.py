"""Five times what the gateway can do, open loop: how much of its peak it keeps, how the rest is refused."""

import itertools
import json
import select
import socket
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.gateway import Figure, _disk, _Gateway
from bench.load import post
from bench.scale import Workers, servers

CONNECTIONS = 2_000
SECONDS = 5.0
TIMES = 5


def figures() -> list[Figure]:
    return [*_embedded(), *_scaled_out()]


def _embedded() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as folder:
        gateway = _Gateway(Path(folder))
        try:
            gateway.load("warm", 2.0)
            peak = max(gateway.load(f"peak{n}", 3.0).rate for n in range(2))
            before = gateway.rss_kb()
            flood = Flood(gateway.port, [(gateway.agent, gateway.token)], peak * TIMES)
            flood.run(SECONDS)
            grown = (gateway.rss_kb() - before) / 1024
        finally:
            gateway.stop()
    return _shown("embedded", peak, flood, grown)


def _scaled_out() -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=_disk()) as name, servers(Path(name)) as (postgres, redis):
        database = postgres.create_database("bench")
        gateway = Workers(Path(name) / "workers", 2, database, redis.url)
        try:
            gateway.load("warm", 2.0)
            peak = max(gateway.load(f"peak{n}", 3.0)[0].rate for n in range(2))
            before = gateway.rss_kb()
            flood = Flood(gateway.port, gateway.agents, peak * TIMES)
            flood.run(SECONDS)
            grown = (gateway.rss_kb() - before) / 1024
        finally:
            gateway.stop()
    return _shown("2 workers on PostgreSQL", peak, flood, grown)


def _shown(where: str, peak: float, flood: "Flood", grown: float) -> list[Figure]:
    kept = flood.statuses[200] / flood.seconds / peak
    refused = sorted(flood.refusals_ms) or [0.0]
    return [
        (f"{where}: peak, closed loop", peak, "decisions/s", None),
        (f"{where}: offered, {TIMES} times the peak", flood.sent / flood.seconds, "requests per s", None),
        (f"{where}: decided under it / peak", kept, "ratio (at least)", 0.8),
        (f"{where}: refused quickly, p50", refused[len(refused) // 2], "ms", None),
        (f"{where}: refused quickly, p99", refused[int(len(refused) * 0.99)], "ms", None),
        (f"{where}: neither (connection busy)", float(flood.skipped), "requests", None),
        (f"{where}: memory grown under it", grown, "MB", 64.0),
    ]


class Flood:
    """Requests at a fixed rate, whatever the answers do; each connection has at most one under way."""

    def __init__(
        self, port: int, agents: list[tuple[str, str]], rate: float, connections: int = CONNECTIONS
    ) -> None:
        """`agents` are ids, each with a credential; they take turns."""
        self._port = port
        self._agents = agents
        self._connections = connections
        self._rate = rate
        self.statuses: Counter[int] = Counter()
        self.refusals_ms: list[float] = []
        self.sent = self.skipped = 0
        self.seconds = 0.0

    def _requests(self) -> Iterator[bytes]:
        for number in itertools.count(1):
            agent, token = self._agents[number % len(self._agents)]
            headers = {"Authorization": f"Bearer {token}"}
            context = {"conversation_id": f"flood-{number}", "step_number": 1}
            body = {"action": {"type": "calculate", "query": f"{number} + 1"}, "context": context}
            yield post(f"/agents/{agent}/verify", json.dumps(body).encode(), headers)

    def run(self, seconds: float) -> None:
        poll = select.epoll()
        connections: dict[int, socket.socket] = {}
        for _ in range(self._connections):
            connection = socket.create_connection(("127.0.0.1", self._port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections[connection.fileno()] = connection
            poll.register(connection.fileno(), select.EPOLLIN)
        free, started = list(connections), {}
        requests, parts = self._requests(), defaultdict(bytes)
        begun = time.perf_counter()
        while (now := time.perf_counter()) - begun < seconds:
            due = int((now - begun) * self._rate) - self.sent - self.skipped
            for _ in range(due):
                if not free:
                    self.skipped += 1
                    continue
                number = free.pop()
                started[number] = time.perf_counter()
                connections[number].sendall(next(requests))
                self.sent += 1
            for number, _ in poll.poll(0.001):
                parts[number] += connections[number].recv(65536)
                if _is_whole(parts[number]):
                    self._answered(parts.pop(number), started.pop(number, now))
                    free.append(number)
        self.seconds = time.perf_counter() - begun
        for connection in connections.values():
            connection.close()

    def _answered(self, data: bytes, began: float) -> None:
        status = int(data[9:12])
        self.statuses[status] += 1
        if status != 200:
            assert b"retry-after: " in data.lower(), data
            self.refusals_ms.append((time.perf_counter() - began) * 1000)


def _is_whole(data: bytes) -> bool:
    end, at = data.find(b"\r\n\r\n"), data.find(b"content-length: ")
    return end > 0 and at > 0 and len(data) >= end + 4 + int(data[at + 16 : data.index(b"\r", at)])


if __name__ == "__main__":
    for label, value, unit, _ in figures():
        print(f"{label:50} {value:12.2f} {unit}")
