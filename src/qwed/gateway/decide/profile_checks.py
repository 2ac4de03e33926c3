"""What the assurance profile asks of one request: before it is looked at, and before it is let through.

The order of the specification: tokens, revocation, people, thresholds. Everything here can only tighten.
"""

from decimal import Decimal
from typing import Final

from qwed.assurance.accusations import CHECKPOINT
from qwed.assurance.explanations import LEVEL_NOT_BORNE_OUT, NOT_TRUSTED_ENOUGH, Thresholds
from qwed.assurance.in_force import InForce, level_borne_out
from qwed.assurance.profiles import (
    Mechanism,
    UnknownProfile,
    accepts_without_token,
    effective,
    is_consequential,
    minimum_level,
    needs_person,
    profile_named,
)
from qwed.assurance.provenance import SOURCE
from qwed.domain.agents import Agent
from qwed.domain.codes import Code, Refusal
from qwed.domain.deciding import Verdict, decide
from qwed.domain.decisions import Decision
from qwed.domain.nodes import activity_id_about, agent_did
from qwed.domain.policy import DeniedCells, Profile
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel
from qwed.ect.claims import Claims
from qwed.ect.verifier import MAX_AGE_SECONDS
from qwed.gateway.decide.proposals import Conclusion, Examined, Proposal
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.scorekeeper import Scorekeeper
from qwed.gateway.kernel.services import Services
from qwed.gateway.trust.trust_scores import announce_revocations

#: The name under which a token asks for a profile.
PROFILE: Final = "apae.assurance_profile"
#: The entry that a checkpoint was used: it is good for one action.
USE_CHECKPOINT: Final = "use_checkpoint"


def entry_refusal(proposal: Proposal) -> Refusal | InForce | None:
    """What the tokens of a request lack; else the profile in force. None where none is."""
    asked = _asked(proposal)
    if not isinstance(asked, Profile):
        return asked
    given = proposal.services.assurance.by_profile[asked]
    if given.problems:
        return _unmet(f"this gateway does not give the assurance of '{asked}'")
    if proposal.replaces is not None:
        return given
    level = proposal.execution.chain_level
    if level is None:
        if accepts_without_token(asked):
            return given
        return _unmet(f"the profile '{asked}' needs an execution context token with every request")
    if level < minimum_level(asked):
        return _unmet(
            f"the profile '{asked}' needs tokens of level {minimum_level(asked).name}, not {level.name}:"
            " submit them to /ect first, signed"
        )
    if given.has(Mechanism.PROVENANCE) and not all(map(_states_data, _presented(proposal))):
        return _unmet(f"the profile '{asked}' needs inp_hash, out_hash or {SOURCE} in every token")
    return given


def _asked(proposal: Proposal) -> Refusal | Profile | None:
    """The strictest of the deployment's and what tokens ask for; nobody can ask for less."""
    strictest = proposal.services.assurance.profile
    if proposal.place is not None and proposal.place.profile is not None:
        strictest = _stricter(strictest, proposal.place.profile)
    if proposal.replaces is not None and proposal.replaces.profile is not None:
        strictest = _stricter(strictest, proposal.replaces.profile)
    for claims in _presented(proposal):
        if PROFILE not in claims.ext:
            continue
        try:
            named = profile_named(claims.ext[PROFILE])
        except UnknownProfile as error:
            return _unmet(str(error))
        strictest = _stricter(strictest, named)
    return strictest


def _stricter(profile: Profile | None, other: Profile) -> Profile:
    return other if profile is None else effective(profile, node=other).profile


def _presented(proposal: Proposal) -> list[Claims]:
    return [item.ect.claims for item in proposal.execution.accepted]


def _states_data(claims: Claims) -> bool:
    return claims.inp_hash is not None or claims.out_hash is not None or SOURCE in claims.ext


