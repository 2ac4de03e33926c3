"""What conduct costs: denials, blocked tools, abuse of the budget, foreign and forged credentials."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import PLENTY, Actor, look_around, person
from tests.oracle.world import World


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    policy = chance.choice(
        ("{}", "{}", "assurance: {trust_scoring: true, level_scores: {'3': 0.55, '2': 0.45}}")
    )
    world = open_world(policy)
    person(world, "owner", scopes=["verify", "register", "read", "trust"])
    world.call("POST", "/webhooks", {"url": "https://hooks.example/q", "principal_id": "acme"})
    permissions = {"blocked_tools": ["format_disk", "send_email"], "allowed_tools": ["book"]}
    pupil = Pupil(world, "agent", type="trusted", trust_level=3, permissions=permissions, budget=PLENTY)
    other = Actor(world, "other")
    for _ in range(chance.randrange(25, 45)):
        pupil.misbehave(other)
    world.call("GET", f"{pupil.path}/trust?limit=3", by="owner")
    world.call("GET", "/webhooks")
    look_around(world, pupil, other)
    return world


class Pupil(Actor):
    def misbehave(self, other: Actor) -> None:
        chance, world = self.world.chance, self.world
        deeds: list[tuple[Callable[[], Any], int]] = [
            (lambda: self._say("VERIFIED LOW"), 10),
            (lambda: self._say(f"FAILED {chance.choice(('LOW', 'HIGH'))} incorrect"), 5),
            (lambda: self._say("VERIFIED CRITICAL"), 3),
            (lambda: self._say("FAILED CRITICAL forbidden"), 1),
            (lambda: self.use_tool("send_email", {"to": "a@b.example"}, self.context()), 1),
            (lambda: self.verify({"type": "format_disk"}), 1),
            (lambda: self._abuse_budget(), 1),
            (lambda: self.verify({"type": "calculate"}, by="other"), 1),
            (lambda: other.verify({"type": "calculate"}, other.context("x"), by=self.name), 1),
            (lambda: self.redeem("apr_" + "1" * 32, {"type": "calculate"}), 1),
            (self._forge_attestation, 1),
            (self._forge_token, 1),
            (lambda: world.call("POST", f"{self.path}/trust", {"to_level": 3, "reason": "again"}), 3),
            (lambda: world.call("POST", f"{self.path}/complaint", {"reason": "bad"}, by="owner"), 1),
            (
                lambda: world.call(
                    "POST", f"{self.path}/reactivate", {}, by=chance.choice(("owner", "operator"))
                ),
                2,
            ),
            (lambda: world.clock.advance(86_400_000), 1),
        ]
        chance.choices([deed for deed, _ in deeds], [weight for _, weight in deeds])[0]()

    def _say(self, said: str) -> None:
        number = self.world.chance.randrange(10**6)
        self.verify({"type": "calculate", "query": f"{said} {number}"})

    def _abuse_budget(self) -> None:
        self.world.call("PATCH", self.path, {"budget": {"max_daily_cost_usd": 0}})
        for _ in range(self.world.chance.randrange(2, 5)):
            self._say("VERIFIED LOW")
        self.world.call("PATCH", self.path, {"budget": PLENTY})

    def _forge_attestation(self) -> None:
        said = f"VERIFIED LOW {self.world.chance.randrange(10**6)}"
        answer = self.verify({"type": "calculate", "query": said}, options={"require_attestation": True})
        token = answer.get("attestation") or "eyJub25zZW5zZQ.e30.x"
        self.world.call("POST", "/attestations/verify", {"attestation": token}, by="nobody")
        head, body, signature = token.split(".")
        forged = f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
        self.world.call("POST", "/attestations/verify", {"attestation": forged}, by=self.name)

    def _forge_token(self) -> None:
        head, body, signature = self.token().split(".")
        forged = f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
        self.verify({"type": "calculate", "query": "VERIFIED LOW"}, ects=(forged,))
