"""Values for tests that speak to a store directly: agents, attempts, records."""

import itertools
from decimal import Decimal
from typing import Any

from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent, AgentId, AgentType, Permissions, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.budgets import Charge
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey, Scope
from qwed.domain.deliveries import Delivery
from qwed.domain.money import NanoUsd, nano_of
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.permits import IssuedPermit
from qwed.domain.policy import BudgetLimits
from qwed.domain.risk import Risk
from qwed.domain.times import day_of
from qwed.domain.trust import TrustLevel
from qwed.domain.webhooks import Event, Topic, Webhook
from qwed.ect.keys import NodeSigner, generate
from qwed.gateway.kernel.ports import Admission
from qwed.gateway.kernel.records import Activity, Booking, CommittedStep, Record

UNLIMITED = BudgetLimits(None, None, None, None, None, None)
CENT = Charge(nano_of(Decimal("0.01")), 0)
#: Signs what a store under test writes; the same one when it is opened again.
RING = NodeSigner(generate(), "test")

_numbers = itertools.count(1)


def an_agent(agent_id: str | None = None, principal: str = "acme", **changes: Any) -> Agent:
    name = agent_id or f"agent_{next(_numbers):016x}"
    values = {
        "agent_id": AgentId(name),
        "name": "tester",
        "type": AgentType.AUTONOMOUS,
        "principal_id": PrincipalId(principal),
        "token_hash": name.encode().ljust(32, b"\0"),
        "trust_level": TrustLevel.AUTONOMOUS,
        "permissions": Permissions(),
        "budget": UNLIMITED,
        "created_ms": 1_000,
        **changes,
    }
    return Agent(**values)


def a_key(secret: bytes = b"k" * 32, principal: str | None = "acme", **changes: Any) -> ApiKey:
    values = {
        "key_id": f"key_{next(_numbers):08x}",
        "key_hash": secret,
        "principal_id": None if principal is None else PrincipalId(principal),
        "scopes": (Scope.READ,),
        "roles": (),
        "created_ms": 1_000,
        **changes,
    }
    return ApiKey(**values)


def fingerprint_of(text: str) -> bytes:
    return b"\x02" + text.encode().ljust(32, b"\0")


def an_attempt(step: int = 1, what: str | None = None, conversation: str = "c", **changes: Any) -> Attempt:
    values = {
        "conversation_id": conversation,
        "step": step,
        "fingerprint": fingerprint_of(what or f"action {step}"),
        "charge": CENT,
        **changes,
    }
    return Attempt(**values)


def an_activity(agent: Agent, at_ms: int, decision: str = "APPROVED", **changes: Any) -> Activity:
    number = next(_numbers)
    values = {
        "activity_id": f"act_{at_ms:012x}{number:020x}",
        "agent_id": agent.agent_id,
        "principal_id": agent.principal_id,
        "at_ms": at_ms,
        "action_type": "calculate",
        "decision": decision,
        "error_code": None,
        "conversation_id": None,
        "cost_nano": 0,
        "tokens": 0,
        "fingerprint": b"",
        "payload": b'{"number":%d}' % number,
        **changes,
    }
    return Activity(**values)


def noted(agent: Agent, at_ms: int, /, **parts: Any) -> Record:
    """A record with its activity and whatever else is given."""
    return Record(an_activity(agent, at_ms, "NOTED"), **parts)


def decided(
    agent: Agent,
    attempt: Attempt,
    admission: Admission,
    *,
    approved: bool = True,
    uses_step: bool = True,
    **parts: Any,
) -> Record:
    """What a decision writes: APPROVED, PENDING (not approved) or DENIED (no step)."""
    decision = "APPROVED" if approved and uses_step else "PENDING" if uses_step else "DENIED"
    charge = attempt.charge if decision == "APPROVED" else Charge(NanoUsd(0), 0)
    activity = an_activity(
        agent,
        admission.at_ms,
        decision,
        conversation_id=attempt.conversation_id,
        cost_nano=charge.cost,
        tokens=charge.tokens,
        fingerprint=attempt.fingerprint,
    )
    step = CommittedStep(
        agent.agent_id,
        attempt.conversation_id,
        Step(attempt.step, attempt.fingerprint, attempt.state, approved, activity.activity_id),
    )
    booking = Booking(
        agent.agent_id,
        agent.principal_id,
        day_of(admission.at_ms),
        admission.at_ms // 1000,
        1,
        charge.cost,
        charge.tokens,
    )
    return Record(activity, step=step if uses_step else None, booking=booking, **parts)


def an_approval(agent: Agent, at_ms: int, ttl_ms: int = 900_000, **changes: Any) -> Approval:
    values = {
        "approval_id": f"apr_{at_ms:012x}{next(_numbers):08x}",
        "activity_id": "act_x",
        "agent_id": agent.agent_id,
        "principal_id": agent.principal_id,
        "requested_by": ("key:k",),
        "conversation_id": "c",
        "step": 1,
        "action": {"type": "calculate", "query": "2+2"},
        "action_hash": "0" * 64,
        "policy_version": "sha256:0",
        "risk": Risk.LOW,
        "reason": "because",
        "evidence": {},
        "intent": None,
        "created_ms": at_ms,
        "expires_ms": at_ms + ttl_ms,
        "status": ApprovalStatus.OPEN,
        **changes,
    }
    return Approval(**values)


def a_permit(jti: str = "pmt_1", agent_id: str = "agent_1", **changed: Any) -> IssuedPermit:
    given = {
        "activity_id": f"act_{jti}",
        "agent_id": AgentId(agent_id),
        "principal_id": PrincipalId("acme"),
        "audience": "payments",
        "action_type": "send_money",
        "action_hash": "a" * 64,
        "issued_ms": 0,
        "expires_ms": 120_000,
    }
    return IssuedPermit(jti=jti, **{**given, **changed})


def an_outcome(activity: Activity, result: OutcomeResult = OutcomeResult.SUCCESS, **changes: Any) -> Outcome:
    values = {
        "activity_id": activity.activity_id,
        "agent_id": activity.agent_id,
        "result": result,
        "reported_by": "agent:a",
        "reported_ms": activity.at_ms,
        "fingerprint": activity.fingerprint,
        **changes,
    }
    return Outcome(**values)


def a_webhook(webhook_id: str = "hook_1", principal: str | None = "acme", **changes: Any) -> Webhook:
    values = {
        "webhook_id": webhook_id,
        "principal_id": None if principal is None else PrincipalId(principal),
        "url": "https://x.example/hook",
        "events": tuple(Topic),
        "secret": "whsec_s",
        "created_ms": 1_000,
        **changes,
    }
    return Webhook(**values)


def a_delivery(at_ms: int, webhook_id: str = "hook_1", **changes: Any) -> Delivery:
    values = {
        "delivery_id": f"dlv_{at_ms:012x}{next(_numbers):016x}",
        "webhook_id": webhook_id,
        "principal_id": PrincipalId("acme"),
        "event_id": f"evt_{next(_numbers):016x}",
        "event": Event.DECISION_FAILED,
        "created_ms": at_ms,
        "due_ms": at_ms,
        "body": b'{"x":1}',
        **changes,
    }
    return Delivery(**values)
