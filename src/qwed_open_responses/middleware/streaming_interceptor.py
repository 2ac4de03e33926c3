"""Open Responses streams: tool-call items pass only after verification.

Items are flat (`{type, name, arguments}`), nested (`{type, tool_call | function_call: {name, arguments}}`),
of a provider's own tools (`shell_call`, `apply_patch_call`, …), or chat completion chunks. A call in pieces
is held back until it is complete; then either all of it passes or one `system_intervention` stands in its
place. Text and other items that are known to be harmless pass unchanged, in order. What nobody knows is
refused.
"""

import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import OnBlocked, OutputGate, explain
from qwed_open_responses.middleware.passage import Passage
from qwed_open_responses.results import VerificationResult

MECHANISM: Final = "QWED Open Responses Streaming Interceptor"


class OpenResponsesMiddleware:
    """With `block_on_failure=False` refused items pass unmodified and are only counted and reported."""

    def __init__(
        self,
        guards: Iterable[BaseGuard] | None = None,
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        self._gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)
        self._lock = threading.Lock()
        self._counts = {"total": 0, "verified": 0, "blocked": 0}

    async def verify_stream(self, stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """The same stream, with every refused tool call replaced. An `on_blocked` that has to be awaited is,
        before the stream goes on."""
        passage = self._passage()
        async for item in stream:
            passed = passage.feed(item)
            for subject, result in passage.take_refusals():
                await self._gate.report_async(subject, result)
            for each in passed:
                yield each
        left = passage.finish()
        for subject, result in passage.take_refusals():
            await self._gate.report_async(subject, result)
        for each in left:
            yield each

    def verify_items(self, items: Iterable[Any]) -> Iterator[Any]:
        """As `verify_stream`, for items that do not come asynchronously."""
        passage = self._passage()
        for item in items:
            passed = passage.feed(item)
            self._report(passage)
            yield from passed
        left = passage.finish()
        self._report(passage)
        yield from left

    def get_stats(self) -> dict[str, int]:
        """Tool-call items so far: total is verified plus blocked."""
        with self._lock:
            return dict(self._counts)

    def reset_stats(self) -> None:
        with self._lock:
            self._counts = dict.fromkeys(self._counts, 0)

    def _passage(self) -> Passage:
        return Passage(self._gate, self._count, intervention)

    def _report(self, passage: Passage) -> None:
        for subject, result in passage.take_refusals():
            self._gate.report(subject, result)

    def _count(self, result: VerificationResult) -> None:
        with self._lock:
            self._counts["total"] += 1
            self._counts["verified" if result.verified else "blocked"] += 1


def intervention(result: VerificationResult) -> dict[str, Json]:
    return {
        "type": "system_intervention",
        "status": "blocked",
        "tool_name": result.tool_name,
        "reason": explain(result),
        "verification": {
            "guards_passed": result.guards_passed,
            "guards_failed": result.guards_failed,
            "mechanism": MECHANISM,
        },
    }
