"""What goes wrong before the record is made: the store, the lease, the agent, the key, another request."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, person, vote
from tests.oracle.world import World

POLICIES = ("{}", "{}", "approvals: {max_open: 1, separate: 'off'}", "assurance: {trust_scoring: true}")
FAULTS = ("store_unavailable", "lease_lost", "agent_changed", "defect")
#: These end the request: nobody may try again by itself.
FINAL = ("store_unavailable", "defect")


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(POLICIES))
    trouble = Trouble(world)
    for _ in range(chance.randrange(14, 22)):
        trouble.happen()
    look_around(world, trouble.actor)
    return world


class Trouble:
    def __init__(self, world: World) -> None:
        self.world, self.chance = world, world.chance
        person(world, "ada")
        self.actor = Actor(world, "agent", type="trusted", trust_level=3)
        self.numbers = 0

    def happen(self) -> None:
        self.chance.choice(
            (
                self.commit_fails,
                self.commit_fails,
                self.commit_fails,
                self.changed_while_proving,
                self.changed_while_proving,
                self.changed_before_commit,
                self.lease_runs_out,
                self.step_taken,
                self.step_in_flight,
                self.budget_gone,
                self.grant_used,
                self.too_many_open,
                self.token_taken,
                self.key_gone,
                self.grant_fails,
                self.vote_fails,
                self.others_fail,
                self.workflow_gone,
            )
        )()
        self.world.gateway.break_key(False)
        self.world.gateway.store.before_commit = None
        self.world.gateway.prover.before_answer = None
        self.world.call("POST", f"{self.actor.path}/reactivate", {})
        self.world.call("POST", f"{self.actor.path}/trust", {"to_level": 3, "reason": "again"})

    # --- asking --------------------------------------------------------------------------------

    def _action(self, said: str = "VERIFIED LOW") -> dict[str, Any]:
        self.numbers += 1
        return {"type": "calculate", "query": f"{said} {self.numbers}"}

    def _ask(self, note: str, said: str | None = None, **more: Any) -> Any:
        """At one of the doors."""
        chance = self.chance
        said = said or f"VERIFIED {chance.choice(('LOW', 'LOW', 'HIGH'))}"
        action = self._action(said)
        if chance.random() < 0.3:
            more["headers"] = {"Idempotency-Key": f"k{self.numbers}"}
        if chance.random() < 0.3:
            context = self.actor.context("t") if chance.random() < 0.6 else None
            arguments: tuple[Any, ...] = ("get_weather", {"say": action["query"]}, context)
            answer = self.actor.use_tool(*arguments, note=note, **more)
        else:
            if chance.random() < 0.2:
                more["options"] = {"require_attestation": True}
            context = self.actor.context("t")
            arguments = (action, context)
            answer = self.actor.verify(*arguments, note=note, **more)
        self.world.gateway.break_key(False)
        if chance.random() < 0.6:
            again = self.actor.use_tool if isinstance(arguments[0], str) else self.actor.verify
            again(*arguments, note="the same once more", **more)
        return answer

    def _granted(self) -> tuple[str, Any]:
        answer = self.actor.verify(self._action("UNCERTAIN LOW"), self.actor.context("g"))
        if answer.decision != "PENDING":
            return "apr_" + "0" * 32, {}
        approval_id, action = self.actor.asked[-1]
        vote(self.world, approval_id, "ada")
        return approval_id, action

    def _suspension(self, world: World) -> tuple[Any, ...]:
        return ("POST", f"{self.actor.path}/suspend", {"reason": "meanwhile"})

    def _less_trust(self, world: World) -> tuple[Any, ...]:
        return (
            "POST",
            f"{self.actor.path}/trust",
            {"to_level": world.chance.choice((0, 2)), "reason": "meanwhile"},
        )

    def _more_or_less(self, world: World) -> tuple[Any, ...]:
        blocked = {"permissions": {"blocked_tools": ["calculate"]}}
        return ("PATCH", self.actor.path, world.chance.choice(({"description": "new"}, blocked)))

    def _deregistration(self, world: World) -> tuple[Any, ...]:
        return ("DELETE", self.actor.path)

    # --- what goes wrong -----------------------------------------------------------------------

    def commit_fails(self) -> None:
        fault = self.chance.choice(FAULTS)
        self.world.gateway.fail_commit(fault)
        said = self.chance.choice(("VERIFIED LOW", "VERIFIED HIGH", "UNCERTAIN LOW", "CORRECTED LOW"))
        self._ask(f"the commit fails: {fault}", said)

    def changed_while_proving(self) -> None:
        change = self.chance.choice(
            (self._suspension, self._suspension, self._less_trust, self._more_or_less)
        )
        self.world.while_proving(change)
        said = self.chance.choice(("VERIFIED LOW", "VERIFIED HIGH", "UNCERTAIN LOW", "FAILED LOW"))
        self._ask("the agent is changed while the engine works", said)

    def changed_before_commit(self) -> None:
        self.world.while_committing(self.chance.choice((self._suspension, self._less_trust)))
        self._ask("the agent is changed before the commit", "VERIFIED LOW")

    def lease_runs_out(self) -> None:
        self.world.while_proving(self._pause)
        self._ask("the engine takes longer than the lease")

    def _pause(self, world: World) -> tuple[Any, ...]:
        world.clock.advance(31_000)
        return ("GET", f"{self.actor.path}/budget")

    def step_taken(self) -> None:
        """The lease runs out, and somebody else takes the step."""

        def take(world: World) -> tuple[Any, ...]:
            world.clock.advance(31_000)
            body = {"action": self._action(), "context": self.actor.context("t")}
            return ("POST", f"{self.actor.path}/verify", body)

        self.world.while_proving(take)
        self._ask("the lease runs out and the step is taken")
        self.actor.steps["t"] = self.actor.steps.get("t", 0) + self.chance.choice((0, 1))

    def step_in_flight(self) -> None:
        """Somebody asks for a step of the same conversation while this one is at work."""

        def ask(world: World) -> tuple[Any, ...]:
            step = self.actor.steps.get("t", 0) + world.chance.choice((1, 2))
            body = {"action": self._action(), "context": self.actor.context("t", step)}
            return ("POST", f"{self.actor.path}/verify", body)

        self.world.while_proving(ask)
        self.actor.verify(
            self._action(), self.actor.context("t"), note="another step while this one is at work"
        )

    def budget_gone(self) -> None:
        def spend(world: World) -> tuple[Any, ...]:
            return (
                "PATCH",
                self.actor.path,
                {"budget": {"max_daily_cost_usd": 0, "max_requests_per_hour": 1}},
            )

        self.world.while_proving(spend)
        self._ask("the budget is lowered while the engine works")
        self._ask("and now it is gone")
        self.world.call(
            "PATCH", self.actor.path, {"budget": {"max_daily_cost_usd": 100, "max_requests_per_hour": None}}
        )

    def grant_used(self) -> None:
        approval_id, action = self._granted()

        def use(world: World) -> tuple[Any, ...]:
            return ("POST", f"/approvals/{approval_id}/redeem", {"action": action}, "agent")

        self.world.while_committing(use)
        self.actor.redeem(approval_id, action, note="the grant is used meanwhile")

    def too_many_open(self) -> None:
        def ask(world: World) -> tuple[Any, ...]:
            body = {"action": self._action("UNCERTAIN LOW"), "context": self.actor.context("another")}
            return ("POST", f"{self.actor.path}/verify", body)

        self.world.while_proving(ask)
        self._ask("another approval is opened while the engine works", "UNCERTAIN LOW")

    def token_taken(self) -> None:
        """The same id, with other content, is recorded first."""
        jti = f"aaaaaaaa-bbbb-4ccc-8ddd-{self.numbers:012d}"
        mine, theirs = self.actor.token(jti=jti), self.actor.token("other", jti=jti)

        def submit(world: World) -> tuple[Any, ...]:
            return ("POST", "/ect", {"ects": [theirs]}, "agent")

        self.world.while_proving(submit)
        said = self.chance.choice(("VERIFIED LOW", "VERIFIED HIGH", "UNCERTAIN LOW"))
        self._ask("the token's id is taken while the engine works", said, ects=(mine,))

    def key_gone(self) -> None:
        self.world.gateway.break_key()
        more: dict[str, Any] = {"ects": (self.actor.token(),)} if self.chance.random() < 0.4 else {}
        said = self.chance.choice(
            ("VERIFIED HIGH", "VERIFIED HIGH", "VERIFIED LOW", "CORRECTED LOW", "FAILED LOW")
        )
        self._ask("the key cannot sign", said, **more)

    def grant_fails(self) -> None:
        approval_id, action = self._granted()
        what = self.chance.choice(("store_unavailable", "agent_changed", "key", "suspended", "defect"))
        if what == "key":
            self.world.gateway.break_key()
        elif what == "suspended":
            self.world.while_committing(self._suspension)
        else:
            self.world.gateway.fail_commit(what)
        self.actor.redeem(approval_id, action, note=f"a grant is used, and fails: {what}")
        self.world.gateway.break_key(False)
        self.world.call("POST", f"{self.actor.path}/reactivate", {})
        self.actor.redeem(approval_id, action)

    def vote_fails(self) -> None:
        answer = self.actor.verify(self._action("UNCERTAIN LOW"), self.actor.context("g"))
        if answer.decision != "PENDING":
            return
        approval_id, action = self.actor.asked[-1]
        self.world.gateway.fail_commit("store_unavailable")
        edited = {"type": "calculate", "query": f"VERIFIED HIGH {self.numbers}"}
        body = self.chance.choice(({}, {"action": edited}))
        self.world.call("POST", f"/approvals/{approval_id}/approve", body, by="ada", note="a vote fails")
        vote(self.world, approval_id, "ada")
        self.actor.redeem(approval_id, body.get("action", action))

    def others_fail(self) -> None:
        """Changes that people make, and reports."""
        self.world.gateway.fail_commit(self.chance.choice(FINAL))
        path = self.actor.path
        targets: list[tuple[str, str, Any]] = [
            ("POST", f"{path}/suspend", {}),
            ("POST", f"{path}/trust", {"to_level": 1, "reason": "less"}),
            ("POST", "/agents/register", {"name": "x", "type": "autonomous", "principal_id": "acme"}),
            ("POST", "/keys", {"principal_id": "acme"}),
        ]
        if self.actor.approved:
            outcome = f"{path}/activity/{self.actor.approved[-1]}/outcome"
            targets += [("POST", outcome, {"outcome": "success"})] * 4
        self.world.call(*self.chance.choice(targets), note="a commit of something else fails")

    def workflow_gone(self) -> None:
        """The policy of a workflow ends while the engine works; the agent leaves."""
        dag = {"nodes": [{"id": "n", "agent": self.actor.did}], "edges": []}
        rule = {
            "id": "r",
            "trigger": {"kind": "risk_above", "op": "gte", "value": 0, "input_ref": "risk"},
            "required_role": "lead",
            "action": "pause",
            "allow_override": True,
        }
        made = self.world.call(
            "POST", "/workflows", {"dag": dag, "hitl": {"rules": [rule]}, "lifetime_seconds": 60}
        )
        context = self.actor.context("w", workflow_id=made.get("workflow_id"), node_id="n")

        def expire(world: World) -> tuple[Any, ...]:
            world.clock.advance(61_000)
            return ("GET", f"/workflows/{made.get('workflow_id')}")

        self.world.while_proving(expire)
        self.actor.verify(self._action(), context, note="the workflow ends while the engine works")
