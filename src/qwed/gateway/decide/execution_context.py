"""Execution context tokens at the gateway: those a request presents, and those its decisions are.

A decision is a node of the same graph as the tokens: it names what was presented, and the step before
it, as its causes, and what comes later can name it. A request is refused for any token that is not
accepted; its sender reads one sentence, whatever the reason, which is for the log.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.codes import Code, Refusal
from qwed.domain.nodes import AGENT_DID, agent_did, exec_act_of, jti_of
from qwed.domain.risk import Risk
from qwed.domain.workflows import Completion
from qwed.ect import base64url, dag, jwk, tokens
from qwed.ect.claims import DIALECTS
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import DEFAULT_LIFETIME_SECONDS, Level
from qwed.ect.verifier import (
    GENERIC_REFUSAL,
    Accepted,
    KnownKey,
    Reason,
    RefusedToken,
    TrustedKeys,
    Unavailable,
    Verifier,
)
from qwed.gateway.decide.statements import fit_ext
from qwed.gateway.decide.workflow_policies import completions_of
from qwed.gateway.kernel.ports import Signer, StoreUnavailable
from qwed.gateway.kernel.records import KnownNode, ReceivedEct
from qwed.gateway.kernel.services import Services

ECT_TYPE: Final = DIALECTS["00"]["typ"]
_MAX_SHOWN: Final = 256


class ExecutionContext(msgspec.Struct, frozen=True):
    """What a request brought with it: verified, and not yet recorded."""

    #: Those presented that no other one presented descends from.
    leaves: tuple[str, ...] = ()
    wid: str | None = None
    received: tuple[ReceivedEct, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    #: Nodes of workflows that these tokens complete.
    completions: tuple[Completion, ...] = ()

    @property
    def chain_level(self) -> Level | None:
        """The weakest of everything presented and all that came before; None where nothing was."""
        return min((item.chain_level for item in self.accepted), default=None)


NOTHING_PRESENTED: Final = ExecutionContext()


class NotAccepted(msgspec.Struct, frozen=True):
    """`refusal` is for the sender, `says` for the log."""

    refusal: Refusal
    says: str
    #: A signature is wrong: charged to whoever delivered it, if that is known.
    is_forged: bool = False


async def accept(
    services: Services,
    presented: Sequence[str],
    principal_id: PrincipalId,
    now_ms: int,
    *,
    minimum: Level = Level.L1,
) -> ExecutionContext | NotAccepted:
    """Verify every token of a request against the record. Raises `StoreUnavailable`."""
    if not presented:
        return NOTHING_PRESENTED
    unverified = [claims for claims in map(_read_unverified, presented) if claims is not None]
    known = await services.store.evidence.ancestry(_list_named(unverified), dag.MAX_ANCESTORS + 1)
    snapshot = _Snapshot(services.signer.issuer, known, presented)
    verifier = Verifier(
        {services.signer.issuer},
        await _keys(services, unverified),
        snapshot,
        snapshot,
        snapshot,
        minimum=minimum,
        algorithms=services.issuers.algorithms,
    )
    answer = verifier.verify_all(presented, now_ms // 1000)
    if isinstance(answer, Unavailable):
        raise StoreUnavailable(answer.says)
    if isinstance(answer, RefusedToken):
        says, is_forged = f"{answer.reason}: {answer.says}", answer.reason is Reason.SIGNATURE
        return msgspec.structs.replace(_not_accepted(says), is_forged=is_forged)
    context = _context(services.signer.issuer, snapshot, answer, principal_id, now_ms)
    if isinstance(context, NotAccepted):
        return context
    return msgspec.structs.replace(context, completions=await completions_of(services, context.accepted))


def _not_accepted(says: str) -> NotAccepted:
    return NotAccepted(Refusal(Code.ECT_REFUSED, GENERIC_REFUSAL), says)


def _context(
    issuer: str, snapshot: "_Snapshot", accepted: list[Accepted], principal_id: PrincipalId, now_ms: int
) -> ExecutionContext | NotAccepted:
    received: dict[str, ReceivedEct] = {}
    workflows = set()
    for item in accepted:
        claims = item.ect.claims
        if claims.wid is not None:
            workflows.add(claims.wid)
        if item.is_known:
            continue
        if claims.iss == issuer:
            return _not_accepted(f"{claims.jti} bears this gateway's name and is not on record")
        received[claims.jti] = ReceivedEct(claims.jti, item.ect.raw, now_ms, principal_id)
    if len(workflows) > 1:
        return _not_accepted("the tokens presented belong to several workflows")
    parents = {parent for item in accepted for parent in item.ect.claims.par}
    leaves = dict.fromkeys(item.ect.claims.jti for item in accepted)
    return ExecutionContext(
        tuple(jti for jti in leaves if jti not in parents),
        next(iter(workflows), None),
        tuple(received.values()),
        tuple(accepted),
    )


def _read_unverified(token: str) -> dict[str, Any] | None:
    """What a token says of itself, to look up what it speaks of; None for what is no token."""
    try:
        return tokens.parse(token).claims
    except InvalidToken:
        return None


def _list_named(unverified: Iterable[Mapping[str, Any]]) -> list[str]:
    found: dict[str, None] = {}
    for claims in unverified:
        par = claims.get("par", claims.get("pred"))
        for jti in (claims.get("jti"), *(par[:100] if isinstance(par, list) else ())):
            if isinstance(jti, str):
                found[jti.lower()] = None
    return list(found)


async def _keys(services: Services, unverified: Iterable[Mapping[str, Any]]) -> TrustedKeys:
    """The configured issuers', this gateway's own, and those of the agents that sign here."""
    keys = services.issuers.keys
    if isinstance(services.signer, KeyRing):
        keys = keys.joined(TrustedKeys.of_ring(services.signer))
    for issuer in {claims.get("iss") for claims in unverified if isinstance(claims.get("iss"), str)}:
        assert issuer is not None
        if issuer.startswith(AGENT_DID):
            agent = await services.store.agent(AgentId(issuer.removeprefix(AGENT_DID)))
            keys = keys.joined(agent_keys(agent) if agent is not None else TrustedKeys())
    return keys


def agent_keys(agent: Agent) -> TrustedKeys:
    known = {}
    for published in agent.ect_keys:
        public = jwk.read(dict(published))
        assert public.kid is not None
        known[agent.did, public.kid] = KnownKey(public, agent.did)
    return TrustedKeys(known)


class _Snapshot:
    """The record as it was when the request came: replay memory, parents and ledger of a verifier.

    Nothing is remembered here: the commit records, and of two tokens under one id takes the first.
    """

    def __init__(self, issuer: str, known: Iterable[KnownNode], presented: Iterable[str]) -> None:
        self._known = {item.node.jti: item for item in known}
        self._own: dict[str, str] = {}
        for token in presented:
            claims = _read_unverified(token)
            if claims is not None and claims.get("iss") == issuer and isinstance(claims.get("jti"), str):
                self._own[claims["jti"].lower()] = tokens.hash_bytes(token.encode("ascii", "replace"))

    def recall(self, jti: str) -> str | None:
        known = self._known.get(jti)
        if known is None:
            return None
        # A decision can be issued as a token more than once: what bears our signature is ours.
        return self._own.get(jti, "") if known.token_hash is None else known.token_hash

    def remember(self, token_hash: str, node: dag.TokenNode) -> str:
        return token_hash

    def node(self, jti: str) -> dag.TokenNode | None:
        known = self._known.get(jti)
        return known.node if known is not None else None

    def holds(self, jti: str, token_hash: str) -> bool:
        return self.recall(jti) == token_hash


# --- decisions as tokens ---------------------------------------------------------------------------


class NodeFacts(msgspec.Struct, frozen=True):
    """What the token of an activity says: all of it is on record, so it can be issued again."""

    activity_id: str
    agent_id: AgentId
    at_ms: int
    action_type: str
    decision: str
    error_code: str | None
    par: tuple[str, ...]
    wid: str | None
    action_hash: str | None = None
    #: What else it states, under the names that others read.
    said: Mapping[str, Any] = {}


def issue_node(signer: Signer, facts: NodeFacts) -> str:
    """Raises `SigningFailed`."""
    issued = facts.at_ms // 1000
    ext: dict[str, Any] = {
        "qwed.activity_id": facts.activity_id,
        "qwed.agent": agent_did(facts.agent_id),
        "qwed.action_type": facts.action_type[:_MAX_SHOWN],
        "qwed.decision": facts.decision,
    }
    if facts.error_code is not None:
        ext["qwed.error_code"] = facts.error_code
    ext = fit_ext({**ext, **facts.said})
    claims: dict[str, Any] = {
        "iss": signer.issuer,
        "aud": [signer.issuer, agent_did(facts.agent_id)],
        "iat": issued,
        "exp": issued + DEFAULT_LIFETIME_SECONDS,
        "jti": jti_of(facts.activity_id),
        "exec_act": exec_act_of(facts.action_type, facts.decision),
        "par": list(facts.par),
        "ext": ext,
    }
    if facts.wid is not None:
        claims["wid"] = facts.wid
    if facts.action_hash:
        claims["inp_hash"] = base64url.encode(bytes.fromhex(facts.action_hash))
    return signer.sign(ECT_TYPE, claims)


def is_issued_at_once(lets_act: bool, risk: Risk | None, context: ExecutionContext) -> bool:
    """What is risky, and what is part of a chain of tokens; all else is issued when somebody asks."""
    return bool(context.accepted) or (lets_act and risk is not None and risk >= Risk.HIGH)
