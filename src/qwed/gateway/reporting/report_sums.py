"""The sums of a report: over the tallies of the record, its noted changes, and the approvals asked for."""

import statistics
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.compliance import Figure
from qwed.domain.decisions import Decision
from qwed.domain.findings import Status
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.records import Tally

MAX_LISTED: Final = 500
_MAX_VERSIONS: Final = 1_000

#: Noted entries that a report shows, by the figure they belong to. What is not here is only counted.
CHANGES: Final[Mapping[str, Figure]] = {
    "change_trust": Figure.TRUST,
    "request_trust": Figure.TRUST,
    "suspend_agent": Figure.SUSPENSIONS,
    "complaint": Figure.SUSPENSIONS,
    "reactivate_agent": Figure.SUSPENSIONS,
    "create_key": Figure.CREDENTIALS,
    "revoke_key": Figure.CREDENTIALS,
    "rotate_token": Figure.CREDENTIALS,
    "create_webhook": Figure.CREDENTIALS,
    "drop_webhook": Figure.CREDENTIALS,
    "register_agent": Figure.AGENT_CHANGES,
    "change_agent": Figure.AGENT_CHANGES,
    "deregister_agent": Figure.AGENT_CHANGES,
    "redact_activity": Figure.ERASURES,
}


class ReportedChange(msgspec.Struct, frozen=True):
    """A noted entry as a report shows it."""

    at: str
    agent_id: str
    kind: str
    by: str | None
    details: Mapping[str, Json]


class _Changes:
    """All are counted, the first are listed."""

    def __init__(self) -> None:
        self.total = 0
        self.by_kind: Counter[str] = Counter()
        self.listed: list[ReportedChange] = []

    def add(self, change: ReportedChange) -> None:
        self.total += 1
        self.by_kind[change.kind] += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(change)

    def to_wire(self) -> dict[str, Json]:
        return {
            "total": self.total,
            "by_kind": dict(sorted(self.by_kind.items())),
            "not_listed": self.total - len(self.listed),
            "list": [msgspec.structs.asdict(change) for change in self.listed],
        }


class _Noted(msgspec.Struct):
    class _Action(msgspec.Struct):
        parameters: Any = None

    timestamp: str
    agent_id: str
    action_type: str
    action: _Action = msgspec.field(default_factory=_Action)
    requested_by: str | None = None


class Count:
    """The sums over all tallies of a period."""

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()
        self.by_agent: dict[str, Counter[str]] = {}
        self.verified: Counter[tuple[str, str, str, str]] = Counter()
        self.refusals: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[str | None] = Counter()
        self.self_reported = 0
        self.cost_nano = self.settled_nano = self.tokens = 0
        self.versions: dict[str, list[int]] = {}
        self.uncounted_versions = 0
        self.days: Counter[int] = Counter()
        self.entries = self.noted = self.redacted = self.unexamined = self.uncertain = self.removed = 0
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.changes = {figure: _Changes() for figure in dict.fromkeys(CHANGES.values())}

    def add(self, tally: Tally) -> None:
        self.entries += tally.count
        self.redacted += tally.count if tally.is_redacted else 0
        self.days[tally.day] += tally.count
        self.first_ms = tally.first_ms if self.first_ms is None else min(self.first_ms, tally.first_ms)
        self.last_ms = tally.last_ms if self.last_ms is None else max(self.last_ms, tally.last_ms)
        if tally.policy_version is not None:
            self._add_version(tally.policy_version, tally)
        if tally.decision == NOTED:
            self.noted += tally.count
            self.settled_nano += tally.cost_nano
            self.tokens += tally.tokens
        else:
            self._add_decision(tally)

    def _add_version(self, version: str, tally: Tally) -> None:
        seen = self.versions.get(version)
        if seen is None and len(self.versions) >= _MAX_VERSIONS:
            self.uncounted_versions += tally.count
        elif seen is None:
            self.versions[version] = [tally.count, tally.first_ms, tally.last_ms]
        else:
            seen[:] = [seen[0] + tally.count, min(seen[1], tally.first_ms), max(seen[2], tally.last_ms)]

    def _add_decision(self, tally: Tally) -> None:
        self.decisions[tally.decision] += tally.count
        self.by_agent.setdefault(tally.agent_id, Counter())[tally.decision] += tally.count
        self.cost_nano += tally.cost_nano
        self.tokens += tally.tokens
        if tally.status is None:
            self.unexamined += tally.count
        else:
            alike = (tally.engine or "", tally.risk or "", tally.status, tally.decision)
            self.verified[alike] += tally.count
            self.uncertain += tally.count if tally.status == Status.UNCERTAIN else 0
        if tally.decision in (Decision.DENIED, Decision.BUDGET_EXCEEDED):
            self.refusals[tally.error_code or "", tally.decision] += tally.count
        if tally.decision in (Decision.APPROVED, Decision.CORRECTED):
            self.outcomes[tally.outcome] += tally.count
            self.self_reported += tally.count if tally.is_self_reported else 0

    def note(self, payload: bytes) -> None:
        entry = msgspec.json.decode(payload, type=_Noted)
        details = entry.action.parameters if isinstance(entry.action.parameters, dict) else {}
        figure = CHANGES.get(entry.action_type)
        if figure is not None:
            change = ReportedChange(
                entry.timestamp, entry.agent_id, entry.action_type, entry.requested_by, details
            )
            self.changes[figure].add(change)

    def busiest(self) -> list[str]:
        order = sorted(self.by_agent, key=lambda agent: (-self.by_agent[agent].total(), agent))
        return order[:MAX_LISTED]

    @property
    def allowed(self) -> int:
        return self.outcomes.total()


