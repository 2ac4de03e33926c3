"""Peers without a credential do their worst; a client that asks as it should is answered all the time."""

import selectors
import socket
import threading
from pathlib import Path

import httpx2
import pytest
from tests.support.server import Server, verify_request
from tests.support.tiers import scale

from qwed.domain.bounds import Bounds
from qwed.http.descriptors import within_descriptors

pytestmark = pytest.mark.xdist_group("crash")

SLOW = scale(ci=300, nightly=1_000)
HUGE = scale(ci=15, nightly=50)
HUGE_BYTES = 80_000_000
HONEST = 30
#: What a server without bounds would take: all of the headers, several times over.
MAX_GROWN_KB = 200_000

HALF_HEAD = b"POST /agents/a/verify HTTP/1.1\r\nHost: x\r\nX-Padding: "
HALF_BODY = b"POST /agents/a/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{"


class Attackers:
    """Connections that send a request a byte at a time, or one that never ends."""

    def __init__(self, server: Server) -> None:
        self._address = ("127.0.0.1", int(server.base_url.rsplit(":", 1)[1]))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._left: dict[socket.socket, int] = {}

    def connect(self, opening: bytes, size: int) -> None:
        connection = socket.create_connection(self._address, 30)
        connection.sendall(opening)
        connection.setblocking(False)
        self._left[connection] = size

    def __enter__(self) -> "Attackers":
        within_descriptors(Bounds(max_connections=SLOW + HUGE), pytest.skip)
        for number in range(SLOW):
            self.connect(HALF_BODY if number % 3 == 0 else HALF_HEAD, 1_000)
        for _ in range(HUGE):
            self.connect(HALF_HEAD, HUGE_BYTES)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for connection in self._left:
            connection.close()

    def _send(self) -> None:
        waiting = selectors.DefaultSelector()
        for connection in self._left:
            waiting.register(connection, selectors.EVENT_WRITE)
        while not self._over.wait(0.01) and waiting.get_map():
            for key, _ in waiting.select(0):
                if not self._send_some(key.fileobj):
                    waiting.unregister(key.fileobj)

    def _send_some(self, connection: socket.socket) -> bool:
        piece = b"x" * min(self._left[connection], 262_144 if self._left[connection] > 1_000 else 1)
        try:
            self._left[connection] -= connection.send(piece)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return self._left[connection] > 0


def memory_kb(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def open_files(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def test_an_honest_client_is_answered_while_others_send_slow_and_endless_requests(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register()
        server.together([verify_request(agent, "1+1", 1, "warm")])
        before, files = memory_kb(server), open_files(server)
        with Attackers(server):
            # On connections of their own, from the address the attack comes from.
            with server.client(limits=httpx2.Limits(max_keepalive_connections=0)) as client:
                alive = [client.get("/health").status_code for _ in range(HONEST)]
                asked = [verify_request(agent, f"{n}+1", n, "c") for n in range(1, HONEST + 1)]
                decided = [client.request(**request).json()["decision"] for request in asked]
            grown, opened = memory_kb(server) - before, open_files(server) - files

    assert set(alive) == {200}
    assert set(decided) == {"APPROVED"}
    assert grown < MAX_GROWN_KB
    assert opened <= 256 + 64 + 16
