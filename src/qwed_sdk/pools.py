"""Connections to one gateway: of this process, and under asyncio of this event loop, alone."""

import asyncio
import functools
import ipaddress
import ssl
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Final, TypeAlias, TypeVar

import httpx2

from qwed_sdk.calls import Call, HttpAnswer
from qwed_sdk.connection import GatewayConnection
from qwed_sdk.direct_transport import DirectGateway, DirectTransport
from qwed_sdk.errors import GatewayUnavailable
from qwed_sdk.forks import PerProcess
from qwed_sdk.results import Json
from qwed_sdk.troubles import describe_trouble

_SECONDS_BETWEEN_DROPS: Final = 1.0
#: Requests may still be under way on connections that were given up.
_MAX_GIVEN_UP: Final = 4
Verify: TypeAlias = ssl.SSLContext | str | bool
_SOCKS: Final = (
    "the environment names a SOCKS proxy (ALL_PROXY, HTTP_PROXY or HTTPS_PROXY), and the package for it is"
    " missing: pip install 'httpx2[socks]'"
)


@functools.lru_cache(maxsize=256)
def _url(base_url: str, path: str) -> httpx2.URL:
    """Read once: of a request's CPU an eighth went into its address."""
    return httpx2.URL(base_url + path)


class _Mistrust:
    """Whether connections are old enough to be given up: of many answers that are out of step at once, one
    is enough."""

    def __init__(self) -> None:
        self._next = 0.0

    def is_due(self) -> bool:
        now = time.monotonic()
        is_due, self._next = now >= self._next, max(self._next, now + _SECONDS_BETWEEN_DROPS)
        return is_due


class Pool:
    """Connections that threads share and forked children do not."""

    def __init__(
        self, connection: GatewayConnection, verify: Verify, transport: httpx2.BaseTransport | None
    ) -> None:
        self._connection = connection
        self._given = transport is not None
        self._http = PerProcess(lambda: _open(httpx2.Client, connection, verify, transport))
        self._given_up: PerProcess[list[httpx2.Client]] = PerProcess(list)
        self._mistrust = _Mistrust()

    def ask(self, call: Call[Json], headers: Mapping[str, str], content: bytes | None) -> HttpAnswer:
        """One try. Raises `GatewayUnavailable` where there was no answer."""
        http, seconds = self._own(), self._connection.seconds_for(call)
        try:
            response = http.request(
                call.method,
                _url(self._connection.base_url, call.path),
                content=content,
                params=dict(call.query) or None,
                headers=headers,
                timeout=seconds,
            )
        except httpx2.HTTPError as error:
            raise describe_trouble(error, self._connection.base_url, seconds) from error
        return HttpAnswer(response.status_code, response.headers, response.content)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        with self._own().stream("GET", path, headers=headers, timeout=None) as response:
            yield response

    def drop(self) -> None:
        """New connections from now on: on the old ones answers may be out of step."""
        if self._given or not self._mistrust.is_due():
            return
        given_up = self._given_up.get()
        given_up.append(self._http.renew())
        if len(given_up) > _MAX_GIVEN_UP:
            given_up.pop(0).close()

    def close(self) -> None:
        self._http.get().close()
        for http in self._given_up.get():
            http.close()

    def _own(self) -> httpx2.Client:
        if self._given and self._http.is_inherited:
            raise _refuse_shared_transport()
        return self._http.get()


class AsyncPool:
    """Connections of one event loop: those of a loop that has ended can't be used in the next."""

    def __init__(
        self, connection: GatewayConnection, verify: Verify, transport: httpx2.AsyncBaseTransport | None
    ) -> None:
        self._connection = connection
        self._verify = verify
        self._transport = transport
        self._given = transport is not None
        self._door = (
            DirectGateway(transport, connection.base_url) if isinstance(transport, DirectTransport) else None
        )
        # Made at once, so that what is wrong with the settings is said at once.
        self._first: httpx2.AsyncClient | None = self._open()
        self._loops: PerProcess[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient]]
        self._loops = PerProcess(weakref.WeakKeyDictionary)
        self._lock = PerProcess(threading.Lock)
        self._given_up: PerProcess[list[httpx2.AsyncClient]] = PerProcess(list)
        self._mistrust = _Mistrust()

    async def ask(self, call: Call[Json], headers: Mapping[str, str], content: bytes | None) -> HttpAnswer:
        """One try. Raises `GatewayUnavailable` where there was no answer."""
        http, seconds = self._own(), self._connection.seconds_for(call)
        try:
            if self._door is not None and not call.query:
                direct = await self._door.ask(call.method, call.path, headers, content, seconds)
                if direct is not None:
                    return HttpAnswer(direct.status, direct.texts(), direct.body)
            response = await http.request(
                call.method,
                _url(self._connection.base_url, call.path),
                content=content,
                params=dict(call.query) or None,
                headers=headers,
                timeout=seconds,
            )
        except httpx2.HTTPError as error:
            raise describe_trouble(error, self._connection.base_url, seconds) from error
        return HttpAnswer(response.status_code, response.headers, response.content)

    @asynccontextmanager
    async def stream(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[httpx2.Response]:
        async with self._own().stream("GET", path, headers=headers, timeout=None) as response:
            yield response

    async def drop(self) -> None:
        if self._door is not None:
            self._door.drop()
        elif not self._given and self._mistrust.is_due():
            given_up = self._given_up.get()
            given_up.append(self._loops.get().pop(asyncio.get_running_loop()))
            if len(given_up) > _MAX_GIVEN_UP:
                await given_up.pop(0).aclose()

    async def aclose(self) -> None:
        await self._own().aclose()
        for http in self._given_up.get():
            await http.aclose()

    def _open(self) -> httpx2.AsyncClient:
        return _open(httpx2.AsyncClient, self._connection, self._verify, self._transport)

    def _own(self) -> httpx2.AsyncClient:
        if self._given and self._loops.is_inherited and self._door is None:
            raise _refuse_shared_transport()
        loop = asyncio.get_running_loop()
        found = self._loops.get().get(loop)
        return found if found is not None else self._make(loop)

    def _make(self, loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
        with self._lock.get():
            # The first was never used: whoever comes first, in whichever process, may have it.
            made, self._first = self._first or self._open(), None
            self._loops.get()[loop] = made
            return made


def _refuse_shared_transport() -> GatewayUnavailable:
    return GatewayUnavailable(
        "this process was forked from the one that gave the client its transport: make a client here"
    )


H = TypeVar("H", httpx2.Client, httpx2.AsyncClient)


def _open(kind: Callable[..., H], connection: GatewayConnection, verify: Verify, transport: object) -> H:
    """A proxy of the environment is for what is far away."""
    url = httpx2.URL(connection.base_url)
    is_near = _is_loopback(url.host)
    if is_near and verify is True:
        # Certificates take longer to load than a request takes; without TLS nobody looks at them.
        verify = httpx2.create_ssl_context() if url.scheme == "https" else False
    try:
        return kind(
            base_url=connection.base_url,
            timeout=connection.timeout_seconds,
            verify=verify,
            transport=transport,
            trust_env=not is_near,
        )
    except ImportError as error:
        raise ImportError(_SOCKS) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
