"""Assurance profiles: tokens of a level, checkpoints, specifications, scores, people before what is risky."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, new_id, person, vote
from tests.oracle.world import Answer, World

from qwed.assurance.specs import read_spec, sign_spec
from qwed.ect import KeyRing, Level, generate, hash_bytes, issue

PROFILES = ("relaxed", "standard", "regulated")
RISKS = ("LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "CRITICAL")
INPUT = hash_bytes(b"input")
SWITCHES = {
    "relaxed": (
        "{}",
        "{trust_scoring: true}",
        "{trust_scoring: true, min_score: 0.4}",
        "{checkpoints: false}",
        "{data_provenance: true}",
    ),
    "standard": ("{}", "{trust_thresholds: false}", "{data_provenance: true}", "{min_score: 0.6}"),
    "regulated": ("{}", "{strict_checkpoints: true}", "{min_confidence: low}"),
}


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    profile = chance.choice(PROFILES)
    switches = chance.choice(SWITCHES[profile])
    world = open_world(f"profile: {profile}\nassurance: {switches}", on_disk=profile == "regulated")
    person(world, "ada", roles=["lead"])
    person(world, "bob")
    actors = [Pupil(world, f"agent {number}") for number in range(2)]
    for _ in range(chance.randrange(22, 34)):
        chance.choice(actors).do_something(actors)
    look_around(world, *actors)
    for actor in actors:
        world.call("GET", f"{actor.path}/trust-score")
    return world


class Pupil(Actor):
    """Trusted, so that only the profile stands in its way."""

    def __init__(self, world: World, name: str) -> None:
        level = world.chance.choice((3, 3, 2))
        super().__init__(
            world, name, type="trusted", trust_level=level, permissions={"allowed_tools": ["book"]}
        )
        self.publish_keys()
        self.seen: list[str] = []

    def do_something(self, others: list["Pupil"]) -> None:
        chance = self.world.chance
        doings = (
            self.act,
            self.act,
            *(self.proper,) * 8,
            self.used_again,
            self.raised,
            self.bad_token,
            self.specified,
            self.scored,
            self.about,
            lambda: self.foreign(chance.choice(others)),
        )
        chance.choice(doings)()

    def _try(self, ects: tuple[str, ...] = (), note: str | None = None) -> Answer:
        chance, number = self.world.chance, self.world.chance.randrange(10**6)
        status = chance.choice(("VERIFIED", "VERIFIED", "VERIFIED", "UNCERTAIN", "CORRECTED"))
        said = f"{status} {chance.choice(RISKS)} {number}"
        more: dict[str, Any] = {"ects": ects, "note": note}
        if chance.random() < 0.3:
            tool = chance.choice(("get_weather", "file_write", "send_money", "book"))
            context = self.context() if chance.random() < 0.8 else None
            answer = self.use_tool(tool, {"say": said}, context, **more)
        else:
            answer = self.verify({"type": "calculate", "query": said}, **more)
        if answer.decision == "PENDING" and chance.random() < 0.6:
            self._ask_people()
        return answer

    def _ask_people(self) -> None:
        chance, (approval_id, action) = self.world.chance, self.asked[-1]
        if chance.random() < 0.4:
            risk = chance.choice(RISKS)
            edited = {"type": action["type"], "query": f"VERIFIED {risk} edited"}
            if vote(self.world, approval_id, "ada", action=edited).status == 200:
                action = edited
        vote(self.world, approval_id, "bob")
        self.redeem(approval_id, action)

    def act(self) -> None:
        chance = self.world.chance
        fresh = self.token("read", inp_hash=INPUT) if chance.random() < 0.5 else self.token("read")
        unsigned = issue(
            self.ring,
            "read",
            self.world.gateway.issuer,
            self.world.clock.now // 1000,
            inp_hash=INPUT,
            level=Level.L1,
            jti=new_id(self.world),
        )
        self._try(chance.choice(((), (fresh,), (unsigned,))))

    def proper(self) -> None:
        """With everything that any profile asks for."""
        act = self.world.chance.choice(("atd:checkpoint", "atd:checkpoint", "read"))
        token = self.token(act, inp_hash=INPUT)
        self.submit(token)
        self.seen.append(token)
        self._try((token,))

    def used_again(self) -> None:
        if self.seen:
            self._try((self.world.chance.choice(self.seen),), note="a token that was presented before")

    def foreign(self, other: "Pupil") -> None:
        if other.seen:
            self._try((other.seen[-1],), note="another agent's token")

    def raised(self) -> None:
        chance = self.world.chance
        named = chance.choice((*PROFILES, "odd", 5))
        token = self.token("read", inp_hash=INPUT, ext={"apae.assurance_profile": named})
        if chance.random() < 0.5:
            self.submit(token)
        self._try((token,))

    def bad_token(self) -> None:
        chance, now = self.world.chance, self.world.clock.now // 1000
        tokens = (
            "nonsense",
            "eyJhbGciOiJub25lIn0.e30.",
            self.token(ring=KeyRing(self.did, generate())),
            self.token(aud="did:example:somebody"),
            self.token(now=now - 3600),
            self.token(par=[new_id(self.world)]),
        )
        self._try((chance.choice(tokens),))

    def specified(self) -> None:
        chance, world = self.world.chance, self.world
        document = {
            "spec_version": "1.0",
            "agent_id": self.did,
            "allowed_actions": ["read"],
            "constraints": {"require_checkpoint_before": [chance.choice(("calculate", "book"))]},
        }
        body: dict[str, Any] = {"spec": document}
        if chance.random() < 0.7:
            body = {"signed": sign_spec(world.gateway.signer, read_spec(document), world.clock.now // 1000)}
        world.call("PUT", f"{self.path}/behavior-spec", body)

    def scored(self) -> None:
        score = self.world.chance.choice((0.1, 0.5, 0.95))
        body = {"peer": self.did, "score": score, "reason": "for a test"}
        self.world.call("POST", "/trust-score", body)
        self.world.call("GET", f"{self.path}/trust-score")

    def about(self) -> None:
        if self.approved:
            self.report(
                self.world.chance.choice(self.approved), self.world.chance.choice(("success", "failure"))
            )
