"""OpenAI's SDK: drop-in clients whose chat completions and responses are verified before they are handed out.

A stream is held back until it is complete and verified, then handed out event by event: a text that has been
read can't be taken back. What can't be verified at all (raw byte streams, realtime sockets) is refused.
Everything else of the client is as it was.
"""

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from openai import AsyncOpenAI, OpenAI  # type: ignore[import-not-found,unused-ignore]
from openai.resources.chat import AsyncChat, Chat  # type: ignore[import-not-found,unused-ignore]
from openai.resources.responses import AsyncResponses, Responses  # type: ignore[import-not-found,unused-ignore]

from qwed_open_responses.errors import ResponseBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.assembly import assembled
from qwed_open_responses.middleware.gate import Gate, OnBlocked, failed

__all__ = ["AsyncVerifiedOpenAI", "ResponseBlocked", "VerifiedOpenAI"]

_OURS: Final = ("guards", "block_on_failure", "on_blocked")
_UNVERIFIABLE: Final = frozenset({"with_streaming_response", "connect"})
_VERIFIED: Final = frozenset({"create", "parse", "retrieve", "update"})


class VerifiedOpenAI(OpenAI):  # type: ignore[misc,unused-ignore]
    """`OpenAI`, raising `ResponseBlocked` for a response that a guard refuses."""

    def __init__(
        self,
        *args: Any,
        guards: Iterable[BaseGuard] = (),
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
        **kwargs: Any,
    ) -> None:
        self._qwed = {"guards": tuple(guards), "block_on_failure": block_on_failure, "on_blocked": on_blocked}
        self._gate = Gate(tuple(guards), block_on_failure=block_on_failure, on_blocked=on_blocked)
        super().__init__(*args, **kwargs)

    @functools.cached_property
    def chat(self) -> Any:
        chat = Chat(self)
        return _Parts(chat, {"completions": _Verified(chat.completions, self._gate)})

    @functools.cached_property
    def responses(self) -> Any:
        return _Verified(Responses(self), self._gate)

    def copy(self, **kwargs: Any) -> Any:
        return super().copy(**_with_ours(self._qwed, kwargs))

    with_options = copy


class AsyncVerifiedOpenAI(AsyncOpenAI):  # type: ignore[misc,unused-ignore]
    """`AsyncOpenAI`, raising `ResponseBlocked` for a response that a guard refuses."""

    def __init__(
        self,
        *args: Any,
        guards: Iterable[BaseGuard] = (),
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
        **kwargs: Any,
    ) -> None:
        self._qwed = {"guards": tuple(guards), "block_on_failure": block_on_failure, "on_blocked": on_blocked}
        self._gate = Gate(tuple(guards), block_on_failure=block_on_failure, on_blocked=on_blocked)
        super().__init__(*args, **kwargs)

    @functools.cached_property
    def chat(self) -> Any:
        chat = AsyncChat(self)
        return _Parts(chat, {"completions": _AsyncVerified(chat.completions, self._gate)})

    @functools.cached_property
    def responses(self) -> Any:
        return _AsyncVerified(AsyncResponses(self), self._gate)

    def copy(self, **kwargs: Any) -> Any:
        return super().copy(**_with_ours(self._qwed, kwargs))

    with_options = copy