async def judged(
    services: Services, agent: Agent, examined: Examined, now_ms: int, threshold: Risk | None = None
) -> Verdict:
    """Proof, risk and trust: at the agent's level, or at the lower one that its conduct bears out."""

    def at(level: TrustLevel) -> Verdict:
        pend = services.policy.denied_cells is DeniedCells.PENDING
        return decide(examined.finding, examined.risk, level, threshold=threshold, denied_cells_pend=pend)

    given = at(agent.trust_level)
    needs = services.policy.assurance.level_scores
    if not needs:
        return given
    keeper = await _scores(services)
    # Where nobody scores, nothing is borne out.
    score = Decimal(0) if keeper is None else keeper.table.score(agent_did(agent.agent_id), now_ms // 1000)
    held = at(level_borne_out(agent.trust_level, score, needs))
    if held.decision is given.decision or held.refusal is None:
        return given
    return Verdict(held.decision, Refusal(held.refusal.code, LEVEL_NOT_BORNE_OUT))


async def tightened(proposal: Proposal, given: InForce | None, verdict: Verdict, risk: Risk) -> Verdict:
    """A verdict as the profile leaves it: denied, put to a person, or as it was."""
    if given is None or verdict.decision is Decision.DENIED:
        return verdict
    refusal, action = await _revoked(proposal, given), proposal.action.type
    gated = await _gated(proposal)
    if refusal is None and given.has(Mechanism.CHECKPOINTS) and is_consequential(risk, action, gated):
        refusal = await _without_checkpoint(proposal, gated)
    if refusal is not None:
        return Verdict(Decision.DENIED, refusal)
    if verdict.decision.lets_act and _waits(proposal, given, risk, gated):
        message = f"{risk.wire} risk needs a person's approval in the profile '{given.profile}'"
        if risk < Risk.HIGH:
            message = f"this action needs a person's approval in the profile '{given.profile}'"
        return Verdict(Decision.PENDING, Refusal(Code.APPROVAL_REQUIRED, message))
    return verdict


async def _gated(proposal: Proposal) -> tuple[str, ...]:
    """The actions that the agent's own specification calls consequential, whatever their risk."""
    keeper = await _scores(proposal.services)
    spec = None if keeper is None else keeper.spec_of(proposal.agent.did)
    return () if spec is None else spec.constraints.require_checkpoint_before


def _waits(proposal: Proposal, given: InForce, risk: Risk, gated: tuple[str, ...]) -> bool:
    is_critical = proposal.place is not None and proposal.place.is_critical
    return given.has(Mechanism.HITL) and needs_person(
        given.profile,
        risk,
        proposal.action.type,
        is_critical_node=is_critical,
        require_checkpoint_before=gated,
    )


async def _revoked(proposal: Proposal, given: InForce) -> Refusal | None:
    keeper = await _scores(proposal.services) if given.has(Mechanism.TRUST_THRESHOLDS) else None
    if keeper is None or not keeper.table.is_revoked(agent_did(proposal.agent.agent_id)):
        return None
    return Refusal(Code.TRUST_NOT_MET, NOT_TRUSTED_ENOUGH)


async def hold_to_thresholds(proposal: Proposal, given: InForce | None, conclusion: Conclusion) -> None:
    """The deployment's thresholds and the node's; a person whom a rule asks may waive them, this once."""
    if conclusion.decision is Decision.DENIED or conclusion.gate is not None:
        return
    asked = []
    if given is not None and given.has(Mechanism.TRUST_THRESHOLDS):
        asked.append(proposal.services.assurance.thresholds)
    if proposal.place is not None and proposal.place.thresholds != Thresholds():
        asked.append(proposal.place.thresholds)
    keeper = await _scores(proposal.services) if asked else None
    if keeper is None:
        return
    peer, now = agent_did(proposal.agent.agent_id), proposal.now_ms // 1000
    if not all(keeper.table.meets(peer, thresholds, now) for thresholds in asked):
        conclusion.decision = Decision.DENIED
        conclusion.refusal = Refusal(Code.TRUST_NOT_MET, NOT_TRUSTED_ENOUGH)


async def trust_inputs(proposal: Proposal) -> dict[str, object]:
    """What the rules of a workflow can ask about trust; nothing where nobody scores, which triggers them."""
    keeper = await _scores(proposal.services)
    if keeper is None:
        return {}
    peer, now = agent_did(proposal.agent.agent_id), proposal.now_ms // 1000
    return {"apae.peer_trust_score": keeper.table.score(peer, now)}


async def _scores(services: Services) -> Scorekeeper | None:
    keeper = services.assurance.keeper
    if keeper is not None:
        await keeper.catch_up(services.store)
        await announce_revocations(services)
    return keeper


async def _without_checkpoint(proposal: Proposal, gated: tuple[str, ...]) -> Refusal | None:
    """A checkpoint of the agent's own, presented with the request, recent, and used by no other action."""
    if (asked := proposal.replaces) is not None and is_consequential(asked.risk, asked.action["type"], gated):
        return None  # The action that this one replaces used one.
    now, peer = proposal.now_ms // 1000, agent_did(proposal.agent.agent_id)
    for claims in _presented(proposal):
        is_recent = claims.iat > now - MAX_AGE_SECONDS
        is_own = claims.exec_act == CHECKPOINT and claims.iss == peer and is_recent
        if is_own and await _spend(proposal, claims):
            return None
    return _unmet("this action needs a checkpoint of its own: present an atd:checkpoint that no action used")


async def _spend(proposal: Proposal, checkpoint: Claims) -> bool:
    """Whether no action used it so far, at any gateway of the deployment; from now on, one has."""
    services, jti = proposal.services, checkpoint.jti
    activity_id = activity_id_about(checkpoint.iat, USE_CHECKPOINT, jti)
    async with services.turns.turn((USE_CHECKPOINT, jti)):
        if await services.store.activity(activity_id) is not None:
            return False
        details = {"checkpoint": jti}
        note = noted(services, None, USE_CHECKPOINT, details, agent=proposal.agent, activity_id=activity_id)
        await services.store.commit(Record(note))
    return True


def _unmet(message: str) -> Refusal:
    return Refusal(Code.PROFILE_UNMET, message)


def is_idle(proposal: Proposal) -> bool:
    """Whether no profile can be asked for: what most requests are."""
    is_plain = not proposal.execution.accepted and proposal.place is None and proposal.replaces is None
    return is_plain and proposal.services.assurance.profile is None
