"""The table, partially evaluated: what every action of one type by one agent has in common.

A plan is no second decider. It is made by asking the rows themselves, once: a row whose answer hangs on
agent, action type and policy alone, and which has nothing against the action, need not be asked again until
one of them changes. Whatever speaks against an action is said by the table, every time.
"""

from typing import Final

import msgspec

from qwed.domain.agents import Agent
from qwed.domain.policy import ActionRule, Policy
from qwed.domain.verdicts import APPROVED
from qwed.gateway.decide.case import Case
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.table import ROWS, TABLE, Row
from qwed.gateway.kernel.services import Services

MAX_PLANS: Final = 4_096
#: What a row may need: members that are known when a case is opened and are part of a plan's key or fixed by
#: the policy, and members that rows add. Anything else is nothing a plan knows of.
_KNOWN_AT_ONCE: Final = frozenset(
    {"presented", "names_place", "is_scored", "is_limited", "stops", "has_rules", "has_cedar"}
)
_ADDED: Final = frozenset(name for row in ROWS for name in row.adds)


class Plan(msgspec.Struct, frozen=True):
    """`rows` are those that are left to ask; `rule` and `agent_digest` are what the others found."""

    agent: Agent
    policy: Policy
    rows: tuple[Row, ...]
    rule: ActionRule | None
    agent_digest: str


def find_plan(services: Services, case: Case) -> Plan | None:
    """The plan that was made for a case like this one, as long as agent and policy are the same."""
    known: Plan | None = services.plans.get(_key_of(case))
    if known is not None and known.agent is case.agent and known.policy is case.policy:
        return known
    return None


def _key_of(case: Case) -> tuple[str | bool, ...]:
    """What all cases have in common that have one plan."""
    return (
        case.agent.agent_id,
        case.action.type,
        case.door,
        bool(case.presented),
        case.names_place,
        case.is_limited,
    )


async def plan_for(services: Services, case: Case, facts: Facts) -> Plan:
    """A plan of cases like this one, from now on known. Raises `StoreUnavailable`."""
    digest = await services.shared_facts.keep(services.store, case.agent, case.policy)
    rule, rows = prepare(case, facts)
    plan = Plan(case.agent, case.policy, rows, rule, digest)
    # A type is the agent's own word: only those that mean something are remembered.
    if case.policy.is_registered(case.action.type):
        if len(services.plans) >= MAX_PLANS:
            services.plans.clear()
        services.plans[_key_of(case)] = plan
    return plan


def prepare(case: Case, facts: Facts) -> tuple[ActionRule | None, tuple[Row, ...]]:
    """The rows that a case like this one has yet to be asked, and the rule that those left out found."""
    rows: list[Row] = []
    #: Members of which nothing is known yet.
    open_facts = set() if case.approval is None else {"approval"}
    for row in TABLE[case.door]:
        if row.needs and _is_idle(case, row, open_facts):
            continue
        if row.fixed_by is not None and open_facts.isdisjoint(row.fixed_by):
            answer = row.check(case, facts)
            if answer is case or answer is APPROVED:
                continue
            if isinstance(answer, Case) and row.adds == ("rule",):
                case = answer
                continue
        rows.append(row)
        open_facts.update(row.adds)
    return case.rule, tuple(rows)


def _is_idle(case: Case, row: Row, open_facts: set[str]) -> bool:
    """Whether nothing that the row looks at is there, or can come."""
    return all(
        name not in open_facts and name in _KNOWN_AT_ONCE | _ADDED and not getattr(case, name)
        for name in row.needs
    )
