"""Whether an edited action goes on with a loop: checks 9 and 13, as a proposed action meets them.

An edit takes the step of the action that it replaces, so it can't be admitted anew. What its conversation did
is read from the record: of each step the newest entry, which is the use of a grant where there was one; and
of a grant that waits to be used, what was granted.
"""

from typing import Any, Final

import msgspec

from qwed.domain.actions import Action, action_hash
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.codes import Refusal
from qwed.domain.contexts import StepContext, read_context
from qwed.domain.conversations import Conversation, Step, progress_refusal, repeat_refusal
from qwed.domain.fingerprints import Fingerprints, identify
from qwed.domain.outcomes import OutcomeResult
from qwed.gateway.decide.case import is_run_as_sql
from qwed.gateway.kernel.records import SearchQuery
from qwed.gateway.kernel.services import Services

#: More than the longest window and the longest cycle of the usual limits; what is older repeats nothing.
_NEWEST: Final = 200
_TAKEN: Final = frozenset({"APPROVED", "CORRECTED", "PENDING"})


class _Entry(msgspec.Struct):
    context: Any = None


async def find_repeat(services: Services, approval: Approval, granted: Action) -> Refusal | None:
    """What a loop says about `granted` in the place of what `approval` asks for."""
    digest = action_hash(granted)
    if digest == approval.action_hash or approval.conversation_id is None:
        # It was admitted as it is, when the agent asked.
        return None
    prints = identify(granted, is_sql=is_run_as_sql(services.policy.actions.get(granted.type)))[1]
    history, state = await _read_history(services, approval, digest, prints)
    fingerprint = prints.beside(history[-1].fingerprint) if history else prints.current
    conversation, limits = Conversation(history), services.policy.loops_of(approval.agent_id)
    return repeat_refusal(conversation, fingerprint, state, limits) or progress_refusal(
        conversation, fingerprint, state, limits
    )


async def _read_history(
    services: Services, approval: Approval, digest: str, prints: Fingerprints
) -> tuple[list[Step], bytes | None]:
    """The steps of the conversation, oldest first, and the state in which this one was asked for."""
    query = SearchQuery(
        approval.principal_id,
        agent_id=approval.agent_id,
        conversation_id=approval.conversation_id,
        limit=_NEWEST,
    )
    given = await _list_grants(services, approval)
    steps: dict[int, Step] = {}
    for activity, outcome in (await services.store.search(query)).entries:
        entry = msgspec.json.decode(activity.payload, type=_Entry)
        place = read_context(entry.context, state_required=False)
        if activity.decision not in _TAKEN or not isinstance(place, StepContext):
            continue
        if (later := steps.get(place.step)) is not None:
            # The use of a grant, which names no state: that of what was asked.
            steps[place.step] = msgspec.structs.replace(later, state=later.state or place.state)
            continue
        fingerprint, grant = activity.fingerprint, given.get(place.step)
        if grant is not None and grant.edited_by is not None:
            fingerprint = prints.beside(fingerprint) if grant.action_hash == digest else b""
        failed = outcome is not None and outcome.result is OutcomeResult.FAILURE
        acts = activity.decision != "PENDING" or grant is not None
        steps[place.step] = Step(place.step, fingerprint, place.state, acts, failed=failed)
    replaced = steps.pop(approval.step or 0, None)
    return list(reversed(steps.values())), None if replaced is None else replaced.state


async def _list_grants(services: Services, approval: Approval) -> dict[int, Approval]:
    """What people granted in this conversation and nobody has used yet, by its step."""
    found = await services.store.approvals(
        approval.principal_id,
        approval.agent_id,
        ApprovalStatus.APPROVED,
        services.clock.now_ms(),
        None,
        _NEWEST,
    )
    return {
        each.step: each
        for each in found
        if each.conversation_id == approval.conversation_id and each.step is not None
    }
