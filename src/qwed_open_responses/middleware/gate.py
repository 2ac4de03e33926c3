"""What all middleware share: a question that is always answered, and the callback when the answer is no."""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from qwed_open_responses.guards.base import BaseGuard, Context
from qwed_open_responses.results import GuardResult, VerificationResult
from qwed_open_responses.settings import LOGGER_NAME
from qwed_open_responses.verifier import ResponseVerifier

OnBlocked = Callable[[Any, VerificationResult], Any]

logger = logging.getLogger(LOGGER_NAME)


class Gate:
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
        try:
            result = self._verifier.verify_tool_call(name, arguments, context=context)
        except Exception as error:  # noqa: BLE001 - the boundary around verification: an error is a refusal
            result = failed(error, name if isinstance(name, str) else None, arguments)
        self._report(subject, result)
        return result

    def response(self, response: Any, context: Context | None = None) -> VerificationResult:
        try:
            result = self._verifier.verify(response, context=context)
        except Exception as error:  # noqa: BLE001 - the boundary around verification: an error is a refusal
            result = failed(error, None, None)
        self._report(response, result)
        return result

    def blocks(self, result: VerificationResult) -> bool:
        """Whether a result stops the call, or is only reported."""
        return not result.verified and self._block_on_failure

    def _report(self, subject: Any, result: VerificationResult) -> None:
        if result.verified or self._on_blocked is None:
            return
        try:
            self._on_blocked(subject, result)
        except Exception:  # the boundary around the user's callback: it may not turn a refusal into a pass
            logger.exception("the on_blocked callback failed")


def failed(error: Exception, tool_name: str | None, arguments: Any) -> VerificationResult:
    reason = f"verification failed ({type(error).__name__}), so nothing is known"
    return VerificationResult(
        verified=False,
        tool_name=tool_name,
        arguments=arguments,
        response=None,
        block_reason=reason,
        failed_guard="verification",
        guard_results=[GuardResult("verification", False, reason, {}, "error")],
        timestamp=datetime.now(UTC),
    )


def explained(result: VerificationResult) -> str:
    """What the model is told instead of a tool's answer."""
    return f"QWED blocked {result.tool_name or 'the tool call'}: {result.block_reason}"
