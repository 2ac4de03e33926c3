"""Erasure: what an entry said goes, wherever it was copied to; that it was there, and who took it out, stays.

The ledger holds a salted commitment to each entry. Without text and salt nothing can be learned from it,
and the chain still follows. What is left of an entry is committed to again, by the note of the erasure.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval, ApprovalKind, ApprovalStatus, Vote
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.times import iso
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import NOTED, noted
from qwed.gateway.kernel.commitments import committed
from qwed.gateway.kernel.masks import sought_name
from qwed.gateway.kernel.records import Activity, ActivityQuery, Record, Redaction, Tombstone
from qwed.gateway.kernel.requests import MAX_TEXT, check_identifier, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope, visible_agent
from qwed.gateway.kernel.wire import encode_json
from qwed.gateway.reporting.read_activity import cursor_of, position_of, read_instant, require_history

#: What the note of an erasure is called. It names entries, never what they said.
REDACT: Final = "redact_activity"
ERASED: Final = "[redacted]"
#: Entries looked at in one request by filter; the answer says where to go on.
MAX_PAGE: Final = 200
MAX_NEEDLE: Final = 200
_MAX_NAMED: Final = 100
_MINUTE_MS, _HOUR_MS = 60_000, 3_600_000

#: Members of an entry that say what was decided, not what was said.
_KEPT: Final = (
    "activity_id", "agent_id", "timestamp", "decision", "error_code", "cost", "policy_version",
    "requested_by", "attestation_id", "approval_id", "ect_jti",
)  # fmt: skip
_KEPT_OF_VERIFICATION: Final = ("status", "engine", "risk_level", "failure", "latency_ms")
#: Notes that repeat a text of the entry they are about, or add one to it.
_NOTES_OF_AN_OUTCOME: Final = ("report_outcome", "settle_outcome")


class RedactBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: str


class RedactManyBody(msgspec.Struct, forbid_unknown_fields=True):
    """At least one of `before`, `containing` and `conversation_id` says which entries."""

    reason: str
    before: str | None = None
    containing: str | None = None
    conversation_id: str | None = None
    cursor: str | None = None
    dry_run: bool = False


async def redact_activity(
    services: Services, caller: Caller, agent_id: AgentId, activity_id: str, raw: Json
) -> Answer:
    """One entry, and what repeats it: the approval it asked for, its use, its outcome, and notes on them."""
    require_scope(caller, Scope.TRUST)
    await require_history(services, caller, agent_id, sees_all=caller.is_operator)
    reason = check_reason(convert(raw, RedactBody).reason)
    async with services.turns.turn(agent_id):
        found = await services.store.activity(activity_id)
        if found is None or found[0].agent_id != agent_id:
            raise refuse(Code.NOT_FOUND, f"the agent has no activity {activity_id[:80]!r}")
        erasure = _Erasure(services, caller, agent_id)
        problem = await erasure.take(activity_id)
        if problem is not None:
            raise refuse(Code.REDACTION_CONFLICT, problem)
        note = await erasure.commit(reason)
    return Answer({"redacted": sorted(erasure.activities), "activity_id": note})


async def redact_matching(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    """A page of an agent's entries at a time; those that cannot be redacted now are named with the reason."""
    require_scope(caller, Scope.TRUST)
    await require_history(services, caller, agent_id, sees_all=caller.is_operator)
    body = convert(raw, RedactManyBody)
    reason = check_reason(body.reason)
    query, needle = _selection(agent_id, body)
    async with services.turns.turn(agent_id):
        page = await services.store.activities(query)
        erasure = _Erasure(services, caller, agent_id, _names_to_forget(body))
        skipped = []
        matching = [_Entry.read(payload) for payload, _ in page.entries if needle in payload]
        for entry in matching:
            if entry.redacted or entry.activity_id in erasure.activities:
                continue
            problem = await erasure.take(entry.activity_id)
            if problem is not None and entry.action_type != REDACT:
                skipped.append({"activity_id": entry.activity_id, "reason": problem})
        names = sorted(erasure.activities)
        note = None
        if names and not body.dry_run:
            note = await erasure.commit(reason)
    answer: dict[str, Json] = {
        "redacted" if not body.dry_run else "would_be_redacted": len(names),
        "looked_at": len(page.entries),
        "skipped": skipped[:_MAX_NAMED],
    }
    if note is not None:
        answer["activity_id"] = note
    if page.next_seq is not None:
        answer["next"] = cursor_of(page.next_seq)
    return Answer(answer)


