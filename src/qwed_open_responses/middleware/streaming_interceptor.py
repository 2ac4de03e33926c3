"""Open Responses streams: tool-call items pass only after verification.

Items are flat (`{type, name, arguments}`) or nested (`{type, tool_call | function_call: {name, arguments}}`).
A call whose arguments arrive in deltas is held back, item and deltas, until it is complete; then either all
of it passes or one `system_intervention` stands in its place. Text and other items pass unchanged, in order.
"""

import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final

from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import Gate, OnBlocked, explained
from qwed_open_responses.results import VerificationResult

CALL_TYPES: Final = frozenset({"tool_call", "function_call"})
MECHANISM: Final = "QWED Open Responses Streaming Interceptor"
MAX_HELD: Final = 10_000

_ADDED: Final = "response.output_item.added"
_DONE: Final = "response.output_item.done"
_COMPLETED: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_DELTAS: Final = (
    "function_call_arguments.delta",
    "tool_call_arguments.delta",
    "custom_tool_call_input.delta",
)
_DELTAS_DONE: Final = (
    "function_call_arguments.done",
    "tool_call_arguments.done",
    "custom_tool_call_input.done",
)


class OpenResponsesMiddleware:
    """With `block_on_failure=False` refused items pass unmodified and are only counted and reported."""

    def __init__(
        self,
        guards: Iterable[BaseGuard] | None = None,
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        self._gate = Gate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)
        self._lock = threading.Lock()
        self._counts = {"total": 0, "verified": 0, "blocked": 0}

    async def verify_stream(self, stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """The same stream, with every refused tool call replaced."""
        passage = _Passage(self)
        async for item in stream:
            for passed in passage.feed(item):
                yield passed
        for left in passage.finish():
            yield left

    def verify_items(self, items: Iterable[Any]) -> Iterator[Any]:
        """As `verify_stream`, for items that do not come asynchronously."""
        passage = _Passage(self)
        for item in items:
            yield from passage.feed(item)
        yield from passage.finish()

    def get_stats(self) -> dict[str, int]:
        """Tool-call items so far: total is verified plus blocked."""
        with self._lock:
            return dict(self._counts)

    def reset_stats(self) -> None:
        with self._lock:
            self._counts = dict.fromkeys(self._counts, 0)

    def judged(self, item: Any, call: Mapping[str, Any], held: list[Any]) -> list[Any]:
        """What stands in the stream for one complete call: all that was held back, or an intervention."""
        result = self._gate.tool_call(call.get("name"), _arguments_of(call), item)
        with self._lock:
            self._counts["total"] += 1
            self._counts["verified" if result.verified else "blocked"] += 1
        return [intervention(result)] if self._gate.blocks(result) else held


class _Passage:
    """One stream's held-back calls, by item id."""

    def __init__(self, middleware: OpenResponsesMiddleware) -> None:
        self._middleware = middleware
        self._held: dict[str, list[Any]] = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[str, dict[str, Any]] = {}

    def feed(self, item: Any) -> list[Any]:
        read = _read(item)
        if read is None:
            return [item]
        kind = read.get("type")
        if not isinstance(kind, str):
            return [item]
        if kind in CALL_TYPES:
            return self._middleware.judged(item, _call_of(read), [item])
        inner = _read(read.get("item"))
        if kind in (_ADDED, _DONE) and inner is not None and _is_call_type(inner.get("type")):
            return self._added(item, read, inner) if kind == _ADDED else self._done(item, read, inner)
        if kind.endswith(_DELTAS):
            return self._delta(item, read)
        if kind.endswith(_DELTAS_DONE):
            return self._arguments_done(item, read)
        return self._whole(item, read) if kind in _COMPLETED else [item]

    def finish(self) -> list[Any]:
        """A stream that ended inside a call: what was held is not complete, and is judged as it is."""
        passed: list[Any] = []
        for key in list(self._held):
            passed += self._judge(key, self._calls.get(key, {}))
        return passed

    def _added(self, item: Any, event: Mapping[str, Any], inner: Mapping[str, Any]) -> list[Any]:
        key = _key(event, inner)
        self._held[key] = [item]
        self._calls[key] = dict(_call_of(inner))
        return []

    def _delta(self, item: Any, event: Mapping[str, Any]) -> list[Any]:
        key = _key(event, {})
        held = self._held.setdefault(key, [])
        if len(held) < MAX_HELD:
            held.append(item)
        self._texts.setdefault(key, []).append(str(event.get("delta", "")))
        return []

    def _arguments_done(self, item: Any, event: Mapping[str, Any]) -> list[Any]:
        key = _key(event, {})
        self._held.setdefault(key, []).append(item)
        call = self._calls.setdefault(key, {})
        call["arguments"] = event.get("arguments", event.get("input", "".join(self._texts.get(key, []))))
        if "name" not in call and event.get("name"):
            call["name"] = event["name"]
        return []

    def _done(self, item: Any, event: Mapping[str, Any], inner: Mapping[str, Any]) -> list[Any]:
        key = _key(event, inner)
        self._held.setdefault(key, []).append(item)
        return self._judge(key, _call_of(inner))

    def _judge(self, key: str, call: Mapping[str, Any]) -> list[Any]:
        held = self._held.pop(key)
        text = "".join(self._texts.pop(key, []))
        self._calls.pop(key, None)
        complete = dict(call)
        if not complete.get("arguments") and text:
            complete["arguments"] = text
        return self._middleware.judged(held[-1], complete, held)

    def _whole(self, item: Any, event: Mapping[str, Any]) -> list[Any]:
        """The closing event repeats the output: a refused call must not leave through it."""
        response = _read(event.get("response"))
        output = response.get("output") if response is not None else None
        if not isinstance(output, list) or not any(
            _is_call_type((_read(each) or {}).get("type")) for each in output
        ):
            return [*self.finish(), item]
        verdict = self._middleware._gate.response(response)
        if self._middleware._gate.blocks(verdict):
            return [*self.finish(), intervention(verdict)]
        return [*self.finish(), item]


def intervention(result: VerificationResult) -> dict[str, Any]:
    return {
        "type": "system_intervention",
        "status": "blocked",
        "tool_name": result.tool_name,
        "reason": explained(result),
        "verification": {
            "guards_passed": result.guards_passed,
            "guards_failed": result.guards_failed,
            "mechanism": MECHANISM,
        },
    }


def _read(item: Any) -> Mapping[str, Any] | None:
    if isinstance(item, Mapping):
        return item
    dump = getattr(item, "model_dump", None)
    if not callable(dump):
        return None
    dumped = dump(mode="json", warnings=False)
    return dumped if isinstance(dumped, Mapping) else None


def _is_call_type(kind: Any) -> bool:
    return isinstance(kind, str) and (kind in CALL_TYPES or kind.endswith("_call"))


def _call_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    for nest in ("tool_call", "function_call", "function"):
        if isinstance(item.get(nest), Mapping):
            return _call_of(item[nest])
    if "name" not in item and isinstance(item.get("tool_name"), str):
        return {**item, "name": item["tool_name"]}
    if "name" not in item and _is_call_type(item.get("type")) and item.get("type") not in CALL_TYPES:
        rest = {key: value for key, value in item.items() if key not in ("type", "id", "call_id", "status")}
        return {"name": str(item["type"]).removesuffix("_call"), "arguments": rest}
    return item


def _arguments_of(call: Mapping[str, Any]) -> Any:
    return next((call[key] for key in ("arguments", "args", "input", "parameters") if key in call), None)


def _key(event: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    found = event.get("item_id") or inner.get("id") or inner.get("call_id") or event.get("output_index")
    return str(found)