class Approvals:
    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self.statuses: Counter[str] = Counter()
        self.unused = self.unanswered = self.total = self.edited = self.quorum = 0
        self.by_key: dict[str, Counter[str]] = {}
        self.response_ms = array("q")
        self.listed: list[dict[str, Json]] = []

    def add(self, approval: Approval) -> None:
        status = approval.status_at(self._now_ms)
        self.total += 1
        self.statuses[status] += 1
        self.edited += approval.edited_by is not None
        self.quorum += approval.approvers_needed > 1
        if status is ApprovalStatus.EXPIRED:
            is_granted = approval.grant_expires_ms is not None
            self.unused += is_granted
            self.unanswered += not is_granted
        for vote in approval.votes:
            said = self.by_key.setdefault(vote.by, Counter())
            said["approved" if vote.approves else "denied"] += 1
        if _is_answered(approval):
            self.response_ms.append(approval.votes[-1].at_ms - approval.created_ms)
        if len(self.listed) < MAX_LISTED:
            self.listed.append(_approval_wire(approval, status))

    def to_wire(self) -> dict[str, Json]:
        by_key = sorted(self.by_key.items(), key=lambda item: (-item[1].total(), item[0]))[:MAX_LISTED]
        return {
            "total": self.total,
            "by_status": {status.value: self.statuses[status] for status in ApprovalStatus},
            "expired_unanswered": self.unanswered,
            "granted_and_never_used": self.unused,
            "edited_before_approval": self.edited,
            "needing_several_people": self.quorum,
            "response_seconds": self._responses(),
            "by_key": [
                {"by": name, "approved": said["approved"], "denied": said["denied"]} for name, said in by_key
            ],
            "not_listed": self.total - len(self.listed),
            "list": self.listed,
        }

    def _responses(self) -> dict[str, Json] | None:
        if not self.response_ms:
            return None
        return {
            "answered": len(self.response_ms),
            "median": round(statistics.median(self.response_ms) / 1000, 3),
            "longest": round(max(self.response_ms) / 1000, 3),
        }


def _is_answered(approval: Approval) -> bool:
    return bool(approval.votes) and approval.status is not ApprovalStatus.OPEN


def _approval_wire(approval: Approval, status: ApprovalStatus) -> dict[str, Json]:
    is_answered = _is_answered(approval)
    return {
        "id": approval.approval_id,
        "agent_id": approval.agent_id,
        "kind": approval.kind,
        "action_type": str(approval.action.get("type", "")),
        "risk_level": approval.risk.wire,
        "status": status,
        "asked_at": iso(approval.created_ms),
        "answered_at": iso(approval.votes[-1].at_ms) if is_answered else None,
        "response_seconds": (
            round((approval.votes[-1].at_ms - approval.created_ms) / 1000, 3) if is_answered else None
        ),
        "approvers_needed": approval.approvers_needed,
        "required_role": approval.role,
        "edited_by": approval.edited_by,
        "redeemed_at": None if approval.redeemed_ms is None else iso(approval.redeemed_ms),
        "votes": [
            {"by": vote.by, "approves": vote.approves, "at": iso(vote.at_ms), "note": vote.note}
            for vote in approval.votes
        ],
    }
