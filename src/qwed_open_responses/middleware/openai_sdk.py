"""OpenAI's SDK: drop-in clients whose chat completions and responses are verified before they are handed out.

A stream is held back until it is complete and verified, then handed out event by event: a text that has been
read can't be taken back. What nobody would verify (raw requests, realtime sockets, batches, most of `beta`)
is refused, and so is every attribute that `openai_rules` does not know.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from openai import AsyncOpenAI, AsyncStream, OpenAI, Stream  # type: ignore[import-not-found,unused-ignore]

from qwed.domain.json_types import Json
from qwed_open_responses.errors import AttributeRefused, ResponseBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import OnBlocked, OutputGate, refused
from qwed_open_responses.middleware.openai_rules import RULES, SETTINGS, AttributeRule, explain_refusal
from qwed_open_responses.middleware.openai_streams import (
    AsyncVerifiedManager,
    AsyncVerifiedStream,
    VerifiedManager,
    VerifiedStream,
    verify,
    verify_async,
)

__all__ = ["AsyncVerifiedOpenAI", "ResponseBlocked", "VerifiedOpenAI"]

_OURS: Final = ("guards", "block_on_failure", "on_blocked")


class _Verified:
    """What both clients share. They are OpenAI's own, and ask through a plain client that nobody else has."""

    _plain: type[Any]
    _is_async: bool

    def __init__(
        self,
        *args: Any,
        guards: Iterable[BaseGuard] = (),
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
        **kwargs: Any,
    ) -> None:
        chosen = tuple(guards)
        self._qwed = {"guards": chosen, "block_on_failure": block_on_failure, "on_blocked": on_blocked}
        super().__init__(*args, **kwargs)
        real = self._plain(*args, **{**kwargs, "http_client": self._client})
        gate = OutputGate(chosen, block_on_failure=block_on_failure, on_blocked=on_blocked)
        self._door = _Door(real, gate, "", self._is_async)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in SETTINGS:
            return super().__getattribute__(name)
        return getattr(self._door, name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        door = self.__dict__.get("_door")
        if door is not None and name in SETTINGS:
            setattr(door._real, name, value)

    def copy(self, **kwargs: Any) -> Any:
        """A copy of a client keeps its guards, unless it is given others."""
        given = {name: kwargs.pop(name) for name in _OURS if name in kwargs}
        extra = {**self._qwed, **given, **kwargs.pop("_extra_kwargs", {})}
        return super().copy(**kwargs, _extra_kwargs=extra)  # type: ignore[misc]

    with_options = copy


class VerifiedOpenAI(_Verified, OpenAI):  # type: ignore[misc,unused-ignore]
    """`OpenAI`, raising `ResponseBlocked` for a response that a guard refuses."""

    _plain = OpenAI
    _is_async = False


class AsyncVerifiedOpenAI(_Verified, AsyncOpenAI):  # type: ignore[misc,unused-ignore]
    """`AsyncOpenAI`, raising `ResponseBlocked` for a response that a guard refuses."""

    _plain = AsyncOpenAI
    _is_async = True


class _Door:
    """A client or one of its resources: hands out what the rules know, and refuses the rest."""

    def __init__(self, real: Any, gate: OutputGate, path: str, is_async: bool, is_raw: bool = False) -> None:
        self._real = real
        self._gate = gate
        self._path = path
        self._is_async = is_async
        self._is_raw = is_raw

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}" if self._path else name
        rule = RULES.get(path)
        if rule is None or (self._is_raw and rule not in (AttributeRule.VERIFY, AttributeRule.PASS)):
            return self._refuse(name, path)
        found = getattr(self._real, name)
        if rule is AttributeRule.PASS:
            return found
        if rule is AttributeRule.OPEN:
            return _Door(found, self._gate, path, self._is_async)
        if rule is AttributeRule.RAW:
            return _Door(found, self._gate, self._path, self._is_async, is_raw=True)
        if rule is AttributeRule.HELPER:
            manager = AsyncVerifiedManager if self._is_async else VerifiedManager
            return lambda *args, **kwargs: manager(found(*args, **kwargs), self._gate)
        wrap = _verify_raw if self._is_raw else _verify_answer
        return wrap(found, self._gate, self._is_async)

    def _refuse(self, name: str, path: str) -> Any:
        if not hasattr(type(self._real), name) and name not in vars(self._real):
            raise AttributeError(f"client.{path} does not exist")
        result = refused(explain_refusal(f"{path}" if not self._is_raw else f"{path} (raw)"))
        self._gate.report(f"client.{path}", result)
        if self._gate.blocks(result):
            raise AttributeRefused(result)
        return getattr(self._real, name)


def _verify_answer(call: Callable[..., Any], gate: OutputGate, is_async: bool) -> Callable[..., Any]:
    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        answer = call(*args, **kwargs)
        if isinstance(answer, Stream):
            return VerifiedStream(answer, gate)
        verify(_answer_of(answer), gate)
        return answer

    @functools.wraps(call)
    async def checked_async(*args: Any, **kwargs: Any) -> Any:
        answer = await call(*args, **kwargs)
        if isinstance(answer, AsyncStream):
            return AsyncVerifiedStream(answer, gate)
        await verify_async(_answer_of(answer), gate)
        return answer

    return checked_async if is_async else checked


def _verify_raw(call: Callable[..., Any], gate: OutputGate, is_async: bool) -> Callable[..., Any]:
    """Raw answers: parsed and verified, then handed out as they are. A raw stream can't be verified."""

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _refuse_stream(kwargs, gate)
        raw = call(*args, **kwargs)
        verify(_answer_of(raw.parse()), gate)
        return raw

    @functools.wraps(call)
    async def checked_async(*args: Any, **kwargs: Any) -> Any:
        _refuse_stream(kwargs, gate)
        raw = await call(*args, **kwargs)
        await verify_async(_answer_of(raw.parse()), gate)
        return raw

    return checked_async if is_async else checked


def _answer_of(answer: Any) -> Any:
    """The answer, if the SDK could read it; a body that it hands out unread would pass as mere text."""
    return answer if hasattr(answer, "model_dump") else {"object": "response", "output": [{"unread": answer}]}


def _refuse_stream(kwargs: Mapping[str, Json], gate: OutputGate) -> None:
    if not kwargs.get("stream"):
        return
    result = refused("a raw stream can't be verified; use stream=True without with_raw_response")
    gate.report(dict(kwargs), result)
    if gate.blocks(result):
        raise ResponseBlocked(result)
