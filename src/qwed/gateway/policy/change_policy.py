"""The policy in force: read, applied, rolled back; and what is stopped in spite of it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from qwed.domain.agents import GATEWAY, PrincipalId
from qwed.domain.approvals import Approval, ApprovalKind
from qwed.domain.codes import Code
from qwed.domain.credentials import OPERATOR_ROLE, Caller, Scope
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import ChangeKind, PolicyChange, Stop, StopScope
from qwed.domain.risk import Risk
from qwed.domain.webhooks import Event
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.change_policy import Wanted, put_in_force, report_moved_on
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.live_policy import LivePolicy, UnreadablePolicy, catch_up
from qwed.gateway.kernel.notifications import approval_news, deliveries_of
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_TEXT, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope

T = TypeVar("T")

MAX_POLICY: Final = 512 * 1024
MAX_PAGE: Final = 100


class PolicyBody(msgspec.Struct, forbid_unknown_fields=True):
    """`version` is the number that the author looked at: where another is in force, nothing changes."""

    text: str
    reason: str
    version: int | None = None


class CheckBody(msgspec.Struct, forbid_unknown_fields=True):
    text: str


class ReloadBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: str


class RollbackBody(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    reason: str


class StopBody(msgspec.Struct, forbid_unknown_fields=True):
    scope: str
    reason: str
    name: str | None = None


# --- reading ------------------------------------------------------------------------------------------


async def show_policy(services: Services, caller: Caller) -> Answer:
    """What is in force, in the words of its author where there are some."""
    require_scope(caller, Scope.POLICY)
    services = await catch_up(services)
    change = await services.store.policy_change()
    brought = None if change is None else await services.store.policy_change(change.policy_at)
    return Answer(
        {
            "version": services.policy_number,
            "policy_at": services.policy_at,
            "policy_version": services.policy.version,
            "source": services.live.source,
            "differs": differs(services.live, services.policy),
            "text": None if brought is None else brought.text,
            "stops": [stop.to_wire() for stop in services.stops],
            "change": None if change is None else change.to_wire(),
            "policy": services.policy.to_wire(),
        }
    )


def differs(live: LivePolicy, policy: Policy) -> bool:
    """Whether the file on this host says something else than what is in force."""
    return live.file is not None and live.file_version != policy.version


async def list_changes(services: Services, caller: Caller, before: int | None, limit: int) -> Answer:
    require_scope(caller, Scope.POLICY)
    limit = max(1, min(limit, MAX_PAGE))
    found = await services.store.policy_changes(before, limit + 1)
    body: dict[str, Any] = {"changes": [change.to_wire() for change in found[:limit]]}
    if len(found) > limit:
        body["next"] = found[limit - 1].number
    return Answer(body)


async def show_version(services: Services, caller: Caller, number: int) -> Answer:
    require_scope(caller, Scope.POLICY)
    change = await _version(services, number)
    return Answer({**change.to_wire(), "text": change.text, "policy": change.policy})


async def _version(services: Services, number: int) -> PolicyChange:
    change = await services.store.policy_change(number)
    if change is None:
        raise refuse(Code.NOT_FOUND, f"there is no version {number}")
    return change


# --- changing -----------------------------------------------------------------------------------------


async def apply_policy(services: Services, caller: Caller, raw: Any) -> Answer:
    require_scope(caller, Scope.POLICY)
    body = convert(raw, PolicyBody)
    _require_store(services)
    policy = await read_text(services, body.text)
    wanted = Wanted(ChangeKind.APPLY, _reason(body.reason), policy, body.text, follows=body.version)
    return await _change(services, caller, wanted)


async def reload_file(services: Services, caller: Caller | None, raw: Any) -> Answer:
    """Make the policy file of this host the version of the deployment."""
    if caller is not None:
        require_scope(caller, Scope.POLICY)
    reason = _reason(convert(raw, ReloadBody).reason)
    live = services.live
    if live.file is None:
        raise refuse(Code.POLICY_SOURCE, "the policy does not come from a file here: apply a text instead")
    try:
        text = await _aside(Path(live.file).read_text, "utf-8")
    except (OSError, UnicodeError) as error:
        raise refuse(Code.POLICY_UNREADABLE, f"the policy file {live.file} can't be read: {error}") from None
    policy = await read_text(services, text)
    live.file_version = policy.version
    newest = await catch_up(services)
    if newest.policy_number and policy.version == newest.policy.version:
        current = await _version(services, newest.policy_number)
        return Answer({**current.to_wire(), "unchanged": True})
    return await _change(services, caller, Wanted(ChangeKind.APPLY, reason, policy, text))


async def _aside(call: Callable[..., T], *values: Any) -> T:
    """What may take long: not on the loop, where there is one."""
    if asyncio._get_running_loop() is None:
        return call(*values)
    return await asyncio.to_thread(call, *values)


async def roll_back(services: Services, caller: Caller, raw: Any) -> Answer:
    """An older policy becomes the newest version; what is stopped stays stopped."""
    require_scope(caller, Scope.POLICY)
    body = convert(raw, RollbackBody)
    _require_store(services)
    old = await _version(services, body.version)
    if old.policy is None:
        raise malformed("version", f"{body.version} did not bring a policy: it was a {old.kind}")
    # Read as it was recorded: what its text would mean today may be something else.
    policy = Policy.from_wire(old.policy)
    wanted = Wanted(ChangeKind.ROLLBACK, _reason(body.reason), policy, old.text, rolled_back_to=old.number)
    return await _change(services, caller, wanted)


async def check_policy(services: Services, caller: Caller, raw: Any) -> Answer:
    """What is wrong or doubtful in a text, line by line, and how it differs from what is in force."""
    require_scope(caller, Scope.POLICY)
    body = convert(raw, CheckBody)
    services = await catch_up(services)
    texts = services.live.texts
    assert texts is not None, "the composition root gives it"
    try:
        policy = await read_text(services, body.text)
    except RequestError as error:
        if error.refusal.code is not Code.POLICY_UNREADABLE:
            raise
        mistakes = (error.refusal.details or {}).get("mistakes") or [{"line": 0, "message": str(error)}]
        return Answer({"is_valid": False, "mistakes": mistakes})
    found = await _aside(texts.look_through, services.policy, policy)
    return Answer({"is_valid": True, "mistakes": [], "policy_version": policy.version, **found})


async def read_text(services: Services, text: str) -> Policy:
    """Raises 422 with every mistake and its line."""
    if len(text) > MAX_POLICY:
        raise malformed("text", f"is longer than {MAX_POLICY} characters")
    texts = services.live.texts
    assert texts is not None, "the composition root gives it"
    try:
        return await _aside(texts.read, text)
    except UnreadablePolicy as error:
        raise refuse(Code.POLICY_UNREADABLE, str(error), mistakes=error.mistakes) from None


def _require_store(services: Services) -> None:
    file = services.live.file
    if file is not None:
        raise refuse(
            Code.POLICY_SOURCE,
            f"the policy comes from {file}: change that file, then send SIGHUP or run"
            " qwed policy apply --from-file",
            file=file,
        )


def _reason(text: str) -> str:
    if not text.strip() or len(text) > MAX_TEXT:
        raise malformed("reason", f"says why, in at most {MAX_TEXT} characters")
    return text.strip()


async def _change(services: Services, caller: Caller | None, wanted: Wanted) -> Answer:
    services = await catch_up(services)
    why = await _aside(_second_look, services, wanted)
    if why is None:
        change = await put_in_force(services, caller, wanted)
        return Answer(change.to_wire())
    return await _ask_second_person(services, caller, wanted, why)


def _second_look(services: Services, wanted: Wanted) -> str | None:
    """Why another person has to agree; None where nobody has."""
    texts = services.live.texts
    if services.policy.change_approvers < 2 or wanted.policy is None or texts is None:
        return None
    return texts.why_looser(services.policy, wanted.policy)


async def _ask_second_person(services: Services, caller: Caller | None, wanted: Wanted, why: str) -> Answer:
    """Nothing changes until somebody else approves it, and only while the same version is in force."""
    if wanted.follows not in (None, services.policy_number):
        raise report_moved_on(services.policy_number)
    now_ms, rules = services.clock.now_ms(), services.policy.approvals
    approval_id, policy = services.ids.approval(now_ms), wanted.policy
    assert policy is not None
    parameters = {
        "kind": wanted.kind.value,
        "reason": wanted.reason,
        "text": wanted.text,
        "policy": policy.to_wire(),
        "rolled_back_to": wanted.rolled_back_to,
        "follows": services.policy_number,
        "file_version": services.live.file_version,
    }
    activity = noted(
        services, caller, "propose_policy", {"approval_id": approval_id, "reason": wanted.reason}
    )
    approval = Approval(
        approval_id=approval_id,
        activity_id=activity.activity_id,
        agent_id=GATEWAY,
        principal_id=PrincipalId(""),
        requested_by=caller.names if caller else (GATEWAY,),
        conversation_id=None,
        step=None,
        action={"type": "change_policy", "parameters": parameters},
        action_hash=policy.version,
        policy_version=services.policy.version,
        risk=Risk.CRITICAL,
        reason=f"a second person has to agree: {why}",
        evidence={},
        intent=wanted.reason,
        created_ms=now_ms,
        expires_ms=now_ms + rules.ttl_seconds * 1000,
        kind=ApprovalKind.POLICY,
        role=OPERATOR_ROLE,
    )
    news = approval_news(Event.APPROVAL_REQUESTED, approval, activity.activity_id, now_ms)
    record = Record(activity, approval=approval, deliveries=await deliveries_of(services, news))
    await services.store.commit(record)
    return Answer({"approval_id": approval_id, "status": "pending", "reason": approval.reason}, status=202)


# --- stopping -----------------------------------------------------------------------------------------


async def stop(services: Services, caller: Caller, raw: Any) -> Answer:
    """Nothing of the scope is allowed from the next commit on, anywhere."""
    body, scope, name = _read_stop(caller, raw)
    services = await catch_up(services)
    added = Stop(scope, name, _reason(body.reason), caller.name, services.clock.now_ms())
    others = tuple(one for one in services.stops if (one.scope, one.name) != (scope, name))
    wanted = Wanted(ChangeKind.STOP, added.reason, stops=(*others, added), follows=services.policy_number)
    return Answer((await put_in_force(services, caller, wanted)).to_wire())


async def resume(services: Services, caller: Caller, raw: Any) -> Answer:
    body, scope, name = _read_stop(caller, raw)
    services = await catch_up(services)
    others = tuple(one for one in services.stops if (one.scope, one.name) != (scope, name))
    if len(others) == len(services.stops):
        raise refuse(Code.NOT_FOUND, "that is not stopped: GET /policy lists what is")
    wanted = Wanted(ChangeKind.RESUME, _reason(body.reason), stops=others, follows=services.policy_number)
    return Answer((await put_in_force(services, caller, wanted)).to_wire())


def _read_stop(caller: Caller, raw: Any) -> tuple[StopBody, StopScope, str]:
    require_scope(caller, Scope.POLICY)
    body = convert(raw, StopBody)
    if body.scope not in tuple(StopScope):
        raise malformed("scope", f"is one of {', '.join(StopScope)}")
    scope, name = StopScope(body.scope), (body.name or "").strip()
    if (scope is StopScope.ALL) != (not name) or len(name) > MAX_TEXT:
        raise malformed("name", "names the team or the tool, and is left out where everything is stopped")
    return body, scope, name
