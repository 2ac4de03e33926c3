"""Reading a request: its credentials, its bounded body, its strict JSON."""

import asyncio
import contextlib
import hashlib
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from qwed.domain import json_text
from qwed.domain.bounds import Proxies
from qwed.domain.codes import Code, Refusal
from qwed.domain.json_types import Json
from qwed.domain.policy import Limits
from qwed.ect.header import NAME as EXECUTION_CONTEXT
from qwed.ect.header import HeaderTooLarge, read_header
from qwed.gateway.agents.authenticate import PresentedCredentials
from qwed.gateway.kernel.answers import RequestError, malformed, refuse
from qwed.http.load_limit import RequestGate
from qwed.http.protocol import WHOLE

#: In a scope: the names of the headers that came, so that what is rare is looked for where it is.
PRESENT: Final = "qwed.present"
MAX_IDEMPOTENCY_KEY: Final = 256
#: Bodies that are on their way take so much together: of those who showed no credential yet, and of others.
MAX_STRANGERS_BYTES: Final = 16 * 1024 * 1024
MAX_CALLERS_BYTES: Final = 64 * 1024 * 1024
#: A body up to this size is read in about a millisecond; a thread would cost more than it saves.
MAX_READ_AT_ONCE: Final = 32_768
MAX_CANDIDATES: Final = 4
MAX_DIGITS: Final = 18
MAX_OPEN_BYTES: Final = 65_536


class Pot:
    """Memory that many share. Half of it is always enough for the largest single body."""

    def __init__(self, size: int, largest: int) -> None:
        self._left = max(size, 2 * largest)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Callable[[int], None]]:
        """What takes some more for one body; all of it is given back in the end. Raises 503."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if size > self._left:
                message = "too many bodies are on their way at once: nothing was decided, retry later"
                raise RequestError(Refusal(Code.RATE_LIMITED, message), status=503, retry_after=1)
            self._left -= size
            taken += size

        try:
            yield take
        finally:
            self._left += taken


class BodyReader:
    """Bodies within bounds. One large one is read at a time, beside the event loop: a parser holds the
    interpreter while it works, and many at once would leave nothing for those who ask little."""

    def __init__(self, limits: Limits, gate: RequestGate | None = None) -> None:
        self._limits = limits
        self._gate = gate or RequestGate()
        self._turn = asyncio.Lock()
        self._strangers = Pot(MAX_STRANGERS_BYTES, limits.max_body_bytes)
        self._callers = Pot(MAX_CALLERS_BYTES, limits.max_body_bytes)

    async def json(self, request: Request) -> Any:
        """The body's value; None for no body at all."""
        return await self._value(await self.raw(request))

    async def strangers_json(self, request: Request) -> Any:
        """As `json`, where anybody may ask: no more than somebody with an honest question needs."""
        most = min(MAX_OPEN_BYTES, self._limits.max_body_bytes)
        return await self._value(await self.raw(request, is_known=False, most=most))

    async def _value(self, raw: bytes) -> Any:
        return await self.parsed(raw) if raw else None

    async def raw(self, request: Request, *, is_known: bool = True, most: int | None = None) -> bytes:
        """The whole body within its bound of size; how long it may take is the connection's business.

        Who is still sending is not at work: the gate is left meanwhile. `is_known`, its credential is valid.
        """
        receive, most = request.receive, most or self._limits.max_body_bytes
        if request.scope.get(WHOLE):
            return _part(await receive(), most, 0)
        _check_size(_find_announced_length(request), most)
        pot = self._callers if is_known else self._strangers
        with self._gate.left(), pot.lend() as take:
            message = await receive()
            parts = [_part(message, most, 0)]
            size = len(parts[0])
            while message.get("more_body"):
                take(len(parts[-1]))
                message = await receive()
                parts.append(_part(message, most, size))
                size += len(parts[-1])
        return b"".join(parts)

    async def parsed(self, raw: bytes) -> Any:
        if len(raw) <= MAX_READ_AT_ONCE:
            return parse_json(raw, self._limits)
        async with self._turn:
            return await asyncio.to_thread(parse_json, raw, self._limits)