def check_reason(reason: str) -> str:
    if not reason.strip():
        raise malformed("reason", "is missing: an erasure says why")
    if len(reason) > MAX_TEXT:
        raise malformed("reason", f"is longer than {MAX_TEXT} characters")
    return reason


def _selection(agent_id: AgentId, body: RedactManyBody) -> tuple[ActivityQuery, bytes]:
    if body.before is None and body.containing is None and body.conversation_id is None:
        raise malformed("containing", "or before or conversation_id has to say which entries")
    for field in ("containing", "conversation_id"):
        if (value := getattr(body, field)) is not None:
            check_identifier(field, value)
    if body.containing is not None and not (body.containing.strip() and len(body.containing) <= MAX_NEEDLE):
        raise malformed("containing", f"has 1 to {MAX_NEEDLE} characters")
    if body.containing is not None and body.containing in body.reason:
        raise malformed("reason", "repeats what is to be erased: it would stay in the record")
    query = ActivityQuery(
        agent_id,
        to_ms=read_instant("before", body.before),
        conversation_id=sought_name(body.conversation_id),
        limit=MAX_PAGE,
        before_seq=position_of(body.cursor),
    )
    # As it is written inside a JSON text.
    needle = b"" if body.containing is None else msgspec.json.encode(body.containing)[1:-1]
    return query, needle


def _names_to_forget(body: RedactManyBody) -> "_Names":
    """A conversation's name goes when all of it goes: entries that stay must stay under their name."""
    if body.before is not None:
        return _Names()
    is_whole = body.conversation_id is not None and body.containing is None
    return _Names(sought_name(body.conversation_id) if is_whole else None, body.containing)


class _Names(msgspec.Struct, frozen=True):
    exactly: str | None = None
    containing: str | None = None

    def forgets(self, conversation_id: str | None) -> bool:
        if conversation_id is None:
            return False
        return conversation_id == self.exactly or (
            self.containing is not None and self.containing in conversation_id
        )


class _Entry(msgspec.Struct):
    """What has to be known of a stored entry, whatever else it holds."""

    activity_id: str
    action_type: str = ""
    approval_id: str | None = None
    action: Any = None
    redacted: bool = False

    @classmethod
    def read(cls, payload: bytes) -> "_Entry":
        return _entry_decoder.decode(payload)

    def parameter(self, name: str) -> str | None:
        """Of a note: what it is about."""
        parameters = self.action.get("parameters") if isinstance(self.action, Mapping) else None
        value = parameters.get(name) if isinstance(parameters, Mapping) else None
        return value if isinstance(value, str) else None


_entry_decoder: Final = msgspec.json.Decoder(_Entry)


