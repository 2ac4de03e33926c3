"""People answer what waits: one or several, with edits, too late, for others; and grants are used, once."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, person, vote
from tests.oracle.world import World

POLICIES = (
    "{}",
    "approvals: {approvers: 2}",
    "approvals: {approvers: 3, role: lead}",
    "approvals: {role: lead, ttl_seconds: 60}",
    "approvals: {separate: always}",
    "approvals: {separate: 'off', max_open: 3}",
    "approvals: {escalate_after_seconds: 30, escalate_to_role: chief, role: lead}",
    "trust: {denied_cells: pending}",
    "profile: standard",
    "prices: {math: 0.4}",
)
EDITS: tuple[Any, ...] = (
    {"type": "calculate", "query": "VERIFIED LOW edited"},
    {"type": "calculate", "query": "VERIFIED HIGH edited"},
    {"type": "calculate", "query": "VERIFIED CRITICAL edited"},
    {"type": "calculate", "query": "UNCERTAIN LOW edited"},
    {"type": "calculate", "query": "CORRECTED LOW edited"},
    {"type": "calculate", "query": "FAILED LOW edited"},
    {"type": "execute_sql", "query": "VERIFIED MEDIUM edited"},
    {"type": "send_money", "parameters": {"amount": 5}},
    {"type": "Drop-Table"},
    {"type": "teleport", "query": "x"},
    {"type": "post_booking", "parameters": {"amount": 5}},
    {"type": "format_disk"},
    {"type": "calculate", "parameters": []},
    {"type": "calculate", "parameters": {"password": "hunter2!hunter2"}},
    {"query": "no type"},
    "text",
    5,
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(POLICIES))
    People(world).run(chance.randrange(10, 16))
    return world


class People:
    def __init__(self, world: World) -> None:
        self.world, self.chance = world, world.chance
        person(world, "owner", scopes=["verify", "register", "read"])
        for name, roles in (("ada", ["lead"]), ("bob", ["lead", "chief"]), ("cat", []), ("dan", ["chief"])):
            person(world, name, roles=roles)
        person(world, "stranger", principal="other")
        permissions = {"allowed_tools": ["post_booking"], "blocked_tools": ["format_disk"]}
        self.actor = Actor(world, "agent", by="owner", type="supervised", permissions=permissions)
        self.other = Actor(world, "other", type="trusted", trust_level=3)

    def run(self, count: int) -> None:
        stories = (
            self.granted,
            self.denied,
            self.edited,
            self.edited,
            self.expired,
            self.used_twice,
            self.other_action,
            self.used_by_others,
            self.changed_since,
            self.too_poor,
            self.unsettled,
            self.corrected,
            self.seen_before,
            self.elevation,
            self.together,
        )
        for _ in range(count):
            self.chance.choice(stories)()
        self.world.call("GET", "/approvals?status=open&limit=2")
        self.leave(self.chance.choice((self.departed, self.policy_changed)))
        look_around(self.world, self.actor)

    def leave(self, last: Callable[[list[tuple[str, Any]]], None]) -> None:
        made = [self.asked() for _ in range(3)]
        for approval_id, _ in made[:2]:
            self.grant(approval_id)
        last(made)
        for approval_id, action in made:
            vote(self.world, approval_id, "ada", note="x" * 5_000)
            vote(self.world, approval_id, "bob")
            self.actor.redeem(approval_id, action)

    def departed(self, made: list[tuple[str, Any]]) -> None:
        self.world.call("DELETE", self.actor.path)

    def policy_changed(self, made: list[tuple[str, Any]]) -> None:
        """What was granted under one policy is used under another."""
        kinds = (
            "trust: {denied_cells: pending}",
            "actions: {calculate: {enabled: false}}",
            "prices: {math: 0.4}",
        )
        self.world.reopen(self.chance.choice(kinds))

    # --- what happens --------------------------------------------------------------------------

    def asked(self, **action: Any) -> tuple[str, Any]:
        """Something that waits; its approval and its action."""
        number = self.chance.randrange(10**6)
        risk = self.chance.choice(("MEDIUM", "LOW"))
        status = "VERIFIED" if risk == "MEDIUM" else "UNCERTAIN"
        wanted = {"type": "calculate", "query": f"{status} {risk} {number}", **action}
        more: dict[str, Any] = {}
        if self.chance.random() < 0.3:
            more["usage"] = {"cost_usd": 0.25, "tokens": 30}
        context = self.actor.context(f"c{number % 3}", user_intent="as the customer asked")
        if self.chance.random() < 0.2:
            wanted = {"type": "send_email", "parameters": {"say": f"VERIFIED LOW {number}", **action}}
            answer = self.actor.use_tool(
                "send_email", wanted["parameters"], context if self.chance.random() < 0.5 else None, **more
            )
        else:
            answer = self.actor.verify(wanted, context, **more)
        if answer.decision != "PENDING":
            self.world.call("POST", f"{self.actor.path}/reactivate", {})
            self.world.call("POST", f"{self.actor.path}/trust", {"to_level": 1, "reason": "again"})
            return "apr_" + "0" * 32, wanted
        return self.actor.asked[-1]

    def voters(self) -> list[str]:
        return self.chance.sample(("ada", "bob", "cat", "dan", "operator"), 3)

    def grant(self, approval_id: str) -> None:
        """Until it is granted, by whoever may."""
        for name in ("ada", "bob", "dan", "operator"):
            if vote(self.world, approval_id, name).get("status") == "approved":
                return

    def granted(self) -> None:
        approval_id, action = self.asked()
        for name in self.voters():
            vote(self.world, approval_id, name, note="fine, password=hunter2!hunter2")
            self.world.call("GET", f"/approvals/{approval_id}/comparison", by=name)
        if self.actor.redeem(approval_id, action).decision == "APPROVED":
            self.actor.report(self.actor.approved[-1], usage={"cost_usd": 0.1, "tokens": 5})

    def denied(self) -> None:
        approval_id, action = self.asked()
        for name in self.voters()[:2]:
            vote(self.world, approval_id, name, "deny", note="no")
        self.actor.redeem(approval_id, action)
        vote(self.world, approval_id, "ada")

    def edited(self) -> None:
        approval_id, action = self.asked()
        edit = self.chance.choice(EDITS)
        if self.chance.random() < 0.2:
            vote(self.world, approval_id, "bob")
        first, second, third = self.voters()
        is_suspended = self.chance.random() < 0.1
        if is_suspended:
            self.world.call("POST", f"{self.actor.path}/suspend", {"reason": "before the edit"})
        vote(self.world, approval_id, first, action=edit)
        shown = self.world.call("GET", f"/approvals/{approval_id}", by=second)
        digest = shown.get("action_hash") if self.chance.random() < 0.7 else "0" * 64
        vote(self.world, approval_id, second, action_hash=digest)
        vote(self.world, approval_id, third)
        if is_suspended:
            self.world.call("POST", f"{self.actor.path}/reactivate", {})
        self.world.call("GET", f"/approvals/{approval_id}/comparison")
        self.actor.redeem(approval_id, action)
        self.actor.redeem(approval_id, shown.get("action") or edit)

    def expired(self) -> None:
        approval_id, action = self.asked()
        if self.chance.random() < 0.5:
            self.grant(approval_id)
        self.world.clock.advance(self.chance.choice((31, 61, 901)) * 1000)
        vote(self.world, approval_id, "dan")
        self.actor.redeem(approval_id, action)
        vote(self.world, approval_id, "ada", "deny")

    def used_twice(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        self.actor.redeem(approval_id, action)
        self.actor.redeem(approval_id, action)
        vote(self.world, approval_id, "cat")

    def other_action(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        self.actor.redeem(approval_id, {**action, "query": "another"})
        self.actor.redeem(approval_id, {**action, "parameters": [1]})
        self.world.call("POST", f"/approvals/{approval_id}/redeem", {}, by="agent")
        self.world.call("POST", f"/approvals/{approval_id}/redeem", {"action": 5}, by="agent")
        self.actor.redeem(approval_id, action)

    def used_by_others(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        for name in ("other", "stranger", "owner", "nobody"):
            self.actor.redeem(approval_id, action, by=name)
        vote(self.world, approval_id, "stranger")
        vote(self.world, approval_id, "owner")

    def changed_since(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        call, path = self.world.call, self.actor.path
        blocked = {"permissions": {"blocked_tools": [action.get("type", "calculate")]}}
        change, undo = self.chance.choice(
            (
                (("POST", f"{path}/suspend", {"reason": "later"}), ("POST", f"{path}/reactivate", {})),
                (
                    ("PATCH", path, blocked),
                    ("PATCH", path, {"permissions": {"blocked_tools": ["format_disk"]}}),
                ),
                (
                    ("PATCH", path, {"permissions": {"allowed_engines": ["fact"]}}),
                    ("PATCH", path, {"permissions": {"allowed_engines": ["math", "sql"]}}),
                ),
                (
                    ("POST", f"{path}/trust", {"to_level": 0, "reason": "less"}),
                    ("POST", f"{path}/trust", {"to_level": 1, "reason": "more"}),
                ),
            )
        )
        call(*change)
        self.actor.redeem(approval_id, action)
        call(*undo)
        self.actor.redeem(approval_id, action)

    def too_poor(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        budget = self.chance.choice(
            ({"max_daily_cost_usd": 0}, {"max_requests_per_hour": 0}, {"max_daily_tokens": 0})
        )
        self.world.call("PATCH", self.actor.path, {"budget": budget})
        self.actor.redeem(approval_id, action)
        self.world.call("PATCH", self.actor.path, {"budget": dict.fromkeys(budget, None)})
        self.actor.redeem(approval_id, action)

    def unsettled(self) -> None:
        approval_id, action = self.asked()
        self.grant(approval_id)
        twin = self.actor.verify(action, self.actor.context("twin"))
        if twin.decision == "PENDING":
            self.grant(twin.body["approval"]["id"])
        if self.actor.redeem(approval_id, action).decision != "APPROVED":
            return
        used = self.actor.approved[-1]
        self.actor.report(used, "unknown", error="it timed out")
        self.actor.verify(action, self.actor.context("again"))
        if twin.decision == "PENDING":
            self.actor.redeem(twin.body["approval"]["id"], action)
        self.actor.settle(
            used, self.chance.choice(("success", "unknown", "failure")), self.chance.choice(("ada", "agent"))
        )
        self.actor.verify(action, self.actor.context("again"))
        self.actor.report(used, "success")

    def corrected(self) -> None:
        risk = self.chance.choice(("LOW", "MEDIUM"))
        wanted = {"type": "calculate", "query": f"CORRECTED {risk} {self.chance.randrange(999)}"}
        answer = self.actor.verify(wanted, self.actor.context("corrected"))
        if answer.decision == "PENDING":
            approval_id, action = self.actor.asked[-1]
            self.grant(approval_id)
            self.actor.redeem(approval_id, wanted)
            self.actor.redeem(approval_id, action)

    def seen_before(self) -> None:
        """A key that has seen the token of an agent answers for it."""
        rotated = self.world.call("POST", f"{self.actor.path}/rotate-token", {}, by="owner")
        self.world.credentials["agent"] = rotated.get("agent_token") or self.world.credentials["agent"]
        approval_id, _ = self.asked()
        for name in ("owner", "cat", "ada"):
            vote(self.world, approval_id, name)

    def elevation(self) -> None:
        level = self.chance.choice((0, 1, 1, 1, 2))
        body = {
            "request": "trust_elevation",
            "from_level": level,
            "to_level": level + 1,
            "justification": "well behaved",
        }
        answer = self.world.call("POST", f"{self.actor.path}/trust", body, by="agent")
        approval_id = answer.get("approval", "id") or answer.get("approval", "approval_id")
        if approval_id is not None:
            if self.chance.random() < 0.3:
                self.world.call("POST", f"{self.actor.path}/trust", {"to_level": 0, "reason": "meanwhile"})
            vote(self.world, approval_id, "ada", action={"type": "calculate"})
            self.grant(approval_id)
            self.actor.redeem(approval_id, {"type": "trust_elevation"})
        self.world.call("POST", f"{self.actor.path}/trust", {"to_level": 1, "reason": "again"})

    def together(self) -> None:
        """More than may be open at once."""
        made = [self.asked() for _ in range(4)]
        for approval_id, action in made:
            vote(self.world, approval_id, self.chance.choice(("ada", "bob")))
            self.actor.redeem(approval_id, action)
