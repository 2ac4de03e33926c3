"""What each of the six guards lets through and what it blocks."""

from decimal import Decimal
from typing import Any

import pytest

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import ArgumentGuard, MathGuard, SchemaGuard, StateGuard, ToolGuard


def blocked(guard: Any, output: Any, context: Any = None) -> str | None:
    """The reason, or None when it passes."""
    result = ResponseVerifier([guard]).verify(output, context=context)
    return None if result.verified else result.block_reason


def call(guard: Any, name: str, arguments: Any) -> str | None:
    result = ResponseVerifier([guard]).verify_tool_call(name, arguments)
    return None if result.verified else result.block_reason


# Schema


def test_every_schema_error_comes_with_its_pointer() -> None:
    guard = SchemaGuard(
        {
            "type": "object",
            "required": ["a"],
            "properties": {"b/c": {"type": "array", "items": {"type": "integer"}}},
        }
    )
    result = guard.check({"b/c": [1, "x"]})

    assert {error["pointer"] for error in result.details["errors"]} == {"", "/b~1c/1"}


def test_a_schema_that_is_none_fails_in_the_constructor() -> None:
    for schema in ({"type": "nonsense"}, "text", {"$ref": "https://example.com/x.json"}, {"pattern": "("}):
        with pytest.raises(ValueError, match=r"schema"):
            SchemaGuard(schema)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="draft"):
        SchemaGuard({}, draft="2099-01")


def test_a_text_is_not_the_json_that_a_schema_describes() -> None:
    assert "text" in (blocked(SchemaGuard({"type": "object"}), "hello") or "")
    assert blocked(SchemaGuard({"type": "object"}), '{"a": 1}') is None


def test_a_schema_checks_the_arguments_of_every_call() -> None:
    guard = SchemaGuard({"required": ["a"]})

    assert call(guard, "t", {"a": 1}) is None
    assert "a" in (call(guard, "t", {}) or "")


def test_a_runaway_pattern_does_not_run_away() -> None:
    guard = SchemaGuard({"type": "string", "pattern": "^(a+)+$"})

    # Tried in every way it would not end before the test's time-out.
    assert not guard.check("a" * 5_000 + "!").passed


def test_schema_messages_do_not_repeat_secrets() -> None:
    result = SchemaGuard({"type": "integer"}).check("AKIAZ3MGNRTX4QPLK2VB")

    assert not result.passed
    assert "AKIAZ3MGNRTX4QPLK2VB" not in str(result)


# Tool


@pytest.mark.parametrize(
    "name",
    [
        "execute_shell",
        "Execute-Shell",
        "executeShell",
        "ｅｘｅｃｕｔｅ_shell",
        "execute_shеll",
        "functions.execute_shell",
        "mcp__host__execute_shell",
        "delete_file",
        "eval",
        "send_money",
        "drop_table",
        "write_file",
    ],
)
def test_dangerous_tools_are_blocked_however_they_are_written(name: str) -> None:
    assert "blocklist" in (call(ToolGuard(), name, {}) or "")


def test_the_blocklist_can_be_replaced_and_extended() -> None:
    assert call(ToolGuard(blocklist=["send_email"]), "execute_shell", {}) is None
    assert call(ToolGuard(blocklist=["send_email"]), "send_email", {})
    assert call(ToolGuard(extra_blocklist=["send_email"]), "execute_shell", {})
    with pytest.raises(ValueError, match="list"):
        ToolGuard(blocklist="execute_shell")  # type: ignore[arg-type]


def test_unknown_tools_pass_only_where_they_are_allowed() -> None:
    guard = ToolGuard(allowlist=["search"], allow_unknown=False)

    assert call(guard, "search", {}) is None
    assert "allowlist" in (call(guard, "seаrch", {}) or "")
    assert "allowlist" in (call(ToolGuard(allow_unknown=False), "search", {}) or "")


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "rm -r -f /"},
        {"command": ["rm", "-rf", "/"]},
        {"program": "rm", "args": ["-rf", "/"]},
        {"x": "ls; rm -rf /"},
        {"sql": "DROP TABLE users"},
        {"query": "DELETE FROM users"},
        {"code": "__import__('os').system('id')"},
        {"path": "../../etc/passwd"},
        {"url": "http://169.254.169.254/"},
        {"deep": [{"er": "DROP TABLE users;"}]},
        {"command": "del /s /q C:\\"},
    ],
)
def test_hostile_arguments_are_blocked(arguments: dict[str, Any]) -> None:
    assert "hostile" in (call(ToolGuard(), "helper", arguments) or "")
    assert call(ToolGuard(inspect_arguments=False), "helper", arguments) is None


