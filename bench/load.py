"""A small closed-loop HTTP load generator: raw sockets and epoll, so that it costs far less than a server.

Each connection has one request in flight and its own source of requests, so that steps of one
conversation follow each other.
"""

import select
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: A load generator is one machine with many connections, each of them used to its end.
ROOMY = {
    "QWED_MAX_CONNECTIONS": "4096",
    "QWED_MAX_CONNECTIONS_PER_ADDRESS": "4096",
    "QWED_MAX_REQUESTS_PER_CONNECTION": "1000000000",
}


@dataclass(frozen=True)
class Load:
    requests: int
    seconds: float
    latencies_ms: list[float]
    statuses: dict[int, int]
    last_body: bytes

    @property
    def rate(self) -> float:
        return self.requests / self.seconds

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    @property
    def median(self) -> float:
        return statistics.median(self.latencies_ms)


def post(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def run_load(port: int, sources: list[Callable[[], bytes]] | list[Iterator[bytes]], seconds: float) -> Load:
    """Drive one connection per source until the time is over."""
    poll = select.epoll()
    sockets: dict[int, socket.socket] = {}
    buffers: dict[int, bytearray] = {}
    started: dict[int, float] = {}
    feeds: dict[int, Iterator[bytes]] = {}
    latencies: list[float] = []
    statuses: dict[int, int] = {}
    last = b""
    for source in sources:
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = connection.fileno()
        sockets[number], buffers[number], feeds[number] = connection, bytearray(), iter(source)
        poll.register(number, select.EPOLLIN)
    begun = time.perf_counter()
    deadline = begun + seconds
    for number, connection in sockets.items():
        started[number] = time.perf_counter()
        connection.sendall(next(feeds[number]))
    running = len(sockets)
    while running:
        for number, _ in poll.poll(1.0):
            data = sockets[number].recv(65536)
            buffer = buffers[number]
            buffer += data
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                continue
            at = buffer.find(b"content-length: ")
            length = int(buffer[at + 16 : buffer.index(b"\r", at)])
            if len(buffer) < end + 4 + length:
                continue
            now = time.perf_counter()
            latencies.append((now - started[number]) * 1000)
            status = int(buffer[9:12])
            statuses[status] = statuses.get(status, 0) + 1
            last = bytes(buffer[end + 4 :])
            buffer.clear()
            if now >= deadline:
                running -= 1
                poll.unregister(number)
                continue
            started[number] = now
            sockets[number].sendall(next(feeds[number]))
    elapsed = time.perf_counter() - begun
    for connection in sockets.values():
        connection.close()
    return Load(len(latencies), elapsed, latencies, statuses, last)
