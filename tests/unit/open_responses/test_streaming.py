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


# Calls of other kinds

HARM = "rm -rf /home"
OTHER_CALLS: list[dict[str, Any]] = [
    {"type": "local_shell_call", "id": "i", "action": {"type": "exec", "command": ["rm", "-rf", "/home"]}},
    {"type": "shell_call", "id": "i", "action": {"commands": ["ls", HARM]}},
    {"type": "custom_tool_call", "id": "i", "name": "run_command", "input": HARM},
    {"type": "apply_patch_call", "id": "i", "operation": {"type": "delete_file", "path": "../../etc/passwd"}},
    {"type": "code_interpreter_call", "id": "i", "code": "import os; os.system('rm -rf /home')"},
    {"type": "program", "id": "i", "code": "import os; os.system('rm -rf /home')"},
    {"type": "mcp_approval_request", "id": "i", "name": "deploy", "arguments": f'{{"command": "{HARM}"}}'},
    {"type": "acme:deploy_call", "id": "i", "command": HARM},
    {"type": "acme:deploy_call", "id": "i", "action": "go", "command": HARM},
    {"name": "deploy", "arguments": {"command": HARM}},
    {"type": "message", "content": [{"type": "tool_use", "name": "deploy", "input": {"command": HARM}}]},
    {"type": "message", "role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "deploy", "arguments": f'{{"command": "{HARM}"}}'}}]},
]  # fmt: skip


def open_guards() -> list[BaseGuard]:
    """So that names alone block nothing."""
    return [ToolGuard(blocklist=["nothing"]), SafetyGuard()]


@pytest.mark.parametrize("item", OTHER_CALLS, ids=lambda item: str(item.get("type")))
def test_a_call_of_any_kind_is_verified_bare_added_done_and_at_the_end(item: dict[str, Any]) -> None:
    ways: list[list[Any]] = [
        [item],
        [{"type": "response.output_item.done", "item": item, "output_index": 0}],
        [{"type": "response.output_item.added", "item": item, "output_index": 0}],
        [{"type": "response.completed", "response": {"output": [item]}}],
        [{"type": "response.created", "response": {"output": [item]}}],
    ]
    for events in ways:
        middleware = OpenResponsesMiddleware(guards=open_guards())
        assert [each["type"] for each in run(middleware, *events)] == ["system_intervention"], events


@pytest.mark.parametrize(
    "item",
    [
        {"type": "shell_call", "action": {"commands": ["ls -la"]}},
        {"type": "custom_tool_call", "name": "grammar", "input": "one two three"},
        {"type": "web_search_call", "action": {"type": "search", "query": "tea shops"}},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thinking"}]},
        {"type": "function_call_output", "call_id": "c", "output": "done"},
        {"type": "token", "text": "hello"},
        {"type": "response.output_text.delta", "item_id": "m", "delta": "hello"},
        {"type": "response.web_search_call.searching", "item_id": "w", "output_index": 0},
        "data: [DONE]",
        "hello",
    ],
)
def test_harmless_items_of_other_kinds_pass(item: Any) -> None:
    assert run(OpenResponsesMiddleware(guards=open_guards()), item) == [item]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "novel_thing", "payload": {"do": "it"}},
        {"type": "novel_thing", "code": "1 + 1"},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "x", "input": {}}},
        {"type": "response.novel.delta", "item_id": "i", "piece": "x"},
        {"type": "response.output_item.done", "item": {"type": "novel_thing", "payload": 1}},
        {"type": "response.completed", "response": {"output": [{"type": "novel_thing", "payload": 1}]}},
        {"type": "response.content_part.added", "part": {"type": "novel_part", "payload": 1}},
        {"payload": 1},
        object(),
        b'{"type": "function_call", "name": "deploy", "arguments": "{\\"command\\": \\"rm -rf /home\\"}"}',
        'data: {"type": "function_call", "name": "deploy", "arguments": {"command": "rm -rf /home"}}',
        'data: {"type": "message"}\n\ndata: {"type": "message"}',
    ],
)
def test_what_nobody_knows_is_refused_with_a_reason(item: Any) -> None:
    middleware = OpenResponsesMiddleware(guards=open_guards())

    (passed,) = run(middleware, item)

    assert passed["type"] == "system_intervention"
    assert passed["reason"].startswith("QWED blocked")


