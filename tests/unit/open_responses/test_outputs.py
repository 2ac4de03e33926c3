"""One view of any output."""

import dataclasses
import json
from typing import Any

import msgspec
import pytest

from qwed_open_responses import normalise

CALL = ("pay", {"amount": 5})
SHAPES: dict[str, Any] = {
    "our own": {"tool_name": "pay", "arguments": {"amount": 5}},
    "open responses, flat": {"type": "function_call", "name": "pay", "arguments": '{"amount": 5}'},
    "open responses, nested": {"type": "tool_call", "tool_call": {"name": "pay", "arguments": {"amount": 5}}},
    "chat completion": {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "pay", "arguments": '{"amount": 5}'},
                        }
                    ],
                }
            }
        ]
    },
    "chat completion, old": {
        "choices": [{"message": {"function_call": {"name": "pay", "arguments": '{"amount": 5}'}}}]
    },
    "responses": {
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "name": "pay", "arguments": '{"amount": 5}'},
        ],
    },
    "anthropic": {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "hm"},
            {"type": "tool_use", "id": "t", "name": "pay", "input": {"amount": 5}},
        ],
    },
    "langchain message": {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "pay", "args": {"amount": 5}, "id": "c"}],
    },
    "langchain action": {"tool": "pay", "tool_input": {"amount": 5}, "log": ""},
    "gemini": {
        "candidates": [{"content": {"parts": [{"functionCall": {"name": "pay", "args": {"amount": 5}}}]}}]
    },
    "json text": '{"tool_name": "pay", "arguments": {"amount": 5}}',
    "json bytes": b'{"tool_name": "pay", "arguments": {"amount": 5}}',
    "list of items": [
        {"type": "message", "content": "hm"},
        {"type": "function_call", "name": "pay", "arguments": '{"amount": 5}'},
    ],
    "a plan": {"steps": [{"tool_name": "pay", "arguments": {"amount": 5}}]},
    "a call in a call": {
        "tool_name": "batch",
        "arguments": {"calls": [{"tool_name": "pay", "arguments": {"amount": 5}}]},
    },
    "a call in a string": {
        "tool_name": "batch",
        "arguments": {"x": '{"tool_name": "pay", "arguments": {"amount": 5}}'},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_call_is_found_in(shape: str) -> None:
    view = normalise(SHAPES[shape])

    assert view.problems == ()
    assert CALL in [(call.name, dict(call.arguments)) for call in view.tool_calls]


def test_objects_are_read_through_what_they_offer() -> None:
    @dataclasses.dataclass
    class Data:
        tool_name: str
        arguments: dict[str, Any]

    class Struct(msgspec.Struct):
        tool_name: str
        arguments: dict[str, Any]

    class Model:
        def model_dump(self, **options: Any) -> dict[str, Any]:
            return {"tool_name": "pay", "arguments": {"amount": 5}}

    for output in (Data("pay", {"amount": 5}), Struct("pay", {"amount": 5}), Model()):
        assert [call.name for call in normalise(output).tool_calls] == ["pay"]


def test_texts_come_with_their_paths_and_names() -> None:
    view = normalise({"tool_name": "t", "arguments": {"items": [{"note": "a"}, "b"], "n": 123456789}})

    assert [(text.path, text.key, text.value) for text in view.texts] == [
        ("arguments.items[0].note", "note", "a"),
        ("arguments.items[1]", "items", "b"),
        ("arguments.n", "n", "123456789"),
    ]


def test_odd_keys_are_texts_too() -> None:
    assert "536-22-8714" in [text.value for text in normalise({"a": {"536-22-8714": 1}}).texts]


@pytest.mark.parametrize(
    "output",
    [
        None,
        "",
        "  ",
        object(),
        b"\xff\xfe",
        {"a": float("nan")},
        {"a": object()},
        {1: "a"},
        {"a": {2, 3}, "b": print},
        {"choices": [5]},
        {"tool_calls": [5]},
        {"tool_calls": "pay"},
        {"tool_calls": [{"id": "x"}]},
        {"type": "ai", "content": "", "invalid_tool_calls": [{"name": "x"}]},
        {"type": "function_call"},
        '{"a": 1, "a": 2}',
        {"type": "function_call", "name": "x", "arguments": "{"},
    ],
)
def test_what_can_not_be_read_completely_is_a_problem(output: Any) -> None:
    assert normalise(output).problems != ()


def test_depth_cycles_and_size_are_bounded() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle

    assert "nested" in normalise({"a": deep}).problems[0]
    assert "nested" in normalise(cycle).problems[0]
    assert "too large" in normalise({"a": ["x" * 1_000_000] * 9}).problems[0]
    assert "too many" in normalise({"a": [0] * 500_000}).problems[0]


def test_an_object_that_raises_when_read_is_a_problem() -> None:
    class Hostile:
        def model_dump(self, **options: Any) -> Any:
            raise SystemError("no")

    assert "Hostile" in normalise(Hostile()).problems[0]


def test_numbers_in_json_keep_their_digits() -> None:
    view = normalise(json.dumps({"tool_name": "t", "arguments": '{"x": 0.10000000000000000001}'}))

    assert str(view.tool_calls[0].arguments["x"]) == "0.10000000000000000001"


def test_envelopes_do_not_show_their_bookkeeping_as_texts() -> None:
    completion = {
        "id": "chatcmpl-1",
        "model": "gpt-4",
        "choices": [{"message": {"role": "assistant", "content": "hi"}}],
    }

    assert [text.value for text in normalise(completion).texts] == ["hi"]


def test_usage_is_kept() -> None:
    assert normalise({"choices": [], "usage": {"total_tokens": 7}}).usage == {"total_tokens": 7}


def test_a_mapping_that_raises_is_a_problem_too() -> None:
    class Hostile(dict[str, Any]):
        def get(self, *args: Any) -> Any:
            raise ValueError("no")

        def items(self) -> Any:
            raise ValueError("no")

    assert "ValueError" in normalise(Hostile(a=1)).problems[0]


def test_odd_names_of_records_are_looked_at_in_every_row() -> None:
    rows = [
        {"id": 1, "drop table": "x", "price": 1.5, "note": "a"},
        {"id": 2, "drop table": "y", "price": 2.5},
    ]

    texts = normalise({"type": "tool_call", "tool_name": "t", "arguments": {"rows": rows}}).texts

    assert sorted((text.path, text.value) for text in texts) == [
        ("arguments.rows[0].drop table", "drop table"),
        ("arguments.rows[0].drop table", "x"),
        ("arguments.rows[0].note", "a"),
        ("arguments.rows[1].drop table", "drop table"),
        ("arguments.rows[1].drop table", "y"),
    ]


@pytest.mark.parametrize("row", [{"price": float("inf")}, {"price": 1.0, "cost": float("nan")}, {2: "x"}])
def test_a_row_that_is_no_json_is_a_problem_after_one_that_is(row: dict[Any, Any]) -> None:
    rows = [{"price": 1.0, "cost": 2.0}, row]

    assert normalise({"type": "tool_call", "tool_name": "t", "arguments": {"rows": rows}}).problems != ()