def _with_ours(ours: Mapping[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """A copy of a client keeps its guards, unless it is given others."""
    given = {name: kwargs.pop(name) for name in _OURS if name in kwargs}
    return {**kwargs, "_extra_kwargs": {**ours, **given, **kwargs.get("_extra_kwargs", {})}}


class _Parts:
    """A resource some of whose parts are replaced."""

    def __init__(self, real: Any, parts: Mapping[str, Any]) -> None:
        self._real = real
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        return self._parts[name] if name in self._parts else getattr(self._real, name)


class _Resource:
    """A resource whose answers are verified. Names that would hand out what nobody verified are refused."""

    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        if name in _UNVERIFIABLE:
            _refuse(self._gate, f"{name} hands out what can't be verified; use stream=True or a plain call")
        return getattr(self._real, name)


class _Verified(_Resource):
    def __getattr__(self, name: str) -> Any:
        if name == "with_raw_response":
            return _RawVerified(self._real.with_raw_response, self._gate)
        if name == "stream":
            return lambda *args, **kwargs: _Manager(self._real.stream(*args, **kwargs), self._gate)
        if name in _VERIFIED:
            return _checked_call(getattr(self._real, name), self._gate)
        return super().__getattr__(name)


class _RawVerified(_Resource):
    """Raw responses: parsed and verified, then handed out as they are."""

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._real, name)
        if name not in _VERIFIED:
            return call

        def checked(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("stream"):
                _refuse(self._gate, "a raw stream can't be verified")
            raw = call(*args, **kwargs)
            _verify(raw.parse(), self._gate)
            return raw

        return checked


class _AsyncVerified(_Resource):
    def __getattr__(self, name: str) -> Any:
        if name == "with_raw_response":
            return _AsyncRawVerified(self._real.with_raw_response, self._gate)
        if name == "stream":
            return lambda *args, **kwargs: _AsyncManager(self._real.stream(*args, **kwargs), self._gate)
        if name in _VERIFIED:
            return _checked_async_call(getattr(self._real, name), self._gate)
        return super().__getattr__(name)


class _AsyncRawVerified(_Resource):
    def __getattr__(self, name: str) -> Any:
        call = getattr(self._real, name)
        if name not in _VERIFIED:
            return call

        async def checked(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("stream"):
                _refuse(self._gate, "a raw stream can't be verified")
            raw = await call(*args, **kwargs)
            _verify(raw.parse(), self._gate)
            return raw

        return checked


def _checked_call(call: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        answer = call(*args, **kwargs)
        if kwargs.get("stream"):
            return _Stream(answer, gate)
        _verify(answer, gate)
        return answer

    return checked


def _checked_async_call(call: Callable[..., Any], gate: Gate) -> Callable[..., Any]:
    @functools.wraps(call)
    async def checked(*args: Any, **kwargs: Any) -> Any:
        answer = await call(*args, **kwargs)
        if kwargs.get("stream"):
            return _AsyncStream(answer, gate)
        _verify(answer, gate)
        return answer

    return checked


def _verify(answer: Any, gate: Gate) -> None:
    result = gate.response(answer)
    if gate.blocks(result):
        raise ResponseBlocked(result)


def _refuse(gate: Gate, reason: str) -> None:
    result = failed(TypeError(reason), None, None)
    if gate.blocks(result):
        raise ResponseBlocked(result)


class _Stream:
    """A stream that is read to its end and verified before its first event is handed out."""

    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate
        self._events = self._verified()

    def _verified(self) -> Iterator[Any]:
        events = list(self._real)
        _verify(assembled(events), self._gate)
        yield from events

    def __iter__(self) -> Iterator[Any]:
        return self._events

    def __next__(self) -> Any:
        return next(self._events)

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._real.close()

    @property
    def response(self) -> Any:
        return self._real.response


class _AsyncStream:
    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate
        self._events = self._verified()

    async def _verified(self) -> AsyncIterator[Any]:
        events = [event async for event in self._real]
        _verify(assembled(events), self._gate)
        for event in events:
            yield event

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def __aenter__(self) -> "_AsyncStream":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._real.close()

    @property
    def response(self) -> Any:
        return self._real.response


_FINALS: Final = ("get_final_completion", "get_final_response")


class _Manager:
    """`stream()`: the helper's events and its final answer, after verification."""

    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate

    def __enter__(self) -> "_Helper":
        return _Helper(self._real.__enter__(), self._gate)

    def __exit__(self, *exception: Any) -> None:
        self._real.__exit__(*exception)


class _Helper:
    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate
        self._kept: list[Any] | None = None

    def _events(self) -> list[Any]:
        if self._kept is None:
            events = list(self._real)
            _verify(_final(self._real)(), self._gate)
            self._kept = events
        return self._kept

    def __iter__(self) -> Iterator[Any]:
        return iter(self._events())

    def until_done(self) -> "_Helper":
        self._events()
        return self

    def get_final_completion(self) -> Any:
        self._events()
        return self._real.get_final_completion()

    def get_final_response(self) -> Any:
        self._events()
        return self._real.get_final_response()

    def close(self) -> None:
        self._real.close()


class _AsyncManager:
    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate

    async def __aenter__(self) -> "_AsyncHelper":
        return _AsyncHelper(await self._real.__aenter__(), self._gate)

    async def __aexit__(self, *exception: Any) -> None:
        await self._real.__aexit__(*exception)


class _AsyncHelper:
    def __init__(self, real: Any, gate: Gate) -> None:
        self._real = real
        self._gate = gate
        self._kept: list[Any] | None = None

    async def _events(self) -> list[Any]:
        if self._kept is None:
            events = [event async for event in self._real]
            _verify(await _final(self._real)(), self._gate)
            self._kept = events
        return self._kept

    async def __aiter__(self) -> AsyncIterator[Any]:
        for event in await self._events():
            yield event

    async def until_done(self) -> "_AsyncHelper":
        await self._events()
        return self

    async def get_final_completion(self) -> Any:
        await self._events()
        return await self._real.get_final_completion()

    async def get_final_response(self) -> Any:
        await self._events()
        return await self._real.get_final_response()

    async def close(self) -> None:
        await self._real.close()


def _final(stream: Any) -> Callable[[], Any]:
    found: Callable[[], Any] = next(getattr(stream, name) for name in _FINALS if hasattr(stream, name))
    return found