@pytest.mark.parametrize("key", ["command", "sql", "code"])
def test_what_is_too_large_to_parse_is_blocked(key: str) -> None:
    assert "too large" in (call(ToolGuard(), "helper", {key: "x " * 9_000}) or "")
    assert call(ToolGuard(), "helper", {"text": "x " * 9_000}) is None


def test_calls_inside_calls_are_looked_at() -> None:
    nested = {"calls": [{"tool_name": "execute_shell", "arguments": {}}]}

    assert "blocklist" in (call(ToolGuard(), "batch", nested) or "")


# Math


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": "multiply", "x": 150, "y": 10, "result": 1600}, "150 × 10 = 1500, not 1600"),
        ({"operation": "divide", "x": 1, "y": 0, "result": 0}, "1 ÷ 0 has no result, not 0"),
        ({"items": [{"price": 10, "quantity": 2}, {"price": 5}], "subtotal": 26}, "not 26"),
        (
            {"subtotal": 100, "tax": 8, "shipping": 5, "discount": 10, "total": 104},
            "100 + 8 + 5 − 10 = 103, not 104",
        ),
        ({"quantity": 3, "unit_price": 19.99, "total": 60}, "3 × 19.99 = 59.97, not 60"),
        ({"percentage": 25, "of": 500, "result": 130}, "25% of 500 = 125, not 130"),
        ({"expression": "2+2*3", "result": 9}, "2+2*3 = 8, not 9"),
        ({"original_price": 100, "discount_percent": 20, "final_price": 85}, "100 − 20% = 80, not 85"),
        ({"text": "so 1 + 2 + 3 = 7."}, "1 + 2 + 3 = 6, not 7"),
        ({"text": "1,000 + 2,500 = 3,600"}, "= 3,500, not 3,600"),
        ({"text": "25% of 500 is 130"}, "25% of 500 is 125, not 130"),
        ({"text": "2 + 2 = 4 = 5"}, "not 5"),
        (
            {"operation": "add", "x": Decimal("0.1"), "y": Decimal("0.2"), "result": Decimal("0.31")},
            "0.1 + 0.2 = 0.3, not 0.31",
        ),
    ],
)
def test_a_wrong_result_is_named_with_the_right_one(arguments: dict[str, Any], message: str) -> None:
    assert message in (call(MathGuard(), "t", arguments) or "")


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": "multiply", "x": 150, "y": 10, "result": 1500},
        {"operation": "add", "a": 0.1, "b": 0.2, "result": 0.30000000000000004},
        {"op": "/", "left": 10, "right": 3, "answer": 3.33},
        {"order_id": "ORD-123", "total": 99.99, "items": [{"name": "Widget", "price": 99.99}]},
        {"subtotal": 99.99, "tax": 8.25, "total": 108.24},
        {"items": [{"price": 10, "quantity": 2}], "total": 18, "discount": 2},
        {"operation": "delete", "x": 1, "y": 2, "result": 5},
        {"operation": "multiply", "x": True, "y": 2, "result": 5},
        {"text": "pages 10-12 is 3 pages, x = 5, width=10 height=20"},
        {"text": "10 / 3 = 3.33 and 5 - 3 = 2"},
    ],
)
def test_a_right_result_and_what_is_no_calculation_pass(arguments: dict[str, Any]) -> None:
    assert call(MathGuard(), "t", arguments) is None


def test_the_tolerance_is_relative() -> None:
    claim = {"operation": "add", "x": 100, "y": 100, "result": 201}

    assert call(MathGuard(tolerance=0.01), "t", claim) is None
    assert call(MathGuard(), "t", claim)
    with pytest.raises(ValueError, match="tolerance"):
        MathGuard(tolerance=-1)


def test_what_was_not_checked_is_said() -> None:
    assert "not checked" in MathGuard().check({"a": "b"}).message


# State

TABLE = {"pending": ["running"], "running": ["completed", "failed"], "completed": [], "failed": ["pending"]}


@pytest.mark.parametrize(
    ("arguments", "passes"),
    [
        ({"state": "pending", "new_state": "running"}, True),
        ({"state": "completed", "new_state": "pending"}, False),
        ({"state": "pending", "new_state": "completed"}, False),
        ({"state": "pending", "new_state": "Running"}, False),
        ({"state": "pending", "new_state": 5}, False),
        ({"state": "nowhere", "new_state": "running"}, False),
        ({"new_state": "running"}, False),
        ({"other": 1}, True),
        ({"address": {"state": "CA"}}, True),
    ],
)
def test_only_moves_of_the_table_pass(arguments: dict[str, Any], passes: bool) -> None:
    assert (call(StateGuard(TABLE), "move", arguments) is None) is passes


def test_what_the_caller_knows_outweighs_what_the_output_claims() -> None:
    guard = StateGuard(TABLE, current_state="completed")

    assert "claims" in (call(guard, "move", {"state": "pending", "new_state": "running"}) or "")
    assert "terminal" in (call(guard, "move", {"new_state": "pending"}) or "")
    assert blocked(StateGuard(TABLE), {"state": "running"}, {"current_state": "pending"}) is None


