"""Execution context tokens that come along: chains, workflows, repetitions, and every way to be wrong."""

import random
from collections.abc import Callable

from tests.oracle.actors import Actor, look_around, new_id
from tests.oracle.world import Answer, World

from qwed.ect import KeyRing, generate, parse


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world("{}")
    pen = Pen(world, "agent", type="trusted", trust_level=chance.choice((1, 2, 3)))
    other = Pen(world, "other", principal_id="other")
    for writer in (pen, other):
        writer.publish_keys()
    for _ in range(chance.randrange(22, 34)):
        pen.present(other)
    look_around(world, pen)
    return world


class Pen(Actor):
    known: list[str]

    def present(self, other: "Pen") -> None:
        chance = self.world.chance
        self.known = getattr(self, "known", [])
        kind = chance.choice(
            (
                self.fresh,
                self.fresh,
                self.chain,
                self.again,
                self.child,
                self.own_decision,
                self.many,
                self.bad,
                self.bad,
            )
        )
        tokens = kind(other)
        said = f"VERIFIED {chance.choice(('LOW', 'LOW', 'MEDIUM', 'HIGH'))} {chance.randrange(10**6)}"
        conversation = chance.choice(("c", "d"))
        if chance.random() < 0.2:
            answer = self.use_tool("get_weather", {"say": said}, self.context(conversation), ects=tokens)
        else:
            answer = self.verify(
                {"type": "calculate", "query": said}, self.context(conversation), ects=tokens
            )
        self._learn(answer, tokens)

    def _learn(self, answer: Answer, tokens: tuple[str, ...]) -> None:
        if answer.decision not in (None, "DENIED"):
            self.known += [token for token in tokens if token.count(".") == 2]
        if (issued := answer.get("execution_context")) is not None:
            self.known.append(issued)
        if answer.decision is not None and self.world.chance.random() < 0.2 and answer.get("activity_id"):
            jti = answer.body["activity_id"].removeprefix("act_")
            jti = "-".join((jti[:8], jti[8:12], jti[12:16], jti[16:20], jti[20:]))
            self.world.call("GET", f"/ect/{jti}", by=self.name)

    def fresh(self, other: "Pen") -> tuple[str, ...]:
        wid = self.world.chance.choice((None, None, "11111111-2222-4333-8444-555555555551"))
        return (self.token(wid=wid),) if wid else (self.token(),)

    def chain(self, other: "Pen") -> tuple[str, ...]:
        first = self.token()
        return (self.token(par=[_jti(first)]), first)

    def again(self, other: "Pen") -> tuple[str, ...]:
        return (self.world.chance.choice(self.known),) if self.known else ()

    def child(self, other: "Pen") -> tuple[str, ...]:
        return (self.token(par=[_jti(self.world.chance.choice(self.known))]),) if self.known else ()

    def own_decision(self, other: "Pen") -> tuple[str, ...]:
        issued = [token for token in self.known if parse(token).claims["iss"] == self.world.gateway.issuer]
        return (issued[-1], self.token(par=[_jti(issued[-1])])) if issued else ()

    def many(self, other: "Pen") -> tuple[str, ...]:
        return tuple(self.token() for _ in range(self.world.chance.choice((3, 33))))

    def bad(self, other: "Pen") -> tuple[str, ...]:
        chance, now = self.world.chance, self.world.clock.now // 1000
        one, two = ("11111111-2222-4333-8444-55555555555" + end for end in "12")
        head, body, signature = self.token().split(".")
        made: tuple[Callable[[], tuple[str, ...]], ...] = (
            lambda: ("nonsense",),
            lambda: ("eyJhbGciOiJub25lIn0.e30.",),
            lambda: (f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}",),
            lambda: (self.token(ring=KeyRing(self.did, generate())),),
            lambda: (self.token(ring=KeyRing(self.world.gateway.issuer, generate())),),
            lambda: (self.token(aud="did:example:somebody"),),
            lambda: (self.token(now=now - 3600),),
            lambda: (self.token(now=now + 120),),
            lambda: (self.token(par=[new_id(self.world)]),),
            lambda: (self.token("other", jti=_jti(self.known[-1])),) if self.known else (),
            lambda: (self.token(wid=one), self.token(wid=two)),
            lambda: (other.token(),),
        )
        return chance.choice(made)()


def _jti(token: str) -> str:
    return str(parse(token).claims["jti"])
