"""Every door alike: the same action gets the same verdict at `/verify`, at the door for tools, and when a
person puts it in the place of another. Random actions, findings, agents, policies and workflows."""

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.support.fakes import FakeClock, ToldProver

from qwed import Gateway, RequestError, bootstrap
from qwed.domain.actions import Action
from qwed.domain.credentials import OPERATOR_ROLE, ApiKey, Caller
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.policy import (
    DEFAULT_POLICY,
    ActionRule,
    ApprovalRules,
    AssuranceRules,
    DeniedCells,
    Policy,
    Profile,
    Separate,
    ToolGroup,
)
from qwed.domain.risk import Risk
from qwed.gateway.approvals.answer_approval import approve
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.policy.workflows import register_workflow

LOOK_ALIKES = (
    "dropTable",
    "Drop-Table",
    "ｓend_money",
    "delete_database\u200b",
    "ѕhutdown_server",
    "SEND.MONEY",
)
OWN = ("my_tool", "nobody_knows", *LOOK_ALIKES)
NAMES = (*DEFAULT_POLICY.actions, *OWN)
ENGINES = ("math", "logic", "fact", "sql", "code", "tool_control")
PERSON = Caller(key=ApiKey("person", b"", None, (), (OPERATOR_ROLE, "lead"), 0))
OPERATOR = Caller(key=ApiKey("in-process", b"", None, (), (OPERATOR_ROLE,), 0))
#: Asked first, so that another can be put in its place: it waits wherever it is not denied.
ASKED = {"type": "calculate", "query": "asked first"}

names = st.sampled_from(NAMES)
risks = st.sampled_from(Risk)
some_names = st.lists(names, max_size=3).map(tuple)


@st.composite
def findings(draw) -> Finding:
    status, risk = draw(st.sampled_from(Status)), draw(risks)
    failure = draw(st.sampled_from(Failure)) if status is Status.FAILED else None
    corrected = Action("calculate", query="1+1=2") if status is Status.CORRECTED else None
    return Finding(status, risk, "told", failure=failure, corrected=corrected)


@st.composite
def rules(draw) -> ActionRule:
    engine = draw(st.sampled_from(ENGINES))
    group = draw(st.sampled_from([None, *ToolGroup])) if engine == "tool_control" else None
    return ActionRule(engine, draw(st.none() | risks), group=group)


@st.composite
def policies(draw) -> Policy:
    registered = draw(st.dictionaries(st.sampled_from((*NAMES, "another")), rules(), max_size=4))
    scoring = draw(st.booleans())
    assurance = AssuranceRules(
        trust_scoring=scoring or None,
        trust_thresholds=scoring or None,
        min_score=draw(st.sampled_from([None, Decimal("0.4"), Decimal("0.6")])),
        level_scores=draw(st.sampled_from([{}, {"3": Decimal("0.6")}])) if scoring else {},
    )
    return msgspec.structs.replace(
        DEFAULT_POLICY,
        profile=draw(st.sampled_from([None, Profile.RELAXED, Profile.STANDARD])),
        actions={**DEFAULT_POLICY.actions, **registered},
        denied_cells=draw(st.sampled_from(DeniedCells)),
        assurance=assurance,
        approvals=ApprovalRules(separate=Separate.OFF),
    )


@st.composite
def agents(draw) -> dict[str, Any]:
    return {
        "type": "trusted",
        "trust_level": draw(st.sampled_from([0, 1, 2, 3, 3])),
        "permissions": {
            "allowed_engines": draw(st.just(ENGINES) | st.just(ENGINES) | st.just(("math",))),
            "allowed_tools": draw(st.just(NAMES) | some_names),
            "blocked_tools": draw(st.sampled_from([(), (), (), ("my_tool", "send_money", "Execute-SQL")])),
        },
        "budget": draw(st.sampled_from([{}] * 9 + [{"max_requests_per_day": 0}])),
    }


