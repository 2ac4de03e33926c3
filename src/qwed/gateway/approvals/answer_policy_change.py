"""A second person answers whether another policy comes in force."""

from qwed.domain.approvals import Approval, ApprovalStatus, Vote, answered
from qwed.domain.codes import Refusal
from qwed.domain.credentials import Caller
from qwed.domain.passkeys import PasskeyProof
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import ChangeKind
from qwed.gateway.kernel.answers import Answer, RequestError
from qwed.gateway.kernel.change_policy import Wanted, put_in_force
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator


async def answer_policy_change(
    services: Services, caller: Caller, approval: Approval, vote: Vote, proof: PasskeyProof | None = None
) -> Answer:
    """Approved, it is in force before this returns. The one who wanted it can't be the one who agrees."""
    require_operator(caller)
    ttl_ms = services.policy.approvals.ttl_seconds * 1000
    result = answered(approval, vote, roles=caller.roles, ttl_ms=ttl_ms)
    if isinstance(result, Refusal):
        raise RequestError(result)
    async with services.turns.turn(("approval", approval.approval_id)):
        if result.status is ApprovalStatus.APPROVED:
            await put_in_force(services, caller, _read_wanted(approval, vote))
        details = {"approval_id": approval.approval_id, "approves": vote.approves, "note": vote.note}
        if vote.person is not None:
            details["person"] = vote.person.to_wire()
        causes = (approval.activity_id,)
        activity = noted(services, caller, "answer_approval", details, caused_by=causes, passkey=proof)
        refusal = await services.store.commit(Record(activity, approval=result))
    if refusal is not None:
        raise RequestError(refusal)
    return Answer(result.to_wire(services.clock.now_ms()))


def _read_wanted(approval: Approval, vote: Vote) -> Wanted:
    asked = approval.action["parameters"]
    return Wanted(
        ChangeKind(asked["kind"]),
        asked["reason"],
        Policy.from_wire(asked["policy"]),
        asked["text"],
        rolled_back_to=asked["rolled_back_to"],
        approved_by=vote.by,
        follows=asked["follows"],
    )
