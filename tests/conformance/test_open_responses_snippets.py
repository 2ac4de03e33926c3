"""The snippets of the Open Responses document that need no framework, as printed, indented again."""

import textwrap
from typing import Any

import pytest

QUICK_START = """
from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import ToolGuard, MathGuard, SafetyGuard

verifier = ResponseVerifier()

# Verify a tool call before execution
result = verifier.verify_tool_call(
    tool_name="calculator",
    arguments={
        "operation": "multiply",
        "x": 150,
        "y": 10,
        "result": 1500  # Correct!
    },
    guards=[ToolGuard(), MathGuard(), SafetyGuard()]
)

if result.verified:
    print("✅ Safe to execute")
    execute_tool(result.tool_name, result.arguments)
else:
    print(f"❌ Blocked: {result.block_reason}")
    print(f"   Failed guard: {result.failed_guard}")
"""
STRUCTURED = """
from qwed_open_responses.guards import SchemaGuard

# Define expected schema
order_schema = {
    "type": "object",
    "required": ["order_id", "total", "items"],
    "properties": {
        "order_id": {"type": "string"},
        "total": {"type": "number", "minimum": 0},
        "items": {"type": "array", "minItems": 1}
    }
}

result = verifier.verify_structured_output(
    output={
        "order_id": "ORD-123",
        "total": 99.99,
        "items": [{"name": "Widget", "price": 99.99}]
    },
    guards=[SchemaGuard(schema=order_schema)]
)
"""
STREAMING = """
import asyncio
from qwed_open_responses.middleware.streaming_interceptor import OpenResponsesMiddleware
from qwed_open_responses.guards import ToolGuard, SafetyGuard

middleware = OpenResponsesMiddleware(
    guards=[ToolGuard(), SafetyGuard()],
    block_on_failure=True,  # Replace blocked items with system_intervention
    on_blocked=my_callback,  # Optional callback when an item is blocked
)

async def main():
    # Wrap any async stream of Open Responses items
    async for item in middleware.verify_stream(response_stream):
        process(item)

    # Check runtime stats
    print(middleware.get_stats())

asyncio.run(main())
"""
CUSTOM = """
from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import ToolGuard, SafetyGuard

# Custom tool blocklist
tool_guard = ToolGuard(
    blocklist=["execute_shell", "delete_database", "send_email"],
    allow_unknown=False  # Block tools not in whitelist
)

# Custom safety settings
safety_guard = SafetyGuard(
    block_pii=True,
    block_injection=True,
    max_budget=50.0,  # $50 limit
    harmful_patterns=["password", "secret", "token"]
)

verifier = ResponseVerifier(guards=[tool_guard, safety_guard])
"""


def run(snippet: str, **scope: Any) -> dict[str, Any]:
    exec(compile(textwrap.dedent(snippet), "document", "exec"), scope)
    return scope


def test_the_quick_start(capsys: pytest.CaptureFixture[str]) -> None:
    executed: list[Any] = []
    run(QUICK_START, execute_tool=lambda name, arguments: executed.append((name, arguments["result"])))

    assert executed == [("calculator", 1500)]
    assert capsys.readouterr().out == "✅ Safe to execute\n"


def test_the_quick_start_with_the_wrong_result(capsys: pytest.CaptureFixture[str]) -> None:
    run(QUICK_START.replace('"result": 1500', '"result": 1600'))

    assert capsys.readouterr().out == "❌ Blocked: 150 × 10 = 1500, not 1600\n   Failed guard: MathGuard\n"


def test_structured_output() -> None:
    from qwed_open_responses import ResponseVerifier

    scope = run(STRUCTURED, verifier=ResponseVerifier())
    missing = scope["verifier"].verify_structured_output(
        {}, guards=[scope["SchemaGuard"](schema=scope["order_schema"])]
    )

    assert scope["result"].verified
    assert "order_id" in (missing.block_reason or "")


def test_streaming(capsys: pytest.CaptureFixture[str]) -> None:
    async def stream() -> Any:
        for _ in range(10):
            yield {"type": "tool_call", "name": "search", "arguments": {"q": "tea"}}
        for _ in range(2):
            yield {"type": "tool_call", "tool_call": {"name": "execute_shell", "arguments": {}}}

    seen: list[Any] = []
    told: list[Any] = []
    run(STREAMING, response_stream=stream(), process=seen.append, my_callback=lambda *args: told.append(args))

    assert capsys.readouterr().out == "{'total': 12, 'verified': 10, 'blocked': 2}\n"
    assert [item["type"] for item in seen[-2:]] == ["system_intervention"] * 2
    assert len(told) == 2


def test_custom_configuration() -> None:
    verifier = run(CUSTOM)["verifier"]

    assert not verifier.verify_tool_call("send_email", {}).verified
    assert not verifier.verify_tool_call("search", {}).verified


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("run", {"command": "rm -rf /"}),
        ("query", {"sql": "SELECT * FROM users WHERE id = 1 OR 1=1"}),
        ("say", {"text": "SSN 536-22-8714"}),
    ],
)
def test_the_documents_threats_are_blocked(tool: str, arguments: dict[str, str]) -> None:
    from qwed_open_responses import ResponseVerifier
    from qwed_open_responses.guards import MathGuard, SafetyGuard, ToolGuard

    guards = [ToolGuard(), MathGuard(), SafetyGuard()]

    assert not ResponseVerifier().verify_tool_call(tool, arguments, guards=guards).verified
