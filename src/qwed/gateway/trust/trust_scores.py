"""One pair's trust score, told to one of the two or to an operator; and what operators do about it."""

from typing import Annotated, Any, Final

import msgspec

from qwed.assurance.accusations import TRUST_ASSERTION
from qwed.assurance.assertions import SCORE, SUBJECT
from qwed.assurance.explanations import ScoreMove
from qwed.assurance.scores import InvalidScore, as_score
from qwed.domain.agents import Agent, AgentId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.json_types import Json
from qwed.domain.nodes import AGENT_DID, activity_id_about
from qwed.domain.policy import plain_amount
from qwed.ect.claims import InvalidClaims, issuer
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import issue, new_id
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import ReceivedEct, Record
from qwed.gateway.kernel.requests import MAX_TEXT, convert
from qwed.gateway.kernel.scorekeeper import REINSTATE_TRUST, SEED_TRUST, Scorekeeper, replay
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_agent, require_operator
from qwed.gateway.trust.after_revocation import list_needs

#: Of a long history, the newest.
MAX_CHANGES: Final = 200
TRUST_REVOKE: Final = "trust_revoke"
ASSERT_TRUST: Final = "assert_trust"


class SeedBody(msgspec.Struct, forbid_unknown_fields=True):
    score: Any
    reason: str
    peer: str | None = None


class AssertionBody(msgspec.Struct, forbid_unknown_fields=True):
    """About which agent; `audience` are others who will read it, as their tokens name them."""

    agent: str
    audience: Annotated[tuple[str, ...], msgspec.Meta(max_length=8)] = ()


class ReinstateBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    peer: str | None = None


