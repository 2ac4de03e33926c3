"""One call of a hook: the tool becomes an action, which is decided, and the answer is in the agent's words.

The gateway numbers the steps of each (session, sub-agent). A call that is repeated under its id gets the
answer that it got. What waits for a person is asked at the terminal where the policy lets it, else denied
with the sentence that says where to answer; once a person has said yes, the same call uses that grant.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action, action_hash
from qwed.domain.agents import AgentId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.canonical import NotCanonical
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.policy import Policy, Profile, Separate
from qwed.domain.risk import Risk
from qwed.gateway.approvals.answer_approval import redeem
from qwed.gateway.decide.doors import verify_action
from qwed.gateway.evidence.report_outcome import report_outcome
from qwed.gateway.hooks.hook_words import ALLOW, ASK, DENY, say
from qwed.gateway.hooks.terminal import close_at_terminal
from qwed.gateway.hooks.tools import DIALECTS, Dialect, action_of
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.kept_answers import open_answer
from qwed.gateway.kernel.masks import conceal_conversation, shown
from qwed.gateway.kernel.ports import KeyClaim
from qwed.gateway.kernel.records import ActivityQuery, Remembered
from qwed.gateway.kernel.requests import NO_USAGE, VerifyRequest
from qwed.gateway.kernel.services import Services

_MAX_NAME: Final = 200
_MAX_GRANTS: Final = 50
_MAX_LOOKED_AT: Final = 20
#: How tools name a statement that they are given.
_QUERIES: Final = ("query", "sql", "statement")
_LETS_ACT: Final = (Decision.APPROVED.value, Decision.CORRECTED.value)


class HookCall(msgspec.Struct, frozen=True):
    """What the agent told its hook, and what the hook saw of the project."""

    agent: str
    body: Mapping[str, Any]
    root: str | None = None
    state: str | None = None
    #: Whether people sign in here: then whoever answers has a name, and answers in the inbox.
    has_sign_in: bool = False


async def answer_hook(services: Services, caller: Caller, call: HookCall) -> Answer:
    """Always 200 with words that the agent understands, where there is one to answer; denies by default."""
    dialect = DIALECTS.get(call.agent)
    if dialect is None:
        raise refuse(
            Code.NOT_FOUND, f"there is no coding agent {call.agent[:80]!r}; there are {', '.join(DIALECTS)}"
        )
    if caller.agent_id is None:
        raise refuse(Code.AUTH_FORBIDDEN, "a hook sends the token of its agent")
    event = call.body.get(dialect.event, "")
    if event in dialect.after or (dialect.result is not None and dialect.result in call.body):
        return await _report(services, caller, dialect, call)
    if event not in dialect.before:
        raise malformed(dialect.event, f"is one of {', '.join(sorted(dialect.before | dialect.after))}")
    try:
        return await _decide(services, caller, dialect, call)
    except RequestError as error:
        if error.status >= 500:
            raise
        return Answer(say(call.agent, DENY, f"QWED: {error.refusal.message} ({error.refusal.code})"))


async def _decide(services: Services, caller: Caller, dialect: Dialect, call: HookCall) -> Answer:
    tool, given = _tool_of(dialect, call.body)
    if tool in dialect.free:
        return Answer({})
    action = action_of(dialect, tool, given, _place(call))
    granted = await _use_grant(services, caller, action, _key(dialect, call, "grant"))
    if granted is not None:
        return Answer(say(call.agent, ALLOW, granted))
    decided = await _verify(services, caller, dialect, call, action)
    return Answer(_words(services.policy, dialect, call, given, decided))


async def _verify(
    services: Services, caller: Caller, dialect: Dialect, call: HookCall, action: Action
) -> Mapping[str, Any]:
    assert caller.agent_id is not None
    request = VerifyRequest(
        action,
        action.parameters,
        _context(dialect, call),
        NO_USAGE,
        idempotency=_key(dialect, call, "decide"),
        takes_next_step=True,
    )
    answer = await verify_action(services, caller, caller.agent_id, request)
    body: Mapping[str, Any] = (
        msgspec.json.decode(answer.body) if isinstance(answer, Remembered) else answer.body
    )
    return body


def _tool_of(dialect: Dialect, body: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    tool, given = body.get(dialect.tool), body.get(dialect.arguments, {})
    if isinstance(given, str):
        given = _parse(given, dialect.arguments)
    if tool is None and isinstance(body.get("command"), str):
        # Cursor's own event for commands has no tool.
        tool, given = "Shell", {"command": body["command"]}
    if not isinstance(tool, str) or not 0 < len(tool) <= _MAX_NAME:
        raise malformed(dialect.tool, f"is a name of at most {_MAX_NAME} characters")
    if not isinstance(given, Mapping):
        raise malformed(dialect.arguments, "is an object")
    return tool, given


def _parse(text: str, field: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise malformed(field, "is an object, or JSON text of one") from None


def _place(call: HookCall) -> dict[str, str]:
    """The project, and the folder that the call runs in: one that lies elsewhere makes no other project."""
    cwd = call.body.get("cwd")
    cwd = cwd if isinstance(cwd, str) and cwd else call.root
    return {} if cwd is None else {"cwd": cwd, "root": call.root or cwd}


def _context(dialect: Dialect, call: HookCall) -> dict[str, Any]:
    session = call.body.get(dialect.session)
    if not isinstance(session, str) or not session.strip() or len(session) > _MAX_NAME:
        raise malformed(dialect.session, f"is a name of at most {_MAX_NAME} characters")
    sub_agent = call.body.get(dialect.sub_agent)
    name = f"{call.agent}:{session}" + (
        f":{sub_agent[:40]}" if isinstance(sub_agent, str) and sub_agent else ""
    )
    context: dict[str, Any] = conceal_conversation({"conversation_id": name})
    if call.state is not None:
        context |= {"pre_action_state_hash": call.state, "state_source": "file_tree"}
    return context


def _key(dialect: Dialect, call: HookCall, purpose: str) -> bytes | None:
    """One name for the call and everything that it says; None where the agent does not name its calls."""
    called = call.body.get(dialect.call)
    if not isinstance(called, str) or not called:
        return None
    said = msgspec.json.encode(
        [purpose, call.agent, called, _list_said(dialect, call.body)], order="deterministic"
    )
    return hashlib.sha256(said).digest()


def _list_said(dialect: Dialect, body: Mapping[str, Any]) -> list[Any]:
    names = (dialect.session, dialect.sub_agent, dialect.tool, dialect.arguments, "cwd", "command")
    return [body.get(name) for name in names]


async def _use_grant(services: Services, caller: Caller, action: Action, key: bytes | None) -> str | None:
    """The grant of a person for exactly this action, where there is one: it is used up."""
    try:
        wanted = action_hash(action)
    except NotCanonical:
        return None
    now_ms, approved = services.clock.now_ms(), ApprovalStatus.APPROVED.value
    found = await services.store.approvals(
        caller.principal_id, caller.agent_id, approved, now_ms, None, _MAX_GRANTS
    )
    grant = next((each for each in found if each.action_hash == wanted), None)
    if grant is None:
        return None
    answer = await redeem(services, caller, grant.approval_id, {"action": action.to_wire()}, key)
    body = msgspec.json.decode(answer.body) if isinstance(answer, Remembered) else answer.body
    return "QWED: approved by a person" if body.get("decision") in _LETS_ACT else None


def _words(
    policy: Policy, dialect: Dialect, call: HookCall, given: Mapping[str, Any], decided: Mapping[str, Any]
) -> dict[str, Any]:
    decision = decided.get("decision")
    if decision == Decision.APPROVED.value:
        return say(call.agent, ALLOW, "QWED: allowed")
    if decision == Decision.CORRECTED.value:
        return _correct(call, given, decided)
    error = decided.get("error") or {}
    reason = f"QWED: {error.get('message', 'not allowed')} ({error.get('code', decision)})"
    if decision != Decision.PENDING.value:
        return say(
            call.agent,
            DENY,
            f"{reason}. Do not try to get around this; do something else, or ask the person.",
        )
    if dialect.can_ask and not call.has_sign_in and _may_ask_here(policy, decided):
        return say(call.agent, ASK, reason)
    waiting = (decided.get("approval") or {}).get("id", "")
    return say(
        call.agent,
        DENY,
        f"{reason}. A person has to answer {waiting} (qwed approvals); then make the same call again.",
    )


def _correct(call: HookCall, given: Mapping[str, Any], decided: Mapping[str, Any]) -> dict[str, Any]:
    """The corrected text takes the place of the one that the tool was given."""
    corrected = decided.get("corrected_action") or {}
    for member, names in (("code", ("command", "cmd")), ("query", _QUERIES)):
        found = [name for name in names if isinstance(given.get(name), str)]
        if len(found) == 1 and isinstance(corrected.get(member), str):
            return say(call.agent, ALLOW, "QWED: corrected", {**given, found[0]: corrected[member]})
    return say(call.agent, DENY, "QWED: allowed only in a corrected form, which this tool can't be given")


def _may_ask_here(policy: Policy, decided: Mapping[str, Any]) -> bool:
    """Whoever sits at the terminal is nobody that the gateway can name."""
    risk = (decided.get("verification") or {}).get("risk_level", "critical")
    is_open = policy.approvals.separate is Separate.OFF and policy.profile is not Profile.REGULATED
    needs_someone = (
        policy.approvals.role is not None
        or policy.approvals.approvers > 1
        or policy.people.only_people_approve
    )
    return is_open and not needs_someone and Risk.from_wire(risk) <= Risk.HIGH


async def _report(services: Services, caller: Caller, dialect: Dialect, call: HookCall) -> Answer:
    """What became of a call, where its decision can still be found; a report is never in anybody's way."""
    assert caller.agent_id is not None
    key = _key(dialect, call, "decide")
    try:
        decided = await (
            _find_decided(services, caller, dialect, call)
            if key is None
            else _recall(services, caller.agent_id, key)
        )
        if decided is None:
            return Answer({})
        result = msgspec.json.encode(call.body.get("tool_response", call.body.get("toolResult")))
        outcome = {
            "outcome": "failure" if _has_failed(dialect, call) else "success",
            "result_hash": f"sha256:{hashlib.sha256(result).hexdigest()}",
        }
        if decided.get("decision") == Decision.PENDING.value:
            if dialect.can_ask:
                await close_at_terminal(services, caller, decided["activity_id"], outcome)
            return Answer({})
        await report_outcome(services, caller, caller.agent_id, decided["activity_id"], outcome)
    except RequestError:
        # Reported twice, or of a call that was denied: the record stays as it is.
        return Answer({})
    return Answer({})


