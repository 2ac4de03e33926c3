"""A wire to a gateway that can hold an answer back: what was done there, nobody here has heard of."""

import http.server
import threading
from typing import Self

import httpx2


class HoldingGateway:
    """Passes requests on. While `held` names the end of a path, its answers arrive here and go no further."""

    def __init__(self, base_url: str) -> None:
        self.held: str | None = None
        self.answered = threading.Event()
        self.statuses: list[int] = []
        self._end = threading.Event()
        wire = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                with httpx2.Client(trust_env=False, timeout=60) as client:
                    answer = client.request(self.command, base_url + self.path, content=body, headers=headers)
                if wire.held is not None and self.path.endswith(wire.held):
                    wire.statuses.append(answer.status_code)
                    wire.answered.set()
                    wire._end.wait(60)
                    return
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers.get("content-type", "application/json"))
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._server.shutdown()
        self._server.server_close()