class _Erasure:
    """Everything that one erasure takes out, gathered before anything is changed."""

    def __init__(
        self,
        services: Services,
        caller: Caller,
        agent_id: AgentId,
        names: _Names = _Names(),  # noqa: B008 - frozen
    ) -> None:
        self._services = services
        self._caller = caller
        self._agent_id = agent_id
        self._names = names
        self.activities: dict[str, tuple[Activity, Outcome | None]] = {}
        self._approvals: dict[str, Approval] = {}

    async def take(self, activity_id: str) -> str | None:
        """Add an entry and what belongs to it; or nothing, and say why it has to stay for now."""
        root = await self._root(activity_id)
        gathered: dict[str, tuple[Activity, Outcome | None]] = {}
        approvals: dict[str, Approval] = {}
        for name in dict.fromkeys((activity_id, *root)):
            problem = await self._gather(name, gathered, approvals)
            if problem is not None:
                return problem
        self.activities |= gathered
        self._approvals |= approvals
        return None

    async def _root(self, activity_id: str) -> list[str]:
        """A note on an outcome or an answer belongs to the entry that it is about."""
        found = await self._services.store.activity(activity_id)
        if found is None:
            return []
        entry = _Entry.read(found[0].payload)
        about = entry.parameter("activity_id") if found[0].decision == NOTED else None
        asked = entry.approval_id or (entry.parameter("approval_id") if found[0].decision == NOTED else None)
        approval = None if asked is None else await self._services.store.approval(asked)
        return [name for name in (about, approval.activity_id if approval else None) if name]

    async def _gather(
        self,
        activity_id: str,
        gathered: dict[str, tuple[Activity, Outcome | None]],
        approvals: dict[str, Approval],
    ) -> str | None:
        found = await self._services.store.activity(activity_id)
        if found is None or found[0].agent_id != self._agent_id:
            return None
        activity, outcome = found
        entry = _Entry.read(activity.payload)
        if entry.redacted:
            return "the entry was redacted already"
        if activity.decision == NOTED and activity.action_type == REDACT:
            return "the note of an erasure stays: it says who erased what, and why"
        if outcome is not None and outcome.result is OutcomeResult.UNKNOWN:
            return "its outcome is unknown, which still blocks a retry: settle it first"
        gathered[activity_id] = found
        if outcome is not None:
            await self._add_notes(gathered, activity_id, outcome)
        asked = entry.approval_id or (entry.parameter("approval_id") if activity.decision == NOTED else None)
        approval = None if asked is None else await self._services.store.approval(asked)
        if approval is None:
            return None
        if _is_needed(approval, self._services.clock.now_ms()):
            return "its approval is still open, or its grant can still be used: answer it or wait"
        approvals[approval.approval_id] = approval
        await self._add_use(gathered, approval)
        for answer in approval.answers:
            await self._add(gathered, answer)
        return None

    async def _add_use(
        self, gathered: dict[str, tuple[Activity, Outcome | None]], approval: Approval
    ) -> None:
        """The entry of the grant's use repeats the action."""
        if approval.redeemed_ms is None:
            return
        async for entry in self._entries(approval.redeemed_ms, approval.redeemed_ms + 1):
            if entry.approval_id == approval.approval_id and entry.activity_id not in gathered:
                await self._gather(entry.activity_id, gathered, {})

    async def _add_notes(
        self, gathered: dict[str, tuple[Activity, Outcome | None]], about: str, outcome: Outcome
    ) -> None:
        """What was reported of an outcome is in a note beside it, written at the same moment."""
        for at_ms in (outcome.reported_ms, outcome.settled_ms):
            if at_ms is None:
                continue
            for kind in _NOTES_OF_AN_OUTCOME:
                async for entry in self._entries(at_ms - _MINUTE_MS, at_ms + _HOUR_MS, kind):
                    if entry.parameter("activity_id") == about:
                        await self._add(gathered, entry.activity_id)

    async def _add(self, gathered: dict[str, tuple[Activity, Outcome | None]], activity_id: str) -> None:
        found = await self._services.store.activity(activity_id)
        if found is not None and not _Entry.read(found[0].payload).redacted:
            gathered[activity_id] = found

    async def _entries(self, from_ms: int, to_ms: int, kind: str | None = None) -> AsyncIterator[_Entry]:
        before: int | None = None
        while True:
            query = ActivityQuery(
                self._agent_id,
                from_ms=from_ms,
                to_ms=to_ms,
                decision=None if kind is None else NOTED,
                action_type=kind,
                limit=MAX_PAGE,
                before_seq=before,
            )
            page = await self._services.store.activities(query)
            for payload, _ in page.entries:
                yield _Entry.read(payload)
            before = page.next_seq
            if before is None:
                return

    async def commit(self, reason: str) -> str:
        """One transaction: the texts go and the note is written, or neither."""
        now_ms = self._services.clock.now_ms()
        stones, left = [], {}
        forgotten: set[str] = set()
        for name, (activity, _) in sorted(self.activities.items()):
            forgets = self._names.forgets(activity.conversation_id)
            if forgets and activity.conversation_id is not None:
                forgotten.add(activity.conversation_id)
            erased = self._erase(activity, now_ms, forgets_name=forgets)
            stones.append(Tombstone(name, erased.action_type, erased.conversation_id, erased.payload))
            left[name] = hashlib.sha256(committed(erased)).hexdigest()
        redaction = Redaction(
            self._agent_id,
            tuple(stones),
            tuple(_blank_approval(approval, self._names) for approval in self._approvals.values()),
            tuple(_blank_outcome(outcome) for _, outcome in self.activities.values() if outcome is not None),
            tuple(sorted(forgotten)),
        )
        agent = await visible_agent(self._services, self._caller, self._agent_id)
        note = noted(
            self._services,
            self._caller,
            REDACT,
            {"reason": reason, "entries": left},
            agent=agent,
            agent_id=self._agent_id,
            principal_id=self._owner(agent),
            caused_by=(),
        )
        await self._services.store.commit(Record(note, redaction=redaction))
        return note.activity_id

    def _owner(self, agent: Agent | None) -> PrincipalId:
        """An agent that is gone still has a record, and the record an owner."""
        if agent is not None:
            return agent.principal_id
        return next(iter(self.activities.values()))[0].principal_id

    def _erase(self, activity: Activity, now_ms: int, *, forgets_name: bool) -> Activity:
        entry = msgspec.json.decode(activity.payload, type=dict[str, Json])
        # A type that means nothing to the policy is the agent's own word.
        is_ours = activity.decision == NOTED or self._services.policy.is_registered(activity.action_type)
        action_type = activity.action_type if is_ours else ERASED
        conversation = None if forgets_name else activity.conversation_id
        left: dict[str, Json] = {name: entry[name] for name in _KEPT if name in entry}
        left["action_type"] = action_type
        left["action"] = {"type": action_type}
        if conversation is not None:
            left["context"] = {"conversation_id": conversation}
        if isinstance(verification := entry.get("verification"), dict):
            left["verification"] = {
                name: verification[name] for name in _KEPT_OF_VERIFICATION if name in verification
            }
        left |= {"redacted": True, "redacted_at": iso(now_ms), "redacted_by": self._caller.name}
        return msgspec.structs.replace(
            activity,
            action_type=action_type,
            conversation_id=conversation,
            fingerprint=b"",
            payload=encode_json(left),
        )