def _has_failed(dialect: Dialect, call: HookCall) -> bool:
    told = call.body.get(dialect.result) if dialect.result is not None else None
    is_told = isinstance(told, Mapping) and told.get("resultType") not in (None, "success")
    return is_told or "Failure" in str(call.body.get(dialect.event))


async def _recall(services: Services, agent_id: AgentId, key: bytes) -> Mapping[str, Any] | None:
    found = await services.store.claim_key(agent_id, key, services.clock.now_ms())
    if isinstance(found, KeyClaim):
        await services.store.give_up_key(found)
    if not isinstance(found, Remembered):
        return None
    body: Mapping[str, Any] = msgspec.json.decode(open_answer(services.signer, found).body)
    return body


async def _find_decided(
    services: Services, caller: Caller, dialect: Dialect, call: HookCall
) -> Mapping[str, Any] | None:
    """Where the agent does not name its calls: the last decision of the session about the same action."""
    assert caller.agent_id is not None
    tool, given = _tool_of(dialect, call.body)
    wanted = shown(action_of(dialect, tool, given, _place(call)).to_wire())
    conversation = _context(dialect, call)["conversation_id"]
    query = ActivityQuery(caller.agent_id, conversation_id=conversation, limit=_MAX_LOOKED_AT)
    page = await services.store.activities(query)
    for payload, outcome in page.entries:
        entry: Mapping[str, Any] = msgspec.json.decode(payload)
        if outcome is None and entry.get("action") == wanted and entry.get("decision") != NOTED:
            return entry
    return None
