"""Every call of the API as a value: what to send, and how to read the answer. No I/O.

Fails closed: an answer that is not what the call expects is `GatewayUnavailable`, never an approval.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from qwed_sdk.errors import GatewayUnavailable, RateLimited, RequestRefused
from qwed_sdk.results import Agent, Approval, Decision, Result, ToolDecision

R = TypeVar("R")

DECISIONS: Final = frozenset({"APPROVED", "DENIED", "CORRECTED", "PENDING", "BUDGET_EXCEEDED"})
#: Statuses that say nothing about the request itself: it may be sent again.
TRANSIENT: Final = frozenset({502, 503, 504})
JSON: Final = "application/json"
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True)
class Call(Generic[R]):
    """`may_repeat`: sending it twice does no more than sending it once."""

    method: str
    path: str
    read: Callable[[int, dict[str, Any]], R]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    agent_id: str | None = None
    may_repeat: bool = False
    timeout_seconds: float | None = None


def segment(name: str) -> str:
    """One path segment. A name that could change the path is no name of ours."""
    if (
        not name
        or any(not (c.isalnum() or c in "._-") or not c.isascii() for c in name)
        or name in (".", "..")
    ):
        raise ValueError(f"{name[:80]!r} is not an identifier")
    return name


def parse(status: int, raw: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer's object. What calls itself something else than JSON comes from something in between."""
    if len(raw) > MAX_ANSWER_BYTES:
        raise GatewayUnavailable(f"the gateway's answer has {len(raw)} bytes")
    media_type = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media_type != JSON:
        raise GatewayUnavailable(f"the gateway answered {status} with {media_type[:80]!r}, not {JSON}")
    try:
        body = json.loads(raw.decode(), object_pairs_hook=_members)
    except (ValueError, RecursionError):
        raise GatewayUnavailable(f"the gateway answered {status} with something that is not JSON") from None
    if not isinstance(body, dict):
        raise GatewayUnavailable(f"the gateway answered {status} with something that is not an object")
    return body


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two decisions in one answer nobody could say which was meant."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given more than once")
    return members


def expect(kind: Callable[[dict[str, Any]], R], *fields: str) -> Callable[[int, dict[str, Any]], R]:
    """An ordinary answer: 2xx with these fields."""

    def read(status: int, body: dict[str, Any]) -> R:
        if not 200 <= status < 300:
            raise refusal(status, body)
        missing = [name for name in fields if name not in body]
        if missing:
            raise GatewayUnavailable(f"the gateway's answer lacks {', '.join(missing)}")
        return kind(body)

    return read


def expect_list(name: str) -> Callable[[int, dict[str, Any]], Result]:
    """An ordinary answer with a list of objects in it."""
    ordinary = expect(Result, name)

    def read(status: int, body: dict[str, Any]) -> Result:
        page = ordinary(status, body)
        if not isinstance(page[name], list) or not all(isinstance(entry, dict) for entry in page[name]):
            raise GatewayUnavailable(f"the gateway's {name} are no list of objects")
        return page

    return read


def refusal(status: int, body: dict[str, Any]) -> Exception:
    error = body.get("error")
    if not isinstance(error, dict) or status >= 500:
        return GatewayUnavailable(f"the gateway answered {status}: {_message(error)}")
    return RateLimited(status, error) if status == 429 else RequestRefused(status, error)


def read_answer(call: Call[R], status: int, raw: bytes, headers: Mapping[str, str]) -> R:
    """What the call makes of an answer. How long to wait stands in a header, not in the body."""
    try:
        return call.read(status, parse(status, raw, headers))
    except RateLimited as error:
        seconds = headers.get("retry-after", "")
        error.retry_after = float(seconds) if seconds.isascii() and seconds.isdigit() else None
        raise


def _message(error: Any) -> str:
    return str(error.get("message")) if isinstance(error, dict) else "no reason given"


