"""AuthZEN 1.0: the tool door in other words, and never wider."""

import contextlib
import json
from pathlib import Path

import pytest
from tests.support.world import World

from qwed.domain.policy import Policy
from qwed.policy import load_policy

ONE, MANY = "/access/v1/evaluation", "/access/v1/evaluations"


def question(agent, tool, **rest):
    return {
        "subject": {"type": "agent", "id": agent["agent_id"]},
        "action": {"name": tool},
        "resource": {"type": "city", "id": "Rome"},
        **rest,
    }


def ask(world, path, body, **how):
    return world.call("POST", path, json=body, **how)


def proposed(world, agent):
    """The parameters of the newest action on record."""
    return world.activity(agent)["activities"][0]["action"]["parameters"]


def test_what_the_tool_door_approves_is_permitted_and_recorded(world):
    agent = world.register()

    answer = ask(world, ONE, question(agent, "get_weather"))

    assert (answer.status_code, answer.json()["decision"]) == (200, True)
    context = answer.json()["context"]
    assert (context["decision"], context["advisory"]) == ("APPROVED", True)
    assert "permit" not in context
    assert proposed(world, agent)["resource"] == {"type": "city", "id": "Rome"}


def test_what_is_denied_or_waits_for_a_person_is_not_permitted(world):
    supervised = world.register(type="supervised")

    unknown = ask(world, ONE, question(supervised, "no_such_tool")).json()
    waiting = ask(world, ONE, question(supervised, "send_email")).json()

    assert (unknown["decision"], unknown["context"]["decision"]) == (False, "DENIED")
    assert (waiting["decision"], waiting["context"]["decision"]) == (False, "PENDING")
    assert waiting["context"]["approval"]["status"] == "open"


@pytest.mark.parametrize("place", ["action", "resource", "subject", "context"])
def test_every_member_of_a_question_is_part_of_the_action_that_engines_judge(world, place):
    agent = world.register()
    body = question(agent, "read_database")
    body["action"]["properties"] = {"query": "SELECT 1"}
    if place == "context":
        body["context"] = {"statement": "DROP TABLE users"}
    else:
        body[place].setdefault("properties", {})["statement"] = "DROP TABLE users"

    ask(world, ONE, body)

    assert "DROP TABLE users" in str(proposed(world, agent))


def test_an_agent_that_nobody_registered_may_do_nothing(world):
    answer = ask(world, ONE, question({"agent_id": "agent_0000000000000000"}, "get_weather"))

    assert (answer.status_code, answer.json()["decision"]) == (200, False)


def test_a_question_without_a_credential_is_no_question(world):
    agent = world.register()

    assert ask(world, ONE, question(agent, "get_weather"), key=None).status_code == 401


def test_one_agent_does_not_ask_for_another(world):
    agent, other = world.register(), world.register()

    answer = ask(world, ONE, question(agent, "get_weather"), key=other["agent_token"])

    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "QWED-AGENT-002"


def test_nothing_is_permitted_without_a_context_where_the_policy_requires_one():
    with contextlib.closing(World(policy=Policy(tools_require_context=True))) as strict:
        answer = ask(strict, ONE, question(strict.register(), "get_weather"))

    assert answer.json()["decision"] is False


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"subject": None}, "subject"),
        ({"action": {}}, "action"),
        ({"resource": {"type": "city"}}, "resource"),
        ({"action": {"name": "x", "properties": {"resource": 1}}}, "action.properties.resource"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_question_that_is_none_is_a_bad_request_that_names_the_field(world, change, field):
    answer = ask(world, ONE, {**question(world.register(), "get_weather"), **change})

    assert answer.status_code == 400
    assert field in answer.json()["error"]["message"]


def many(agent, *tools, semantic=None):
    body = {**question(agent, "get_weather"), "evaluations": [{"action": {"name": tool}} for tool in tools]}
    return body if semantic is None else {**body, "options": {"evaluations_semantic": semantic}}


@pytest.mark.parametrize(
    ("semantic", "expected"),
    [
        (None, [True, False, True]),
        ("execute_all", [True, False, True]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
def test_several_questions_share_what_stands_beside_them(world, semantic, expected):
    agent = world.register()

    answer = ask(world, MANY, many(agent, "get_weather", "no_such_tool", "search_web", semantic=semantic))

    assert [one["decision"] for one in answer.json()["evaluations"]] == expected


def test_a_list_that_is_empty_is_one_question(world):
    agent = world.register()

    assert ask(world, MANY, many(agent)).json()["decision"] is True


def test_too_many_questions_and_an_unknown_semantic_are_refused(world):
    agent = world.register()

    assert ask(world, MANY, many(agent, *["get_weather"] * 65)).status_code == 400
    assert ask(world, MANY, many(agent, "get_weather", semantic="guess")).status_code == 400


def test_a_repeated_list_gets_the_recorded_answers(world):
    agent = world.register()
    body, headers = many(agent, "get_weather", "search_web"), {"Idempotency-Key": "k"}

    first = ask(world, MANY, body, headers=headers).json()

    assert ask(world, MANY, body, headers=headers).json() == first
    ids = {one["context"]["activity_id"] for one in first["evaluations"]}
    assert len(ids) == 2


def test_the_endpoints_can_be_found(world):
    told = world.call("GET", "/.well-known/authzen-configuration", key=None).json()

    assert told["access_evaluation_endpoint"] == f"{told['policy_decision_point']}{ONE}"
    assert told["access_evaluations_endpoint"] == f"{told['policy_decision_point']}{MANY}"


# --- the examples that the specification prints -----------------------------------------------------------

EXAMPLES = json.loads(Path("tests/vectors/authzen-examples.json").read_text())
PUBLISHED = [(ONE, one) for one in EXAMPLES["evaluation"]] + [(MANY, one) for one in EXAMPLES["evaluations"]]
NAMES = [one["name"] for _, one in PUBLISHED]


@pytest.mark.parametrize(("path", "example"), PUBLISHED, ids=NAMES)
def test_published_questions_about_people_are_understood_and_answered_no(world, path, example):
    answer = ask(world, path, example["request"])

    assert answer.status_code == 200
    found = [answer.json()] if path == ONE else answer.json()["evaluations"]
    assert found and not any(one["decision"] for one in found)
    assert all(one["context"]["error"]["code"] == "QWED-REQUEST-001" for one in found)


@pytest.mark.parametrize(("path", "example"), PUBLISHED, ids=NAMES)
def test_published_questions_about_an_agent_get_the_decisions_that_are_printed(path, example):
    policy = load_policy(
        "tools:\n  can_read: {group: safe}\n  can_edit: {group: safe}\n  read: {group: safe}\n"
        "rules:\n  - {id: second, when: action.parameters.resource.id == '2', then: deny}\n",
        "policy.yaml",
    )
    with contextlib.closing(World(policy=policy)) as world:
        agent = {"type": "agent", "id": world.register()["agent_id"]}
        asked = json.loads(json.dumps(example["request"]), object_hook=lambda one: about(one, agent))
        answer = ask(world, path, asked)

    assert answer.status_code == 200
    found = [answer.json()] if path == ONE else answer.json()["evaluations"]
    if "decisions" in example:
        assert [one["decision"] for one in found] == example["decisions"]
    else:
        assert len(found) == example.get("answers", 1)
        # Only the question without an action can't be answered with yes.
        assert all(one["decision"] is ("another_option" not in str(example)) for one in found)


def about(one, agent):
    return {**one, "subject": agent} if "subject" in one else one
