"""A payment service on this machine, which believes whoever has its key; and some bad habits of servers."""

import base64
import gzip
import http.server
import json
import threading
import urllib.parse
from typing import Any, Self

KEY = "sk_live_51+Qw/E7-d_payments=key"


class PaymentServer:
    """`with PaymentServer() as server:` — `paid` are the transfers that it made."""

    def __init__(self, key: str = KEY) -> None:
        self.paid: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []
        self.go_on = threading.Event()
        #: While it is not set, transfers are made and not answered.
        self.hold = threading.Event()
        self.hold.set()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            #: Else every answer on a kept connection waits 40 ms for the client's acknowledgement.
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server.seen.append({**self.headers, ":path": self.path})
                if self.headers.get("Authorization") != f"Bearer {key}":
                    self.answer(b'{"error": "no such key"}', 401)
                    return
                name = self.path.partition("?")[0].strip("/").replace("/", "_")
                getattr(self, f"on_{name}", self.on_v1_transfers)(body)

            def on_v1_transfers(self, body: bytes) -> None:
                server.paid.append(json.loads(body) if body else {})
                server.hold.wait(60)
                self.answer(b'{"status": "paid"}', 201, Content_Type="application/json")

            def on_echo(self, body: bytes) -> None:
                forms = [
                    self.headers["Authorization"],
                    base64.b64encode(b"x" + key.encode()).decode(),
                    base64.urlsafe_b64encode(b"xy" + key.encode()).decode(),
                    urllib.parse.quote(key, safe=""),
                    key.encode().hex().upper(),
                ]
                text = "begin " + " | ".join(forms) + " end"
                location = f"/next?key={urllib.parse.quote(key)}"
                self.answer(text.encode(), X_Debug=f"key={key}", Location=location)

            def on_error(self, body: bytes) -> None:
                self.answer(f"bad key {key}".encode(), 500)

            def on_redirect(self, body: bytes) -> None:
                self.answer(b"", 307, Location="https://elsewhere.example/")

            def on_zipped(self, body: bytes) -> None:
                self.answer(gzip.compress(f"key {key}!".encode()), Content_Encoding="gzip")

            def on_bomb(self, body: bytes) -> None:
                self.answer(gzip.compress(bytes(64 * 1024 * 1024)), Content_Encoding="gzip")

            def on_brotli(self, body: bytes) -> None:
                self.answer(b"whatever", Content_Encoding="br")

            def chunk(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()

            def chunks(self) -> None:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()

            def on_split(self, body: bytes) -> None:
                self.chunks()
                for letter in f"<{key}>":
                    self.chunk(letter.encode())
                self.chunk(b"")

            def on_progress(self, body: bytes) -> None:
                self.chunks()
                self.chunk(b"data: 50%\n\n")
                server.go_on.wait(60)
                self.chunk(b"data: 100%\n\n")
                self.chunk(b"")

            def on_large(self, body: bytes) -> None:
                size = int(urllib.parse.parse_qs(self.path.partition("?")[2])["size"][0])
                self.send_response(200)
                self.send_header("Content-Length", str(size))
                self.end_headers()
                block = bytes(range(256)) * 256
                for _ in range(size // len(block)):
                    self.wfile.write(block)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()