def _part(message: Message, most: int, size: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    body: bytes = message.get("body", b"")
    _check_size(size + len(body), most)
    return body


def _find_announced_length(request: Request) -> int:
    """How long the body is going to be; 0 where nothing says so, or nothing that is a number."""
    lengths = [value for name, value in request.scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and len(lengths[0]) <= MAX_DIGITS and lengths[0].isdigit() else 0


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise refuse(Code.REQUEST_TOO_LARGE, f"the body is larger than {most} bytes", limit=most)


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


def presented(request: Request, body: Json = None) -> PresentedCredentials:
    """All credentials of the request, in one pass over its headers; repeated ones count twice."""
    found = []
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            scheme, _, bearer = str(value, "latin-1").partition(" ")
            # Another scheme is no credential of ours, and none is what it counts as.
            if scheme.lower() == "bearer" and bearer.strip():
                found.append(bearer.strip())
        elif name in _DIRECT:
            found.append(str(value, "latin-1"))
    if (token := body_token(body)) is not None:
        found.append(token)
    return PresentedCredentials(tuple(dict.fromkeys(found)))


def execution_context_of(request: Request) -> tuple[str, ...]:
    """The tokens that the request brings. Raises 431 for more than it may."""
    if not _may_have(request, _EXECUTION_CONTEXT):
        return ()
    lines = [str(value, "latin-1") for name, value in request.scope["headers"] if name == _EXECUTION_CONTEXT]
    if not lines:
        return ()
    found = read_header(lines)
    if isinstance(found, HeaderTooLarge):
        raise refuse(Code.ECT_TOO_LARGE, found.says)
    return found.tokens


def _may_have(request: Request, name: bytes) -> bool:
    present = request.scope.get(PRESENT)
    return present is None or name in present


def body_token(body: Json) -> str | None:
    token = body.get("agent_token") if isinstance(body, dict) else None
    return token if isinstance(token, str) else None


def tokens_in(raw: bytes) -> list[str]:
    """What could be the token of a large body, found without reading it as JSON. Only a body with the
    right one among these is worth the work; whether it is *the* token, its JSON says."""
    return [str(match[1], "ascii") for match in itertools.islice(_TOKEN.finditer(raw), MAX_CANDIDATES)]


_TOKEN: Final = re.compile(rb'"agent_token"[ \t\r\n]*+:[ \t\r\n]*+"([!#-\[\]-~]{1,256}+)"')
_EXECUTION_CONTEXT: Final = EXECUTION_CONTEXT.lower().encode()
_DIRECT: Final = (b"x-api-key", b"x-agent-token")


def address_of(request: Request, proxies: Proxies) -> str:
    """Where the request comes from. Behind a proxy: the address that the proxy itself saw and added last.
    What stands before it came with the request, and says whatever its sender likes."""
    if proxies.include(_peer(request)):
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


def idempotency_of(request: Request, raw: bytes, tool: str = "") -> bytes | None:
    """One name for the caller's key and what exactly it came with: the body, and the tool in the path."""
    if not _may_have(request, b"idempotency-key"):
        return None
    key = next((v for name, v in request.scope["headers"] if name == b"idempotency-key"), None)
    if key is None:
        return None
    if not 0 < len(key) <= MAX_IDEMPOTENCY_KEY:
        raise malformed("Idempotency-Key", f"has 1 to {MAX_IDEMPOTENCY_KEY} characters")
    asked = hashlib.sha256(raw).digest()
    if tool:
        asked += hashlib.sha256(tool.encode("utf-8", "surrogatepass")).digest()
    return hashlib.sha256(asked + key).digest()


EXT_AUTHZ: Final = "/ext-authz/"


def read_forwarded(request: Request) -> dict[str, str]:
    """Which request Envoy asks about: its method, and where it goes. Envoy puts a prefix before the path."""
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    path = str(raw.partition(b"?")[0], "latin-1").partition(EXT_AUTHZ)[2]
    query = str(request.scope["query_string"], "latin-1")
    scheme = "http" if request.headers.get("x-forwarded-proto") == "http" else "https"
    url = f"{scheme}://{request.headers.get('host', '')}/{path}{'?' if query else ''}{query}"
    return {"url": url, "method": request.method}