@st.composite
def workflows(draw) -> dict[str, Any] | None:
    """Without an agent: each door has one of its own."""
    if draw(st.booleans()):
        return None
    node = {"id": "n", "critical": draw(st.booleans())}
    if draw(st.booleans()):
        node["constraints"] = {"apae.min_trust": draw(st.sampled_from([0.3, 0.9]))}
    kind, op, ref = draw(
        st.sampled_from([("risk_above", "gte", "risk"), ("trust_below", "lt", "trust_level")])
    )
    rule = {
        "id": "r",
        "trigger": {"kind": kind, "op": op, "value": draw(st.integers(0, 3)), "input_ref": ref},
        "required_role": "lead",
        "action": draw(st.sampled_from(["pause", "abort"])),
        "allow_override": draw(st.booleans()),
    }
    return {"node": node, "hitl": {"rules": draw(st.sampled_from([[], [rule]]))}}


class Asked(msgspec.Struct):
    """How often one thing is asked, under which circumstances."""

    times: int = 1
    changes: dict[str, Any] = {}
    usage: dict[str, Any] | None = None
    is_suspended: bool = False

    def contexts(self, gateway: Gateway, agent_id: str, context: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self.is_suspended:
            gateway.suspend(agent_id, "strange")
        for step in range(1, self.times + 1):
            yield {**context, "step_number": step, **self.changes}


ONCE = Asked()
ODD_CONTEXTS = [
    {"step_number": 0},
    {"step_number": True},
    {"step_number": 51},
    {"conversation_id": " "},
    {"pre_action_state_hash": "x", "state_source": "git_tree"},
    {"pre_action_state_hash": "0" * 64, "state_source": "git_tree"},
    {"node_id": "elsewhere"},
    {"workflow_id": 7},
]
circumstances = st.builds(
    Asked,
    times=st.sampled_from([1, 1, 3, 4]),
    changes=st.sampled_from([{}] * 3 * len(ODD_CONTEXTS) + ODD_CONTEXTS),
    usage=st.sampled_from([None] * 9 + [{"cost_usd": 5}, {"tokens": 10**6}]),
    is_suspended=st.sampled_from([False] * 9 + [True]),
)


class Doors:
    """A gateway on fakes, with an agent made for each request: what one costs must not weigh on the next."""

    def __init__(self, policy: Policy, found: Finding) -> None:
        self.clock, self.prover = FakeClock(), ToldProver()
        self.prover.find = lambda engine, action: (
            Finding(Status.UNCERTAIN, Risk.LOW, engine) if action.query == ASKED["query"] else found
        )
        self._built = bootstrap.build(None, policy=policy)
        self.gateway = Gateway(msgspec.structs.replace(self._built, prover=self.prover))

    def close(self) -> None:
        bootstrap.close(self._built)

    def place(self, agent: dict[str, Any], workflow: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
        """A new agent like this, and a context for its first step."""
        agent_id = self.gateway.register_agent(name="a", principal_id="p", **agent)["agent_id"]
        context = {"conversation_id": "c", "step_number": 1}
        if workflow is not None:
            dag = {"nodes": [{**workflow["node"], "agent": agent_id}], "edges": []}
            body = {"dag": dag, "hitl": workflow["hitl"]}
            made = run(register_workflow(self.gateway.services, OPERATOR, body)).body
            context |= {"workflow_id": made["workflow_id"], "node_id": "n"}
        return agent_id, context

    def verify(self, agent, workflow, action: dict[str, Any], asked: Asked = ONCE) -> list[dict[str, Any]]:
        """What is answered, each time that it is asked."""
        agent_id, context = self.place(agent, workflow)
        return [
            self.gateway.verify_action(agent_id, action, step, usage=asked.usage)
            for step in asked.contexts(self.gateway, agent_id, context)
        ]

    def call(self, agent, workflow, action: dict[str, Any], asked: Asked = ONCE) -> list[dict[str, Any]]:
        agent_id, context = self.place(agent, workflow)
        name, arguments = action["type"], action["parameters"]
        return [
            self.gateway.verify_tool(agent_id, name, arguments, context=step, usage=asked.usage)
            for step in asked.contexts(self.gateway, agent_id, context)
        ]

    def edit(self, agent, workflow, action: dict[str, Any]) -> tuple[str, str | None] | None:
        """As a verdict, what becomes of another action in place of one that waits; None where none waits."""
        agent_id, context = self.place(agent, workflow)
        waiting = self.gateway.verify_action(agent_id, ASKED, context)
        if waiting["decision"] != "PENDING":
            return None
        try:
            answer = run(
                approve(self.gateway.services, PERSON, waiting["approval"]["id"], {"action": action})
            )
        except RequestError as error:
            return "DENIED", error.refusal.code.value
        assert answer.body["status"] == "approved"
        return "GRANTED", None


def verdict(answer: dict[str, Any]) -> tuple[str, str | None]:
    return answer["decision"], answer.get("error", {}).get("code")


def is_known_to_both(answer: dict[str, Any], call: dict[str, Any]) -> bool:
    checks = {check["policy"]: check["passed"] for check in call["policy_checks"]}
    return verdict(answer)[1] != "QWED-AGENT-ACTION-001" and checks.get("known_tool", True)


WORLDS = {
    "policy": policies(),
    "agent": agents(),
    "workflow": workflows(),
    "found": findings(),
    "name": names,
    "arguments": st.sampled_from([{}, {"to": "a@example.com"}, {"n": [1, 2.5]}, {}, {"n": math.inf}]),
}


@settings(max_examples=160, deadline=None)
@given(**WORLDS, asked=circumstances)
def test_a_name_that_both_doors_know_gets_the_same_verdicts_at_both(
    policy, agent, workflow, found, name, arguments, asked
):
    doors = Doors(policy, found)
    try:
        action = {"type": name, "parameters": arguments}
        answers, calls = (ask(agent, workflow, action, asked) for ask in (doors.verify, doors.call))
    finally:
        doors.close()
    event(f"{verdict(answers[-1])} and {verdict(calls[-1])}")
    for answer, call in zip(answers, calls, strict=True):
        if not is_known_to_both(answer, call):
            assert call["decision"] == "DENIED"
            return
        assert verdict(call) == verdict(answer)
        assert call.get("verification") == answer.get("verification")
        if policy.reads_dangerous(name):
            assert answer["decision"] in ("PENDING", "DENIED", "BUDGET_EXCEEDED")


@settings(max_examples=120, deadline=None)
@given(**WORLDS)
def test_an_edited_action_is_granted_exactly_where_a_proposed_one_is_not_denied(
    policy, agent, workflow, found, name, arguments
):
    agent = {**agent, "budget": {}}
    doors = Doors(policy, found)
    try:
        action = {"type": name, "parameters": arguments}
        (answer,), edited = doors.verify(agent, workflow, action), doors.edit(agent, workflow, action)
    finally:
        doors.close()
    event(f"{verdict(answer)} and {edited}")
    if edited is None:
        return
    assert edited == (verdict(answer) if answer["decision"] == "DENIED" else ("GRANTED", None))


@pytest.mark.parametrize("door", [Doors.verify, Doors.call])
@pytest.mark.parametrize("name", ["drop_table", "send_money", *LOOK_ALIKES])
@pytest.mark.parametrize(
    "registered", [None, ActionRule("code", Risk.LOW), ActionRule("tool_control", Risk.LOW)]
)
def test_a_dangerous_name_asks_for_a_person_at_trust_3_at_every_door(door, name, registered):
    """Bound to any engine by the policy, or brought by the agent as a tool of its own."""
    actions = DEFAULT_POLICY.actions if registered is None else {**DEFAULT_POLICY.actions, name: registered}
    if name in ("drop_table", "send_money"):
        actions = DEFAULT_POLICY.actions
    policy = msgspec.structs.replace(DEFAULT_POLICY, actions=actions)
    doors = Doors(policy, Finding(Status.VERIFIED, Risk.LOW, "told"))
    permissions = {"allowed_engines": list(ENGINES), "allowed_tools": [name]}
    (answer,) = door(
        doors, {"type": "trusted", "permissions": permissions}, None, {"type": name, "parameters": {}}
    )
    doors.close()
    assert verdict(answer) == ("PENDING", "QWED-AGENT-TRUST-002")
    assert answer["verification"]["risk_level"] == "critical"
    assert "requires manual approval" in answer["error"]["message"]
