"""Values that decide, as columns: the whole value as JSON in `body`, and beside it what is searched."""

from typing import Any

from qwed.domain.agents import Agent, AgentStatus
from qwed.domain.approvals import Approval
from qwed.domain.credentials import ApiKey
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit, PermitFinding
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.stores.bodies import encode

Columns = dict[str, Any]


def agent_columns(agent: Agent) -> Columns:
    return {
        "agent_id": agent.agent_id,
        "principal_id": agent.principal_id,
        "token_hash": agent.token_hash,
        "status": agent.status.value,
        "violation": agent.suspended_for_violation and agent.status is AgentStatus.SUSPENDED,
        "body": encode(agent),
    }


def approval_columns(approval: Approval) -> Columns:
    return {
        "approval_id": approval.approval_id,
        "agent_id": approval.agent_id,
        "principal_id": approval.principal_id,
        "status": approval.status.value,
        "created_ms": approval.created_ms,
        "ends_ms": approval.ends_ms,
        "attention_ms": approval.attention_ms,
        "body": encode(approval),
    }


def key_columns(key: ApiKey) -> Columns:
    return {
        "key_id": key.key_id,
        "key_hash": key.key_hash,
        "principal_id": key.principal_id,
        "body": encode(key),
    }


def outcome_columns(outcome: Outcome) -> Columns:
    return {
        "activity_id": outcome.activity_id,
        "agent_id": outcome.agent_id,
        "result": outcome.result.value,
        "fingerprint": outcome.fingerprint,
        "body": encode(outcome),
    }


def permit_columns(permit: IssuedPermit) -> Columns:
    return {
        "jti": permit.jti,
        "activity_id": permit.activity_id,
        "agent_id": permit.agent_id,
        "audience": permit.audience,
        "action_hash": permit.action_hash,
        "state": permit.state.value,
        "expires_ms": permit.expires_ms,
        "version": permit.version,
        "body": encode(permit),
    }


def finding_columns(finding: PermitFinding) -> Columns:
    return {
        "finding_id": finding.finding_id,
        "principal_id": finding.principal_id,
        "agent_id": finding.agent_id,
        "kind": finding.kind.value,
        "at_ms": finding.at_ms,
        "body": encode(finding),
    }


def trust_change_columns(change: TrustChange) -> Columns:
    return {
        "agent_id": change.agent_id,
        "at_ms": change.at_ms,
        "cause": change.cause.value,
        "body": encode(change),
    }


def webhook_columns(hook: Webhook) -> Columns:
    return {"webhook_id": hook.webhook_id, "principal_id": hook.principal_id, "body": encode(hook)}


def policy_change_columns(change: PolicyChange) -> Columns:
    return {"number": change.number, "body": encode(change)}


def workflow_columns(workflow: Workflow) -> Columns:
    return {
        "workflow_id": workflow.workflow_id,
        "principal_id": workflow.principal_id,
        "body": encode(workflow),
    }
