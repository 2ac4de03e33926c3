"""A plan is the table: with plans and without, one gateway says and records the same, whatever changes in
between. Random agents, policies, actions, findings and changes, in two gateways that are asked alike."""

from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.property.test_tool_door_laws import (
    ODD_CONTEXTS,
    Doors,
    agents,
    findings,
    names,
    policies,
    workflows,
)
from tests.support.tiers import scale

from qwed import RequestError
from qwed.domain.findings import Finding, Status
from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.domain.risk import Risk
from qwed.gateway.decide import doors
from qwed.gateway.decide.case import Case, Door
from qwed.gateway.decide.plan import Plan, plan_for
from qwed.gateway.decide.table import ROWS, TABLE
from qwed.gateway.kernel.coroutines import run

#: What is drawn anew for every decision.
_OF_THE_MOMENT = frozenset(
    {"activity_id", "agent_id", "timestamp", "ect_jti", "ect_par", "attestation", "attestation_id", "agent"}
    | {"execution_context", "latency_ms", "approval_id", "policy_version", "id", "url", "expires_at"}
    | {"workflow_id", "workflow", "activities", "reset_at"}
)


def settle(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: settle(item) for key, item in value.items() if key not in _OF_THE_MOMENT}
    return [settle(item) for item in value] if isinstance(value, list) else value


changes = st.one_of(
    st.just(("ask",)),
    st.just(("ask",)),
    st.just(("suspend",)),
    st.just(("reactivate",)),
    st.tuples(st.just("trust"), st.integers(0, 3)),
    st.tuples(st.just("permissions"), agents().map(lambda agent: agent["permissions"])),
    st.tuples(st.just("policy"), policies()),
)
requests = st.fixed_dictionaries(
    {
        "name": names,
        "door": st.sampled_from([Door.ACTION, Door.ACTION, Door.TOOL]),
        "context": st.sampled_from([{}] * len(ODD_CONTEXTS) + ODD_CONTEXTS),
        "threshold": st.sampled_from([None, None, "low", "medium"]),
    }
)


class Side:
    """One of the two gateways, and its agent."""

    def __init__(self, policy: Policy, found: Any, agent: dict[str, Any], workflow: Any) -> None:
        self.doors = Doors(policy, found)
        self.agent_id, self.context = self.doors.place(agent, workflow)

    def change(self, kind: str, *given: Any) -> None:
        gateway = self.doors.gateway
        try:
            if kind == "suspend":
                gateway.suspend(self.agent_id, "strange")
            elif kind == "reactivate":
                gateway.reactivate(self.agent_id)
            elif kind == "permissions":
                gateway.change_agent(self.agent_id, permissions=given[0])
            elif kind == "trust":
                gateway.set_trust(self.agent_id, given[0], reason="a law")
            elif kind == "policy":
                gateway.services = msgspec.structs.replace(gateway.services, policy=given[0])
        except RequestError:
            event(f"{kind} refused")

    def ask(self, step: int, asked: dict[str, Any]) -> Any:
        gateway, context = self.doors.gateway, {**self.context, "step_number": step, **asked["context"]}
        if asked["door"] is Door.TOOL:
            answer = gateway.verify_tool(self.agent_id, asked["name"], {"a": "b"}, context=context)
        else:
            options = None if asked["threshold"] is None else {"risk_threshold": asked["threshold"]}
            action = {"type": asked["name"], "query": "1+1"}
            answer = gateway.verify_action(self.agent_id, action, context, options=options)
        activity, _ = run(gateway.services.store.activity(answer["activity_id"]))
        return settle(answer), settle(msgspec.json.decode(activity.payload))


async def plan_nothing(services: Any, case: Case, facts: Any) -> Plan:
    """The whole table, every time."""
    digest = await services.shared_facts.keep(services.store, case.agent, case.policy)
    return Plan(case.agent, case.policy, TABLE[case.door], None, digest)


@given(
    policies(),
    agents(),
    findings(),
    workflows(),
    requests,
    st.lists(changes, min_size=2, max_size=8),
)
@settings(max_examples=scale(ci=60, nightly=600, long=2_000), deadline=None)
def test_with_plans_and_without_the_same_is_answered_and_recorded(
    policy, agent, found, workflow, request, changed
):
    sides = [Side(policy, found, agent, workflow) for _ in range(2)]
    try:
        for step, change in enumerate(changed, start=1):
            answers = []
            for side, planning in zip(sides, (plan_for, plan_nothing), strict=True):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(doors, "plan_for", planning)
                    side.change(*change)
                    answers.append(side.ask(step, request))

            assert answers[0] == answers[1]
            event(answers[0][0]["decision"])
    finally:
        for side in sides:
            side.doors.close()


def test_a_plain_decision_is_asked_five_rows():
    """`have_origins` hangs on the risk that the engine finds, which no plan knows."""
    side = Side(DEFAULT_POLICY, _verified("math"), {"type": "autonomous"}, None)
    try:
        side.ask(1, {"name": "calculate", "door": Door.ACTION, "context": {}, "threshold": None})
        (plan,) = side.doors.gateway.services.plans.values()
    finally:
        side.doors.close()

    assert [row.name for row in plan.rows] == ["read_step", "admit", "prove", "have_origins", "is_trusted"]


def _verified(engine: str) -> Finding:
    return Finding(Status.VERIFIED, Risk.LOW, engine)


def test_types_that_nobody_registered_are_not_remembered():
    side = Side(DEFAULT_POLICY, _verified("math"), {"type": "autonomous"}, None)
    try:
        for step in range(1, 20):
            asked = {"name": f"made_up_{step}", "door": Door.ACTION, "context": {}, "threshold": None}
            side.ask(step, asked)

        assert len(side.doors.gateway.services.plans) == 0
    finally:
        side.doors.close()


def test_every_member_that_a_row_needs_is_a_member_of_the_case():
    members = set(Case.__struct_fields__)

    assert {name for row in ROWS for name in (*row.needs, *row.adds, *(row.fixed_by or ()))} <= members
