"""The policy's Cedar policies, as one row of the table. They only deny."""

from collections.abc import Mapping
from typing import Final

from qwed.domain.codes import Code
from qwed.domain.policy import Policy
from qwed.domain.verdicts import deny
from qwed.gateway.decide.case import Case, RowAnswer, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.rules.cedar import CedarBook, CedarQuestion

_BOOK: Final = "_cedar_book"
_SAID: Final = ("conversation_id", "step_number")


def is_allowed_by_cedar(case: Case, facts: Facts) -> RowAnswer:
    reason = _book_of(case.policy).explain_denial(_question(case))
    if reason is None:
        return case
    # What is refused uses no grant up.
    return Ruling(case.add(redeemed=None), deny(Code.CEDAR_DENIED, reason))


def _book_of(policy: Policy) -> CedarBook:
    """Read once; kept with what else follows from a policy."""
    book: CedarBook | None = policy.__dict__.get(_BOOK)
    if book is None:
        book = policy.__dict__[_BOOK] = CedarBook(policy.cedar)
    return book


def _question(case: Case) -> CedarQuestion:
    examined, agent = case.examined, case.agent
    assert examined is not None
    finding = examined.finding
    context = case.context if isinstance(case.context, Mapping) else {}
    return CedarQuestion(
        action=(finding.corrected or case.action).to_wire(),
        agent={
            "id": agent.agent_id,
            "name": agent.name,
            "type": agent.type.value,
            "trust": int(agent.trust_level),
            "principal": agent.principal_id,
            "team": case.policy.team_of.get(agent.principal_id),
        },
        conversation={name: context[name] for name in _SAID if name in context},
        finding={"status": finding.status.value, "engine": finding.engine},
        risk=int(examined.risk),
    )
