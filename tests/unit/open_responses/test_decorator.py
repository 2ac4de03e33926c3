"""Guards around functions, from policy files, and on the command line."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qwed.cli.guard import guard as cli
from qwed_open_responses import PolicyError, ResponseVerifier, ToolCallBlocked, guarded
from qwed_open_responses.guards import ArgumentGuard, SafetyGuard, ToolGuard

BAD = "'; DROP TABLE users; --"


def test_a_guarded_function_runs_only_with_verified_arguments() -> None:
    made: list[str] = []

    @guarded(guards=[ToolGuard(), SafetyGuard()])
    def note(text: str, *, tags: tuple[str, ...] = ()) -> int:
        """Keep a note."""
        made.append(text)
        return len(text)

    assert note("hello") == 5
    with pytest.raises(ToolCallBlocked, match="QWED blocked note") as raised:
        note(BAD)
    with pytest.raises(ToolCallBlocked):
        note("fine", tags=(BAD,))
    assert made == ["hello"]
    assert raised.value.result.failed_guard == "SafetyGuard"
    assert note.__doc__ == "Keep a note."


def test_an_async_function_is_guarded_too() -> None:
    made: list[str] = []

    @guarded(guards=[SafetyGuard()])
    async def note(text: str) -> None:
        made.append(text)

    asyncio.run(note("hello"))
    with pytest.raises(ToolCallBlocked):
        asyncio.run(note(BAD))
    assert made == ["hello"]


def test_methods_and_keyword_arguments_are_seen_by_name() -> None:
    class Desk:
        @guarded(guards=[ArgumentGuard(rules={"amount": {"type": "number", "max": 10}})])
        def pay(self, amount: int, **extra: Any) -> int:
            return amount

    assert Desk().pay(10, note="x") == 10
    with pytest.raises(ToolCallBlocked):
        Desk().pay(11)


def test_no_guards_block_the_function() -> None:
    @guarded(guards=[])
    def note() -> None:
        raise AssertionError("must not run")

    with pytest.raises(ToolCallBlocked, match="no guards"):
        note()


POLICY = """
strict: true
guards:
  - tool: {extra_blocklist: [send_email]}
  - safety: {max_budget: 50.0, pii_allow: [phone]}
  - math
  - argument: {tools: {pay_bill: {amount: {type: number, max: 100}}}}
  - state: {transitions: {open: [closed], closed: []}}
  - schema: {schema: {type: object}}
"""


@pytest.mark.parametrize("name", ["qwed.yaml", "qwed.json"])
def test_guards_are_declared_as_data(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".json"):
        path.write_text(json.dumps({"guards": ["math", {"tool": {"extra_blocklist": ["send_email"]}}]}))
    else:
        path.write_text(POLICY)
    verifier = ResponseVerifier.from_policy(path)

    assert not verifier.verify_tool_call("send_email", {}).verified
    assert verifier.verify_tool_call("search", {"q": "tea"}).verified


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("guards: []", "nothing would be checked"),
        ("other: 1", "guards"),
        ("guards: [magic]", "unknown guard"),
        ("guards: [{tool: {blocklst: []}}]", "blocklst"),
        ("guards: [{tool: 5}]", "options"),
        ("guards: [{schema: {schema: {type: nonsense}}}]", "schema"),
        ("guards: [math, math2: {}]", "unknown guard"),
        ("guards:\n  - math\nguards:\n  - tool", "guards"),
        ("strict: perhaps\nguards: [math]", "strict"),
        ("[", "qwed.yaml"),
    ],
)
def test_a_policy_with_a_mistake_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "qwed.yaml"
    path.write_text(text)

    with pytest.raises(PolicyError, match=says):
        ResponseVerifier.from_policy(path)


def test_a_policy_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="can't be read"):
        ResponseVerifier.from_policy(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "options", "code", "says"),
    [
        ('{"tool_name": "search", "arguments": {"q": "tea"}}', [], 0, "verified: search"),
        ('{"tool_name": "execute_shell", "arguments": {}}', [], 1, "blocked: execute_shell"),
        ('{"tool_name": "execute_shell", "arguments": {}}', ["--json"], 1, '"failed_guard": "ToolGuard"'),
        ("", [], 1, "blocked"),
        ("not json", [], 1, "blocked"),
        ("just text", ["--text"], 0, "verified"),
        ("my SSN is 536-22-8714", ["--text"], 1, "us_ssn"),
        ("{}", ["--policy", "missing.yaml"], 1, "can't be read"),
    ],
)
def test_the_command_prints_the_verdict_and_exits_with_it(
    text: str, options: list[str], code: int, says: str
) -> None:
    result = CliRunner().invoke(cli, ["check", *options], input=text)

    assert result.exit_code == code
    assert says in result.output


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = {
        *("qwed.gateway", "qwed.stores", "qwed.http", "sqlglot", "z3", "sympy", "re2", "jsonschema_rs"),
        *("phonenumbers", "tree_sitter", "starlette", "openai", "langchain_core", "llama_index", "agents"),
    }
    code = (
        "import sys, qwed_open_responses.guards.tool, qwed_open_responses.guards.safety;"
        f"print([name for name in {sorted(heavy)!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "[]"
