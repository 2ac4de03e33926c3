"""Nodes of workflows: who may act where and when, what rules ask of people, what tokens complete."""

import random
from collections.abc import Callable
from typing import Any

from tests.oracle.actors import Actor, look_around, new_id, person, vote
from tests.oracle.world import Answer, World

POLICIES = (
    "{}",
    "{}",
    "profile: relaxed",
    "profile: standard",
    "assurance: {trust_scoring: true}",
    "assurance: {trust_scoring: true, min_score: 0.4, min_confidence: low}",
    "approvals: {approvers: 2, role: lead}",
)
TRIGGERS: tuple[dict[str, Any], ...] = (
    {"kind": "amount_above", "op": "gt", "value": 100, "input_ref": "parameters.amount"},
    {"kind": "amount_above", "op": "gt", "value": 100, "input_ref": "parameters.amount"},
    {"kind": "risk_above", "op": "gte", "value": 1, "input_ref": "risk"},
    {"kind": "confidence_below", "op": "lt", "value": 1, "input_ref": "confidence"},
    {"kind": "confidence_below", "op": "lt", "value": 0.6, "input_ref": "apae.peer_trust_score"},
    {"kind": "amount_above", "op": "gt", "value": 0.02, "input_ref": "cost_usd"},
    {"kind": "amount_above", "op": "gt", "value": 3, "input_ref": "tokens"},
    {"kind": "odd", "op": "gt", "value": 1, "input_ref": "risk"},
)
CONSTRAINTS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"apae.min_trust": 0.4},
    {"apae.min_trust": 0.7},
    {"apae.min_confidence": "medium"},
    {"apae.assurance_profile": "standard"},
    {"apae.assurance_profile": "regulated"},
    {"apae.unheard_of": 1},
)


def play(open_world: Callable[..., World], chance: random.Random) -> World:
    world = open_world(chance.choice(POLICIES))
    for name, roles in (("treasurer", ["treasurer"]), ("lead", ["lead"]), ("both", ["treasurer", "lead"])):
        person(world, name, roles=roles)
    for number in range(chance.randrange(3, 5)):
        Team(world, number).run()
    look_around(world)
    return world