def _is_needed(approval: Approval, now_ms: int) -> bool:
    """Somebody may still answer it, or use what was granted."""
    status = approval.status_at(now_ms)
    is_grant = status is ApprovalStatus.APPROVED and approval.kind is ApprovalKind.ACTION
    return is_grant or status is ApprovalStatus.OPEN


def _blank_outcome(outcome: Outcome) -> Outcome:
    return msgspec.structs.replace(outcome, fingerprint=b"", result_hash=None, error=None)


def _blank_approval(approval: Approval, names: _Names) -> Approval:
    """Who was asked, who answered and when stays; what was asked for, and what people wrote, goes."""
    return msgspec.structs.replace(
        approval,
        conversation_id=None if names.forgets(approval.conversation_id) else approval.conversation_id,
        action={"type": ERASED, "redacted": True},
        action_hash="",
        reason="",
        evidence={},
        intent=None,
        votes=tuple(Vote(vote.by, vote.approves, vote.at_ms) for vote in approval.votes),
    )


class _Note(msgspec.Struct):
    class _Action(msgspec.Struct):
        class _Parameters(msgspec.Struct):
            entries: dict[str, str] = {}

        parameters: _Parameters

    action: _Action


def erasures_in(payload: bytes) -> dict[str, str]:
    """What the note of an erasure vouches for: entries, and the hash of what is left of each."""
    return msgspec.json.decode(payload, type=_Note).action.parameters.entries
