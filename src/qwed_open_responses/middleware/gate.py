"""What all middleware share: a question that is always answered, and the callback when the answer is no."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from qwed_open_responses.guards.base import BaseGuard, Context
from qwed_open_responses.results import GuardResult, VerificationResult
from qwed_open_responses.settings import LOGGER_NAME
from qwed_open_responses.verifier import ResponseVerifier

# It may be a coroutine function: what it returns is awaited.
OnBlocked = Callable[[Any, VerificationResult], Any]

logger = logging.getLogger(LOGGER_NAME)


class OutputGate:
    """Verifies, and never raises: an error while verifying is a result that blocks."""

    def __init__(
        self,
        guards: Iterable[BaseGuard] | None,
        *,
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
        strict: bool | None = None,
    ) -> None:
        self._verifier = ResponseVerifier(guards, strict=strict)
        self._block_on_failure = block_on_failure
        self._on_blocked = on_blocked

    def tool_call(
        self, name: Any, arguments: Any, subject: Any, context: Context | None = None
    ) -> VerificationResult:
        """Verifies one call; `subject` is what the callback gets if it is refused."""
        result = self.judge_call(name, arguments, context)
        self.report(subject, result)
        return result

    async def tool_call_async(
        self, name: Any, arguments: Any, subject: Any, context: Context | None = None
    ) -> VerificationResult:
        result = self.judge_call(name, arguments, context)
        await self.report_async(subject, result)
        return result

    def response(self, response: Any) -> VerificationResult:
        result = self.judge_response(response)
        self.report(response, result)
        return result

    async def response_async(self, response: Any) -> VerificationResult:
        result = self.judge_response(response)
        await self.report_async(response, result)
        return result

    def judge_call(self, name: Any, arguments: Any, context: Context | None = None) -> VerificationResult:
        """The result alone; the caller reports it."""
        try:
            return self._verifier.verify_tool_call(name, arguments, context=context)
        except Exception as error:  # noqa: BLE001 - the boundary around verification: an error is a refusal
            return failed(error, name if isinstance(name, str) else None, arguments)

    def judge_response(self, response: Any) -> VerificationResult:
        """The result alone; the caller reports it."""
        try:
            return self._verifier.verify(response)
        except Exception as error:  # noqa: BLE001 - the boundary around verification: an error is a refusal
            return failed(error, None, None)

    def blocks(self, result: VerificationResult) -> bool:
        """Whether a result stops the call, or is only reported."""
        return not result.verified and self._block_on_failure

    def report(self, subject: Any, result: VerificationResult) -> None:
        """Calls the callback. What it has to await is run to its end, or, inside a running event loop, as a
        task of that loop."""
        answer = self._call_back(subject, result)
        if not inspect.isawaitable(answer):
            return
        try:
            task = asyncio.get_running_loop().create_task(_finish(answer))
        except RuntimeError:  # no loop is running in this thread
            asyncio.run(_finish(answer))
        else:
            _tasks.add(task)
            task.add_done_callback(_tasks.discard)

    async def report_async(self, subject: Any, result: VerificationResult) -> None:
        answer = self._call_back(subject, result)
        if inspect.isawaitable(answer):
            await _finish(answer)

    def _call_back(self, subject: Any, result: VerificationResult) -> Any:
        if result.verified or self._on_blocked is None:
            return None
        try:
            return self._on_blocked(subject, result)
        except Exception:  # the boundary around the user's callback: it may not turn a refusal into a pass
            logger.exception("the on_blocked callback failed")
            return None


# A loop keeps only weak references to its tasks.
_tasks: set["asyncio.Task[None]"] = set()


async def _finish(answer: Awaitable[Any]) -> None:
    try:
        await answer
    except Exception:  # the boundary around the user's callback: it may not turn a refusal into a pass
        logger.exception("the on_blocked callback failed")


def refused(reason: str, tool_name: str | None = None) -> VerificationResult:
    """A result for what can't be verified at all."""
    return VerificationResult(
        verified=False,
        tool_name=tool_name,
        arguments=None,
        response=None,
        block_reason=reason,
        failed_guard="verification",
        guard_results=[GuardResult("verification", False, reason, {}, "error")],
        timestamp=datetime.now(UTC),
    )


def failed(error: Exception, tool_name: str | None, arguments: Any) -> VerificationResult:
    reason = f"verification failed ({type(error).__name__}), so nothing is known"
    result: VerificationResult = msgspec.structs.replace(refused(reason, tool_name), arguments=arguments)
    return result


def explain(result: VerificationResult) -> str:
    """What the model is told instead of a tool's answer."""
    return f"QWED blocked {result.tool_name or 'the tool call'}: {result.block_reason}"