def test_pieces_that_tell_another_call_than_the_item_are_refused() -> None:
    events = deltas("deploy", '{"command": "rm -rf /home"}', done=False)
    item = {"type": "function_call", "id": "f1", "name": "deploy", "arguments": '{"command": "ls"}'}
    events.append({"type": "response.output_item.done", "item": item, "output_index": 0})

    passed = run(OpenResponsesMiddleware(guards=open_guards()), *events)

    assert [each["type"] for each in passed] == ["system_intervention"]


# Chat completion chunks


def chunks(name: str, arguments: str, index: int = 0) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "object": "chat.completion.chunk",
            "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
        }

    first = {"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [arguments[at : at + 5] for at in range(0, len(arguments), 5)]
    return [
        chunk({"role": "assistant", "content": "I will"}),
        chunk({"tool_calls": [first]}),
        *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces),
        chunk({}, "tool_calls"),
    ]


def test_chat_chunks_pass_when_their_call_is_verified() -> None:
    events = chunks("search", '{"q": "tea"}')
    middleware = OpenResponsesMiddleware(guards=open_guards())

    assert run(middleware, *events) == events
    assert middleware.get_stats() == {"total": 1, "verified": 1, "blocked": 0}


def test_a_refused_call_in_chat_chunks_leaves_as_one_intervention() -> None:
    events = chunks("deploy", '{"command": "rm -rf /home"}')

    passed = run(OpenResponsesMiddleware(guards=open_guards()), *events, *events)

    assert [each.get("type") for each in passed] == [None, "system_intervention"] * 2


@pytest.mark.parametrize("delta", [
    {"function_call": {"name": "deploy", "arguments": '{"command": "rm -rf /home"}'}},
    {"tool_calls": [{"custom": {"name": "terminal", "input": "rm -rf /home"}}]},
    {"novel_calls": [{"name": "deploy"}]},
    {"content": [{"type": "tool_use", "name": "deploy", "input": {"command": "rm -rf /home"}}]},
])  # fmt: skip
@pytest.mark.parametrize("member", ["delta", "message"])
def test_every_way_to_call_in_a_chat_answer_is_verified(member: str, delta: dict[str, Any]) -> None:
    chunk = {"choices": [{"index": 0, member: delta, "finish_reason": "tool_calls"}]}

    passed = run(OpenResponsesMiddleware(guards=open_guards()), chunk)

    assert [each["type"] for each in passed] == ["system_intervention"]


def test_chat_chunks_that_end_inside_a_call_do_not_pass() -> None:
    events = chunks("search", '{"q": "tea"}')[:-3]

    passed = run(OpenResponsesMiddleware(guards=open_guards()), *events)

    assert [each.get("type") for each in passed] == [None, "system_intervention"]


# Callbacks


def test_an_asynchronous_callback_is_awaited_before_the_stream_goes_on() -> None:
    order: list[str] = []

    async def tell(item: Any, result: Any) -> None:
        await asyncio.sleep(0)
        order.append(result.tool_name)

    async def go() -> None:
        async def stream() -> AsyncIterator[Any]:
            yield BAD
            order.append("next")
            yield TEXT

        async for item in OpenResponsesMiddleware(guards=guards(), on_blocked=tell).verify_stream(stream()):
            order.append(item["type"])

    asyncio.run(go())

    assert order == ["execute_shell", "system_intervention", "next", "message"]


def test_an_asynchronous_callback_is_run_to_its_end_where_nothing_can_be_awaited() -> None:
    told: list[Any] = []

    async def tell(item: Any, result: Any) -> None:
        await asyncio.sleep(0)
        told.append(item)

    middleware = OpenResponsesMiddleware(guards=guards(), on_blocked=tell)
    assert [item["type"] for item in middleware.verify_items([BAD])] == ["system_intervention"]
    assert told == [BAD]

    async def inside_a_loop() -> None:
        list(middleware.verify_items([BAD]))
        await asyncio.sleep(0.01)

    asyncio.run(inside_a_loop())
    assert told == [BAD, BAD]


def test_an_asynchronous_callback_that_fails_lets_nothing_through() -> None:
    async def fail(*_: Any) -> None:
        raise RuntimeError("callback")

    middleware = OpenResponsesMiddleware(guards=guards(), on_blocked=fail)

    assert run(middleware, BAD)[0]["type"] == "system_intervention"
    assert next(middleware.verify_items([BAD]))["type"] == "system_intervention"
