"""Budgets, loops, repetitions under one key, and refusals that are only counted."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import PLENTY, Actor, look_around
from tests.oracle.world import World

LIMITS: tuple[dict[str, Any], ...] = (
    {"max_requests_per_hour": 3},
    {"max_requests_per_day": 3},
    {"max_daily_cost_usd": 0.035},
    {"max_daily_tokens": 25},
    {"max_per_request_cost_usd": 0.2},
    {"max_tokens_per_request": 9},
)
LOOPS = (
    "{}",
    "{max_steps: 6, max_repeats: 1}",
    "{window: 6, no_progress: 2}",
    "{cycle_max_period: 3, cycle_rounds: 2, cycle_rounds_without_hashes: 2}",
    "{cross_conversation: 2}",
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    kind = chance.choice((budgets, budgets, ceilings, loops, loops, cycles, idempotency, counted, malformed))
    return kind(open_world, chance)


def _sum(number: Any, risk: str = "LOW", **more: Any) -> dict[str, Any]:
    return {"type": "calculate", "query": f"VERIFIED {risk} {number}", **more}


def budgets(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(("{}", "tools: {require_context: true}", "prices: {math: 0.02}")))
    for number in range(3):
        budget = {**PLENTY, **chance.choice(LIMITS)}
        actor = Actor(world, f"agent {number}", type="trusted", trust_level=3, budget=budget)
        for step in range(chance.randrange(5, 9)):
            usage = chance.choice(({}, {"tokens": 10}, {"cost_usd": 0.01}, {"cost_usd": 0.3, "tokens": 5}))
            if chance.random() < 0.3:
                actor.use_tool("get_weather", {"n": step}, usage=usage or None)
            else:
                actor.verify(
                    _sum(step, chance.choice(("LOW", "HIGH"))), **({"usage": usage} if usage else {})
                )
            if actor.approved and chance.random() < 0.3:
                actor.report(actor.approved[-1], usage={"cost_usd": chance.choice((0, 0.5)), "tokens": 3})
            world.call("GET", f"{actor.path}/budget", by=actor.name)
            world.clock.advance(chance.choice((0, 0, 0, 3_600_000, 86_400_000)))
    look_around(world)
    return world


def ceilings(open_world: Callable[..., World], chance: random.Random) -> World:
    policy = chance.choice(
        (
            "principals: {max_daily_cost_usd: 0.05}",
            "principals: {max_requests_per_day: 6}",
            "principals: {max_agents: 2, by_name: {}}",
            "principals: {max_agents: 2}",
        )
    )
    policy = policy.replace(", by_name: {}", "")
    world = open_world(policy)
    actors = [Actor(world, f"agent {number}") for number in range(3)]
    for number in range(14):
        chance.choice(actors).verify(_sum(number))
    look_around(world, *actors)
    return world


def loops(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(f"loops: {chance.choice(LOOPS)}", state_required=chance.random() < 0.2)
    actor = Actor(world, "agent", type="trusted", trust_level=3)
    conversations = ["c", "d", "e"]
    for _ in range(chance.randrange(30, 45)):
        state = chance.choice(({}, {"pre_action_state_hash": "ab" * 32, "state_source": "git_tree"}))
        if chance.random() < 0.3 and state:
            state["pre_action_state_hash"] = chance.choice(("ab", "cd")) * 32
        # Few actions, so that they repeat and go round.
        spelling = chance.choice(("{}", "{} ", "{}"))
        action = _sum(spelling.format(chance.randrange(3)), chance.choice(("LOW", "MEDIUM")))
        step = None if chance.random() < 0.9 else chance.randrange(1, 9)
        conversation = chance.choice(conversations)
        if chance.random() < 0.15:
            conversation = f"new {chance.randrange(100)}"
        if chance.random() < 0.2:
            actor.use_tool(
                "get_weather", {"n": chance.randrange(2)}, actor.context(conversation, step, **state)
            )
        else:
            actor.verify(action, actor.context(conversation, step, **state))
    look_around(world, actor)
    return world


def cycles(open_world: Callable[..., World], chance: random.Random) -> World:
    """A few actions round and round, with and without a state; and one action in fresh conversations."""
    world = open_world(f"loops: {chance.choice(LOOPS)}")
    actor = Actor(world, "agent", type="trusted", trust_level=3)
    for number in range(3):
        period = chance.randrange(2, 4)
        state = chance.choice(({}, {"pre_action_state_hash": "ab" * 32, "state_source": "git_tree"}))
        for step in range(14):
            if state and chance.random() < 0.05:
                state = {**state, "pre_action_state_hash": "cd" * 32}
            actor.verify(_sum(step % period, "MEDIUM"), actor.context(f"c{number}", **state))
    for number in range(5):
        actor.verify(_sum("again", chance.choice(("MEDIUM", "LOW"))), actor.context(f"fresh {number}"))
    look_around(world, actor)
    return world


RAW = (
    b"",
    b"[",
    b"5",
    b"{}",
    b"null",
    b'{"action":{"type":"calculate","parameters":{"x":NaN}}}',
    b'{"action":{"type":"calculate"},"action":{"type":"calculate"}}',
    b'{"action":{"type":7}}',
    b'{"action":{"type":"calculate","more":1}}',
    b'{"action":{"query":"2+2"}}',
    b'{"action":' + b"[" * 80 + b"]" * 80 + b"}",
    b'{"action":{"type":"calculate","action_type":"verify"}}',
    b'{"action":{"type":"calculate","query":"\\ud800"}}',
    b'{"action":{"type":"calculate"},"context":{"conversation_id":"c","step_number":1,"x":1e999}}',
    b"\xff\xfe",
    b'{"action":{"type":"calculate"},"agent_id":"agent_0000000000000000"}',
    b'{"action":{"type":"' + b"x" * 2000 + b'"}}',
    b'{"action":{"type":"calculate"},"options":{"risk_threshold":"none"}}',
    b'{"action":null,"context":[]}',
    b'{"action":{"type":"calculate","parameters":{"n":123456789012345678901234567890}},'
    b'"context":{"conversation_id":"raw","step_number":1}}',
)
REGISTRATIONS: tuple[Any, ...] = (
    {},
    [],
    {"name": "x"},
    {"name": "", "type": "autonomous", "principal_id": "acme"},
    {"name": "x", "type": "odd", "principal_id": "acme"},
    {"name": "x", "type": "autonomous"},
    {"name": "x", "type": "autonomous", "principal_id": " "},
    {"name": "x" * 400, "type": "autonomous", "principal_id": "a"},
    {"name": "x", "type": "trusted", "principal_id": "acme", "trust_level": 7},
    {"agent": {"name": "x", "type": "supervised", "principal_id": "acme"}, "trust_level": "autonomous"},
    {"name": "x", "type": "autonomous", "principal_id": "acme", "budget": {"max_daily_cost_usd": -1}},
    {"name": "x", "type": "autonomous", "principal_id": "acme", "permissions": {"allowed_engines": ["odd"]}},
)


def malformed(open_world: Callable[..., World], chance: random.Random) -> World:
    """Bodies that can't be read, at both doors; and registrations."""
    world = open_world("{}")
    actor = Actor(world, "agent")
    for raw in chance.sample(RAW, 12):
        by = chance.choice((actor.name, actor.name, "nobody", "operator"))
        world.call("POST", f"{actor.path}/verify", raw, by=by)
    for raw in chance.sample(RAW, 5):
        tool = chance.choice(("get_weather", "send_money", "teleport"))
        world.call("POST", f"{actor.path}/tools/{tool}", raw, by=actor.name)
    for body in chance.sample(REGISTRATIONS, 7):
        world.call("POST", "/agents/register", body)
    look_around(world, actor)
    return world