async def show_own_score(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    """The gateway's trust in an agent: for that agent and for operators; its principal is neither."""
    agent = await _find_told_agent(services, caller, agent_id)
    return await _describe(services, agent.did)


async def _find_told_agent(services: Services, caller: Caller, agent_id: AgentId) -> Agent:
    agent = await require_agent(services, caller, agent_id)
    if caller.agent_id is None and not caller.is_operator:
        raise refuse(Code.AUTH_FORBIDDEN, "only the agent itself and operators may see a trust score")
    return agent


async def assert_trust(services: Services, caller: Caller, raw: Json) -> Answer:
    """The gateway's own word about an agent, signed, for whoever the agent shows it to."""
    body = convert(raw, AssertionBody)
    agent = await _find_told_agent(services, caller, AgentId(body.agent))
    keeper = await _up_to_date(services)
    now_ms, ring = services.clock.now_ms(), services.signer
    said = keeper.table.assertion(agent.did, now_ms // 1000)
    if said is None or said.par or not isinstance(ring, KeyRing):
        raise refuse(Code.NOT_FOUND, "the gateway has no experience of its own with this agent to speak of")
    readers = dict.fromkeys((ring.issuer, agent.did, *map(_audience, body.audience)))
    jti = new_id()
    token = issue(ring, TRUST_ASSERTION, list(readers), now_ms // 1000, ext=said.ext, jti=jti)
    # Under nobody's name but the gateway's: the principal may read its agent's entries, and no score.
    activity = noted(services, caller, ASSERT_TRUST, {SUBJECT: agent.did, "jti": jti})
    ect = ReceivedEct(jti, token, now_ms, activity.principal_id)
    refusal = await services.store.commit(Record(activity, ects=(ect,)))
    if refusal is not None:
        raise RequestError(refusal)
    said_of = {**said.ext, SCORE: plain_amount(said.ext[SCORE])}
    return Answer({"activity_id": activity.activity_id, "jti": jti, "assertion": token, "says": said_of})


async def show_score(services: Services, caller: Caller, peer: str | None) -> Answer:
    """The gateway's trust in any one issuer of tokens."""
    require_operator(caller)
    return await _describe(services, _peer(peer))


async def seed_score(services: Services, caller: Caller, raw: Json) -> Answer:
    """An operator says where to begin."""
    require_operator(caller)
    body = convert(raw, SeedBody)
    try:
        score = as_score(body.score)
    except InvalidScore as error:
        raise malformed("score", str(error)) from None
    details = {"peer": _peer(body.peer), "score": plain_amount(score), "reason": _reason(body.reason)}
    return await _note(services, caller, SEED_TRUST, details)


async def reinstate(services: Services, caller: Caller, raw: Json) -> Answer:
    """An operator lifts a revocation; the score stays what conduct made it, and the answer says what else
    is in the peer's way."""
    require_operator(caller)
    body = convert(raw, ReinstateBody)
    peer = _peer(body.peer)
    keeper = await _up_to_date(services)
    if not keeper.table.is_revoked(peer):
        raise refuse(Code.NOT_FOUND, "no trust in this peer was revoked")
    details = {"peer": peer, "reason": _reason(body.reason)}
    told = await _note(services, caller, REINSTATE_TRUST, details)
    return Answer({**told.body, "still_needed": await list_needs(services, keeper, peer)})


async def prove_scores(services: Services, caller: Caller) -> Answer:
    """Compute every score again from the ledger and compare; no score is told."""
    require_operator(caller)
    keeper = await _up_to_date(services)
    proof = await replay(services.store, keeper, services.policy.assurance.verifiers)
    return Answer({**msgspec.to_builtins(proof), "holds": proof.holds})


async def _note(services: Services, caller: Caller, what: str, details: dict[str, Json]) -> Answer:
    await services.store.commit(Record(noted(services, caller, what, details)))
    return await _describe(services, details["peer"])


async def _describe(services: Services, peer: str) -> Answer:
    keeper = await _up_to_date(services)
    explained = keeper.table.explain(peer, services.clock.now_ms() // 1000).to_wire()
    newest = await services.store.score_changes(peer, None, MAX_CHANGES)
    explained["changes"] = [change.to_wire() for change in reversed(newest)]
    return Answer(explained)


async def _up_to_date(services: Services) -> Scorekeeper:
    keeper = services.assurance.keeper
    if keeper is None:
        raise refuse(Code.NOT_FOUND, "trust scoring is off here: the policy turns it on (assurance)")
    await keeper.catch_up(services.store)
    await announce_revocations(services)
    return keeper


async def announce_revocations(services: Services) -> None:
    """Each fall below the floor becomes one `apae:trust_revoke`, whoever notices it first."""
    keeper = services.assurance.keeper
    while keeper is not None and keeper.revoked:
        change = keeper.revoked[0]
        async with services.turns.turn(("trust_revoke", change.peer)):
            await _announce(services, change)
        if keeper.revoked and keeper.revoked[0] is change:
            keeper.revoked.pop(0)


async def _announce(services: Services, change: ScoreMove) -> None:
    about = (services.signer.issuer, change.peer, str(change.evidence), str(change.at))
    activity_id = activity_id_about(change.at, *about)
    if await services.store.activity(activity_id) is not None:
        return
    details = {"apae.subject": change.peer, "event": change.event.value, "evidence": change.evidence}
    agent = None
    if change.peer.startswith(AGENT_DID):
        agent = await services.store.agent(AgentId(change.peer.removeprefix(AGENT_DID)))
    note = noted(services, None, TRUST_REVOKE, details, agent=agent, activity_id=activity_id)
    await services.store.commit(Record(note))


def _peer(peer: str | None) -> str:
    try:
        return issuer(peer)
    except InvalidClaims:
        raise malformed(
            "peer", "is the URI of the agent whose score is meant, as its tokens have it"
        ) from None


def _audience(uri: str) -> str:
    try:
        return issuer(uri)
    except InvalidClaims:
        raise malformed("audience", "holds the URIs of those who will read it") from None


def _reason(reason: str) -> str:
    if not reason.strip() or len(reason) > MAX_TEXT:
        raise malformed("reason", f"says why, in 1 to {MAX_TEXT} characters")
    return reason
