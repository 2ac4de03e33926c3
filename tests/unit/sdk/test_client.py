"""Nothing that goes wrong between the client and the gateway reads as an approval."""

import json
from collections.abc import Callable

import httpx2
import pytest
from tests.support.named_answers import naming

from qwed_sdk import GatewayUnavailable, QWEDClient, RateLimited, RequestRefused

ACTION = {"type": "calculate", "query": "1+1"}
CONTEXT = {"conversation_id": "c", "step_number": 1}


def client(handler: Callable[[httpx2.Request], httpx2.Response], tries: int = 3) -> QWEDClient:
    made = QWEDClient("key", "http://gateway.test", max_tries=tries, transport=naming(handler))
    object.__setattr__(made._connection, "backoff_seconds", 0.001)
    return made


@pytest.mark.parametrize(
    "response",
    [
        httpx2.Response(200, text="APPROVED"),
        httpx2.Response(200, json=["APPROVED"]),
        httpx2.Response(200, json={}),
        httpx2.Response(200, json={"decision": "approved"}),
        httpx2.Response(200, json={"decision": True}),
        httpx2.Response(200, json={"decision": "MAYBE"}),
        httpx2.Response(200, json={"decision": ["APPROVED"]}),
        httpx2.Response(200, json={"decision": "APPROVED", "error": {"code": "X", "message": "no"}}),
        httpx2.Response(200, json={"decision": "DENIED", "approved": True}),
        httpx2.Response(200, json={"decision": "APPROVED", "approved": "true"}),
        httpx2.Response(200, html='{"decision": "APPROVED"}'),
        httpx2.Response(200, content=b'{"decision": "DENIED", "decision": "APPROVED"}'),
        httpx2.Response(200, content='{"decision": "APPROVED"}'.encode("utf-16")),
        httpx2.Response(500, json={"decision": "APPROVED"}),
        httpx2.Response(500, text="<html>"),
        httpx2.Response(302, headers={"location": "http://elsewhere.test/"}, text=""),
        httpx2.Response(503, json={"error": {"code": "QWED-STORE-001", "message": "no"}}),
    ],
)
def test_an_answer_that_is_no_decision_is_a_gateway_that_is_unavailable(response: httpx2.Response) -> None:
    with client(lambda _: response) as qwed, pytest.raises(GatewayUnavailable):
        qwed.verify_action("agent_1", ACTION, CONTEXT)


