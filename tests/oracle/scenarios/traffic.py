"""Everything at once: agents, people and the clock, drawn at random."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle import actions
from tests.oracle.actors import PLENTY, Actor, look_around, person, vote
from tests.oracle.world import World

POLICIES = (
    "{}",
    "{}",
    "trust: {denied_cells: pending}",
    "tools: {require_context: true}",
    "approvals: {approvers: 2, ttl_seconds: 120}",
    "approvals: {max_open: 2, separate: 'off'}",
    "approvals: {role: lead, escalate_after_seconds: 60, escalate_to_role: chief, remind_after_seconds: 30}",
    "approvals: {separate: always}",
    "loops: {max_steps: 8, max_repeats: 1, window: 5, no_progress: 2, cross_conversation: 2}",
    "prices: {math: 0.2, sql: 0.5}\ndefault_price_usd: 0.05\nactions: {calculate: {min_price_usd: 0.3}}",
    "budgets: {max_requests_per_hour: 20, max_daily_tokens: 900, max_daily_cost_usd: 0.4}",
    "principals: {max_agents: 3, max_daily_cost_usd: 0.3, max_requests_per_day: 30}",
    "limits: {refusals_per_hour: 3}",
    "actions: {calculate: {enabled: false}, deploy: {engine: code, risk: high}, n: {engine: tool_control}}",
    "tools: {post_booking: {risk: low, group: safe}, file_write: {group: dangerous}}",
    "profile: relaxed",
    "profile: standard",
    "assurance: {trust_scoring: true, level_scores: {'2': 0.6, '3': 0.9}}",
    "assurance: {trust_scoring: true, min_score: 0.4}",
)
PERMISSIONS: tuple[dict[str, Any], ...] = (
    {},
    {"allowed_tools": list(actions.OWN)},
    {"allowed_tools": ["teleport", "Drop-Table"], "blocked_tools": list(actions.BLOCKED)},
    {"allowed_engines": ["math"], "blocked_tools": ["send-email"]},
    {"allowed_engines": []},
    {"allowed_engines": ["fact"], "allowed_tools": ["calculate", "execute_sql"]},
)
BUDGETS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    PLENTY,
    {"max_requests_per_hour": 12},
    {"max_daily_cost_usd": 0.15},
    {"max_per_request_cost_usd": 0.3, "max_tokens_per_request": 100},
    {"max_daily_tokens": 500, "max_requests_per_day": 25},
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(POLICIES), state_required=chance.random() < 0.08)
    Traffic(world).run(chance.randrange(50, 90))
    return world


class Traffic:
    def __init__(self, world: World) -> None:
        self.world, self.chance = world, world.chance
        person(world, "owner", scopes=["verify", "register", "read", "trust"])
        person(world, "ada", roles=["lead"], scopes=["approve", "read", "trust"])
        person(world, "bob", roles=["lead", "chief"])
        person(world, "cat", scopes=["approve", "verify", "read", "register"])
        person(world, "stranger", principal="other", scopes=["approve", "read", "verify", "register"])
        if self.chance.random() < 0.3:
            events = self.chance.sample(["decision", "approval", "trust", "outcome"], 2)
            world.call(
                "POST",
                "/webhooks",
                {"url": "https://hooks.example/q", "principal_id": "acme", "events": events},
            )
        self.actors = [self._register(number) for number in range(self.chance.randrange(2, 4))]
        self.repeated: list[tuple[Any, ...]] = []
        self.is_calm = self.chance.random() < 0.7

    def _register(self, number: int) -> Actor:
        chance = self.chance
        more: dict[str, Any] = {"permissions": chance.choice(PERMISSIONS)}
        if (budget := chance.choice(BUDGETS)) is not None:
            more["budget"] = budget
        if chance.random() < 0.3:
            more["trust_level"] = chance.choice((0, 1, 2, 3, "supervised", 9, None))
        more["type"] = chance.choice(("supervised", "autonomous", "autonomous", "trusted"))
        by = chance.choice(("operator", "operator", "owner"))
        actor = Actor(self.world, f"agent {number}", by=by, **more)
        return actor if actor.is_registered else Actor(self.world, f"agent {number}")

    def run(self, count: int) -> None:
        doings = {
            self.verify: 52,
            self.use_tool: 16,
            self.repeat: 5,
            self.answer: 9,
            self.redeem: 7,
            self.report: 6,
            self.change: 5,
            self.wait: 4,
            self.read: 4,
            self.attest: 1,
        }
        for _ in range(count):
            self.chance.choices(list(doings), list(doings.values()))[0]()
        look_around(self.world, *self.actors)

    # --- doings --------------------------------------------------------------------------------

    def _actor(self) -> Actor:
        return self.chance.choice(self.actors)

    def _context(self, actor: Actor) -> Any:
        chance = self.chance
        if chance.random() < (0.02 if self.is_calm else 0.1):
            return actions.odd_context(chance)
        conversation = chance.choice(("c", "c", "d", "e"))
        step = None if chance.random() < (0.97 if self.is_calm else 0.85) else chance.randrange(1, 12)
        more = {} if self.is_calm else actions.state(chance)
        if chance.random() < 0.1:
            more["user_intent"] = "the daily run, token=abcdefgh12345678"
        return actor.context(conversation, step, **more)

    def _by(self, actor: Actor) -> str:
        others = ("owner", "operator", "cat", "stranger", "nobody", self._actor().name)
        return actor.name if self.chance.random() < 0.88 else self.chance.choice(others)

    def _headers(self) -> dict[str, str]:
        if self.chance.random() < 0.9:
            return {}
        return {"Idempotency-Key": self.chance.choice(("k1", "k2", "k3", "k" * 300))}

    def verify(self) -> None:
        actor, chance = self._actor(), self.chance
        made = actions.action(chance)
        if self.is_calm and chance.random() < 0.6:
            risk = chance.choice(("LOW", "MEDIUM", "MEDIUM", "HIGH"))
            made = {
                "type": "calculate",
                "query": actions.say(chance, chance.choice(("VERIFIED", "UNCERTAIN")), risk),
            }
        more = {**actions.usage(chance), **actions.options(chance)}
        self._sent(
            actor.verify, made, self._context(actor), by=self._by(actor), headers=self._headers(), **more
        )

    def use_tool(self) -> None:
        actor, chance = self._actor(), self.chance
        kinds = (
            actions.TOOLS,
            actions.DANGEROUS,
            actions.OWN,
            actions.BLOCKED,
            ("calculate", "execute_sql", "teleport", "Drop-Table"),
        )
        tool = chance.choice(chance.choices(kinds, (10, 3, 4, 2, 2))[0])
        parameters = chance.choice(
            ({"say": actions.say(chance)}, {"say": actions.say(chance)}, {"to": "a@b.example"}, None, [])
        )
        more = dict(actions.usage(chance))
        if chance.random() < 0.2:
            more["justification"] = "because the customer asked"
        context = self._context(actor) if chance.random() < 0.6 else None
        context = context if isinstance(context, dict) else None
        self._sent(
            actor.use_tool, tool, parameters, context, by=self._by(actor), headers=self._headers(), **more
        )

    def _sent(self, ask: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self.repeated = [*self.repeated[-4:], (ask, arguments, named)]
        ask(*arguments, **named)

    def repeat(self) -> None:
        if self.repeated:
            ask, arguments, named = self.chance.choice(self.repeated)
            ask(*arguments, **named)

    def answer(self) -> None:
        actor, chance = self._actor(), self.chance
        if not actor.asked:
            return
        approval_id, wanted = chance.choice(actor.asked[-4:])
        by = chance.choice(("ada", "ada", "bob", "bob", "cat", "operator", "owner", "stranger"))
        if chance.random() < 0.15:
            vote(self.world, approval_id, by, "deny", note="no")
        elif chance.random() < 0.2:
            edited = actions.action(chance, type=wanted.get("type", "calculate"))
            if vote(self.world, approval_id, by, action=edited).get("status") == "approved":
                actor.asked.append((approval_id, edited))
        else:
            vote(self.world, approval_id, by)

    def redeem(self) -> None:
        actor, chance = self._actor(), self.chance
        if not actor.asked:
            return
        approval_id, wanted = chance.choice(actor.asked[-4:])
        if chance.random() < 0.1:
            wanted = actions.action(chance)
        if chance.random() < 0.05:
            approval_id = "apr_" + "0" * 32
        actor.redeem(approval_id, wanted, by=self._by(actor))

    def report(self) -> None:
        actor, chance = self._actor(), self.chance
        if not actor.approved:
            return
        activity_id = chance.choice(actor.approved[-3:])
        if chance.random() < 0.25:
            outcome, by = (
                chance.choice(("success", "failure", "partial", "unknown")),
                chance.choice(("operator", "ada")),
            )
            actor.settle(activity_id, outcome, by)
            return
        outcome = chance.choice(("success", "success", "failure", "partial", "unknown", "unknown", "perhaps"))
        actor.report(activity_id, outcome, by=self._by(actor), **actions.usage(chance))

    def change(self) -> None:
        actor, chance, call = self._actor(), self.chance, self.world.call
        by = chance.choice(("operator", "operator", "owner", "ada"))
        level = chance.choice((0, 1, 2, 3))
        elevation = {
            "request": "trust_elevation",
            "from_level": level,
            "to_level": level + 1,
            "justification": "good",
        }
        changes: list[tuple[Any, ...]] = [
            ("POST", f"{actor.path}/suspend", {"reason": "strange"}, by),
            ("POST", f"{actor.path}/reactivate", {}, by),
            ("POST", f"{actor.path}/reactivate", {}, by),
            ("POST", f"{actor.path}/complaint", {"reason": "rude"}, by),
            ("POST", f"{actor.path}/trust", {"to_level": level, "reason": "known"}, by),
            ("POST", f"{actor.path}/trust", {"to_level": 2, "reason": "known"}, "operator"),
            ("POST", f"{actor.path}/trust", elevation, actor.name),
            ("PATCH", actor.path, {"budget": chance.choice(BUDGETS) or {}}, by),
            ("PATCH", actor.path, {"permissions": chance.choice(PERMISSIONS)}, by),
        ]
        call(*chance.choice(changes))

    def wait(self) -> None:
        self.world.clock.advance(self.chance.choice((61, 130, 901, 3_700, 90_000)) * 1000)

    def read(self) -> None:
        actor, chance = self._actor(), self.chance
        targets = [actor.path, f"{actor.path}/budget", f"{actor.path}/activity?limit=5", "/activity?limit=3"]
        if actor.asked:
            approval = f"/approvals/{chance.choice(actor.asked)[0]}"
            targets += [approval, f"{approval}/comparison"]
        self.world.call(
            "GET", chance.choice(targets), by=chance.choice(("operator", "ada", "stranger", actor.name))
        )

    def attest(self) -> None:
        actor = self._actor()
        made = {"type": "calculate", "query": actions.say(self.chance, "VERIFIED", "LOW")}
        answer = actor.verify(made, options={"require_attestation": True})
        token = answer.get("attestation") or "eyJub25zZW5zZQ.e30.x"
        if self.chance.random() < 0.3:
            token = token[:-4] + "AAAA"
        self.world.call("POST", "/attestations/verify", {"attestation": token}, by=actor.name)
