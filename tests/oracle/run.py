"""Worlds by number: each is played by itself, so any prefix of a recording can be played again."""

import json
import random
from collections.abc import Callable
from typing import Any

from tests.oracle.scenarios import (
    approvals,
    corners,
    faults,
    limits,
    matrix,
    profiles,
    real,
    tokens,
    traffic,
    trust,
    workflows,
)
from tests.oracle.world import World

Scenario = Callable[[Callable[..., World], random.Random], World]
#: How often each comes, one after the other.
ROUND: tuple[Scenario, ...] = (
    traffic.play,
    approvals.play,
    workflows.play,
    faults.play,
    matrix.play,
    traffic.play,
    profiles.play,
    limits.play,
    approvals.play,
    tokens.play,
    traffic.play,
    faults.play,
    workflows.play,
    trust.play,
    profiles.play,
    real.play,
    limits.play,
)
#: What comes after the first worlds.
LAST: tuple[Scenario, ...] = (
    corners.cycles,
    corners.trusted_nodes,
    corners.fresh_conversations,
    corners.odd_requests,
)
FIRST_OF_LAST = 251
#: One world in so many is on a file.
ON_DISK = 6


def play(number: int, salt: str = "", at_end: Callable[[World], None] | None = None) -> list[Any]:
    """The lines of one world. `salt` changes ids and nothing that may be seen."""
    chance = random.Random(f"oracle {number}")
    on_disk = number % ON_DISK == ON_DISK - 1
    opened: list[World] = []

    def open_world(policy: str, **how: Any) -> World:
        opened.append(World(number, chance, policy, on_disk=how.pop("on_disk", on_disk), salt=salt, **how))
        return opened[-1]

    try:
        world = _scenario(number)(open_world, chance)
        if at_end is not None:
            at_end(world)
        return world.lines
    finally:
        for world in opened:
            world.close()


def _scenario(number: int) -> Scenario:
    return (
        ROUND[number % len(ROUND)] if number < FIRST_OF_LAST else LAST[(number - FIRST_OF_LAST) % len(LAST)]
    )


def play_as_text(number: int, salt: str = "") -> list[str]:
    return [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in play(number, salt)]