def read_decision(kind: Callable[[dict[str, Any]], R]) -> Callable[[int, dict[str, Any]], R]:
    """Any body with a known decision is an answer; one that lets the agent act must come with 200."""

    def read(status: int, body: dict[str, Any]) -> R:
        decision = body.get("decision")
        if not isinstance(decision, str) or decision not in DECISIONS:
            if decision is None and "error" in body:
                raise refusal(status, body)
            raise GatewayUnavailable(f"the gateway answered {status} without a decision it could mean")
        if decision in ("APPROVED", "CORRECTED", "PENDING") and status != 200:
            raise GatewayUnavailable(f"the gateway answered {decision} with status {status}")
        problem = _nonsense(decision, body)
        if problem is not None:
            raise GatewayUnavailable(f"the gateway answered {decision} {problem}")
        return kind(body)

    return read


def _nonsense(decision: str, body: dict[str, Any]) -> str | None:
    """What a decision must come with, so that nobody acts on half an answer."""
    if decision == "CORRECTED" and not isinstance(body.get("corrected_action"), dict):
        return "without the corrected action"
    if not isinstance(body.get("corrected_action"), dict | None):
        return "with a corrected action that is none"
    approval, error = body.get("approval"), body.get("error")
    if not (approval is None or (isinstance(approval, dict) and isinstance(approval.get("id"), str))):
        return "with an approval that has no id"
    if not (error is None or (isinstance(error, dict) and {"code", "message"} <= error.keys())):
        return "with an error that says nothing"
    if error is not None and decision in ("APPROVED", "CORRECTED"):
        return "beside an error"
    if body.get("approved", decision == "APPROVED") is not (decision == "APPROVED"):
        return "with an 'approved' that says otherwise"
    if not isinstance(body.get("activity_id"), str | None):
        return "with an activity_id that is no text"
    return None


def register_agent(registration: Mapping[str, Any]) -> Call[Agent]:
    given = {name: value for name, value in registration.items() if value is not None}
    return Call("POST", "/agents/register", expect(Agent, "agent_id", "agent_token"), given)


def verify_action(
    agent_id: str,
    action: Mapping[str, Any],
    context: Mapping[str, Any] | None,
    options: Mapping[str, Any] | None,
    usage: Mapping[str, Any] | None,
    idempotency_key: str | None = None,
    execution_context: Sequence[str] = (),
) -> Call[Decision]:
    """Carries an idempotency key: a retry of a lost answer gets that answer, not a replay error."""
    headers = {"Idempotency-Key": idempotency_key or secrets.token_hex(16)}
    if execution_context:
        headers["Execution-Context"] = ", ".join(execution_context)
    parts = {"action": action, "context": context, "options": options, "usage": usage}
    body = {name: value for name, value in parts.items() if value is not None}
    return Call(
        "POST",
        f"/agents/{segment(agent_id)}/verify",
        read_decision(Decision),
        body,
        headers=headers,
        agent_id=agent_id,
        may_repeat=True,
    )


