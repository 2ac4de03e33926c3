"""The record says what was asked, without the secrets in it: at every place a secret can stand."""

import json

import pytest
from tests.support.records import an_agent
from tests.support.world import calculate

from qwed.domain.findings import Finding, Status
from qwed.domain.json_text import Unrepresentable
from qwed.domain.risk import Risk
from qwed.gateway.kernel.masks import MAX_SHOWN, is_harmless, shown

# Made up for this test, in the shapes that real ones have.
SECRETS = {
    "agent token": "qwed_agent_" + "Zq3vT8mK1xWn5rYb7cLd9fHj2sPg4uAe6iBo0",
    "operator key": "qwed_live_" + "Zq3vT8mK1xWn5rYb7cLd9fHj2sPg4uAe6iBo0",
    "chat token": "xoxb-" + "1234567890-0987654321-ab1",
    "cloud key": "AKIA" + "Q3EGRTZ7YXWVUSPL",
    "forge token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."
    "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
}

SECRET_NAMES = (
    "password",
    "api_key",
    "db-password",
    "CLIENT_SECRET",
    "clientSecret",
    "accessToken",
    "Authorization",
    "x-api-key",
)

PLACES = {
    "query": lambda s: {"action": calculate(f"use {s} now")},
    "code": lambda s: {"action": {"type": "execute_code", "code": f"login('{s}')"}},
    "target": lambda s: {"action": {"type": "api_call", "target": f"https://x.example/?t={s}"}},
    "parameter": lambda s: {"action": calculate(parameters={"note": f"it is {s}"})},
    "nested": lambda s: {"action": calculate(parameters={"a": [{"b": [s]}]})},
    "parameter name": lambda s: {"action": calculate(parameters={s: 1})},
    "type": lambda s: {"action": {"type": s}},
    "intent": lambda s: {"action": calculate(), "context": {"user_intent": f"with {s}"}},
    "context": lambda s: {"action": calculate(), "context": {"extra": {"deep": s}}},
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("place", PLACES)
def test_no_secret_reaches_the_record_from_anywhere_in_a_request(world, place, secret):
    world.prover.find = lambda engine, action: Finding(
        Status.UNCERTAIN, Risk.LOW, engine, f"cannot decide {action.query}", {"quoted": action.to_wire()}
    )
    agent = world.register()
    body = PLACES[place](secret)
    body["context"] = {"conversation_id": "c", "step_number": 1, **body.get("context", {})}
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", json=body)
    assert answer.status_code == 200, answer.text

    assert secret not in json.dumps(world.activity(agent))
    assert secret not in world.call("GET", "/approvals").text
    world._events.flush()
    assert secret not in world.log.getvalue().decode()


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_what_is_named_a_secret_is_masked_whatever_it_looks_like(world, name):
    agent = world.register()
    world.verify(agent, calculate(parameters={"outer": {name: "hunter2-plain"}}))

    assert "hunter2-plain" not in json.dumps(world.activity(agent))


@pytest.mark.parametrize("value", [["hunter2-plain"], {"inner": "hunter2-plain"}, [["hunter2-plain"]]])
def test_a_secret_wrapped_in_a_list_or_object_is_masked_too(world, value):
    agent = world.register()
    world.verify(agent, calculate(parameters={"password": value}))

    assert "hunter2-plain" not in json.dumps(world.activity(agent))


def test_what_people_write_is_masked_as_well(world):
    secret = SECRETS["forge token"]
    agent = world.register(description=f"uses {secret}")
    done = world.verify(agent)["activity_id"]
    path = f"/agents/{agent['agent_id']}"
    world.call(
        "POST", f"{path}/activity/{done}/outcome", json={"outcome": "failure", "error": f"bad {secret}"}
    )
    world.call("POST", f"{path}/suspend", json={"reason": f"leaked {secret}"})
    world.call("POST", f"{path}/tools/get_weather", json={"justification": f"token {secret}"})

    assert secret not in json.dumps(world.activity(agent))


def test_a_harmless_request_is_recorded_word_for_word(world):
    agent = world.register()
    action = calculate("15% of 200 = 30", parameters={"unit": "EUR", "rows": [1, 2.5, None, True]})
    world.verify(agent, action)
    entry = world.decisions(agent)[0]

    assert entry["action"] == action
    assert entry["context"] == {"conversation_id": "c", "step_number": 1}


def test_a_long_text_is_cut_and_named_by_its_hash(world):
    agent = world.register()
    world.verify(agent, calculate("1 + " * 10_000 + "1"))
    recorded = world.decisions(agent)[0]["action"]["query"]

    assert len(recorded) < MAX_SHOWN + 200
    assert "40001 characters, sha256:" in recorded


def test_a_secret_across_the_cut_does_not_survive_it():
    secret = SECRETS["forge token"]
    text = "x " * ((MAX_SHOWN - 20) // 2) + secret + " y" * 100

    assert secret[:20] not in shown(text)


@pytest.mark.parametrize(
    "value",
    [Unrepresentable("NaN"), float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, [object()], b"x"],
)
def test_whatever_was_said_can_be_written_down(value):
    json.dumps(shown(value), allow_nan=False).encode("utf-8")


def test_nesting_without_end_is_cut():
    endless: list = []
    endless.append(endless)

    assert "[nested too deeply]" in json.dumps(shown(endless))


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_the_shortcut_never_calls_a_secret_harmless(secret):
    assert not is_harmless({"query": f"a {secret} b"})
    assert not is_harmless({"password": "x"})
    assert is_harmless({"type": "calculate", "query": "2+2", "id": "7f3c1f0e-8f5c-4d6b-9a53-0d1f1f0a3a11"})


def test_a_status_or_a_struct_is_written_as_its_value_and_its_members():
    agent = an_agent()

    assert shown({"type": agent.type, "permissions": agent.permissions}) == {
        "type": "autonomous",
        "permissions": {"allowed_engines": ["math", "logic"], "allowed_tools": [], "blocked_tools": []},
    }


def test_a_registration_is_recorded_in_full(world):
    agent = world.register(permissions={"blocked_tools": ["send_money"]}, budget={"max_requests_per_day": 7})
    said = world.activity(agent)["activities"][0]["action"]["parameters"]

    assert (said["type"], said["status"]) == ("autonomous", "active")
    assert said["permissions"]["blocked_tools"] == ["send_money"]
    assert said["budget"]["max_requests_per_day"] == 7
