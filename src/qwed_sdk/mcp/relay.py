"""Messages between a client and a server, and who answers whom.

Two spaces of ids meet here: requests of the client keep theirs, and the proxy's own begin with a word
that nobody can guess, so that an answer always finds the one who asked. An answer that nobody asked for
is dropped. Some requests of the client have a handler, and the server hears of them only through it.
"""

import asyncio
import contextlib
import functools
import itertools
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.channels import ChannelBroken, MessageChannel, MessageTooLarge
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage, MessageId

MAX_IN_FLIGHT: Final = 1_024
FINISH_SECONDS: Final = 5.0

#: Connection closed, timed out, or an answer that could not be read.
_LOST: Final = frozenset({-32000, -32001, messages.PARSE_ERROR})


class ServerGone(Exception):
    """The server ended before it answered."""


class ServerRefused(Exception):
    """The server answered with an error."""

    def __init__(self, error: msgspec.Raw) -> None:
        self.error = error
        super().__init__("the server refused")

    @property
    def code(self) -> int | None:
        try:
            return msgspec.json.decode(self.error, type=_ErrorCode).code
        except msgspec.MsgspecError:
            return None

    @property
    def is_lost(self) -> bool:
        """A transport's word that no answer will come, which says nothing of what the server did."""
        return self.code is None or self.code in _LOST


class _ErrorCode(msgspec.Struct, frozen=True):
    code: int = 0


class Handled:
    """A request of the client that a handler answers."""

    def __init__(self, message: McpMessage) -> None:
        self.message = message
        self.id = messages.id_of(message)
        self.task: asyncio.Task[None] | None = None
        self.is_forwarded = False

    @functools.cached_property
    def progress_token(self) -> MessageId | None:
        try:
            return messages.progress_token(messages.object_of(self.message.params))
        except MalformedMessage:
            return None

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


Handler = Callable[[Handled], Awaitable[None]]


class RelayWatcher:
    """What a relay tells of messages that it passes on."""

    def answered(self, request: McpMessage, answer: McpMessage) -> McpMessage:
        """The server's answer to a request that passed; what is returned is passed on."""
        return answer

    def notified(self, notification: McpMessage) -> None:
        """A notification of the server."""


