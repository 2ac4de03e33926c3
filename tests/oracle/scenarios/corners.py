"""What random worlds seldom reach: cycles, fresh conversations, trust that a node asks for, odd requests."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, new_id, person, vote
from tests.oracle.world import Answer, World

STATE = {"pre_action_state_hash": "ab" * 32, "state_source": "git_tree"}
LOOPS = (
    "{}",
    "{no_progress: 9, cycle_rounds: 2}",
    "{no_progress: 9, cycle_max_period: 3, cycle_rounds: 2, cycle_rounds_without_hashes: 2}",
    "{max_repeats: 1, window: 4}",
    "{no_progress: 2, max_steps: 9}",
)
LOW_TRUST = {
    "id": "low-trust",
    "trigger": {"kind": "confidence_below", "op": "lt", "value": 0.6, "input_ref": "apae.peer_trust_score"},
    "required_role": "lead",
    "action": "escalate",
    "allow_override": True,
    "override_action": "continue",
}


def cycles(open_world: Callable[..., World], chance: random.Random) -> World:
    """One to three actions round and round; with a state, without, and with one that moves."""
    world = open_world(f"loops: {chance.choice(LOOPS)}")
    actor = Actor(world, "agent", type="trusted", trust_level=3)
    for period in (1, 2, 3):
        for name, state in (("plain", {}), ("still", STATE), ("moving", STATE)):
            for step in range(12 if name == "plain" else 8):
                if name == "moving":
                    state = {**STATE, "pre_action_state_hash": f"{step:064x}"}
                context = actor.context(f"{name} {period}", **state)
                if chance.random() < 0.2 and period == 1:
                    actor.use_tool("get_weather", {"n": 1}, context)
                else:
                    actor.verify(_sum(step % period), context)
    look_around(world, actor)
    return world


def fresh_conversations(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(f"loops: {{cross_conversation: {chance.choice((1, 2, 3))}}}")
    actor = Actor(world, "agent", type="trusted", trust_level=chance.choice((2, 3)))
    for risk in ("LOW", "MEDIUM", "HIGH"):
        for number in range(5):
            context = actor.context(f"{risk} {number}")
            if chance.random() < 0.3:
                actor.use_tool("send_email", {"say": f"VERIFIED {risk}"}, context)
            else:
                actor.verify(_sum("again", risk), context)
            world.clock.advance(chance.choice((0, 0, 3_600_000)))
    look_around(world, actor)
    return world


def trusted_nodes(open_world: Callable[..., World], chance: random.Random) -> World:
    """A node asks for a score; a person may waive it where a rule says so, once."""
    profile = chance.choice(("", "profile: relaxed\n", "profile: standard\n"))
    switches = chance.choice(("trust_scoring: true", "trust_scoring: true, min_score: 0.3"))
    world = open_world(f"{profile}assurance: {{{switches}}}")
    person(world, "lead", roles=["lead"])
    actor = Actor(world, "agent", type="trusted", trust_level=3)
    for score in (None, 0.2, 0.65, 0.95):
        if score is not None:
            world.call("POST", "/trust-score", {"peer": actor.did, "score": score, "reason": "known"})
        for asked in ({"apae.min_trust": 0.4}, {"apae.min_trust": 0.7}, {"apae.min_confidence": "medium"}):
            rules = [LOW_TRUST] if chance.random() < 0.5 else []
            node = {"id": "n", "agent": actor.did, "constraints": asked}
            body = {"dag": {"nodes": [node], "edges": []}, "hitl": {"rules": rules}}
            made = world.call("POST", "/workflows", body)
            place = {"workflow_id": made.get("workflow_id"), "node_id": "n"}
            _act_at(actor, place)
            if chance.random() < 0.5:
                _act_at(actor, place)
    look_around(world, actor)
    return world


def _act_at(actor: Actor, place: dict[str, Any]) -> Answer:
    world, number = actor.world, actor.world.chance.randrange(10**6)
    status, risk = world.chance.choice(("VERIFIED", "UNCERTAIN")), world.chance.choice(("LOW", "MEDIUM"))
    answer = actor.verify(_sum(number, risk, status), actor.context("w", **place))
    if answer.decision == "PENDING":
        approval_id, action = actor.asked[-1]
        if world.chance.random() < 0.4:
            edited = _sum(f"{number} edited", world.chance.choice(("LOW", "HIGH")))
            if vote(world, approval_id, "lead", action=edited).status == 200:
                action = edited
        vote(world, approval_id, "lead")
        answer = actor.redeem(approval_id, action)
    return answer


def odd_requests(open_world: Callable[..., World], chance: random.Random) -> World:
    """Requests around a decision that are refused for what they say."""
    world = open_world("{}")
    person(world, "ada", scopes=["approve", "read", "trust"])
    actor = Actor(world, "agent", permissions={"allowed_engines": ["fact"], "allowed_tools": ["calculate"]})
    actor.use_tool("calculate", {"n": 1}, actor.context())
    for source in ("hearsay", "", None, 5):
        context = actor.context(pre_action_state_hash="ab" * 32, state_source=source)
        actor.verify(_sum(1, type="verify_fact"), context)
    actor.verify(_sum(2, type="verify_fact"))
    done = actor.approved[-1] if actor.approved else "act_" + "0" * 32
    for outcome, more in (("success", {"result_hash": "x"}), ("success", {"error": "x" * 5_000})):
        actor.report(done, outcome, **more)
    actor.report(done, "success", usage={"cost_usd": 200_000})
    actor.report(done, "unknown", usage={"cost_usd": 0.02, "tokens": 3})
    actor.settle(done, "success", by="ada", note="x" * 5_000)
    actor.settle(done, "unknown", by="ada")
    actor.settle(done, "failure", by="ada")
    actor.settle(done, "failure", by="ada")
    elevation = {"request": "trust_elevation", "from_level": 2, "to_level": 3, "justification": "good"}
    for change in ({"request": "x"}, {"to_level": 1}, {"from_level": 1}, {"justification": " "}, {}):
        world.call("POST", f"{actor.path}/trust", {**elevation, **change}, by="agent")
    for body in ({"to_level": 3, "reason": "x"}, {"to_level": 1}, {"to_level": 9, "reason": "x"}):
        world.call("POST", f"{actor.path}/trust", body, by="ada")
    for body in (
        {"dag": {"nodes": []}},
        {"dag": None},
        {"policy_token": "x"},
        {"dag": {}, "lifetime_seconds": 1},
    ):
        world.call("POST", "/workflows", body)
    world.call("GET", f"/workflows/{new_id(world)}", by="agent")
    look_around(world, actor)
    return world


def _sum(number: Any, risk: str = "MEDIUM", status: str = "VERIFIED", **more: Any) -> dict[str, Any]:
    return {"type": "calculate", "query": f"{status} {risk} {number}", **more}
