"""What a caller reports beside a request: messages of the user, and results of tools.

It is taken out of the context before anything else sees it, so that no record, event or log holds it. What
can't be read is not refused: the report counts as cut off.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

MAX_REPORTED: Final = 64
MAX_RESULT: Final = 512 * 1024
MAX_MESSAGE: Final = 64 * 1024
_MEMBERS: Final = ("messages", "results")


class ReportedResult(msgspec.Struct, frozen=True):
    """`parameters` are those of the call that it answers."""

    tool: str
    result: Any
    parameters: Mapping[str, Any] = {}
    step: int = 0
    is_cut: bool = False


class Reports(msgspec.Struct, frozen=True):
    messages: tuple[str, ...] = ()
    results: tuple[ReportedResult, ...] = ()
    is_cut: bool = False


def take_reports(context: Any) -> tuple[Any, Reports | None]:
    """The context without what is reported in it, and that."""
    if not isinstance(context, Mapping) or not any(name in context for name in _MEMBERS):
        return context, None
    messages, results = read_messages(context.get("messages")), _read_results(context.get("results"))
    given = [
        len(found) for found in (context.get("messages"), context.get("results")) if isinstance(found, list)
    ]
    is_cut = sum(given) > len(messages) + len(results) + _strangers(context.get("messages"))
    rest = {name: value for name, value in context.items() if name not in _MEMBERS}
    return rest, Reports(messages, results, is_cut)


def read_messages(given: Any) -> tuple[str, ...]:
    """The texts that the caller calls the user's: `{"role": "user", "content": "..."}`."""
    found: list[str] = []
    for message in _some(given):
        if isinstance(message, Mapping) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                found.append(content[:MAX_MESSAGE])
    return tuple(found)


def _strangers(given: Any) -> int:
    """Messages that are not the user's: they say nothing here."""
    return sum(isinstance(each, Mapping) and each.get("role") != "user" for each in _some(given))


def _read_results(given: Any) -> tuple[ReportedResult, ...]:
    found: list[ReportedResult] = []
    for each in _some(given):
        if not isinstance(each, Mapping) or not isinstance(each.get("tool"), str):
            continue
        step, parameters = each.get("step_number"), each.get("parameters")
        found.append(
            ReportedResult(
                each["tool"][:256],
                each.get("result"),
                parameters if isinstance(parameters, Mapping) else {},
                step if type(step) is int and 0 <= step < 2**31 else 0,
                each.get("truncated") is True,
            )
        )
    return tuple(found)


def _some(given: Any) -> Sequence[Any]:
    return given[:MAX_REPORTED] if isinstance(given, list) else ()