class Relay:
    def __init__(
        self,
        client: MessageChannel,
        server: MessageChannel,
        handlers: Mapping[str, Handler],
        watcher: RelayWatcher,
        log: Callable[[str], None],
    ) -> None:
        self._client = client
        self._server = server
        self._handlers = handlers
        self._watcher = watcher
        self._log = log
        self._handled: dict[MessageId, Handled] = {}
        self._passed: dict[MessageId, McpMessage] = {}
        self._asked: dict[MessageId, asyncio.Future[msgspec.Raw]] = {}
        self._server_asked: set[MessageId] = set()
        self._mark = f"qwed-{secrets.token_hex(8)}-"
        self._numbers = itertools.count(1)
        self._is_gone = False

    async def run(self) -> bool:
        """Until one side ends, and whoever waits was answered; True where it was the client."""
        from_client = asyncio.ensure_future(self._pump(self._client, self._from_client, "client"))
        from_server = asyncio.ensure_future(self._pump(self._server, self._from_server, "server"))
        try:
            await asyncio.wait({from_client, from_server}, return_when=asyncio.FIRST_COMPLETED)
            client_left = from_client.done()
        finally:
            for pump in (from_client, from_server):
                pump.cancel()
            await asyncio.gather(from_client, from_server, return_exceptions=True)
            await self._finish()
        for pump in (from_client, from_server):
            if not pump.cancelled() and (failure := pump.exception()) is not None:
                raise failure
        return client_left

    async def _finish(self) -> None:
        await self._server_left()
        for handled in list(self._handled.values()):
            # What waits for a person or for the gateway has nothing more to wait for.
            if not handled.is_forwarded:
                handled.cancel()
        tasks = [handled.task for handled in self._handled.values() if handled.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=FINISH_SECONDS)

    async def _pump(
        self, channel: MessageChannel, take: Callable[[McpMessage], Awaitable[None]], side: str
    ) -> None:
        while True:
            try:
                message = await channel.receive()
            except MessageTooLarge as problem:
                await self._too_large(channel, problem.id)
                continue
            except MalformedMessage as problem:
                self._log(f"dropped a message of the {side}: {problem}")
                if channel is self._client:
                    await self.tell(messages.error(None, messages.PARSE_ERROR, str(problem)))
                continue
            except ChannelBroken as problem:
                self._log(f"the {side} cannot be read: {problem}")
                return
            if message is None:
                return
            await take(message)

    async def _too_large(self, channel: MessageChannel, message_id: MessageId | None) -> None:
        """The error of one call, not the end of the session; of all calls where nobody can say of which."""
        self._log("skipped a message that is larger than allowed")
        if channel is self._client:
            text = "the request is larger than allowed"
            await self.tell(messages.error(message_id, messages.INVALID_REQUEST, text))
            return
        known = message_id in self._asked or message_id in self._passed
        for request_id in [message_id] if known else [*self._asked, *self._passed]:
            assert request_id is not None
            await self._server_answer(_refuse_oversized(request_id), request_id)

    # --- from the client -----------------------------------------------------------------------

    async def _from_client(self, message: McpMessage) -> None:
        if message.is_request:
            await self._client_request(message, messages.id_of(message))
        elif message.method == messages.CANCELLED:
            await self._cancel(message)
        elif message.is_notification:
            await self._forward(message)
        elif message.id in self._server_asked:
            self._server_asked.discard(messages.id_of(message))
            await self._forward(message)
        else:
            self._log("dropped an answer of the client to nothing the server asked")

    async def _client_request(self, message: McpMessage, request_id: MessageId) -> None:
        refusal = self._request_refusal(request_id)
        if refusal is not None:
            await self.tell(messages.error(request_id, messages.INVALID_REQUEST, refusal))
            return
        handler = self._handlers.get(str(message.method))
        if handler is not None:
            handled = self._handled[request_id] = Handled(message)
            handled.task = asyncio.ensure_future(self._handle(handler, handled))
            return
        self._passed[request_id] = message
        if not await self._forward(message) and request_id in self._passed:
            await self._answer_gone(request_id)

    def _request_refusal(self, request_id: MessageId) -> str | None:
        is_ours = isinstance(request_id, str) and request_id.startswith(self._mark)
        if request_id in self._handled or request_id in self._passed or is_ours:
            return "this id belongs to a request that is still running"
        if len(self._handled) + len(self._passed) >= MAX_IN_FLIGHT:
            return f"{MAX_IN_FLIGHT} requests are still running"
        return None

    async def _handle(self, handler: Handler, handled: Handled) -> None:
        try:
            await handler(handled)
        except MalformedMessage as problem:
            await self.tell(messages.error(handled.id, messages.INVALID_PARAMS, str(problem)))
        except ServerRefused as refusal:
            await self.tell(McpMessage("2.0", id=handled.id, error=refusal.error))
        except ServerGone:
            await self._answer_gone(handled.id)
        except Exception as error:  # noqa: BLE001 - the boundary: whoever asked is answered, with no
            self._log(f"{handled.message.method} failed: {type(error).__name__}: {error}")
            await self.tell(messages.error(handled.id, messages.INTERNAL_ERROR, "this could not be handled"))
        finally:
            self._handled.pop(handled.id, None)

    async def _cancel(self, message: McpMessage) -> None:
        """What the server has not heard of ends here; any other cancellation is the server's too."""
        try:
            request_id = messages.object_of(message.params).get("requestId")
        except MalformedMessage:
            return
        if not isinstance(request_id, int | str) or isinstance(request_id, bool):
            return
        handled = self._handled.get(request_id)
        if handled is None or handled.is_forwarded:
            await self._forward(message)
            self._passed.pop(request_id, None)
        if handled is not None:
            handled.cancel()
        await self._client.settle(request_id)

    async def _forward(self, message: McpMessage) -> bool:
        if self._is_gone:
            return False
        try:
            await self._server.send(message)
        except ChannelBroken as problem:
            self._log(f"the server cannot be written to: {problem}")
            await self._server_left()
            return False
        return True

    # --- from the server -----------------------------------------------------------------------

    async def _from_server(self, message: McpMessage) -> None:
        if message.is_request:
            self._server_asked.add(messages.id_of(message))
            await self.tell(message, self._latest())
        elif message.is_notification:
            self._watcher.notified(message)
            await self.tell(message, self._find_related(message))
        elif message.id is not None:
            await self._server_answer(message, messages.id_of(message))

    async def _server_answer(self, message: McpMessage, request_id: MessageId) -> None:
        asked = self._asked.pop(request_id, None)
        if asked is not None:
            _resolve(asked, message)
            return
        passed = self._passed.pop(request_id, None)
        if passed is None:
            self._log("dropped an answer of the server to nothing that was asked")
            return
        await self.tell(self._watcher.answered(passed, message))

    async def _server_left(self) -> None:
        """Everybody who waits for the server learns that it is gone."""
        self._is_gone = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ServerGone())
        self._asked.clear()
        for request_id in list(self._passed):
            await self._answer_gone(request_id)

    async def _answer_gone(self, request_id: MessageId) -> None:
        self._passed.pop(request_id, None)
        await self.tell(messages.error(request_id, messages.SERVER_GONE, "the MCP server has stopped"))

    def _latest(self) -> MessageId | None:
        forwarded = [request_id for request_id, handled in self._handled.items() if handled.is_forwarded]
        return next(reversed([*self._passed, *forwarded]), None)

    def _find_related(self, message: McpMessage) -> MessageId | None:
        """Over HTTP, progress belongs to the request that asked for it; over pipes nobody looks at this."""
        if message.method == messages.PROGRESS:
            with contextlib.suppress(MalformedMessage):
                token = messages.object_of(message.params).get("progressToken")
                for request_id, handled in self._handled.items():
                    if handled.progress_token is not None and handled.progress_token == token:
                        return request_id
        return self._latest()

    # --- for handlers --------------------------------------------------------------------------

    async def tell(self, message: McpMessage, related: MessageId | None = None) -> None:
        """Say something to the client. One that left hears nothing; its end is noticed where it is read."""
        with contextlib.suppress(ChannelBroken):
            await self._client.send(message, related)

    async def ask(self, method: str, params: Mapping[str, Any]) -> msgspec.Raw:
        """Ask the server something of our own. Raises `ServerRefused` and `ServerGone`."""
        return await self._ask(messages.request(self._mark + str(next(self._numbers)), method, params))

    async def forward(self, handled: Handled, params: Mapping[str, Any]) -> msgspec.Raw:
        """Let the server answer a request of the client, with these parameters. Raises as `ask` does."""
        handled.is_forwarded = True
        return await self._ask(messages.request(handled.id, str(handled.message.method), params))

    async def _ask(self, message: McpMessage) -> msgspec.Raw:
        if self._is_gone:
            raise ServerGone
        request_id = messages.id_of(message)
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = future
        try:
            await self._forward(message)
            return await future
        finally:
            self._asked.pop(request_id, None)


def _refuse_oversized(request_id: MessageId) -> McpMessage:
    text = "the server's answer is larger than what is passed on; ask it for less"
    return messages.error(request_id, messages.TOO_LARGE, text)


def _resolve(asked: "asyncio.Future[msgspec.Raw]", answer: McpMessage) -> None:
    if asked.done():
        return
    if isinstance(answer.error, msgspec.Raw):
        asked.set_exception(ServerRefused(answer.error))
    else:
        assert isinstance(answer.result, msgspec.Raw)
        asked.set_result(answer.result)