def test_a_gateway_that_is_down_is_tried_again_and_then_given_up() -> None:
    seen = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.headers["idempotency-key"])
        raise httpx2.ConnectError("refused")

    with client(refuse) as qwed, pytest.raises(GatewayUnavailable, match="no answer"):
        qwed.verify_action("agent_1", ACTION, CONTEXT)

    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    keys = []

    def flaky(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx2.ReadTimeout("lost")
        return httpx2.Response(200, json={"decision": "APPROVED", "activity_id": "act_1"})

    with client(flaky) as qwed:
        decision = qwed.verify_action("agent_1", ACTION, CONTEXT)

    assert decision["decision"] == "APPROVED"
    assert keys[0] == keys[1]


def test_a_lost_answer_about_a_tool_is_asked_for_again_under_the_same_key() -> None:
    keys = []

    def flaky(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx2.ReadTimeout("lost")
        return httpx2.Response(200, json={"decision": "APPROVED", "approved": True, "activity_id": "act_1"})

    with client(flaky) as qwed:
        answer = qwed.verify_tool("agent_1", "get_weather", context=CONTEXT)

    assert answer.approved
    assert keys[0] == keys[1]


def test_every_verification_has_a_key_of_its_own() -> None:
    keys = []

    def approve(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["idempotency-key"])
        return httpx2.Response(200, json={"decision": "APPROVED", "activity_id": "act_1"})

    with client(approve) as qwed:
        qwed.verify_action("agent_1", ACTION, CONTEXT)
        qwed.verify_action("agent_1", ACTION, CONTEXT)

    assert keys[0] != keys[1]


@pytest.mark.parametrize("status", [200, 401, 403, 404, 429])
def test_any_body_with_a_denial_is_returned_whatever_its_status(status: int) -> None:
    body = {"decision": "DENIED", "error": {"code": "QWED-AGENT-003", "message": "suspended"}}

    with client(lambda _: httpx2.Response(status, json=body)) as qwed:
        decision = qwed.verify_action("agent_1", ACTION, CONTEXT)

    assert not decision.may_act
    assert decision.code == "QWED-AGENT-003"


def test_an_error_without_a_decision_is_raised_with_its_code() -> None:
    body = {"error": {"code": "QWED-REQUEST-001", "message": "action.type: is missing"}}

    with (
        client(lambda _: httpx2.Response(422, json=body)) as qwed,
        pytest.raises(RequestRefused, match="QWED-REQUEST-001") as raised,
    ):
        qwed.verify_action("agent_1", {}, CONTEXT)

    assert raised.value.status == 422


def test_a_lost_answer_to_a_registration_is_asked_for_again_under_the_same_key() -> None:
    sent = []

    def lose(request: httpx2.Request) -> httpx2.Response:
        sent.append((request.headers["idempotency-key"], json.loads(request.content)))
        raise httpx2.ReadTimeout("lost")

    with client(lose) as qwed, pytest.raises(GatewayUnavailable):
        qwed.register_agent("a", principal_id="p")

    assert sent == [sent[0]] * 3


def test_a_vote_is_never_sent_twice() -> None:
    sent = []

    def lose(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        raise httpx2.ReadTimeout("lost")

    with client(lose) as qwed, pytest.raises(GatewayUnavailable):
        qwed.approve("apr_1")

    assert len(sent) == 1


def test_an_agents_own_requests_carry_its_token_and_the_rest_the_key() -> None:
    used = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        used.append(request.headers["authorization"])
        if request.url.path == "/agents/register":
            return httpx2.Response(201, json={"agent_id": "agent_1", "agent_token": "qwed_agent_t"})
        return httpx2.Response(200, json={"decision": "APPROVED", "activity_id": "act_1", "approvals": []})

    with client(answer) as qwed:
        qwed.register_agent("a", principal_id="p")
        qwed.verify_action("agent_1", ACTION, CONTEXT)
        qwed.verify_action("agent_2", ACTION, CONTEXT, agent_token="qwed_agent_given")
        qwed.approvals()

    assert used == ["Bearer key", "Bearer qwed_agent_t", "Bearer qwed_agent_given", "Bearer key"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "a%2Fb", "a?x", "a b", "é"])
def test_a_name_that_could_change_the_path_is_refused(name: str) -> None:
    with (
        client(lambda _: httpx2.Response(200, json={})) as qwed,
        pytest.raises(ValueError, match="identifier"),
    ):
        qwed.get_agent(name)


def test_secrets_stay_out_of_repr() -> None:
    with client(lambda _: httpx2.Response(200, json={})) as qwed:
        shown = repr(qwed) + repr(qwed._connection)

    assert "key" not in shown


def test_importing_the_sdk_loads_no_http_client() -> None:
    import subprocess
    import sys

    code = "import sys, qwed_sdk; print('httpx2' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("header", "seconds"), [("90", 90.0), (None, None), ("soon", None), ("-1", None), ("\u0663", None)]
)
def test_too_many_refusals_are_an_error_that_says_how_long_to_wait(header, seconds) -> None:
    error = {"code": "QWED-RATE-001", "message": "too often", "details": {"refused_by": "QWED-AGENT-CTX-001"}}
    asked = []

    def limited(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        headers = {} if header is None else {"Retry-After": header.encode()}
        return httpx2.Response(429, json={"error": error}, headers=headers)

    with client(limited) as qwed, pytest.raises(RateLimited) as raised:
        qwed.verify_action("agent_1", ACTION, CONTEXT)

    assert raised.value.retry_after == seconds
    assert raised.value.code == "QWED-RATE-001"
    assert raised.value.details == error["details"]
    assert len(asked) == 1
