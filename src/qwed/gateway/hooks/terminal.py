"""What a person answered at the terminal: the call ran, and nobody can say who allowed it.

The approval is closed, so that nobody grants in the inbox what has run already. It endorses nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.credentials import Caller
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services

AT_TERMINAL: Final = "answered at the terminal, by nobody we can name"
_MAX_OPEN: Final = 100


async def close_at_terminal(
    services: Services, caller: Caller, activity_id: str, outcome: Mapping[str, Any]
) -> None:
    """Raises `RequestError` where somebody answers in the inbox at the same moment."""
    assert caller.agent_id is not None
    async with services.turns.turn(caller.agent_id):
        agent = await services.store.agent(caller.agent_id)
        now_ms, status = services.clock.now_ms(), ApprovalStatus.OPEN.value
        waiting = await services.store.approvals(
            caller.principal_id, caller.agent_id, status, now_ms, None, _MAX_OPEN
        )
        found = next((each for each in waiting if each.activity_id == activity_id), None)
        if agent is None or found is None:
            return
        details = {
            "activity_id": activity_id,
            "approval_id": found.approval_id,
            "status": AT_TERMINAL,
            **outcome,
        }
        entry = noted(services, caller, "answer_approval", details, agent=agent, caused_by=(activity_id,))
        closed = msgspec.structs.replace(
            found,
            status=ApprovalStatus.EXPIRED,
            expires_ms=now_ms,
            version=found.version + 1,
            answers=(*found.answers, entry.activity_id),
        )
        refusal = await services.store.commit(Record(entry, approval=closed))
        if refusal is not None:
            raise RequestError(refusal)
