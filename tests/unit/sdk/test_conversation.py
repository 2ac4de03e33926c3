"""How a conversation counts, when answers get lost and when others count too."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from tests.support.named_answers import naming

from qwed_sdk import ActionDenied, AsyncQWEDClient, GatewayUnavailable, QWEDClient

ACTION = {"type": "calculate", "query": "1+1"}
OTHER = {"type": "calculate", "query": "2+2"}
APPROVED = {"decision": "APPROVED", "activity_id": "act_1"}
REPLAYED = {"decision": "DENIED", "error": {"code": "QWED-AGENT-LOOP-002", "message": "replayed"}}


class Script:
    """A gateway that answers from a list, and remembers what it was asked."""

    def __init__(self, *answers: Any, activities: list[dict[str, Any]] | None = None) -> None:
        self.answers = list(answers)
        self.activities = activities or []
        self.asked: list[tuple[int, str]] = []
        self.outcomes: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/activity"):
            return httpx2.Response(200, json={"activities": self.activities})
        if request.url.path.endswith("/outcome"):
            self.outcomes.append(json.loads(request.content))
            return httpx2.Response(200, json={"outcome": "success"})
        body = json.loads(request.content)
        self.asked.append((body["context"]["step_number"], request.headers["idempotency-key"]))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return httpx2.Response(200, json=answer)

    @property
    def steps(self) -> list[int]:
        return [step for step, _ in self.asked]


def client(script: Callable[[httpx2.Request], httpx2.Response]) -> QWEDClient:
    return QWEDClient("key", "http://gateway.test", max_tries=1, transport=naming(script))


def entry(step: int, decision: str = "APPROVED") -> dict[str, Any]:
    return {"decision": decision, "context": {"step_number": step}}


def test_only_what_was_committed_uses_a_number_up() -> None:
    denied = {"decision": "DENIED", "error": {"code": "QWED-AGENT-005", "message": "no"}}
    pending = {"decision": "PENDING", "activity_id": "act_2", "approval": {"id": "apr_1"}}
    script = Script(APPROVED, denied, pending, APPROVED)
    with client(script) as qwed:
        conversation = qwed.conversation("agent_1")
        for _ in range(4):
            conversation.verify(ACTION)

    assert script.steps == [1, 2, 2, 3]


def test_the_same_action_after_a_lost_answer_asks_for_that_answer() -> None:
    script = Script(httpx2.ReadTimeout("lost"), APPROVED)
    with client(script) as qwed:
        conversation = qwed.conversation("agent_1")
        with pytest.raises(GatewayUnavailable):
            conversation.verify(ACTION)
        conversation.verify(ACTION)

    assert script.asked[0] == script.asked[1]


def test_another_action_after_a_lost_answer_finds_the_count_in_the_record() -> None:
    script = Script(httpx2.ReadTimeout("lost"), REPLAYED, APPROVED, activities=[entry(1)])
    with client(script) as qwed:
        conversation = qwed.conversation("agent_1")
        with pytest.raises(GatewayUnavailable):
            conversation.verify(ACTION)
        decision = conversation.verify(OTHER)

    assert decision.may_act
    assert script.steps == [1, 1, 2]
    assert len({key for _, key in script.asked}) == 3


def test_a_conversation_taken_up_again_goes_on_counting() -> None:
    record = [entry(9, "DENIED"), entry(3, "APPROVED"), entry(7, "PENDING"), entry(6, "CORRECTED")]
    script = Script(REPLAYED, APPROVED, APPROVED, activities=record)
    with client(script) as qwed:
        conversation = qwed.conversation("agent_1", "taken-up")
        conversation.verify(ACTION)
        conversation.verify(OTHER)

    assert script.steps == [1, 8, 9]


def test_a_replay_that_nothing_explains_is_given_back_in_the_end() -> None:
    script = Script(*[REPLAYED] * 10)
    with client(script) as qwed:
        decision = qwed.conversation("agent_1").verify(ACTION)

    assert decision.code == "QWED-AGENT-LOOP-002"
    assert len(script.asked) == 5


def test_a_denied_block_does_not_run_and_reports_nothing() -> None:
    script = Script(REPLAYED | {"error": {"code": "QWED-AGENT-005", "message": "no"}})
    with client(script) as qwed, pytest.raises(ActionDenied), qwed.conversation("agent_1").action(ACTION):
        pytest.fail("a denied action ran")

    assert script.outcomes == []


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ValueError("x"), "failure"), (TimeoutError("x"), "unknown"), (KeyboardInterrupt(), "unknown")],
    ids=["error", "timeout", "interrupt"],
)
def test_how_a_block_ends_is_its_outcome(error: BaseException, outcome: str) -> None:
    script = Script(APPROVED)
    with client(script) as qwed, pytest.raises(type(error)), qwed.conversation("agent_1").action(ACTION):
        raise error

    assert [report["outcome"] for report in script.outcomes] == [outcome]


def test_a_report_that_fails_does_not_look_like_a_failed_action(caplog: pytest.LogCaptureFixture) -> None:
    def approve_only(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/outcome"):
            raise httpx2.ConnectError("gone")
        return httpx2.Response(200, json=APPROVED)

    ran = []
    with (
        client(approve_only) as qwed,
        caplog.at_level(logging.WARNING, "qwed_sdk"),
        qwed.conversation("agent_1").action(ACTION),
    ):
        ran.append(1)

    assert ran == [1]
    assert "could not be reported" in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "CORRECTED"},
        {"decision": "CORRECTED", "corrected_action": "SELECT 1"},
        {"decision": "PENDING", "approval": "apr_1"},
        {"decision": "PENDING", "approval": {}},
        {"decision": "DENIED", "error": "no"},
        {"decision": "APPROVED", "activity_id": 5},
    ],
    ids=["no-correction", "text-correction", "text-approval", "empty-approval", "text-error", "number-id"],
)
def test_half_an_answer_is_no_answer(answer: dict[str, Any]) -> None:
    with client(Script(answer)) as qwed, pytest.raises(GatewayUnavailable):
        qwed.conversation("agent_1").verify(ACTION)


def test_actions_at_the_same_time_take_turns_under_asyncio() -> None:
    script = Script(APPROVED, APPROVED, APPROVED)

    async def scenario() -> None:
        transport = naming(script)
        async with AsyncQWEDClient("key", "http://gateway.test", transport=transport) as qwed:
            conversation = qwed.conversation("agent_1", agent_token="qwed_agent_t")

            async def act() -> None:
                async with conversation.action(ACTION):
                    await asyncio.sleep(0)

            await asyncio.gather(act(), act(), act())

    asyncio.run(scenario())

    assert script.steps == [1, 2, 3]
    assert [report["outcome"] for report in script.outcomes] == ["success"] * 3
