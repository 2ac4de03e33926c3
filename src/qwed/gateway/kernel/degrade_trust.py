"""Trust goes down by itself (section 8): a deed and what it costs are one record.

What is done in an agent's name is charged to that agent, whether its token or its principal's key was used:
the key is often in the agent's own process. What is wrong with a credential (a token used for another agent,
a forged grant or attestation) is charged to the agent whose token it was, and to nobody where a key was used
or nothing authenticated.
"""

import msgspec

from qwed.domain.agents import Agent, AgentId
from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import Deed, Exhausted, Judgement, Penalty, find_exhausted, judge
from qwed.domain.credentials import Caller
from qwed.domain.trust_changes import TrustChange
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.limits_told import SENDING_MS
from qwed.gateway.kernel.ports import Admission
from qwed.gateway.kernel.records import Activity, Record
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.trust_entries import list_notices_of, publish_trust, record_trust_change


async def commit_deed(
    services: Services,
    record: Record,
    deed: Deed | None,
    admission: Admission | None = None,
    refusal: Refusal | None = None,
) -> Refusal | None:
    """Commit what was decided together with what it means for its agent's trust."""
    store = services.store
    if deed is None:
        return await store.commit(record, admission)
    # The usual case: an action that was not denied.
    if deed is Deed.ACTION and not (await store.standing(record.activity.agent_id)).has_many_denials:
        return await store.commit(record, admission)
    if deed is not Deed.EXHAUSTED:
        return await _commit_deed(services, record, deed, admission, None)
    exhausted = find_exhausted(refusal, services.clock.now_ms() + SENDING_MS)
    late = await _commit_deed(services, record, deed, admission, exhausted)
    if late is None and exhausted is not None:
        services.limits_told.note(record.activity.agent_id, exhausted, services.clock.now_ms())
    return late


async def _commit_deed(
    services: Services,
    record: Record,
    deed: Deed,
    admission: Admission | None,
    exhausted: Exhausted | None,
) -> Refusal | None:
    if await _weighs_nothing(services, record, deed, exhausted):
        return await services.store.commit(record, admission)
    # Misdeeds of one agent are weighed one after the other: each sees all that came before it.
    async with services.turns.turn(("conduct", record.activity.agent_id)):
        judgement = await _judge(services, record, deed, exhausted)
        if judgement.penalties:
            return await _degrade(services, record, judgement, admission)
        weighed = msgspec.structs.replace(record, conduct=judgement.conduct)
        return await services.store.commit(weighed, admission)


async def _weighs_nothing(
    services: Services, record: Record, deed: Deed, exhausted: Exhausted | None
) -> bool:
    """An action after which no window is bad, or one refusal more after the abuse was charged."""
    standing = await services.store.standing(record.activity.agent_id)
    standing = services.limits_told.correct(record.activity.agent_id, standing)
    judgement = judge(standing, deed, record.activity.activity_id, record.activity.at_ms, exhausted)
    is_same = deed is Deed.ACTION or judgement.conduct is standing.conduct
    return is_same and not judgement.penalties


async def _judge(services: Services, record: Record, deed: Deed, exhausted: Exhausted | None) -> Judgement:
    activity = record.activity
    standing = await services.store.standing(activity.agent_id)
    standing = services.limits_told.correct(activity.agent_id, standing)
    return judge(standing, deed, activity.activity_id, activity.at_ms, exhausted)


async def _degrade(
    services: Services, record: Record, judgement: Judgement, admission: Admission | None
) -> Refusal | None:
    agent_id = record.activity.agent_id
    async with services.turns.turn(agent_id):
        agent = await services.store.agent(agent_id)
        if agent is None:
            # Deregistered meanwhile: nobody is left to be trusted less.
            return await services.store.commit(record, admission)
        lowered, changes, entries = _lowered(services, agent, judgement.penalties)
        # At level 0 an agent could otherwise make its principal's telephone ring at will.
        felt = (change for change in changes if change.from_level is not change.to_level)
        whole = msgspec.structs.replace(
            record,
            agent=lowered,
            conduct=judgement.conduct,
            trust_changes=tuple(changes),
            consequences=tuple(entries),
            deliveries=(*record.deliveries, *await list_notices_of(services, lowered, *felt)),
        )
        refusal = await services.store.commit(whole, admission)
    if refusal is None:
        for change in changes:
            publish_trust(services, change)
    return refusal


def _lowered(
    services: Services, agent: Agent, penalties: tuple[Penalty, ...]
) -> tuple[Agent, list[TrustChange], list[Activity]]:
    """One entry for each rule that applies. At level 0 nothing is left to take, and the entry says so."""
    changes: list[TrustChange] = []
    entries: list[Activity] = []
    for penalty in penalties:
        before, agent = agent, msgspec.structs.replace(agent, trust_level=penalty.lowers(agent.trust_level))
        change, entry = record_trust_change(
            services, None, before, agent, penalty.cause, penalty.reason, activities=penalty.activities
        )
        changes.append(change)
        entries.append(entry)
    return agent, changes, entries


async def charge_foreign_token(services: Services, caller: Caller, used_for: str) -> None:
    """Somebody used an agent's token for another agent. It makes no difference whether that one exists."""
    refusal = Refusal(Code.AGENT_TOKEN, "the token belongs to another agent")
    details = {"used_for": used_for[:80]}
    await _charge(services, caller, "use_token", Deed.FOREIGN_TOKEN, refusal, details)


async def charge_forged_grant(services: Services, caller: Caller, approval_id: str) -> None:
    """An agent redeemed what nobody granted to it."""
    refusal = Refusal(Code.APPROVAL_UNKNOWN, "the agent was never given such a grant")
    details = {"approval_id": approval_id[:80]}
    await _charge(services, caller, "redeem_grant", Deed.FORGERY, refusal, details)


async def charge_forged_attestation(services: Services, caller: Caller, attestation_id: str) -> None:
    """An agent presented, as its own, an attestation that names our key and was not signed with it."""
    refusal = Refusal(Code.ATTESTATION_REJECTED, "the attestation was not signed by this gateway")
    details = {"attestation_id": attestation_id[:80]}
    await _charge(services, caller, "present_attestation", Deed.FORGERY, refusal, details, is_forged=True)


async def _charge(
    services: Services,
    caller: Caller,
    what: str,
    deed: Deed,
    refusal: Refusal,
    details: dict[str, str],
    *,
    is_forged: bool = False,
) -> None:
    if caller.agent_id is None:
        return
    agent = await services.store.agent(AgentId(caller.agent_id))
    if agent is not None:
        entry = noted(services, caller, what, details, agent=agent, refusal=refusal, is_forged=is_forged)
        await commit_deed(services, Record(entry), deed)
