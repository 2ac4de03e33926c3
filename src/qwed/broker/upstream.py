"""The way out: one request with its credential, and the answer without it. Redirects are not followed."""

import asyncio
import base64
import logging
import ssl
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import httpcore2
import msgspec

from qwed.broker.credentials import Credential, CredentialSource
from qwed.broker.forms import CoveredStream, Forms
from qwed.broker.refusals import BrokerRefused, Headers
from qwed.domain.broker_rules import BASE64_MARK, PLAIN_MARK, BrokerHost, HeaderInjection
from qwed.domain.codes import Code

TIMEOUTS: Final = {"connect": 10.0, "pool": 10.0, "read": 300.0, "write": 60.0}
MAX_CONNECTIONS: Final = 100
#: An answer may unpack to this many times its size, and to a little at the start.
MAX_RATIO: Final = 200
FREE_BYTES: Final = 1024 * 1024
PIECE_BYTES: Final = 64 * 1024
_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
    }
    | {"upgrade", "alt-svc", "proxy-authorization"}
)
# At its finest level the client writes headers to the log.
for _name in ("httpcore2", "httpcore2.http11", "httpcore2.connection"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class BrokeredAnswer(msgspec.Struct):
    """`pieces` are covered and decoded."""

    status: int
    headers: Headers
    pieces: AsyncIterator[bytes]


class UpstreamHost:
    """One host, with the connections to it and the credential for it."""

    def __init__(self, name: str, entry: BrokerHost, source: CredentialSource, trust: ssl.SSLContext) -> None:
        self.name = name
        self.source = source
        self._inject = entry.inject
        parts = urlsplit(entry.address or f"https://{name}")
        assert parts.hostname is not None
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._place = (parts.scheme.encode(), parts.hostname.encode(), port)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trust, max_connections=MAX_CONNECTIONS, retries=0
        )
        self._forms: tuple[list[Credential], Forms] | None = None

    async def close(self) -> None:
        await self._pool.aclose()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: AsyncIterator[bytes] | bytes,
        length: int,
        credential: Credential,
    ) -> AsyncIterator[BrokeredAnswer]:
        """Raises `BrokerRefused` if there is no answer that can be passed on."""
        lines = [
            (b"Host", self.name.encode()),
            *((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers),
            (b"Accept-Encoding", b"identity"),
            (self._inject.header.encode(), header_value(self._inject, credential).encode()),
        ]
        if length or method in ("POST", "PUT", "PATCH"):
            lines.append((b"Content-Length", str(length).encode()))
        scheme, host, port = self._place
        url = httpcore2.URL(scheme=scheme, host=host, port=port, target=target.encode("latin-1"))
        extensions = {"timeout": TIMEOUTS, "sni_hostname": host.decode()}
        request = httpcore2.Request(method, url, headers=lines, content=body, extensions=extensions)
        try:
            response = await self._pool.handle_async_request(request)
        except (
            httpcore2.NetworkError,
            httpcore2.TimeoutException,
            httpcore2.ProtocolError,
            OSError,
        ) as error:
            raise self._unusable(f"did not answer ({type(error).__name__})") from None
        try:
            yield self._answer(response)
        finally:
            await asyncio.shield(response.aclose())

    def _answer(self, response: httpcore2.Response) -> BrokeredAnswer:
        names = {name.lower(): value for name, value in response.headers}
        if response.status == 101:
            raise self._unusable("wants to speak another protocol")
        coding = names.get(b"content-encoding", b"identity").strip().lower()
        if coding not in (b"identity", b"gzip", b"x-gzip", b"deflate"):
            raise self._unusable("answered in an encoding that can't be read")
        is_decoded = coding != b"identity"
        dropped = _HOP | ({"content-encoding", "content-length"} if is_decoded else set())
        forms = self._current_forms()
        headers = [
            (forms.cover(name), forms.cover(value))
            for name, value in response.headers
            if name.decode("latin-1").lower() not in dropped
        ]
        raw: AsyncIterator[bytes] = aiter(response.stream)  # type: ignore[arg-type]
        pieces = _decode(raw) if is_decoded else raw
        return BrokeredAnswer(response.status, headers, _cover(pieces, forms))

    def _current_forms(self) -> Forms:
        """Also those of values that the source had before: their answers may be late."""
        if self._forms is None or self._forms[0] is not self.source.known:
            known = self.source.known
            values = {credential.reveal().encode() for credential in known}
            self._forms = (known, Forms(sorted(values)))
        return self._forms[1]

    def _unusable(self, why: str) -> BrokerRefused:
        return BrokerRefused(Code.BROKER_UPSTREAM, f"{self.name} {why}")


class BrokenAnswer(Exception):
    """The answer broke off, or can't be read on: what was passed on must not look whole."""


def header_value(inject: HeaderInjection, credential: Credential) -> str:
    value = credential.reveal()
    if BASE64_MARK in inject.format:
        return inject.format.replace(BASE64_MARK, base64.b64encode(value.encode()).decode())
    return inject.format.replace(PLAIN_MARK, value)


async def _cover(pieces: AsyncIterator[bytes], forms: Forms) -> AsyncIterator[bytes]:
    stream = CoveredStream(forms)
    try:
        async for piece in pieces:
            if covered := stream.feed(piece):
                yield covered
    except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError, zlib.error):
        raise BrokenAnswer from None
    if rest := stream.end():
        yield rest


async def _decode(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """gzip or zlib, unpacked a piece at a time and within bounds."""
    unpack = zlib.decompressobj(wbits=47)
    packed = unpacked = 0
    async for piece in pieces:
        packed += len(piece)
        left = piece
        while left and not unpack.eof:
            data = unpack.decompress(left, PIECE_BYTES)
            left = unpack.unconsumed_tail
            unpacked += len(data)
            if unpacked > FREE_BYTES + MAX_RATIO * packed:
                raise BrokenAnswer
            if data:
                yield data
    if not unpack.eof:
        raise BrokenAnswer
