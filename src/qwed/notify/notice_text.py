"""An event in words, for people: a title and a few facts. What an agent wrote is shown short and plain."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from qwed.domain.deliveries import Delivery
from qwed.domain.policy_changes import ChangeKind
from qwed.domain.webhooks import Event

MAX_TITLE: Final = 120
MAX_FACT: Final = 400

_TITLES: Final[Mapping[Event, str]] = {
    Event.APPROVAL_REQUESTED: "Approval needed: {what} ({risk} risk)",
    Event.APPROVAL_REMINDED: "Still waiting for an answer: {what} ({risk} risk)",
    Event.APPROVAL_ESCALATED: "Nobody has answered, please do: {what} ({risk} risk)",
    Event.APPROVAL_VOTED: "Approved by one, more are needed: {what}",
    Event.APPROVAL_APPROVED: "Approved: {what}",
    Event.APPROVAL_DENIED: "Denied: {what}",
    Event.APPROVAL_EXPIRED: "Denied, because nobody answered: {what}",
    Event.DECISION_FAILED: "Verification failed: {what} ({risk} risk)",
    Event.TRUST_CHANGED: "Trust changed: {agent}",
    Event.TRUST_SUSPENDED: "Suspended: {agent}",
    Event.TRUST_REACTIVATED: "Reactivated: {agent}",
    Event.OUTCOME_UNKNOWN: "Nobody knows how it ended: {what}",
    Event.POLICY_CHANGED: "{change} by {by}",
    Event.TEST: "A test: nothing has happened",
}
_CHANGES: Final[Mapping[str, str]] = {
    ChangeKind.APPLY: "Policy applied",
    ChangeKind.ROLLBACK: "Policy rolled back",
    ChangeKind.STOP: "Stopped",
    ChangeKind.RESUME: "Resumed",
}


class NoticeText(msgspec.Struct, frozen=True):
    """`link` is where to look at it; `waits` is the approval to be answered, and the hash of its action."""

    title: str
    facts: tuple[tuple[str, str], ...]
    link: str | None = None
    waits: tuple[str, str] | None = None


class Words:
    """Events in words. `find_name` tells what an agent is called, `home` is where the dashboard is."""

    def __init__(
        self, find_name: Callable[[str], Awaitable[str | None]] | None = None, home: str | None = None
    ) -> None:
        self._find_name = find_name
        self._home = home

    async def of(self, delivery: Delivery) -> NoticeText:
        agent_id = msgspec.json.decode(delivery.body).get("agent_id")
        name = await self._find_name(agent_id) if self._find_name and agent_id else None
        return word(delivery.event, delivery.body, name, self._home)


def word(event: Event, body: bytes, name: str | None = None, home: str | None = None) -> NoticeText:
    told: dict[str, Any] = msgspec.json.decode(body)
    data = told.get("data", {})
    subject = data.get("approval") or data.get("decision") or data.get("outcome") or {}
    agent = data.get("agent", {}).get("name") or told.get("agent_id") or ""
    change: Mapping[str, Any] = data.get("change") or {}
    names = {
        "what": _plain(_type_of(subject), MAX_TITLE),
        "risk": _plain(_risk_of(subject), 20),
        "agent": _plain(agent, MAX_TITLE),
        "change": _CHANGES.get(change.get("kind", ""), "Policy changed"),
        "by": _plain(change.get("by") or "somebody", MAX_TITLE),
    }
    who = told.get("agent_id")
    known = f"{name} ({who})" if name else who
    facts = {"Agent": known, **_facts(event, subject, data), "Event": told.get("id")}
    shown = tuple((name, _plain(value, MAX_FACT)) for name, value in facts.items() if value)
    link = None if home is None else home.rstrip("/") + _page_of(event, told, subject)
    is_waiting = event.topic == "approval" and subject.get("status") == "open"
    waits = (subject["id"], subject.get("action_hash", "")) if is_waiting and subject.get("id") else None
    return NoticeText(_TITLES[event].format(**names)[:MAX_TITLE], shown, link, waits)


def _page_of(event: Event, told: Mapping[str, Any], subject: Mapping[str, Any]) -> str:
    """Ids are ours, and quoted all the same."""
    if event.topic == "approval" and subject.get("id"):
        return f"/dashboard/inbox/{quote(str(subject['id']), safe='')}"
    if told.get("activity_id"):
        return f"/dashboard/decisions/{quote(str(told['activity_id']), safe='')}"
    return "/dashboard"


def _type_of(subject: Mapping[str, Any]) -> Any:
    action = subject.get("action")
    return action.get("type") if isinstance(action, Mapping) else subject.get("action_type")


def _risk_of(subject: Mapping[str, Any]) -> Any:
    return subject.get("risk_level") or (subject.get("verification") or {}).get("risk_level") or "unknown"


def _facts(event: Event, subject: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    match event.topic:
        case "approval":
            return _approval_facts(event, subject)
        case "decision":
            return {
                "Action": _say(subject),
                "Decision": subject.get("decision"),
                "Why": (subject.get("verification") or {}).get("reason"),
                "Error": (subject.get("error") or {}).get("message"),
            }
        case "outcome":
            return {
                "Activity": subject.get("activity_id"),
                "To settle it": f"POST /agents/…/activity/{subject.get('activity_id')}/outcome/settle",
            }
        case "trust":
            agent, change = data.get("agent", {}), data.get("change") or {}
            level = agent.get("trust_level")
            return {
                "Status": agent.get("status"),
                "Trust level": None if level is None else str(level),
                "Why": change.get("reason") or change.get("justification"),
            }
        case "policy":
            return _policy_facts(data.get("change") or {})
    return {"Message": data.get("message")}


def _policy_facts(change: Mapping[str, Any]) -> dict[str, Any]:
    number, back_to = change.get("version"), change.get("rolled_back_to")
    return {
        "Change": None if number is None else str(number),
        "Why": change.get("reason"),
        "Agreed by": change.get("approved_by"),
        "Back to": None if back_to is None else str(back_to),
        "Policy": change.get("policy_version"),
        "Stopped now": "; ".join(_stop(stop) for stop in change.get("stops") or ()),
    }


def _stop(stop: Mapping[str, Any]) -> str:
    name = stop.get("name")
    return f"{stop.get('scope')} {name}" if name else "everything"


def _approval_facts(event: Event, approval: Mapping[str, Any]) -> dict[str, Any]:
    votes = approval.get("votes") or [{}]
    is_open = approval.get("status") == "open"
    return {
        "Action": _say(approval),
        "Why it waits": approval.get("reason"),
        "Stated intent": approval.get("user_intent"),
        "Asked": approval.get("escalated_to") if event is Event.APPROVAL_ESCALATED else None,
        "Answered by": votes[-1].get("by"),
        "Note": votes[-1].get("note"),
        "Expires": approval.get("expires_at") if is_open else None,
        "To answer": f"qwed approvals show {approval.get('id')}" if is_open else None,
    }


def _say(subject: Mapping[str, Any]) -> str | None:
    action = subject.get("action")
    if not isinstance(action, Mapping):
        return None
    parts = [action.get(name) for name in ("query", "code", "target", "parameters")]
    return "; ".join(_text(part) for part in parts if part)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _plain(value: Any, limit: int) -> str:
    """One line without anything that a terminal, a mail header or a reader could take for more than text."""
    text = " ".join(_text(value)[: 4 * limit].split())
    text = "".join(character if character.isprintable() else "�" for character in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
