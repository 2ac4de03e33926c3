"""Permits at work: used once, receipted, and what was found when one was not kept."""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from qwed.domain.agents import GATEWAY, AgentId, AgentStatus, PrincipalId
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.permits import (
    HASH_PREFIX,
    LEEWAY_SECONDS,
    ExecutionReceipt,
    FindingKind,
    IssuedPermit,
    PermitFinding,
    PermitState,
    add_receipt,
    find_in_receipt,
    lapse,
    use_permit,
)
from qwed.domain.times import HOUR_MS
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.more_findings import FindingPlace
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_NAME, MAX_TEXT, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_agent, require_scope

BATCH: Final = 100
#: A receipt may come a moment after the permit has expired.
GRACE_MS: Final = (LEEWAY_SECONDS + 60) * 1000
MAX_SIGNATURE: Final = 8_192
MAX_DURATION_MS: Final = 2**53 - 1
#: So many findings of one agent are recorded an hour: a flood of calls must not fill the record. Of the
#: others the record says how many there were.
FINDINGS_PER_HOUR: Final = 300
MAX_COUNT: Final = 10**9
_HASH: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


class UseBody(msgspec.Struct, forbid_unknown_fields=True):
    audience: str
    action_hash: str


class ReceiptBody(msgspec.Struct, forbid_unknown_fields=True):
    audience: str
    action_hash: str
    outcome: OutcomeResult
    result_hash: str | None = None
    duration_ms: int | None = None
    signature: str | None = None
    replay: Literal["gateway", "redis", "memory"] = "gateway"


