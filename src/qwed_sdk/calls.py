"""Every call of the API as a value: what to send, and how to read the answer. No I/O.

Fails closed: an answer that is not what the call expects is `GatewayUnavailable`, never an approval.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar, get_args
from urllib.parse import quote

from qwed_sdk.errors import GatewayUnavailable, RateLimited, RequestRefused
from qwed_sdk.questions import KEY, is_for, is_named, new_key
from qwed_sdk.results import Agent, Approval, Decision, DecisionWord, Json, Result, ToolDecision

R = TypeVar("R")

DECISIONS: Final = frozenset(get_args(DecisionWord))
#: Statuses that say nothing about the request itself: it may be sent again.
TRANSIENT: Final = frozenset({502, 503, 504})
JSON: Final = "application/json"
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024


class AnswerMismatch(GatewayUnavailable):
    """An answer that is not to this question. Asked again, on another connection, the right one may come."""

    def __init__(self, message: str) -> None:
        super().__init__(message, may_pass=True)


class HttpAnswer(NamedTuple):
    """Names of headers are found in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call(Generic[R]):
    """`may_repeat`: sending it twice does no more than sending it once. `key` is the question's name: the
    answer is taken only where it names it too."""

    method: str
    path: str
    read: Callable[[int, dict[str, Json]], R]
    body: Json = None
    query: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    agent_id: str | None = None
    may_repeat: bool = False
    timeout_seconds: float | None = None
    key: str = field(default_factory=new_key)


def segment(name: str) -> str:
    """One path segment. A name that could change the path is no name of ours."""
    if (
        not name
        or any(not (c.isalnum() or c in "._-") or not c.isascii() for c in name)
        or name in (".", "..")
    ):
        raise ValueError(f"{name[:80]!r} is not an identifier")
    return name


def tool_segment(name: str) -> str:
    """The gateway takes any name for a tool that its policy does; as a path it is quoted whole."""
    if (
        not name
        or name in (".", "..")
        or not name.isprintable()
        or any("\ud800" <= c <= "\udfff" for c in name)
    ):
        raise ValueError(f"{name[:80]!r} is not the name of a tool")
    return quote(name, safe="")


def parse(status: int, raw: bytes, headers: Mapping[str, str]) -> dict[str, Json]:
    """The answer's object. What calls itself something else than JSON comes from something in between."""
    if len(raw) > MAX_ANSWER_BYTES:
        raise GatewayUnavailable(f"the gateway's answer has {len(raw)} bytes")
    media_type = headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media_type != JSON:
        raise GatewayUnavailable(
            f"the gateway answered {status} with {media_type[:80]!r}, not {JSON}",
            may_pass=status in TRANSIENT,
        )
    try:
        body = json.loads(
            raw.decode(), object_pairs_hook=_members, parse_constant=_no_number, parse_float=_number
        )
    except (ValueError, RecursionError):
        raise GatewayUnavailable(
            f"the gateway answered {status} with something that is not JSON", may_pass=status in TRANSIENT
        ) from None
    if not isinstance(body, dict):
        raise GatewayUnavailable(f"the gateway answered {status} with something that is not an object")
    return body


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Of two decisions in one answer nobody could say which was meant."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given more than once")
    return members


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is too large to be one")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def expect(kind: Callable[[dict[str, Json]], R], *fields: str) -> Callable[[int, dict[str, Json]], R]:
    """An ordinary answer: 2xx with these fields."""

    def read(status: int, body: dict[str, Json]) -> R:
        if not 200 <= status < 300:
            raise refusal(status, body)
        missing = [name for name in fields if name not in body]
        if missing:
            raise GatewayUnavailable(f"the gateway's answer lacks {', '.join(missing)}")
        return kind(body)

    return read


def expect_list(name: str) -> Callable[[int, dict[str, Json]], Result]:
    """An ordinary answer with a list of objects in it."""
    ordinary = expect(Result, name)

    def read(status: int, body: dict[str, Json]) -> Result:
        page = ordinary(status, body)
        if not isinstance(page[name], list) or not all(isinstance(entry, dict) for entry in page[name]):
            raise GatewayUnavailable(f"the gateway's {name} are no list of objects")
        return page

    return read


