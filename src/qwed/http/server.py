"""Running the application: uvicorn, TLS 1.3, and a stop that finishes what was accepted."""

import asyncio
import contextlib
import errno
import gc
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Final, Protocol

import uvicorn
from starlette.types import Receive, Scope, Send

from qwed.http.connections import Connections
from qwed.http.load_limit import RequestGate
from qwed.http.protocol import has_not_asked, protocol_with

BACKLOG: Final = 2048
#: A connection that is kept open is answered for this long after the stop, and told that it ends.
LINGER_SECONDS: Final = 1.0
#: Who connected before the stop has this long to send a first request: on a busy machine that may take.
FIRST_REQUEST_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.05
#: New objects, less those that are gone, after which cycles are looked for among them.
GARBAGE_AFTER: Final = 10_000


class Server(uvicorn.Server):
    """Tells when it really listens, so that nobody is told an address that does not answer yet."""

    def __init__(
        self, config: uvicorn.Config, on_listening: Callable[[int], None], on_stop: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_listening = on_listening
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal ends the server, and that is all: it has finished what it accepted, so the process
        leaves with success instead of dying of the same signal again."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.servers:
            _settle_memory()
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_listening(port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer also who connected just before: uvicorn hangs up on whoever has sent nothing yet."""
        # Whom the system let in is accepted before the door is closed.
        await asyncio.sleep(_LOOK_SECONDS)
        for server in self.servers:
            server.close()
        begun = time.monotonic()
        # The first look comes after a wait: what was accepted last is not a connection yet.
        await asyncio.sleep(2 * _LOOK_SECONDS)
        while not self.force_exit and self._may_be_asked(time.monotonic() - begun):
            await asyncio.sleep(_LOOK_SECONDS)
        await super().shutdown(sockets)

    def _may_be_asked(self, seconds: float) -> bool:
        """Whether, so long after the stop, a connection is open on which a request is still expected."""
        connections = self.server_state.connections
        if seconds < LINGER_SECONDS:
            return bool(connections)
        return seconds < FIRST_REQUEST_SECONDS and any(has_not_asked(one) for one in connections)


def _settle_memory() -> None:
    """What has been loaded by now stays: looking for garbage in it would stop every request meanwhile. And
    hardly anything that a request leaves behind is a cycle, so the rest is looked through less often."""
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)


class CannotServe(Exception):
    """Nobody can be answered; the message says why."""


class Served(Protocol):
    """An application, how many requests it has at work, and what it does at a stop."""

    gate: RequestGate

    def stop(self) -> None: ...
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def serve(
    app: Served,
    *,
    host: str,
    port: int,
    on_listening: Callable[[int], None],
    connections: Connections,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    sockets: list[socket.socket] | None = None,
) -> None:
    """Serve until a signal. Raises `CannotServe`, before `on_listening` is told anything."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        # Who called is decided by the gateway: these would believe whatever a caller writes there.
        proxy_headers=False,
        server_header=False,
        # An offer to speak WebSocket may be ignored, and is.
        ws="none",
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        # Long polls and event streams end by themselves when told; nothing may hold a stop for ever.
        timeout_graceful_shutdown=20,
        limit_concurrency=None,
        backlog=BACKLOG,
    )
    try:
        config.load()
    except OSError as error:
        # An SSLError is one: no such file, no certificate, a key that belongs to another one.
        raise CannotServe(f"the TLS certificate or its key can't be used: {error}") from None
    # The protocol itself speaks TLS: a peer counts from its first byte on, not only once it has a key.
    tls, config.ssl = config.ssl, None
    if tls is not None:
        tls.minimum_version = ssl.TLSVersion.TLSv1_3
    config.http_protocol_class = protocol_with(connections, app.gate, tls)
    Server(config, on_listening, app.stop).run(sockets or listen(host, port))


def listen(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """One socket for each address of the host that this machine has; `shared`, others may listen there too.

    Raises `CannotServe`.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in found):
            try:
                sockets.append(
                    socket.create_server(address, family=family, backlog=BACKLOG, reuse_port=shared)
                )
            except OSError as error:
                # A host may have a name for a protocol that the machine does not speak.
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    except OSError as error:
        for listener in sockets:
            listener.close()
        is_taken = error.errno == errno.EADDRINUSE
        why = "it is in use; stop what uses it, or choose another --port" if is_taken else error.strerror
        raise CannotServe(f"cannot listen on {host}:{port}: {why}") from None
    return sockets
