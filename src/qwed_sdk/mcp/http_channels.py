"""Channels over streamable HTTP, on the transports of the MCP SDK."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import msgspec
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ClientMessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCMessage, jsonrpc_message_adapter

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.channels import ChannelBroken
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage, MessageId

CONNECT_SECONDS: Final = 10.0
#: A tool may take its time; a server that says nothing at all for this long is gone.
SILENCE_SECONDS: Final = 900.0

Schema = Callable[[str], Mapping[str, Any]]


class StreamChannel:
    """Messages through a pair of the SDK's streams, which live in a task of their own.

    Whatever goes wrong in there ends the channel; it does not end who uses it.
    """

    def __init__(self) -> None:
        self._incoming: asyncio.Queue[SessionMessage | Exception | None] = asyncio.Queue(64)
        self._outgoing: asyncio.Queue[SessionMessage] = asyncio.Queue(64)
        self.ended = asyncio.Event()
        self.failure: str | None = None

    async def receive(self) -> McpMessage | None:
        item = await self._incoming.get()
        if item is None:
            return None
        if isinstance(item, Exception):
            raise MalformedMessage(f"not a JSON-RPC message ({type(item).__name__})")
        self.note(item)
        return from_sdk(item.message)

    def note(self, item: SessionMessage) -> None:
        """What a kind of channel must remember of a message that came in."""

    async def post(self, item: SessionMessage) -> None:
        putting, ending = (
            asyncio.ensure_future(self._outgoing.put(item)),
            asyncio.ensure_future(self.ended.wait()),
        )
        try:
            if not self.ended.is_set():
                await asyncio.wait({putting, ending}, return_when=asyncio.FIRST_COMPLETED)
            if self.ended.is_set():
                raise ChannelBroken(self.failure or "the connection ended")
        finally:
            putting.cancel()
            ending.cancel()

    async def pump(self, read: Any, write: Any) -> None:
        """Between the SDK's streams and the queues, until the streams end."""
        sending = asyncio.ensure_future(self._pump_out(write))
        try:
            async for item in read:
                await self._incoming.put(item)
        finally:
            sending.cancel()

    async def _pump_out(self, write: Any) -> None:
        while True:
            await write.send(await self._outgoing.get())

    async def flushed(self) -> None:
        """Once everything said so far was handed over, or nobody takes it any more."""
        while self._outgoing.qsize() and not self.ended.is_set():
            await asyncio.sleep(0.005)

    async def end(self, failure: str | None) -> None:
        if self.ended.is_set():
            return
        self.failure = failure
        self.ended.set()
        with contextlib.suppress(asyncio.QueueFull):
            self._incoming.put_nowait(None)
            return
        # Nobody reads any more, or slowly: the end still comes last.
        await self._incoming.put(None)


class HttpServerChannel(StreamChannel):
    """To a server. The headers that a revision asks for are made from the message itself."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._schema = schema
        self._version: str | None = None
        self._initializing: MessageId | None = None

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        if message.method == "initialize":
            self._initializing = message.id if isinstance(message.id, int | str) else None
        headers = self._headers(message)
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        await self.post(SessionMessage(to_sdk(message), metadata))

    async def settle(self, request_id: MessageId) -> None:
        """Nothing: the transport ends its own requests."""

    def note(self, item: SessionMessage) -> None:
        answer = item.message
        if self._initializing is None or getattr(answer, "id", None) != self._initializing:
            return
        version = (getattr(answer, "result", None) or {}).get("protocolVersion")
        self._version = version if isinstance(version, str) else None
        self._initializing = None

    def _headers(self, message: McpMessage) -> dict[str, str]:
        if not isinstance(message.method, str) or message.method == "initialize":
            return {}
        params = _loose(message.params)
        meta = params.get("_meta")
        version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
        if not isinstance(version, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: message.method}
        name = params.get(NAME_BEARING_METHODS.get(message.method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if message.method == messages.CALL:
                mapped = x_mcp_header_map(dict(self._schema(name)))
                headers |= mcp_param_headers(mapped, params.get("arguments") or {})
        return headers


class HttpClientChannel(StreamChannel):
    """To a client that came over HTTP: an answer belongs to a request, and so may what is said meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[MessageId, ServerMessageMetadata] = {}

    def note(self, item: SessionMessage) -> None:
        request_id = getattr(item.message, "id", None)
        if not hasattr(item.message, "method") or not isinstance(request_id, int | str):
            return
        if isinstance(item.metadata, ServerMessageMetadata):
            self._open[request_id] = item.metadata

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        if message.method is msgspec.UNSET and isinstance(message.id, int | str):
            self._open.pop(message.id, None)
        metadata = ServerMessageMetadata(related_request_id=related) if related in self._open else None
        await self.post(SessionMessage(to_sdk(message), metadata))

    async def settle(self, request_id: MessageId) -> None:
        metadata = self._open.pop(request_id, None)
        if metadata is not None and metadata.on_request_unanswered is not None:
            await metadata.on_request_unanswered()


@asynccontextmanager
async def http_server(
    url: str, headers: Mapping[str, str], max_bytes: int, schema: Schema
) -> AsyncIterator[HttpServerChannel]:
    """A server at an address."""
    channel = HttpServerChannel(schema)
    task = asyncio.ensure_future(_drive(channel, url, headers, max_bytes))
    try:
        yield channel
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _drive(channel: HttpServerChannel, url: str, headers: Mapping[str, str], max_bytes: int) -> None:
    failure = None
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS)
    try:
        async with (
            httpx2.AsyncClient(
                headers=dict(headers), timeout=timeout, transport=BoundedTransport(max_bytes)
            ) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=max_bytes) as (read, write),
        ):
            await channel.pump(read, write)
    except Exception as error:  # noqa: BLE001 - the boundary: whatever the transport raises ends this channel
        failure = _first(error)
    finally:
        await channel.end(failure)


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300]


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """The SDK bounds streamed events; a plain body is bounded here."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, self._max_bytes)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._left = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx2.ReadError("a message is larger than allowed")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def from_sdk(message: JSONRPCMessage) -> McpMessage:
    return messages.read_message(message.model_dump_json(by_alias=True, exclude_unset=True).encode())


def to_sdk(message: McpMessage) -> JSONRPCMessage:
    return jsonrpc_message_adapter.validate_json(messages.encode(message), by_name=False)


def _loose(value: msgspec.Raw | msgspec.UnsetType) -> dict[str, Any]:
    read = None if isinstance(value, msgspec.UnsetType) else msgspec.json.decode(value)
    return read if isinstance(read, dict) else {}
