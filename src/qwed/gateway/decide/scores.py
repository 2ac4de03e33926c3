"""What trust scores, specifications and checkpoints say of one case. Nothing here lets more through."""

from decimal import Decimal
from typing import Final

from qwed.assurance.accusations import CHECKPOINT
from qwed.assurance.explanations import Thresholds
from qwed.assurance.profiles import Mechanism
from qwed.domain.nodes import activity_id_about, agent_did
from qwed.ect.claims import Claims
from qwed.ect.verifier import MAX_AGE_SECONDS
from qwed.gateway.decide.case import Case
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.scorekeeper import Scorekeeper
from qwed.gateway.kernel.services import Services
from qwed.gateway.trust.trust_scores import announce_revocations

#: The entry that a checkpoint was used: it is good for one action.
USE_CHECKPOINT: Final = "use_checkpoint"


async def score_of(services: Services, case: Case) -> Decimal:
    """Where nobody scores, nothing is borne out."""
    keeper = await _catch_up(services)
    return Decimal(0) if keeper is None else keeper.table.score(_peer(case), case.now_ms // 1000)


async def find_gated_actions(services: Services, case: Case) -> tuple[str, ...]:
    keeper = await _catch_up(services)
    spec = None if keeper is None else keeper.spec_of(case.agent.did)
    return () if spec is None else spec.constraints.require_checkpoint_before


async def is_revoked(services: Services, case: Case) -> bool:
    keeper = await _catch_up(services)
    return keeper is not None and keeper.table.is_revoked(_peer(case))


async def meets_thresholds(services: Services, case: Case) -> bool:
    """The deployment's thresholds and the node's."""
    asked = list(_thresholds(services, case))
    keeper = await _catch_up(services) if asked else None
    if keeper is None:
        return True
    return all(keeper.table.meets(_peer(case), thresholds, case.now_ms // 1000) for thresholds in asked)


def _thresholds(services: Services, case: Case) -> list[Thresholds]:
    asked = []
    if case.assured is not None and case.assured.has(Mechanism.TRUST_THRESHOLDS):
        asked.append(services.assurance.thresholds)
    if case.place is not None and case.place.thresholds != Thresholds():
        asked.append(case.place.thresholds)
    return asked


async def trust_inputs(services: Services, case: Case) -> dict[str, object]:
    """What the rules of a workflow can ask about trust; nothing where nobody scores, which triggers them."""
    keeper = await _catch_up(services)
    if keeper is None:
        return {}
    return {"apae.peer_trust_score": keeper.table.score(_peer(case), case.now_ms // 1000)}


async def use_checkpoint(services: Services, case: Case) -> bool:
    """A checkpoint of the agent's own, presented with the request, recent, and used by no other action."""
    for item in case.execution.accepted:
        claims = item.ect.claims
        is_recent = claims.iat > case.now_ms // 1000 - MAX_AGE_SECONDS
        is_own = claims.exec_act == CHECKPOINT and claims.iss == _peer(case) and is_recent
        if is_own and await _spend(services, case, claims):
            return True
    return False


async def _spend(services: Services, case: Case, checkpoint: Claims) -> bool:
    """Whether no action used it so far, at any gateway of the deployment; from now on, one has."""
    jti = checkpoint.jti
    activity_id = activity_id_about(checkpoint.iat, USE_CHECKPOINT, jti)
    async with services.turns.turn((USE_CHECKPOINT, jti)):
        if await services.store.activity(activity_id) is not None:
            return False
        details = {"checkpoint": jti}
        note = noted(services, None, USE_CHECKPOINT, details, agent=case.agent, activity_id=activity_id)
        await services.store.commit(Record(note))
    return True


async def _catch_up(services: Services) -> Scorekeeper | None:
    keeper = services.assurance.keeper
    if keeper is not None:
        await keeper.catch_up(services.store)
        await announce_revocations(services)
    return keeper


def _peer(case: Case) -> str:
    return agent_did(case.agent.agent_id)
