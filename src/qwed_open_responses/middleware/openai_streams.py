"""OpenAI's streams, read to their end and verified before their first event is handed out."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

from qwed_open_responses.errors import ResponseBlocked
from qwed_open_responses.middleware.assembly import assemble
from qwed_open_responses.middleware.gate import OutputGate


def verify(answer: Any, gate: OutputGate) -> None:
    result = gate.response(answer)
    if gate.blocks(result):
        raise ResponseBlocked(result)


async def verify_async(answer: Any, gate: OutputGate) -> None:
    result = await gate.response_async(answer)
    if gate.blocks(result):
        raise ResponseBlocked(result)


class VerifiedStream:
    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate
        self._events = self._verify_events()

    def _verify_events(self) -> Iterator[Any]:
        events = list(self._real)
        verify(assemble(events), self._gate)
        yield from events

    def __iter__(self) -> Iterator[Any]:
        return self._events

    def __next__(self) -> Any:
        return next(self._events)

    def __enter__(self) -> "VerifiedStream":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._real.close()


class AsyncVerifiedStream:
    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate
        self._events = self._verify_events()

    async def _verify_events(self) -> AsyncIterator[Any]:
        events = [event async for event in self._real]
        await verify_async(assemble(events), self._gate)
        for event in events:
            yield event

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events

    async def __anext__(self) -> Any:
        return await anext(self._events)

    async def __aenter__(self) -> "AsyncVerifiedStream":
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._real.close()


_FINALS: Final = ("get_final_completion", "get_final_response")


class VerifiedManager:
    """`stream()`: the helper's events and its final answer, after verification."""

    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate

    def __enter__(self) -> "_Helper":
        return _Helper(self._real.__enter__(), self._gate)

    def __exit__(self, *exception: Any) -> None:
        self._real.__exit__(*exception)


class _Helper:
    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate
        self._kept: list[Any] | None = None

    def _events(self) -> list[Any]:
        if self._kept is None:
            events = list(self._real)
            verify(_final(self._real)(), self._gate)
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


class AsyncVerifiedManager:
    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate

    async def __aenter__(self) -> "_AsyncHelper":
        return _AsyncHelper(await self._real.__aenter__(), self._gate)

    async def __aexit__(self, *exception: Any) -> None:
        await self._real.__aexit__(*exception)


class _AsyncHelper:
    def __init__(self, real: Any, gate: OutputGate) -> None:
        self._real = real
        self._gate = gate
        self._kept: list[Any] | None = None

    async def _events(self) -> list[Any]:
        if self._kept is None:
            events = [event async for event in self._real]
            await verify_async(await _final(self._real)(), self._gate)
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