def refusal(status: int, body: dict[str, Json]) -> GatewayUnavailable | RequestRefused:
    error = body.get("error")
    if not isinstance(error, dict) or status >= 500:
        return GatewayUnavailable(
            f"the gateway answered {status}: {_message(error)}", may_pass=status in TRANSIENT
        )
    return RateLimited(status, error) if status == 429 else RequestRefused(status, error)


def read_answer(call: Call[R], answered: HttpAnswer) -> R:
    """What the call makes of an answer. How long to wait stands in a header, not in the body."""
    status, headers, raw = answered
    try:
        body = parse(status, raw, headers)
        _require_own(call, answered, body)
        return call.read(status, body)
    except (GatewayUnavailable, RequestRefused) as error:
        seconds = headers.get("retry-after", "")
        error.retry_after = float(seconds) if seconds.isascii() and seconds.isdigit() else None
        raise


def _require_own(call: Call[R], answered: HttpAnswer, body: Mapping[str, Json]) -> None:
    """A refusal may come from something in between, which can't name the question; it approves nothing."""
    status, headers, raw = answered
    if is_for(call.key, status, raw, headers):
        return
    if is_named(headers):
        raise AnswerMismatch("the answer belongs to another question, or was changed on its way")
    if status < 400 or "decision" in body:
        raise AnswerMismatch("the answer does not say which question it is for")


def require_named(call: Call[R], headers: Mapping[str, str]) -> None:
    """A stream has no whole body to name; that it is for this question, it says."""
    if headers.get(KEY.lower()) != call.key:
        raise AnswerMismatch("the stream belongs to another question, or does not say")


def _message(error: Json) -> str:
    return str(error.get("message")) if isinstance(error, dict) else "no reason given"


def read_decision(
    kind: Callable[[dict[str, Json]], R], action_type: Json
) -> Callable[[int, dict[str, Json]], R]:
    """Any body with a known decision is an answer; one that lets the agent act must come with 200."""

    def read(status: int, body: dict[str, Json]) -> R:
        decision = body.get("decision")
        if not isinstance(decision, str) or decision not in DECISIONS:
            if decision is None and "error" in body:
                raise refusal(status, body)
            raise GatewayUnavailable(f"the gateway answered {status} without a decision it could mean")
        if decision in ("APPROVED", "CORRECTED", "PENDING") and status != 200:
            raise GatewayUnavailable(f"the gateway answered {decision} with status {status}")
        problem = _nonsense(decision, body, action_type)
        if problem is not None:
            raise GatewayUnavailable(f"the gateway answered {decision} {problem}")
        return kind(body)

    return read


def _nonsense(decision: str, body: dict[str, Json], action_type: Json) -> str | None:
    """What a decision must come with, so that nobody acts on half an answer."""
    corrected = body.get("corrected_action")
    if decision == "CORRECTED" and not isinstance(corrected, dict):
        return "without the corrected action"
    if corrected is not None and type_of(corrected) != action_type:
        return "with a corrected action that is another kind of action, or none"
    return _half(decision, body)


def type_of(action: Json) -> Json:
    """An action's type, under either of its names."""
    if not isinstance(action, Mapping):
        return None
    return action["type"] if "type" in action else action.get("action_type")


def _half(decision: str, body: dict[str, Json]) -> str | None:
    approval, error = body.get("approval"), body.get("error")
    if not (approval is None or (isinstance(approval, dict) and isinstance(approval.get("id"), str))):
        return "with an approval that has no id"
    if not (error is None or (isinstance(error, dict) and {"code", "message"} <= error.keys())):
        return "with an error that says nothing"
    if error is not None and decision in ("APPROVED", "CORRECTED"):
        return "beside an error"
    if body.get("approved", decision == "APPROVED") is not (decision == "APPROVED"):
        return "with an 'approved' that says otherwise"
    activity_id = body.get("activity_id")
    if not (isinstance(activity_id, str) and activity_id) and not (activity_id is None and _is_no(decision)):
        return "without the activity_id of its record"
    if decision == "PENDING" and approval is None:
        return "without the approval that is waited for"
    return None


def _is_no(decision: str) -> bool:
    return decision in ("DENIED", "BUDGET_EXCEEDED")