def idempotency(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world("{}")
    actor = Actor(world, "agent", budget={"max_requests_per_hour": 12})
    sent: list[tuple[Any, ...]] = []
    for number in range(24):
        if sent and chance.random() < 0.5:
            key, action, context, tool = chance.choice(sent[-3:])
            if chance.random() < 0.2:
                key = "another"
        else:
            said = chance.choice(
                ("VERIFIED LOW", "VERIFIED HIGH", "FAILED LOW", "UNCERTAIN LOW", "CORRECTED LOW")
            )
            action = {"type": "calculate", "query": f"{said} {number}"}
            key, context = f"k{number}", actor.context()
            tool = chance.choice((None, None, "get_weather", "send_email"))
            sent.append((key, action, context, tool))
        headers = {"Idempotency-Key": key}
        if tool is None:
            actor.verify(action, context, headers=headers)
        else:
            actor.use_tool(tool, {"say": action["query"]}, context, headers=headers)
        change = chance.random()
        if change < 0.08:
            world.call("POST", f"{actor.path}/suspend", {"reason": "for a while"})
        elif change < 0.2:
            world.call("POST", f"{actor.path}/reactivate", {})
        elif change < 0.3:
            world.clock.advance(61_000)
    look_around(world, actor)
    return world


def counted(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world("limits: {refusals_per_hour: 4}")
    actors = [Actor(world, f"agent {number}") for number in range(2)]
    for number in range(34):
        actor = chance.choice(actors)
        context = chance.choice(
            (None, {"conversation_id": "c"}, actor.context("c", "x"), actor.context("c", 1))
        )
        more: dict[str, Any] = {}
        if chance.random() < 0.1:
            more["ects"] = ("eyJub25zZW5zZQ.e30.x",)
        if chance.random() < 0.1:
            more["by"] = "operator"
        actor.verify(_sum(number if chance.random() < 0.5 else 0), context or [], **more)
        if chance.random() < 0.08:
            world.call("POST", f"{actor.path}/{chance.choice(('suspend', 'reactivate'))}", {})
        world.clock.advance(chance.choice((0, 0, 0, 70_000, 3_700_000)))
    look_around(world, *actors)
    return world
