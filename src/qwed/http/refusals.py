"""Whole answers for those who are refused before a request of theirs is read."""

from http import HTTPStatus

import msgspec

from qwed.domain.codes import Code, Refusal


def write_refusal(
    status: int, code: Code, message: str, *, retry_after: int = 0, closes: bool = True
) -> bytes:
    """The bytes of an HTTP/1.1 answer; `closes`, the connection ends with it."""
    body = msgspec.json.encode({"error": Refusal(code, message).to_wire()})
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "content-type: application/json",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        *((f"retry-after: {retry_after}",) if retry_after else ()),
        *(("connection: close",) if closes else ()),
        f"content-length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
