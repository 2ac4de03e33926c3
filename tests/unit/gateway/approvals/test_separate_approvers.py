"""Who has seen an agent's token does not answer that agent's approvals, as `approvals.separate` says."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.agents import Agent
from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules, Policy, Separate
from qwed.gateway.kernel.coroutines import run

MAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}
ALL = {"scopes": ["verify", "register", "read", "approve", "trust"]}


def separating(rule: Separate, **more: Any) -> Policy:
    return msgspec.structs.replace(DEFAULT_POLICY, approvals=ApprovalRules(separate=rule, **more))


@pytest.fixture(params=list(Separate))
def any_world(request: pytest.FixtureRequest) -> Iterator[World]:
    world = World(policy=separating(request.param))
    yield world
    world.close()


@pytest.fixture
def strict() -> Iterator[World]:
    world = World(policy=separating(Separate.ALWAYS))
    yield world
    world.close()


def mails(world: World, agent: dict[str, Any], step: int = 1, **more: Any) -> str:
    """The approval that the agent's own mail waits for."""
    answer = world.verify(agent, MAIL, step, key=agent["agent_token"], **more)
    assert answer["decision"] == "PENDING", answer
    return answer["approval"]["id"]


def answers(world: World, key: str, approval_id: str, *, word: str = "approve") -> tuple[int, str]:
    response = world.call("POST", f"/approvals/{approval_id}/{word}", key=key, json={})
    body = response.json()
    return response.status_code, body["error"]["message"] if "error" in body else body["status"]


@pytest.mark.parametrize("word", ["approve", "deny"])
def test_the_key_that_registered_an_agent_leaves_its_approvals_to_another_key(world: World, word: str):
    registrar, other = world.principal_key(**ALL), world.principal_key(scopes=["approve", "read"])
    agent = world.register(key=registrar, type="supervised")
    approval = mails(world, agent)

    status, message = answers(world, registrar, approval, word=word)
    assert status == 403
    assert "registered the agent or rotated its token" in message
    assert answers(world, other, approval, word=word)[0] == 200


def test_the_key_that_rotated_a_token_leaves_the_approvals_to_another_key(world: World):
    registrar, rotator, third = (world.principal_key(**ALL) for _ in range(3))
    agent = world.register(key=registrar, type="supervised")
    rotated = world.call("POST", f"/agents/{agent['agent_id']}/rotate-token", key=rotator, json={}).json()
    approval = mails(world, {**agent, "agent_token": rotated["agent_token"]})

    assert answers(world, rotator, approval)[0] == 403
    assert answers(world, registrar, approval)[0] == 403
    assert answers(world, third, approval) == (200, "approved")


def test_an_operator_who_registered_the_agent_leaves_its_approvals_to_the_principal(world: World):
    agent = world.register(type="supervised")
    approval = mails(world, agent)
    assert answers(world, OPERATOR_KEY, approval) == (200, "approved")

    world.principal_key(scopes=["approve"])
    assert answers(world, OPERATOR_KEY, mails(world, agent, 2, conversation="d"))[0] == 403


def test_a_request_for_trust_is_answered_by_another_key_too(world: World):
    registrar, other = world.principal_key(**ALL), world.principal_key(scopes=["approve"])
    agent = world.register(key=registrar, type="supervised")
    asked = world.call(
        "POST",
        f"/agents/{agent['agent_id']}/trust",
        key=agent["agent_token"],
        json={"request": "trust_elevation", "from_level": 1, "to_level": 2, "justification": "busy"},
    ).json()
    assert answers(world, registrar, asked["approval"]["id"])[0] == 403
    assert answers(world, other, asked["approval"]["id"]) == (200, "approved")


def other_keys_that_cannot_answer(world: World) -> None:
    world.principal_key(scopes=["read", "register"])
    world.principal_key("elsewhere", scopes=["approve"])
    gone = world.call("POST", "/keys", json={"principal_id": "acme", "scopes": ["approve"]}).json()
    world.call("DELETE", f"/keys/{gone['key_id']}")


def test_a_key_that_is_alone_answers_where_separation_is_only_wished_for(world: World):
    registrar = world.principal_key(**ALL)
    other_keys_that_cannot_answer(world)
    agent = world.register(key=registrar, type="supervised")
    assert answers(world, registrar, mails(world, agent)) == (200, "approved")


def test_a_key_that_is_alone_does_not_answer_where_separation_always_holds(strict: World):
    registrar = strict.principal_key(**ALL)
    agent = strict.register(key=registrar, type="supervised")
    approval = mails(strict, agent)
    assert answers(strict, registrar, approval)[0] == 403
    assert answers(strict, OPERATOR_KEY, approval) == (200, "approved")


def test_switched_off_the_registrar_answers(any_world: World):
    registrar, _ = any_world.principal_key(**ALL), any_world.principal_key(scopes=["approve"])
    agent = any_world.register(key=registrar, type="supervised")
    is_off = any_world.services.policy.approvals.separate is Separate.OFF
    assert answers(any_world, registrar, mails(any_world, agent))[0] == (200 if is_off else 403)


def test_a_key_without_the_role_makes_nothing_possible():
    world = World(policy=separating(Separate.WHEN_POSSIBLE, role="lead"))
    registrar = world.principal_key(**ALL, roles=["lead"])
    world.principal_key(scopes=["approve"])
    agent = world.register(key=registrar, type="supervised")
    assert answers(world, registrar, mails(world, agent)) == (200, "approved")

    world.principal_key(scopes=["approve"], roles=["lead"])
    assert answers(world, registrar, mails(world, agent, 2, conversation="d"))[0] == 403
    world.close()


def test_with_a_quorum_the_registrar_votes_once_nobody_else_is_left():
    world = World(policy=separating(Separate.WHEN_POSSIBLE, approvers=2))
    registrar, other = world.principal_key(**ALL), world.principal_key(scopes=["approve"])
    approval = mails(world, world.register(key=registrar, type="supervised"))
    assert answers(world, registrar, approval)[0] == 403
    assert answers(world, other, approval) == (200, "open")
    assert answers(world, registrar, approval) == (200, "approved")
    world.close()


def forget_who_saw(world: World, agent: dict[str, Any]) -> None:
    """As an agent is whose registration was past its retention when this began to be kept."""
    stored: Agent = world.stored(agent)
    found = msgspec.structs.replace(stored, token_seen_by=())

    async def known(_: str) -> Agent:
        return found

    world.services.store.agent = known


def test_where_nobody_knows_who_saw_the_token_it_has_to_be_rotated_first(strict: World):
    other = strict.principal_key(scopes=["approve"])
    agent = strict.register(type="supervised")
    approval = mails(strict, agent)
    forget_who_saw(strict, agent)
    status, message = answers(strict, other, approval)
    assert status == 403
    assert "rotate it" in message


def test_what_an_agent_shows_of_itself_does_not_name_keys(world: World):
    agent = world.register()
    assert "token_seen_by" not in world.call("GET", f"/agents/{agent['agent_id']}").json()
    assert run(world.services.store.agent(agent["agent_id"])).token_seen_by
