"""Why the broker did not do it: a code, a sentence, and how they are answered."""

import json

from qwed.domain.codes import CODES, Code

Headers = list[tuple[bytes, bytes]]


class BrokerRefused(Exception):
    """Nothing was sent on. The message never quotes a credential: whoever raises it does not have one."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return CODES[self.code].status


def answer_of(code: Code, message: str) -> tuple[int, Headers, bytes]:
    body = json.dumps({"error": {"code": code.value, "message": message}}).encode()
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Content-Length", str(len(body)).encode()),
        (b"Connection", b"close"),
    ]
    status = CODES[code].status
    if status == 407:
        headers.append((b"Proxy-Authenticate", b'Basic realm="qwed broker"'))
    return status, headers, body


def reason_of(message: str) -> bytes:
    """The sentence, as a reason phrase: all that many clients show of a tunnel that was refused."""
    return bytes(byte if 0x20 <= byte < 0x7F else 0x3F for byte in message.encode()[:200])
