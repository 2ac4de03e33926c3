"""A way to PostgreSQL on which everything can be counted: what a client sends, and how often it waits."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Messages after which a client waits for the server: a query, the end of a statement, a description.
WAITS = frozenset(b"QSH")
#: What comes before the first message, and is answered with no.
ASKS_FOR_TLS = (80877103).to_bytes(4)
#: What the connections of a store's housekeeping say, and no decision does.
HOUSEKEEPING = (b"pg_try_advisory_lock", b"LISTEN", b"clock_timestamp")


class Connection:
    """One client's messages, counted on their way."""

    def __init__(self) -> None:
        self.waits = 0
        self.is_housekeeping = False
        self._data = b""
        self._has_started = False

    def pass_on(self, data: bytes) -> None:
        self._data += data
        while (length := self._length()) is not None:
            message, self._data = self._data[:length], self._data[length:]
            if self._has_started:
                self.waits += message[0] in WAITS
                self.is_housekeeping |= any(word in message for word in HOUSEKEEPING)
            self._has_started |= message[4:8] != ASKS_FOR_TLS

    def _length(self) -> int | None:
        # The first message has no type before its length.
        at = 1 if self._has_started else 0
        if len(self._data) < at + 4:
            return None
        length = at + int.from_bytes(self._data[at : at + 4])
        return length if len(self._data) >= length else None


class Wire:
    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[Connection] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def round_trips(self) -> int:
        """How often anybody but the housekeeping waited for the server so far."""
        return sum(one.waits for one in self._connections if not one.is_housekeeping)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                counted = Connection()
                self._connections.append(counted)
                for ends in ((client, server, counted), (server, client, None)):
                    threading.Thread(target=_carry, args=ends, daemon=True).start()

    def close(self) -> None:
        self._listener.close()


def _carry(source: socket.socket, target: socket.socket, counted: Connection | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if counted is not None:
                counted.pass_on(data)
            target.sendall(data)
    for end in (source, target):
        # Closing alone would not wake the thread that reads from the other side.
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def wire_to(url: str) -> Iterator[tuple[str, Wire]]:
    """The same database, by another address."""
    start, _, database = url.rpartition("/")
    host, _, port = start.rpartition(":")
    wire = Wire(int(port))
    try:
        yield f"{host}:{wire.port}/{database}", wire
    finally:
        wire.close()