class FindingBody(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["call_refused", "effect_without_permit"]
    audience: str
    message: str
    jti: str | None = None
    code: str | None = None
    #: So many of them, where the tool had no room to tell each.
    count: int = 1


async def use(services: Services, caller: Caller, jti: str, raw: Json) -> Answer:
    """One caller gets it, whoever asks at the same time. Raises what is against it."""
    require_scope(caller, Scope.PERMITS)
    body = convert(raw, UseBody)
    _check_name("audience", body.audience)
    permit = await _visible(services, caller, jti)
    now_ms = services.clock.now_ms()
    used = await _refuse_stopped(services, permit.agent_id) or use_permit(
        permit, body.audience, _hash("action_hash", body.action_hash), caller.name, now_ms
    )
    if isinstance(used, Refusal):
        await _note_refusal(services, caller, permit, used, body.audience)
        raise RequestError(used)
    refusal = await services.store.commit(_record(services, caller, "use_permit", used))
    if refusal is not None:
        await _note_refusal(services, caller, permit, refusal, body.audience)
        raise RequestError(refusal)
    return Answer(used.to_wire())


async def report_receipt(services: Services, caller: Caller, jti: str, raw: Json) -> Answer:
    """What the tool ran: compared with what was approved."""
    require_scope(caller, Scope.PERMITS)
    body = convert(raw, ReceiptBody)
    receipt = _receipt(body)
    permit = await _visible(services, caller, jti)
    if body.audience != permit.audience:
        raise refuse(Code.PERMIT_MISMATCH, "the permit is for another tool")
    reported = add_receipt(permit, receipt)
    if isinstance(reported, Refusal):
        raise RequestError(reported)
    found = find_in_receipt(permit, receipt)
    record = _record(services, caller, "report_receipt", reported)
    if found is not None:
        finding = _finding(record.activity.activity_id, *found, permit, services.clock.now_ms())
        record = msgspec.structs.replace(record, finding=finding)
    refusal = await services.store.commit(record)
    if refusal is not None:
        raise RequestError(refusal)
    return Answer({**reported.to_wire(), "finding": None if found is None else found[0]})


async def report_finding(services: Services, caller: Caller, raw: Json) -> Answer:
    """A tool refused a call, or saw an effect that no permit allows."""
    require_scope(caller, Scope.PERMITS)
    body = convert(raw, FindingBody)
    _check_name("audience", body.audience)
    if len(body.message) > MAX_TEXT:
        raise malformed("message", f"is longer than {MAX_TEXT} characters")
    if body.code is not None and body.code not in tuple(Code):
        raise malformed("code", "is no code of QWED's")
    if not 1 <= body.count <= MAX_COUNT:
        raise malformed("count", f"is a number from 1 to {MAX_COUNT}")
    # Any name may stand in a permit that is refused: it is looked up, and believed only where it is ours.
    permit = None if body.jti is None else await services.store.permit(body.jti[:MAX_NAME])
    if permit is not None and not _is_visible(caller, permit):
        permit = None
    recorded = await _note(
        services, caller, FindingKind(body.kind), body.message, permit, body.audience, body.code, body.count
    )
    return Answer({"recorded": recorded}, 201 if recorded else 200)


async def show_permit(services: Services, caller: Caller, jti: str) -> Answer:
    _require_reader(caller)
    return Answer((await _visible(services, caller, jti)).to_wire())


async def find_unused(services: Services, caller: Caller, query: Mapping[str, str]) -> Answer:
    """The permits of an agent that fit one action at one place: two at most are told."""
    require_scope(caller, Scope.PERMITS)
    for name in ("agent_id", "audience", "action_hash"):
        if not query.get(name):
            raise malformed(name, "is missing")
    agent = await require_agent(services, caller, AgentId(query["agent_id"]))
    wanted = _hash("action_hash", query["action_hash"])
    stopped = await _refuse_stopped(services, agent.agent_id)
    if stopped is not None:
        raise RequestError(stopped)
    now_ms = services.clock.now_ms()
    found = await services.store.unused_permits(agent.agent_id, query["audience"][:MAX_NAME], wanted, now_ms)
    return Answer({"permits": [permit.to_wire() for permit in found]})


async def list_findings(
    services: Services, caller: Caller, agent_id: str | None, after: str | None, limit: int
) -> Answer:
    """Newest first."""
    _require_reader(caller)
    if agent_id is not None:
        await require_agent(services, caller, AgentId(agent_id))
    whose = None if agent_id is None else AgentId(agent_id)
    found = await services.store.findings(caller.principal_id, whose, after, limit)
    counts = await services.store.count_findings(caller.principal_id, whose, 0, services.clock.now_ms() + 1)
    body: dict[str, Json] = {"findings": [finding.to_wire() for finding in found], "counts": counts}
    if len(found) == limit:
        body["next"] = found[-1].finding_id
    return Answer(body)


async def sweep_permits(services: Services) -> int:
    """Permits that nobody used are stated, once; how many, at most `BATCH`: then there may be more."""
    for place, count in services.more_findings.take():
        await _state(services, place, count)
    due = await services.store.permits_due(services.clock.now_ms() - GRACE_MS, BATCH)
    for permit in due:
        lapsed = lapse(permit)
        record = _record(services, None, "permit_unused", lapsed)
        message = "the action was approved, and nobody used its permit"
        finding = _finding(
            record.activity.activity_id, FindingKind.PERMIT_UNUSED, message, permit, record.activity.at_ms
        )
        # Where somebody used it at the same moment there is nothing to state.
        await services.store.commit(msgspec.structs.replace(record, finding=finding))
    return len(due)


async def note_effect_without_permit(services: Services, caller: Caller, activity_id: str) -> None:
    """The agent says that its action ran, and the permit for it was never used."""
    for permit in await services.store.permits_of(activity_id):
        if permit.state in (PermitState.ISSUED, PermitState.UNUSED):
            message = "the agent reported that the action ran, and nobody had used its permit"
            await _note(
                services, caller, FindingKind.EFFECT_WITHOUT_PERMIT, message, permit, permit.audience, None
            )


async def _refuse_stopped(services: Services, agent_id: AgentId) -> Refusal | None:
    """An agent that was stopped after the approval has no use of it."""
    agent = await services.store.agent(agent_id)
    if agent is None or agent.status is AgentStatus.DEREGISTERED:
        return Refusal(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")
    if agent.status is AgentStatus.SUSPENDED:
        return Refusal(Code.AGENT_SUSPENDED, f"agent {agent_id[:80]!r} is suspended, and its permits with it")
    return None


def _require_reader(caller: Caller) -> None:
    if caller.may(Scope.PERMITS):
        return
    require_scope(caller, Scope.READ)


async def _note_refusal(
    services: Services, caller: Caller, permit: IssuedPermit, refusal: Refusal, audience: str
) -> None:
    await _note(
        services, caller, FindingKind.CALL_REFUSED, refusal.message, permit, audience, refusal.code.value
    )


async def _note(
    services: Services,
    caller: Caller,
    kind: FindingKind,
    message: str,
    permit: IssuedPermit | None,
    audience: str,
    code: str | None,
    count: int = 1,
) -> bool:
    """Whether it has an entry of its own."""
    agent_id = AgentId(GATEWAY if permit is None else permit.agent_id)
    owner = (caller.principal_id if permit is None else permit.principal_id) or PrincipalId("")
    said = shown({"message": message, "audience": audience})
    now_ms = services.clock.now_ms()
    place = FindingPlace(owner, agent_id, kind, str(said["audience"]), code)
    counts = await services.store.count_findings(owner, agent_id, now_ms - HOUR_MS, now_ms + 1)
    if sum(counts.values()) >= FINDINGS_PER_HOUR:
        services.more_findings.add(place, count)
        return False
    await _record_finding(services, caller, place, str(said["message"]), permit, count)
    return True


async def _state(services: Services, place: FindingPlace, count: int) -> None:
    """What had no entry of its own, in one."""
    message = f"{count} more beyond {FINDINGS_PER_HOUR} an hour, that have no entry of their own"
    await _record_finding(services, None, place, message, None, count)


async def _record_finding(
    services: Services,
    caller: Caller | None,
    place: FindingPlace,
    message: str,
    permit: IssuedPermit | None,
    count: int,
) -> None:
    jti = None if permit is None else permit.jti
    details = {"kind": place.kind, "jti": jti, "code": place.code, "count": count}
    activity = noted(
        services,
        caller,
        "permit_finding",
        {**details, "message": message, "audience": place.audience},
        agent_id=place.agent_id,
        principal_id=place.principal_id,
        caused_by=() if permit is None else (permit.activity_id,),
    )
    finding = PermitFinding(
        activity.activity_id,
        place.kind,
        place.principal_id,
        place.agent_id,
        activity.at_ms,
        message,
        jti,
        place.audience,
        place.code,
        count,
    )
    await services.store.commit(Record(activity, finding=finding))


def _finding(
    finding_id: str, kind: FindingKind, message: str, permit: IssuedPermit, at_ms: int
) -> PermitFinding:
    return PermitFinding(
        finding_id,
        kind,
        permit.principal_id,
        permit.agent_id,
        at_ms,
        message,
        permit.jti,
        permit.audience,
    )


def _record(services: Services, caller: Caller | None, what: str, permit: IssuedPermit) -> Record:
    activity = noted(
        services,
        caller,
        what,
        permit.to_wire(),
        agent_id=permit.agent_id,
        principal_id=permit.principal_id,
        caused_by=(permit.activity_id,),
    )
    return Record(activity, permit=permit)


async def _visible(services: Services, caller: Caller, jti: str) -> IssuedPermit:
    permit = await services.store.permit(jti[:MAX_NAME])
    if permit is None or not _is_visible(caller, permit):
        raise refuse(Code.NOT_FOUND, f"there is no permit {jti[:80]!r}")
    return permit


def _is_visible(caller: Caller, permit: IssuedPermit) -> bool:
    return caller.is_operator or caller.principal_id == permit.principal_id


def _receipt(body: ReceiptBody) -> ExecutionReceipt:
    _check_name("audience", body.audience)
    if body.result_hash is not None:
        _hash("result_hash", body.result_hash)
    if body.duration_ms is not None and not 0 <= body.duration_ms <= MAX_DURATION_MS:
        raise malformed("duration_ms", "is a number of milliseconds from 0 on")
    if body.signature is not None and not (body.signature.isascii() and len(body.signature) <= MAX_SIGNATURE):
        raise malformed("signature", f"is a compact JWS of at most {MAX_SIGNATURE} characters")
    return ExecutionReceipt(
        _hash("action_hash", body.action_hash),
        body.outcome.value,
        body.result_hash,
        body.duration_ms,
        body.signature,
        body.replay,
    )


def _hash(field: str, given: str) -> str:
    if not _HASH.fullmatch(given):
        raise malformed(field, "is a SHA-256 in 64 lower-case hexadecimal digits")
    return given.removeprefix(HASH_PREFIX)


def _check_name(field: str, given: str) -> None:
    if not 0 < len(given) <= MAX_NAME:
        raise malformed(field, f"has 1 to {MAX_NAME} characters")


__all__ = [
    "FindingBody",
    "ReceiptBody",
    "UseBody",
    "find_unused",
    "list_findings",
    "note_effect_without_permit",
    "report_finding",
    "report_receipt",
    "show_permit",
    "sweep_permits",
    "use",
]
