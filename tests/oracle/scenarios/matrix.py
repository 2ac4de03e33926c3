"""Trust × risk × proof × threshold, at both doors: the table of the protocol, cell by cell."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, person
from tests.oracle.world import World

STATUSES = ("VERIFIED", "UNCERTAIN", "CORRECTED", "FAILED")
RISKS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
POLICIES = (
    "{}",
    "trust: {denied_cells: pending}",
    "assurance: {trust_scoring: true, level_scores: {'1': 0.3, '2': 0.6, '3': 0.9}}",
    "profile: relaxed",
    "profile: standard",
    "approvals: {approvers: 2, role: lead}",
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(POLICIES))
    person(world, "ada", roles=["lead"])
    level, status = chance.randrange(4), chance.choice(STATUSES)
    thresholds = [None, *chance.sample(("low", "medium", "high", "critical"), 2)]
    for risk in RISKS:
        # What is forbidden at critical risk costs trust: one agent for each risk.
        actor = Actor(world, f"agent {risk}", type="trusted", trust_level=level)
        for threshold in thresholds:
            options: dict[str, Any] = {} if threshold is None else {"risk_threshold": threshold}
            options["require_attestation"] = chance.random() < 0.3
            said = f"{status} {risk} {chance.choice(('incorrect', 'malformed', 'forbidden', ''))}".strip()
            actor.verify({"type": "calculate", "query": f"{said} {threshold}"}, options=options)
        tools = chance.sample(("get_weather", "send_email", "file_write", "send_money", "drop_table"), 3)
        for tool in tools:
            context = actor.context() if chance.random() < 0.5 else None
            actor.use_tool(tool, {"say": f"{status} {risk}"}, context)
            actor.verify({"type": tool, "parameters": {"say": f"{status} {risk}"}})
    look_around(world)
    return world