def verify_tool(
    agent_id: str,
    tool_name: str,
    parameters: Mapping[str, Any] | None,
    justification: str | None,
    context: Mapping[str, Any] | None,
) -> Call[ToolDecision]:
    parts = {"parameters": parameters or {}, "justification": justification, "context": context}
    body = {name: value for name, value in parts.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/tools/{segment(tool_name)}"
    return Call(
        "POST",
        path,
        read_decision(ToolDecision),
        body,
        headers={"Idempotency-Key": secrets.token_hex(16)},
        agent_id=agent_id,
        may_repeat=True,
    )


def submit_ects(ects: Sequence[str], agent_id: str | None) -> Call[Result]:
    # A token that is there already is not recorded twice.
    body = {"ects": list(ects)}
    return Call("POST", "/ect", expect_list("receipts"), body, agent_id=agent_id, may_repeat=True)


def get_ect(jti: str, agent_id: str | None) -> Call[Result]:
    return Call("GET", f"/ect/{segment(jti)}", expect(Result, "jti"), agent_id=agent_id, may_repeat=True)


def set_ect_keys(agent_id: str, keys: Sequence[Mapping[str, Any]]) -> Call[Agent]:
    path = f"/agents/{segment(agent_id)}/ect-keys"
    return Call("PUT", path, expect(Agent, "agent_id"), {"keys": list(keys)}, may_repeat=True)


def ledger_checkpoint() -> Call[Result]:
    return Call("GET", "/ledger/checkpoint", expect(Result, "checkpoint", "size"), may_repeat=True)


def get_agent(agent_id: str) -> Call[Agent]:
    read = expect(Agent, "agent_id")
    return Call("GET", f"/agents/{segment(agent_id)}", read, agent_id=agent_id, may_repeat=True)


def get_agent_budget(agent_id: str) -> Call[Result]:
    read = expect(Result, "cost", "requests")
    return Call("GET", f"/agents/{segment(agent_id)}/budget", read, agent_id=agent_id, may_repeat=True)


def actions() -> Call[Result]:
    return Call("GET", "/actions", expect_list("actions"), may_repeat=True)


def get_activity_page(agent_id: str, query: Mapping[str, Any]) -> Call[Result]:
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/activity"
    return Call("GET", path, expect_list("activities"), query=given, agent_id=agent_id, may_repeat=True)


def report_outcome(agent_id: str, activity_id: str, outcome: Mapping[str, Any]) -> Call[Result]:
    given = {name: value for name, value in outcome.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/activity/{segment(activity_id)}/outcome"
    # The gateway takes one report: a second is refused, and changes nothing.
    return Call("POST", path, expect(Result, "outcome"), given, agent_id=agent_id, may_repeat=True)


def approvals(query: Mapping[str, Any]) -> Call[Result]:
    given = {name: value for name, value in query.items() if value is not None}
    return Call("GET", "/approvals", expect_list("approvals"), query=given, may_repeat=True)


def get_approval(approval_id: str, agent_id: str | None, wait_seconds: int = 0) -> Call[Approval]:
    return Call(
        "GET",
        f"/approvals/{segment(approval_id)}",
        expect(Approval, "status"),
        query={"wait": wait_seconds} if wait_seconds else {},
        agent_id=agent_id,
        may_repeat=True,
        timeout_seconds=wait_seconds + 10.0,
    )


def answer_approval(approval_id: str, verb: str, answer: Mapping[str, Any]) -> Call[Approval]:
    given = {name: value for name, value in answer.items() if value is not None}
    return Call("POST", f"/approvals/{segment(approval_id)}/{verb}", expect(Approval, "status"), given)


def redeem(approval_id: str, agent_id: str, action: Mapping[str, Any]) -> Call[Decision]:
    path = f"/approvals/{segment(approval_id)}/redeem"
    return Call("POST", path, read_decision(Decision), {"action": action}, agent_id=agent_id)


def request_trust(agent_id: str, request: Mapping[str, Any]) -> Call[Result]:
    body = {"request": "trust_elevation", **request}
    path = f"/agents/{segment(agent_id)}/trust"
    return Call("POST", path, expect(Result, "approval"), body, agent_id=agent_id)


def set_trust(agent_id: str, to_level: int | str, reason: str) -> Call[Agent]:
    path = f"/agents/{segment(agent_id)}/trust"
    return Call("POST", path, expect(Agent, "trust_level"), {"to_level": to_level, "reason": reason})


def trust_history(agent_id: str, limit: int, cursor: str | None) -> Call[Result]:
    query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
    path = f"/agents/{segment(agent_id)}/trust"
    return Call("GET", path, expect(Result, "changes"), query=query, agent_id=agent_id, may_repeat=True)


def suspend(agent_id: str, reason: str | None) -> Call[Agent]:
    path = f"/agents/{segment(agent_id)}/suspend"
    return Call("POST", path, expect(Agent, "status"), {"reason": reason}, may_repeat=True)


def reactivate(agent_id: str) -> Call[Agent]:
    return Call("POST", f"/agents/{segment(agent_id)}/reactivate", expect(Agent, "status"), may_repeat=True)
