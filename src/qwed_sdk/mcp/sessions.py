"""One MCP session through the proxy: its server, its conversation with the gateway, its end."""

import asyncio
import hashlib
import signal
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePath
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.mcp import messages
from qwed_sdk.mcp.catalogue import Catalogue
from qwed_sdk.mcp.channels import ChannelBroken, MessageChannel, child_process, own_stdio
from qwed_sdk.mcp.gate import McpGate
from qwed_sdk.mcp.identity import identity_of
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage
from qwed_sdk.mcp.permissions import read_permissions
from qwed_sdk.mcp.pins import Pins
from qwed_sdk.mcp.proxy import Proxy, ProxyRules
from qwed_sdk.mcp.results import ResultPolicy
from qwed_sdk.mcp.switch import SEPARATOR, Switch
from qwed_sdk.mcp.tool_list import MAX_PAGES
from qwed_sdk.tool_map import ToolMap

#: Room for what surrounds the largest result that is passed on.
OVERHEAD_BYTES: Final = 4 * 1024 * 1024
PIN_SECONDS: Final = 60.0
LEAVE_SECONDS: Final = 15.0
REVISION: Final = "2025-11-25"


class Upstream(msgspec.Struct, frozen=True):
    """The server: a command, or an address."""

    command: tuple[str, ...] = ()
    url: str | None = None
    environ: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    given_name: str | None = None

    @property
    def name(self) -> str:
        """What its tools are pinned under; says nothing of what else is in the command or the address."""
        if self.given_name is not None:
            return self.given_name
        if self.url is not None:
            parts = urlsplit(self.url)
            return f"{parts.hostname}:{parts.port or parts.scheme}{parts.path}"
        digest = hashlib.sha256("\0".join(self.command).encode("utf-8", "surrogateescape")).hexdigest()
        return f"{PurePath(self.command[0]).name}-{digest[:12]}"

    @property
    def identity(self) -> str:
        """Who it is, whatever it is pointed at."""
        return identity_of(self.command) if self.url is None else self.name

    def open(
        self, max_bytes: int, schema: Callable[[str], Mapping[str, Any]]
    ) -> AbstractAsyncContextManager[MessageChannel]:
        if self.url is None:
            return child_process(self.command, self.environ, max_bytes)
        from qwed_sdk.mcp.http_channels import http_server  # noqa: PLC0415 - only HTTP needs the MCP SDK

        return http_server(self.url, self.headers, max_bytes, schema)


class ProxySettings(msgspec.Struct, frozen=True):
    """`others` are further servers behind the same proxy; each server's name is then part of its tools'."""

    upstream: Upstream
    agent_id: str
    pins: Path
    tool_map: ToolMap = {}
    pins_new: bool = True
    shows_all: bool = False
    verifies_resources: bool = False
    wait_seconds: float = 300.0
    renews: bool = False
    max_result_bytes: int = 16 * 1024 * 1024
    results: ResultPolicy | None = None
    others: tuple[Upstream, ...] = ()


async def serve_session(
    settings: ProxySettings, gateway: AsyncQWEDClient, client: MessageChannel, log: Callable[[str], None]
) -> bool:
    """Until one side ends; True where it was the client. Raises `OSError` where the server cannot start."""
    gate = McpGate(
        gateway,
        settings.agent_id,
        f"mcp-{uuid.uuid4().hex}",
        wait_seconds=settings.wait_seconds,
        renews=settings.renews,
        log=log,
    )
    try:
        if not settings.others:
            return await _serve_one(settings, settings.upstream, gateway, gate, client, log)
        return await _serve_many(settings, gateway, gate, client, log)
    finally:
        await gate.close()