def register_agent(registration: Mapping[str, Json]) -> Call[Agent]:
    given = {name: value for name, value in registration.items() if value is not None}
    # The gateway keeps the answer for its key, so a second try gets the same agent.
    read = expect(Agent, "agent_id", "agent_token")
    return Call("POST", "/agents/register", read, given, may_repeat=True)


def verify_action(
    agent_id: str,
    action: Mapping[str, Json],
    context: Mapping[str, Json] | None,
    options: Mapping[str, Json] | None,
    usage: Mapping[str, Json] | None,
    idempotency_key: str | None = None,
    execution_context: Sequence[str] = (),
) -> Call[Decision]:
    """Its key makes a retry of a lost answer get that answer, and not a replay error."""
    headers = {"Execution-Context": ", ".join(execution_context)} if execution_context else {}
    parts = {"action": action, "context": context, "options": options, "usage": usage}
    body = {name: value for name, value in parts.items() if value is not None}
    return Call(
        "POST",
        f"/agents/{segment(agent_id)}/verify",
        read_decision(Decision, type_of(action)),
        body,
        headers=headers,
        agent_id=agent_id,
        may_repeat=True,
        key=idempotency_key or new_key(),
    )


def verify_tool(
    agent_id: str,
    tool_name: str,
    parameters: Mapping[str, Json] | None,
    justification: str | None,
    context: Mapping[str, Json] | None,
) -> Call[ToolDecision]:
    parts = {"parameters": parameters or {}, "justification": justification, "context": context}
    body = {name: value for name, value in parts.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/tools/{tool_segment(tool_name)}"
    read = read_decision(ToolDecision, tool_name)
    return Call("POST", path, read, body, agent_id=agent_id, may_repeat=True)


def submit_ects(ects: Sequence[str], agent_id: str | None) -> Call[Result]:
    # A token that is there already is not recorded twice.
    body = {"ects": list(ects)}
    return Call("POST", "/ect", expect_list("receipts"), body, agent_id=agent_id, may_repeat=True)


def get_ect(jti: str, agent_id: str | None) -> Call[Result]:
    return Call("GET", f"/ect/{segment(jti)}", expect(Result, "jti"), agent_id=agent_id, may_repeat=True)


def set_ect_keys(agent_id: str, keys: Sequence[Mapping[str, Json]]) -> Call[Agent]:
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


def get_activity_page(agent_id: str, query: Mapping[str, Json]) -> Call[Result]:
    given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/activity"
    return Call("GET", path, expect_list("activities"), query=given, agent_id=agent_id, may_repeat=True)


def report_outcome(agent_id: str, activity_id: str, outcome: Mapping[str, Json]) -> Call[Result]:
    given = {name: value for name, value in outcome.items() if value is not None}
    path = f"/agents/{segment(agent_id)}/activity/{segment(activity_id)}/outcome"
    # The gateway takes one report: a second is refused, and changes nothing.
    return Call("POST", path, expect(Result, "outcome"), given, agent_id=agent_id, may_repeat=True)


def approvals(query: Mapping[str, Json], agent_id: str | None = None) -> Call[Result]:
    """With `agent_id`, as that agent sees them."""
    given = {name: value for name, value in query.items() if value is not None}
    read = expect_list("approvals")
    return Call("GET", "/approvals", read, query=given, agent_id=agent_id, may_repeat=True)


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


def answer_approval(approval_id: str, verb: str, answer: Mapping[str, Json]) -> Call[Approval]:
    given = {name: value for name, value in answer.items() if value is not None}
    return Call("POST", f"/approvals/{segment(approval_id)}/{verb}", expect(Approval, "status"), given)


def redeem(approval_id: str, agent_id: str, action: Mapping[str, Json]) -> Call[Decision]:
    path = f"/approvals/{segment(approval_id)}/redeem"
    read = read_decision(Decision, type_of(action))
    # The gateway keeps the answer for its key: a grant is used once, however often its answer is lost.
    return Call("POST", path, read, {"action": action}, agent_id=agent_id, may_repeat=True)


def request_trust(agent_id: str, request: Mapping[str, Json]) -> Call[Result]:
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
