"""The streaming interceptor: tool calls pass only when they are complete and verified."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from qwed_open_responses import BaseGuard, GuardResult
from qwed_open_responses.guards import SafetyGuard, ToolGuard
from qwed_open_responses.middleware.streaming_interceptor import OpenResponsesMiddleware

GOOD = {"type": "tool_call", "name": "search", "arguments": {"q": "tea"}}
BAD = {"type": "function_call", "name": "execute_shell", "arguments": '{"command": "ls"}'}
TEXT = {"type": "message", "content": "hello"}


class Crashing(BaseGuard):
    def check(self, response: Any, context: Any = None) -> GuardResult:
        raise RuntimeError("broken")


def run(middleware: OpenResponsesMiddleware, *items: Any) -> list[Any]:
    async def stream() -> AsyncIterator[Any]:
        for item in items:
            yield item

    async def collect() -> list[Any]:
        return [item async for item in middleware.verify_stream(stream())]

    return asyncio.run(collect())


def guards() -> list[BaseGuard]:
    return [ToolGuard(), SafetyGuard()]


def test_verified_items_and_text_pass_unchanged_and_in_order() -> None:
    middleware = OpenResponsesMiddleware(guards=guards())

    assert run(middleware, TEXT, GOOD, TEXT) == [TEXT, GOOD, TEXT]
    assert middleware.get_stats() == {"total": 1, "verified": 1, "blocked": 0}


def test_a_refused_item_is_replaced_and_reported() -> None:
    told: list[Any] = []
    middleware = OpenResponsesMiddleware(
        guards=guards(), on_blocked=lambda item, result: told.append((item, result))
    )

    first, second = run(middleware, BAD, GOOD)

    assert first["type"] == "system_intervention"
    assert first["status"] == "blocked"
    assert first["tool_name"] == "execute_shell"
    assert first["reason"].startswith("QWED blocked execute_shell: ")
    assert first["verification"] == {
        "guards_passed": ["SafetyGuard"],
        "guards_failed": ["ToolGuard"],
        "mechanism": "QWED Open Responses Streaming Interceptor",
    }
    assert second == GOOD
    assert told[0][0] == BAD
    assert not told[0][1].verified
    assert middleware.get_stats() == {"total": 2, "verified": 1, "blocked": 1}
    middleware.reset_stats()
    assert middleware.get_stats() == {"total": 0, "verified": 0, "blocked": 0}


@pytest.mark.parametrize("nest", ["tool_call", "function_call"])
def test_nested_items_are_verified(nest: str) -> None:
    item = {"type": nest, nest: {"name": "execute_shell", "arguments": {}}}

    assert run(OpenResponsesMiddleware(guards=guards()), item)[0]["type"] == "system_intervention"


def test_warn_only_lets_refused_items_pass_unmodified() -> None:
    middleware = OpenResponsesMiddleware(guards=guards(), block_on_failure=False)

    assert run(middleware, BAD) == [BAD]
    assert middleware.get_stats()["blocked"] == 1


@pytest.mark.parametrize("guards", [None, [], [Crashing()]])
def test_nothing_to_ask_and_a_crash_block_every_tool_call(guards: Any) -> None:
    middleware = OpenResponsesMiddleware(guards=guards)

    assert [item["type"] for item in run(middleware, TEXT, GOOD)] == ["message", "system_intervention"]


def test_a_failing_callback_does_not_let_the_item_through() -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("callback")

    assert (
        run(OpenResponsesMiddleware(guards=guards(), on_blocked=fail), BAD)[0]["type"]
        == "system_intervention"
    )


@pytest.mark.parametrize(
    "item", [{"type": "tool_call"}, {"type": "tool_call", "name": "x", "arguments": "{"}]
)
def test_a_call_that_does_not_parse_is_refused(item: dict[str, Any]) -> None:
    assert run(OpenResponsesMiddleware(guards=guards()), item)[0]["type"] == "system_intervention"


def deltas(name: str, *pieces: str, done: bool = True) -> list[dict[str, Any]]:
    item = {"type": "function_call", "id": "f1", "name": name, "arguments": ""}
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "item": item, "output_index": 0}]
    events += [
        {"type": "response.function_call_arguments.delta", "item_id": "f1", "delta": piece}
        for piece in pieces
    ]
    if done:
        complete = {**item, "arguments": "".join(pieces)}
        events.append({"type": "response.output_item.done", "item": complete, "output_index": 0})
    return events


def test_arguments_in_deltas_are_held_back_until_they_are_verified() -> None:
    events = deltas("search", '{"q": ', '"tea"}')
    middleware = OpenResponsesMiddleware(guards=guards())

    assert run(middleware, TEXT, *events, TEXT) == [TEXT, *events, TEXT]
    assert middleware.get_stats() == {"total": 1, "verified": 1, "blocked": 0}


def test_refused_deltas_leave_as_one_intervention() -> None:
    events = deltas("note", '{"text": "\'; DROP TA', 'BLE users; --"}')

    passed = run(OpenResponsesMiddleware(guards=guards()), *events, TEXT)

    assert [item["type"] for item in passed] == ["system_intervention", "message"]


def test_text_between_deltas_is_not_held_back() -> None:
    events = deltas("search", '{"q": "tea"}')

    assert run(OpenResponsesMiddleware(guards=guards()), events[0], TEXT, *events[1:])[0] == TEXT


def test_a_stream_that_ends_inside_a_call_does_not_release_it() -> None:
    events = deltas("search", '{"q": ', done=False)

    assert [item["type"] for item in run(OpenResponsesMiddleware(guards=guards()), *events)] == [
        "system_intervention"
    ]


def test_the_closing_event_does_not_carry_a_refused_call_out() -> None:
    closing = {"type": "response.completed", "response": {"output": [BAD]}}

    passed = run(OpenResponsesMiddleware(guards=guards()), closing)

    assert [item["type"] for item in passed] == ["system_intervention"]


def test_items_that_do_not_come_asynchronously_are_verified_too() -> None:
    passed = list(OpenResponsesMiddleware(guards=guards()).verify_items([TEXT, BAD, GOOD]))

    assert [item["type"] for item in passed] == ["message", "system_intervention", "tool_call"]