async def _serve_many(
    settings: ProxySettings,
    gateway: AsyncQWEDClient,
    gate: McpGate,
    client: MessageChannel,
    log: Callable[[str], None],
) -> bool:
    """One conversation, a proxy for each server, and a switch between them and the client."""
    upstreams = {upstream.name: upstream for upstream in (settings.upstream, *settings.others)}
    switch = Switch(client, list(upstreams), log)

    async def serve(name: str) -> None:
        try:
            await _serve_one(settings, upstreams[name], gateway, gate, switch.ports[name], log)
        except OSError as error:
            log(f"the server {name!r} cannot be started: {error.strerror or error}")
        finally:
            switch.left(name)

    tasks = [asyncio.ensure_future(serve(name)) for name in upstreams]
    try:
        return await switch.run()
    finally:
        await asyncio.wait(tasks, timeout=LEAVE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve_one(
    settings: ProxySettings,
    upstream: Upstream,
    gateway: AsyncQWEDClient,
    gate: McpGate,
    client: MessageChannel,
    log: Callable[[str], None],
) -> bool:
    catalogue = Catalogue(
        upstream.name,
        Pins(settings.pins),
        identity=upstream.identity,
        pins_new=settings.pins_new,
        is_apart=bool(settings.others),
    )
    rules = ProxyRules(
        tool_map=settings.tool_map,
        prefix=f"{upstream.name}{SEPARATOR}" if settings.others else "",
        permissions=None if settings.shows_all else lambda: read_permissions(gateway, settings.agent_id),
        verifies_resources=settings.verifies_resources,
        max_result_bytes=settings.max_result_bytes,
        results=settings.results,
    )

    def schema(tool: str) -> Mapping[str, Any]:
        found = catalogue.definition(tool).get("inputSchema")
        return found if isinstance(found, Mapping) else {}

    if hasattr(client, "schema"):
        client.schema = schema
    async with upstream.open(settings.max_result_bytes + OVERHEAD_BYTES, schema) as server:
        return await Proxy(client, server, gate, catalogue, rules, log).run()


async def serve_stdio(settings: ProxySettings, gateway: AsyncQWEDClient, log: Callable[[str], None]) -> bool:
    """This process's own standard input and output as the one session. Asked to leave, it takes the server
    with it. Raises `OSError`, and `NoPipes`."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with gateway, own_stdio(settings.max_result_bytes + OVERHEAD_BYTES) as client:
        return await serve_session(settings, gateway, client, log)


class CannotList(Exception):
    """The server's tools could not be read; the sentence says why."""


async def list_tools(upstream: Upstream, max_bytes: int = 16 * 1024 * 1024) -> list[Any]:
    """What a server lists, to a client that only asks this. Raises `CannotList` and `OSError`."""
    async with upstream.open(max_bytes, lambda tool: {}) as server:
        try:
            return await asyncio.wait_for(_handshake_and_list(server), PIN_SECONDS)
        except TimeoutError:
            raise CannotList(f"the server did not answer within {PIN_SECONDS:g} seconds") from None
        except (ChannelBroken, MalformedMessage) as problem:
            raise CannotList(f"the server gave no list of its tools ({problem})") from None


async def _handshake_and_list(server: MessageChannel) -> list[Any]:
    about = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "qwed", "version": "1"}}
    await _ask(server, messages.request(1, "initialize", about))
    await server.send(messages.notification("notifications/initialized", {}))
    tools: list[Any] = []
    cursor = None
    for number in range(2, MAX_PAGES + 2):
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        page = await _ask(server, messages.request(number, messages.LIST, params))
        if not isinstance(page.get("tools"), list):
            raise CannotList("the server's list of tools is not one")
        tools += page["tools"]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    return tools


async def _ask(server: MessageChannel, message: McpMessage) -> dict[str, Any]:
    await server.send(message)
    while (answer := await server.receive()) is not None:
        if answer.method is msgspec.UNSET and answer.id == message.id:
            if isinstance(answer.result, msgspec.Raw):
                return messages.object_of(answer.result)
            raise CannotList(f"the server refused {message.method}")
    raise CannotList("the server ended before it answered")
