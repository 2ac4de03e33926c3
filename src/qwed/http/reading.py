"""Reading a request: its credentials, its bounded body, its strict JSON."""

import hashlib
from typing import Any, Final

from starlette.requests import Request

from qwed.domain import json_text
from qwed.domain.codes import Code, Refusal
from qwed.domain.policy import Limits
from qwed.gateway.answers import RequestError, malformed, refuse
from qwed.gateway.authenticate import Presented

MAX_IDEMPOTENCY_KEY: Final = 256


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body, as long as it stays within the bound."""
    declared = request.headers.get("content-length")
    if declared is not None and declared.isascii() and declared.isdigit():
        _check_size(int(declared[:20]), limits)
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        _check_size(size, limits)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.max_body_bytes:
        message = f"the body is larger than {limits.max_body_bytes} bytes"
        raise refuse(Code.REQUEST_TOO_LARGE, message, limit=limits.max_body_bytes)


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
    return parse_json(raw, limits) if raw else None


def presented(request: Request, body: Any = None) -> Presented:
    headers = request.headers
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    token = body.get("agent_token") if isinstance(body, dict) else None
    return Presented(
        bearer=bearer.strip() if scheme.lower() == "bearer" and bearer.strip() else None,
        api_key=headers.get("x-api-key"),
        agent_token=headers.get("x-agent-token"),
        body_token=token if isinstance(token, str) else None,
    )


def idempotency_of(request: Request, raw: bytes) -> bytes | None:
    """One name for the caller's key and the exact body it came with."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= MAX_IDEMPOTENCY_KEY:
        raise malformed("Idempotency-Key", f"has 1 to {MAX_IDEMPOTENCY_KEY} characters")
    return hashlib.sha256(hashlib.sha256(raw).digest() + key.encode("utf-8")).digest()