class Team:
    """Two agents, of which the second may act only when the first is done."""

    def __init__(self, world: World, number: int) -> None:
        self.world, self.chance, self.number = world, world.chance, number
        chance = self.chance
        self.first = Actor(world, f"first {number}", type="trusted", trust_level=chance.choice((3, 2)))
        self.second = Actor(world, f"second {number}", type="trusted", trust_level=chance.choice((3, 2, 1)))
        first = chance.choice((self.first.did, self.first.agent_id))
        nodes = [
            {"id": "gather", "agent": first, "action": "calculate"},
            {"id": "report", "agent": self.second.did, "critical": chance.random() < 0.2},
        ]
        if chance.random() < 0.5:
            nodes[1]["constraints"] = chance.choice(CONSTRAINTS)
        dag = {"nodes": nodes, "edges": [{"from": "gather", "to": "report"}]}
        body = {"dag": dag, "hitl": self._rules(), "lifetime_seconds": chance.choice((600, 86_400, 86_400))}
        answer = world.call("POST", "/workflows", body)
        self.workflow_id = answer.get("workflow_id") or new_id(world)

    def _rules(self) -> dict[str, Any]:
        chance = self.chance
        if chance.random() < 0.3:
            return {}
        rules = [
            {
                "id": f"rule-{number}",
                "trigger": chance.choice(TRIGGERS),
                "required_role": chance.choice(("treasurer", "treasurer", "lead")),
                "action": chance.choice(("pause", "pause", "escalate", "abort", "launch")),
                "allow_override": chance.choice((True, True, True, False)),
                **chance.choice(({}, {}, {"override_action": "continue"}, {"override_action": "abort"})),
            }
            for number in range(chance.choice((1, 1, 2)))
        ]
        return {"rules": rules, **chance.choice(({}, {"timeout_s": 60}))}

    def act(self, actor: Actor, node: Any, **more: Any) -> Answer:
        chance, number = self.chance, self.chance.randrange(10**6)
        amount = chance.choice((1, 50, 500, "50", None))
        risk = chance.choice(("LOW", "LOW", "MEDIUM", "HIGH", "CRITICAL"))
        status = chance.choice(("VERIFIED", "VERIFIED", "VERIFIED", "UNCERTAIN", "CORRECTED", "FAILED"))
        if more.pop("is_plain", False):
            amount, risk, status = 1, "LOW", "VERIFIED"
        action = {
            "type": more.pop("type", "calculate"),
            "parameters": {"say": f"{status} {risk} {number}", "amount": amount},
        }
        place = {"workflow_id": more.pop("workflow_id", self.workflow_id), "node_id": node}
        context = actor.context(f"w{self.number}", **{k: v for k, v in place.items() if v is not None})
        if chance.random() < 0.2:
            more["usage"] = {"cost_usd": 0.05, "tokens": 5}
        if chance.random() < 0.2:
            more["options"] = {"risk_threshold": "low"}
        if node != "gather" and chance.random() < 0.25:
            tool = chance.choice(("get_weather", "send_email", "send_money"))
            more.pop("options", None)
            return actor.use_tool(tool, action["parameters"], context, **more)
        return actor.verify(action, context, **more)

    def finish(self, actor: Actor, node: str) -> None:
        """Until it is done, or half a dozen times; the last times with what hardly anything stops."""
        for number in range(6):
            answer = self.act(actor, node, is_plain=number > 3)
            if answer.decision == "PENDING":
                answer = self.asked(actor)
            if answer.decision in ("APPROVED", "CORRECTED"):
                outcome = self.chance.choice(("success", "success", "success", "failure", "unknown"))
                actor.report(answer.body["activity_id"], outcome)
                if outcome == "unknown":
                    actor.settle(answer.body["activity_id"])
                if outcome != "failure":
                    return

    def asked(self, actor: Actor) -> Answer:
        approval_id, action = actor.asked[-1]
        names = self.chance.sample(("treasurer", "lead", "both", "operator"), 3)
        if self.chance.random() < 0.3:
            edited = {
                **action,
                "parameters": {"say": f"VERIFIED {self.chance.choice(('LOW', 'HIGH'))}", "amount": 500},
            }
            if self.chance.random() < 0.3:
                edited["type"] = "verify_logic"
            if vote(self.world, approval_id, names[0], action=edited).status == 200:
                action = edited
        for name in names:
            vote(self.world, approval_id, name)
        self.world.clock.advance(self.chance.choice((0, 0, 0, 61_000)))
        return actor.redeem(approval_id, action)

    def run(self) -> None:
        chance, first, second = self.chance, self.first, self.second
        for actor, node, more in (
            (second, "report", {}),
            (second, "gather", {}),
            (first, "gather", {"type": "prove"}),
        ):
            if chance.random() < 0.4:
                self.act(actor, node, **more)
        for odd in ({"workflow_id": new_id(self.world)}, {"workflow_id": 5}, {"workflow_id": "x" * 300}):
            if chance.random() < 0.15:
                self.act(first, "gather", **odd)
        if chance.random() < 0.3:
            self.act(first, chance.choice((None, "nowhere", ["x"])))
        if chance.random() < 0.4:
            self._with_tokens()
        self.finish(first, "gather")
        if self.states().get("gather") != "completed":
            self.act(second, "report", ects=(self._done(),), is_plain=True)
        self.world.call(
            "GET", f"/workflows/{self.workflow_id}", by=chance.choice(("operator", "lead", second.name))
        )
        if chance.random() < 0.4:
            score = chance.choice((0.1, 0.65, 0.95))
            self.world.call("POST", "/trust-score", {"peer": second.did, "score": score, "reason": "known"})
        self.finish(second, "report")
        for _ in range(4):
            if self.act(second, "report").decision == "PENDING":
                self.asked(second)
        self.world.call("GET", f"/workflows/{self.workflow_id}")
        if chance.random() < 0.3:
            self.world.clock.advance(86_400_000)
            self.act(first, "gather")

    def states(self) -> dict[str, str]:
        shown = self.world.call("GET", f"/workflows/{self.workflow_id}")
        return {node["id"]: node["state"] for node in shown.get("nodes") or ()}

    def _done(self) -> str:
        """The first agent's word that its node is done."""
        return self.first.token("calculate", wid=self.workflow_id, ext={"acp.node": "gather"})

    def _with_tokens(self) -> None:
        first, second, chance = self.first, self.second, self.chance
        forged = second.token("calculate", wid=self.workflow_id, ext={"acp.node": "gather"})
        self.act(second, "report", ects=(forged,))
        self.act(second, "report", ects=(second.token(wid=new_id(self.world)),))
        if chance.random() < 0.5:
            self.act(second, "report", ects=(self._done(),))
        asked = first.token(ext={"apae.assurance_profile": chance.choice(("standard", "regulated", "odd"))})
        self.act(first, "gather", ects=(asked,))
