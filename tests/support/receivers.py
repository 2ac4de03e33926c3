"""Real receivers on this machine: whoever is told in a test."""

import datetime
import email
import email.policy
import ipaddress
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PATIENCE_SECONDS = 60


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def wait_for(found: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """What `found` finds, as soon as it finds something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {seconds} seconds")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder: Path, name: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def _with_tls(listener: socket.socket, certificate: Path) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)


class Receiver:
    """An HTTP server that keeps what it gets. `answer(number, received)` is the status of the n-th, from 1;
    a string is an address to redirect to."""

    def __init__(
        self,
        answer: Callable[[int, Received], int | str] = lambda number, received: 204,
        *,
        port: int = 0,
        certificate: Path | None = None,
    ) -> None:
        self.received: list[Received] = []
        self._answer = answer
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._scheme = "http" if certificate is None else "https"
        if certificate is not None:
            self._server.socket = _with_tls(self._server.socket, certificate)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    def wait(self, count: int = 1) -> list[Received]:
        return wait_for(lambda: len(self.received) >= count and list(self.received), f"{count} deliveries")

    def events(self) -> list[str]:
        return [received.json["type"] for received in self.received]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received = Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                with receiver._lock:
                    receiver.received.append(received)
                    number = len(receiver.received)
                answer = receiver._answer(number, received)
                self.send_response(302 if isinstance(answer, str) else answer)
                if isinstance(answer, str):
                    self.send_header("Location", answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class MailReceiver:
    """A small SMTP server that keeps what it gets. With a certificate it speaks TLS from the start."""

    def __init__(self, *, refuse: str | None = None, certificate: Path | None = None) -> None:
        self.mails: list[tuple[str, EmailMessage]] = []
        receiver = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                recipient = ""
                self._say("220 mail.test here")
                while line := self.rfile.readline():
                    verb = line.strip().upper()
                    if verb.startswith(b"RCPT"):
                        recipient = line.partition(b":")[2].strip().decode().strip("<>")
                        self._say("250 fine" if recipient != refuse else "550 nobody by that name")
                    elif verb == b"DATA":
                        self._say("354 go on")
                        receiver.mails.append((recipient, self._message()))
                        self._say("250 taken")
                    elif verb == b"QUIT":
                        self._say("221 bye")
                        return
                    else:
                        self._say("250 fine")

            def _message(self) -> EmailMessage:
                lines = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line.removeprefix(b"."))
                return email.message_from_bytes(b"".join(lines), policy=email.policy.default)

            def _say(self, text: str) -> None:
                self.wfile.write(text.encode() + b"\r\n")

        class Mailer(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Mailer(("127.0.0.1", 0), Conversation)
        if certificate is not None:
            self._server.socket = _with_tls(self._server.socket, certificate)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def wait(self, count: int = 1) -> list[tuple[str, EmailMessage]]:
        return wait_for(lambda: len(self.mails) >= count and list(self.mails), f"{count} mails")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
