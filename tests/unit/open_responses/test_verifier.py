"""The verifier: everything runs, anything unclear blocks, nothing raises."""

import logging
import threading
from datetime import UTC
from typing import Any

import pytest

from qwed_open_responses import BaseGuard, GuardResult, ResponseVerifier
from qwed_open_responses.guards import MathGuard, SafetyGuard, SchemaGuard, ToolGuard


class Passing(BaseGuard):
    def check(self, response: Any, context: Any = None) -> GuardResult:
        return self.pass_result("fine")


class Failing(BaseGuard):
    name = "Failing"

    def check(self, response: Any, context: Any = None) -> GuardResult:
        return self.fail_result("not fine", {"why": "because"})


class Warning_(BaseGuard):
    name = "Warning"

    def check(self, response: Any, context: Any = None) -> GuardResult:
        return self.warn_result("doubtful")


class Crashing(BaseGuard):
    def check(self, response: Any, context: Any = None) -> GuardResult:
        raise RecursionError("deep")


class Silent(BaseGuard):
    def check(self, response: Any, context: Any = None) -> Any:
        return None


class Async(BaseGuard):
    async def check(self, response: Any, context: Any = None) -> Any:  # type: ignore[override]
        return self.pass_result()


def test_no_guards_block_and_say_so() -> None:
    result = ResponseVerifier().verify({"a": 1})

    assert not result
    assert not result.verified
    assert "no guards" in (result.block_reason or "")
    assert result.guard_results == []


def test_an_empty_list_of_guards_for_a_call_does_not_fall_back() -> None:
    assert not ResponseVerifier([Passing()]).verify({"a": 1}, guards=[]).verified


def test_every_guard_runs_and_the_first_failure_gives_the_reason() -> None:
    result = ResponseVerifier([Passing(), Failing(), Crashing()]).verify("text")

    assert result.failed_guard == "Failing"
    assert result.block_reason == "not fine"
    assert result.guards_passed == ["Passing"]
    assert result.guards_failed == ["Failing", "Crashing"]
    assert result.guard_results[1].details == {"why": "because"}


@pytest.mark.parametrize("guard", [Crashing(), Silent(), Async()])
def test_a_guard_that_does_not_answer_blocks_by_its_name(guard: BaseGuard) -> None:
    result = ResponseVerifier([guard]).verify("text")

    assert not result.verified
    assert result.failed_guard == type(guard).__name__


def test_a_warning_blocks_only_where_strict() -> None:
    assert not ResponseVerifier([Warning_()], strict=True).verify("text").verified
    assert ResponseVerifier([Warning_()], strict=False).verify("text").verified
    assert not ResponseVerifier([Failing()], strict=False).verify("text").verified


def test_strictness_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWED_OR_STRICT", "false")

    assert ResponseVerifier([Warning_()]).verify("text").verified
    assert not ResponseVerifier([Warning_()], strict=True).verify("text").verified


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QWED_OR_STRICT", "perhaps"),
        ("QWED_OR_MAX_BUDGET", "lots"),
        ("QWED_OR_MAX_BUDGET", "-1"),
        ("QWED_OR_MAX_BUDGET", "nan"),
        ("QWED_OR_LOG_LEVEL", "LOUD"),
    ],
)
def test_a_setting_that_can_not_be_read_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ValueError, match=name):
        ResponseVerifier()


def test_the_log_level_is_the_packages_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = logging.getLogger().level
    monkeypatch.setenv("QWED_OR_LOG_LEVEL", "ERROR")

    ResponseVerifier()

    assert logging.getLogger("qwed_open_responses").level == logging.ERROR
    assert logging.getLogger().level == before
    monkeypatch.setenv("QWED_OR_LOG_LEVEL", "INFO")
    ResponseVerifier()


def test_the_result_carries_what_was_asked() -> None:
    arguments = {"operation": "multiply", "x": 150, "y": 10, "result": 1500}
    result = ResponseVerifier().verify_tool_call(
        "calculator", arguments, guards=[ToolGuard(), MathGuard(), SafetyGuard()]
    )

    assert result.verified
    assert result.tool_name == "calculator"
    assert result.arguments == arguments
    assert result.timestamp.tzinfo is UTC
    assert result.to_dict()["guards_passed"] == ["ToolGuard", "MathGuard", "SafetyGuard"]


def test_arguments_given_as_json_are_handed_back_parsed() -> None:
    result = ResponseVerifier([Passing()]).verify_tool_call("t", '{"x": 0.1}')

    assert result.arguments == {"x": 0.1}


@pytest.mark.parametrize(
    "arguments", ['{"x": ', "[1]", "nope", "5", '{"a": 1, "a": 2}', '{"a": NaN}', [1], 5, object()]
)
def test_arguments_that_do_not_parse_block(arguments: Any) -> None:
    result = ResponseVerifier([Passing()]).verify_tool_call("t", arguments)

    assert not result.verified
    assert "arguments" in (result.block_reason or "")


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_a_call_without_a_name_blocks(name: Any) -> None:
    assert not ResponseVerifier([Passing()]).verify_tool_call(name, {}).verified


def test_a_schema_for_one_call_is_added_to_the_guards() -> None:
    verifier = ResponseVerifier([Passing()])

    assert verifier.verify_structured_output({"a": 1}, schema={"required": ["a"]}).verified
    assert not verifier.verify_structured_output({}, schema={"required": ["a"]}).verified


def test_a_guard_may_read_the_view_like_the_response() -> None:
    seen: list[Any] = []

    class Reading(BaseGuard):
        def check(self, response: Any, context: Any = None) -> GuardResult:
            seen.extend([response["tool_name"], response.get("arguments"), context])
            return self.pass_result()

    ResponseVerifier([Reading()]).verify_tool_call("t", {"a": 1}, context={"k": "v"})

    assert seen == ["t", {"a": 1}, {"k": "v"}]


def test_one_verifier_serves_many_threads() -> None:
    verifier = ResponseVerifier(
        [SchemaGuard(schema={"type": "object"}), ToolGuard(), SafetyGuard(max_calls=None)]
    )
    wrong: list[int] = []

    def work(number: int) -> None:
        for index in range(30):
            hostile = (number + index) % 2
            text = "'; DROP TABLE users; --" if hostile else f"row {index}"
            if verifier.verify_tool_call("t", {"text": text}).verified is bool(hostile):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
