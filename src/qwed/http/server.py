"""Running the application: uvicorn, TLS 1.3, and a stop that finishes what was accepted."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from qwed.http.app import Application


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
            port = self.servers[0].sockets[0].getsockname()[1]
            self._on_listening(port)


def serve(
    app: Application,
    *,
    host: str,
    port: int,
    on_listening: Callable[[int], None],
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    behind_proxy: bool = False,
) -> bool:
    """Serve until a signal. Returns whether it ever listened."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=behind_proxy,
        forwarded_allow_ips="*" if behind_proxy else None,
        server_header=False,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        # Long polls and event streams end by themselves when told; nothing may hold a stop for ever.
        timeout_graceful_shutdown=20,
        timeout_keep_alive=75,
        limit_concurrency=None,
        backlog=2048,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_3
    server = Server(config, on_listening, app.stop)
    server.run()
    return server.started