def test_without_a_present_only_initial_states_may_be_entered() -> None:
    guard = StateGuard(TABLE, initial="pending")

    assert call(guard, "create", {"new_state": "pending"}) is None
    assert "initial" in (call(guard, "create", {"new_state": "completed"}) or "")


@pytest.mark.parametrize("table", [{}, {"a": "bc"}, {"a": [1]}, None])
def test_a_table_with_mistakes_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="transitions"):
        StateGuard(table)


# Argument


@pytest.mark.parametrize(
    ("rule", "value", "passes"),
    [
        ({"type": "number"}, 5, True),
        ({"type": "number"}, "abc", False),
        ({"type": "number"}, True, False),
        ({"type": "number"}, float("inf"), False),
        ({"type": "integer"}, 5.5, False),
        ({"type": "number", "min": 0, "max": 10}, 10, True),
        ({"type": "number", "min": 0, "max": 10}, -1, False),
        ({"min": 0}, "5", False),
        ({"format": "email"}, "a@b.co", True),
        ({"format": "email"}, "a@b", False),
        ({"format": "url"}, "https://example.com/x", True),
        ({"format": "url"}, "javascript:alert(1)", False),
        ({"format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", True),
        ({"format": "uuid"}, "123e4567", False),
        ({"format": "date"}, "2024-02-30", False),
        ({"format": "datetime"}, "2024-02-28T10:00:00Z", True),
        ({"format": "ip"}, "10.0.0.1", True),
        ({"format": "ip"}, "10.0.0.256", False),
        ({"enum": ["a", 1]}, 1, True),
        ({"enum": ["a", 1]}, True, False),
        ({"pattern": "[A-Z]{3}"}, "ABC", True),
        ({"pattern": "[A-Z]{3}"}, "ABCD", False),
        ({"pattern": "(a+)+$"}, "a" * 5_000 + "!", False),
        ({"max_length": 3}, "abcd", False),
        ({"min_length": 2}, [1], False),
        ("string", 5, False),
        (int, 5, True),
    ],
)
def test_an_argument_follows_its_rule(rule: Any, value: Any, passes: bool) -> None:
    guard = ArgumentGuard(rules={"x": rule})

    assert guard.check({"tool_name": "t", "arguments": {"x": value}}).passed is passes


def test_missing_and_unexpected_arguments_are_named() -> None:
    rules = {"amount": {"type": "number"}, "note": {"type": "string", "required": False}}

    assert "amount is missing" in (call(ArgumentGuard(rules=rules), "t", {}) or "")
    assert call(ArgumentGuard(rules=rules), "t", {"amount": 1, "x": 2}) is None
    assert "x is not an expected" in (
        call(ArgumentGuard(rules=rules, allow_extra=False), "t", {"amount": 1, "x": 2}) or ""
    )


def test_rules_belong_to_tools_however_these_are_written() -> None:
    guard = ArgumentGuard(tools={"transfer_money": {"amount": {"type": "number", "max": 10}}})

    assert call(guard, "transferMoney", {"amount": 11})
    assert call(guard, "other", {"amount": 11}) is None


def test_a_tool_may_have_a_json_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert call(ArgumentGuard(tools={"t": schema}), "t", {"n": 1}) is None
    assert "/n" in (call(ArgumentGuard(tools={"t": schema}), "t", {"n": "x"}) or "")


@pytest.mark.parametrize(
    "rules",
    [
        {"a": {"typ": "number"}},
        {"a": {"type": "nummer"}},
        {"a": {"format": "zip"}},
        {"a": 5},
        {"a": {"min": "x"}},
        {"a": {"pattern": "("}},
    ],
)
def test_a_rule_that_is_not_understood_is_refused(rules: Any) -> None:
    with pytest.raises(ValueError, match="a"):
        ArgumentGuard(rules=rules)
    with pytest.raises(ValueError, match="needs"):
        ArgumentGuard()


@pytest.mark.parametrize(
    "arguments",
    [
        {"callback": "handleButtonClick"},
        {"server": "production"},
        {"link": "5"},
        {"url": "wss://stream.example.com"},
    ],
)
def test_a_word_or_a_number_in_a_slot_for_addresses_is_no_host(arguments: dict[str, Any]) -> None:
    assert call(ToolGuard(), "create_button", arguments) is None


@pytest.mark.parametrize(
    "arguments",
    [{"callback": "localhost:80"}, {"host": "metadata"}, {"url": "2130706433"}, {"link": "//127.1/"}],
)
def test_a_host_without_a_scheme_is_still_one(arguments: dict[str, Any]) -> None:
    assert "hostile address" in (call(ToolGuard(), "create_button", arguments) or "")
