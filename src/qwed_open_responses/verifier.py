"""Runs every guard on one view of an output, and decides."""

import importlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from qwed.domain.json_types import Json
from qwed_open_responses import settings
from qwed_open_responses.guards.base import BaseGuard, Context
from qwed_open_responses.guards.schema import SchemaGuard
from qwed_open_responses.outputs import (
    Output,
    normalise,
    normalise_structured,
    normalise_tool_call,
    plain_arguments,
)
from qwed_open_responses.results import GuardResult, VerificationResult

if TYPE_CHECKING:
    from pathlib import Path

NO_GUARDS: Final = (
    "no guards are configured, so nothing was checked: pass guards=[…] to the verifier or the call"
)
_READING: Final = "OutputReader"

logger = logging.getLogger(settings.LOGGER_NAME)


class ResponseVerifier:
    """Verifies outputs before they are acted on. Safe to share between threads and tasks.

    Every guard runs; the first that blocks gives the reason. A guard that raises blocks, and so does an
    output that can't be read completely. `strict=None` takes QWED_OR_STRICT; not strict, a failed guard
    blocks only with the severity `error`.
    """

    def __init__(self, guards: Iterable[BaseGuard] | None = None, *, strict: bool | None = None) -> None:
        configured = settings.from_environment()
        settings.configure_logger(configured.log_level)
        self.guards: tuple[BaseGuard, ...] = tuple(guards or ())
        self.strict = configured.strict if strict is None else strict

    @classmethod
    def from_policy(cls, path: "str | Path") -> "ResponseVerifier":
        """A verifier with the guards that a policy file declares. Raises `PolicyError`."""
        guards, strict = importlib.import_module("qwed_open_responses.policy").load(path)
        return cls(guards, strict=strict)

    def verify(
        self, response: Any, guards: Iterable[BaseGuard] | None = None, context: Context | None = None
    ) -> VerificationResult:
        """Any output: an object of a model provider's SDK, a message, items, JSON text, prose."""
        return self._decide(normalise(response), guards, context)

    def verify_tool_call(
        self,
        tool_name: str,
        arguments: Mapping[str, Json] | str | None,
        guards: Iterable[BaseGuard] | None = None,
        context: Context | None = None,
    ) -> VerificationResult:
        """One tool call, before it is made."""
        return self._decide(normalise_tool_call(tool_name, arguments), guards, context)

    def verify_structured_output(
        self,
        output: Any,
        guards: Iterable[BaseGuard] | None = None,
        schema: Any = None,
        context: Context | None = None,
    ) -> VerificationResult:
        """A JSON value, or the text of one; `schema` adds a SchemaGuard for this call."""
        view = normalise_structured(output)
        if schema is None:
            return self._decide(view, guards, context)
        return self._decide(view, (*self._choose(guards), SchemaGuard(schema=schema)), context)

    def _choose(self, guards: Iterable[BaseGuard] | None) -> Sequence[BaseGuard]:
        return self.guards if guards is None else tuple(guards)

    def _decide(
        self, view: Output, guards: Iterable[BaseGuard] | None, context: Context | None
    ) -> VerificationResult:
        results = _reading_results(view)
        chosen = self._choose(guards)
        results += [_run(guard, view, context) for guard in chosen]
        blocker = next((result for result in results if self._blocks(result)), None)
        # Nothing at all blocks nothing: an unchecked output must not pass.
        verified = bool(chosen) and blocker is None
        reason = None if verified else NO_GUARDS if blocker is None else blocker.message
        result = VerificationResult(
            verified=verified,
            tool_name=view.tool_calls[0].name if view.tool_calls else _find_claimed_name(view),
            arguments=_find_claimed_arguments(view),
            response=view.raw,
            block_reason=reason,
            failed_guard=blocker.guard_name if blocker is not None else None,
            guard_results=results,
            timestamp=datetime.now(UTC),
        )
        if not verified:
            logger.info("blocked %s: %s", result.tool_name or "an output", reason)
        return result

    def _blocks(self, result: GuardResult) -> bool:
        return not result.passed and (self.strict or result.severity == "error")


def _reading_results(view: Output) -> list[GuardResult]:
    return [GuardResult(_READING, False, problem, {}, "error") for problem in view.problems]


def _run(guard: BaseGuard, view: Output, context: Context | None) -> GuardResult:
    name = getattr(guard, "name", None) or type(guard).__name__
    try:
        result = guard.check(view, {} if context is None else context)
    except Exception as error:  # the boundary around guards: one that crashed has not passed
        logger.exception("guard %s crashed", name)
        return GuardResult(
            name, False, f"{name} crashed ({type(error).__name__}), so nothing is known", {}, "error"
        )
    if isinstance(result, GuardResult):
        return result
    close = getattr(result, "close", None)
    if callable(close):  # a coroutine that nobody will await
        close()
    message = f"{name} answered {type(result).__name__} instead of a GuardResult, so nothing is known"
    return GuardResult(name, False, message, {}, "error")


def _find_claimed_name(view: Output) -> str | None:
    name = view.raw.get("tool_name") if isinstance(view.raw, dict) else None
    return name if isinstance(name, str) else None


def _find_claimed_arguments(view: Output) -> Any:
    raw = view.raw
    if type(raw) is dict and raw.get("type") == "tool_call" and "arguments" in raw:
        return plain_arguments(raw["arguments"])
    return view.tool_calls[0].arguments if view.tool_calls else None
