"""Reading a request: its credentials, its bounded body, its strict JSON."""

import asyncio
import hashlib
import ipaddress
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from qwed.domain import json_text
from qwed.domain.codes import Code, Refusal
from qwed.domain.policy import Limits
from qwed.gateway.answers import RequestError, malformed, refuse
from qwed.gateway.authenticate import Presented

MAX_IDEMPOTENCY_KEY: Final = 256
#: A body up to this size is read in about a millisecond; a thread would cost more than it saves.
MAX_READ_AT_ONCE: Final = 32_768


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body, as long as it stays within the bound."""
    receive = request.receive
    message = await receive()
    body: bytes = _part(message, limits, 0)
    if not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        parts.append(_part(message, limits, size))
        size += len(parts[-1])
    return b"".join(parts)


def _part(message: Message, limits: Limits, size: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    body: bytes = message.get("body", b"")
    _check_size(size + len(body), limits)
    return body


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.max_body_bytes:
        message = f"the body is larger than {limits.max_body_bytes} bytes"
        raise refuse(Code.REQUEST_TOO_LARGE, message, limit=limits.max_body_bytes)


async def parse_body(raw: bytes, limits: Limits) -> Any:
    """`parse_json`, where others are waiting: what takes long is read beside the event loop."""
    if len(raw) > MAX_READ_AT_ONCE:
        return await asyncio.to_thread(parse_json, raw, limits)
    return parse_json(raw, limits)


def parse_json(raw: bytes, limits: Limits) -> Any:
    """Raises 400 for what is not JSON, 413 for what is nested too deeply, 422 for a repeated key."""
    try:
        return json_text.loads(raw, max_depth=limits.max_depth)
    except json_text.TooDeep as error:
        raise refuse(Code.REQUEST_TOO_LARGE, f"the body is {error}", limit=limits.max_depth) from None
    except json_text.NotJson as error:
        refusal = Refusal(Code.REQUEST_MALFORMED, f"the body is not JSON: {error}", {"field": "body"})
        raise RequestError(refusal, status=400) from None
    except json_text.JsonError as error:
        raise malformed("body", str(error)) from None


async def read_json(request: Request, limits: Limits) -> Any:
    """The body's value; None for no body at all."""
    raw = await read_body(request, limits)
    return await parse_body(raw, limits) if raw else None


def presented(request: Request, body: Any = None) -> Presented:
    """All credentials of the request, in one pass over its headers; repeated ones count twice."""
    found = [str(value, "latin-1") for name, value in request.scope["headers"] if name in _DIRECT]
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            scheme, _, bearer = str(value, "latin-1").partition(" ")
            # Another scheme is no credential of ours, and none is what it counts as.
            if scheme.lower() == "bearer" and bearer.strip():
                found.append(bearer.strip())
    if (token := body_token(body)) is not None:
        found.append(token)
    return Presented(tuple(dict.fromkeys(found)))


def body_token(body: Any) -> str | None:
    token = body.get("agent_token") if isinstance(body, dict) else None
    return token if isinstance(token, str) else None


_DIRECT: Final = (b"x-api-key", b"x-agent-token")


def address_of(request: Request, *, behind_proxy: bool) -> str:
    """Where the request comes from. Behind a proxy: the address that the proxy itself saw and added last.
    What stands before it came with the request, and says whatever its sender likes."""
    if behind_proxy:
        for name, value in reversed(request.scope["headers"]):
            if name == b"x-forwarded-for":
                return _address(value.rpartition(b",")[2]) or _peer(request)
    return _peer(request)


def _address(text: bytes) -> str | None:
    try:
        return str(ipaddress.ip_address(str(text, "latin-1").strip().strip("[]")))
    except ValueError:
        return None


def _peer(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def idempotency_of(request: Request, raw: bytes) -> bytes | None:
    """One name for the caller's key and the exact body it came with."""
    key = next((v for name, v in request.scope["headers"] if name == b"idempotency-key"), None)
    if key is None:
        return None
    if not 0 < len(key) <= MAX_IDEMPOTENCY_KEY:
        raise malformed("Idempotency-Key", f"has 1 to {MAX_IDEMPOTENCY_KEY} characters")
    return hashlib.sha256(hashlib.sha256(raw).digest() + key).digest()
