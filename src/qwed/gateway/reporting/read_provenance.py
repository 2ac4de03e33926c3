"""Where data came from, answered from the ledger: who touched it, how it was changed, whether all is there.

Nodes of other principals are part of the chain, and nothing is told of them but that they are there.
"""

import base64
from collections.abc import Callable
from typing import Final

import msgspec

from qwed.assurance import provenance
from qwed.assurance.profiles import Mechanism
from qwed.assurance.provenance import Lineage, UnknownToken, Work
from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.nodes import agent_did, exec_act_of, jti_of
from qwed.ect.base64url import encode
from qwed.ect.dag import MAX_ANCESTORS
from qwed.ect.tokens import Level
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.records import LedgerItem
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.scorekeeper import read_received_claims
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope

HIDDEN: Final = "hidden"


class MatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """The content itself, in base64."""

    content: str


async def ask(services: Services, caller: Caller, jti: str, question: str) -> Answer:
    answer = _QUESTIONS.get(question)
    if answer is None:
        raise refuse(Code.NOT_FOUND, f"questions are {', '.join(_QUESTIONS)}, not {question[:80]!r}")
    find = await _works(services, caller, jti)
    try:
        return Answer({"jti": jti, **answer(jti, find)})
    except UnknownToken:
        raise _no_token(jti) from None


async def match(services: Services, caller: Caller, jti: str, raw: Json) -> Answer:
    """Whether these bytes are those that went in, or came out."""
    try:
        content = base64.b64decode(convert(raw, MatchBody).content, validate=True)
    except ValueError:
        raise malformed("content", "is base64") from None
    find = await _works(services, caller, jti, bound=0)
    try:
        return Answer({"jti": jti, **msgspec.to_builtins(provenance.matches(jti, find, content))})
    except UnknownToken:
        raise _no_token(jti) from None


def _no_token(jti: str) -> RequestError:
    return refuse(Code.NOT_FOUND, f"there is no token {jti[:80]!r}")


async def _works(
    services: Services, caller: Caller, jti: str, bound: int = MAX_ANCESTORS + 1
) -> provenance.FindWork:
    require_own_or_scope(caller, Scope.READ)
    given = services.assurance.own
    if given is not None and not given.has(Mechanism.PROVENANCE):
        raise refuse(Code.NOT_FOUND, "data provenance is off here: the policy turns it on (assurance)")
    owner = await _owner(services, caller)
    items = await services.store.evidence.lineage(jti.lower(), bound)
    works = {}
    for item in items:
        work = work_of(services.signer.issuer, item)
        if work is not None:
            is_seen = caller.reads_all or item.principal_id == owner
            works[work.jti] = work if is_seen else _hide(work)
    own = works.get(jti.lower())
    if own is None or own.iss == HIDDEN:
        raise _no_token(jti)
    return works.get


async def _owner(services: Services, caller: Caller) -> PrincipalId | None:
    if caller.agent_id is None:
        return caller.principal_id
    agent = await services.store.agent(caller.agent_id)
    return agent.principal_id if agent else None


def _hide(work: Work) -> Work:
    return msgspec.structs.replace(
        work, iss=HIDDEN, exec_act=HIDDEN, inp_hash=None, out_hash=None, lineage=Lineage(), outcome=None
    )


class _Payload(msgspec.Struct):
    action_hash: str | None = None


def work_of(issuer: str, item: LedgerItem) -> Work | None:
    """A node with who did what; None where that was erased."""
    if item.token is not None:
        claims, level = read_received_claims(item.token)
        return provenance.work_of(claims, Level.L1 if level is Level.L1 else Level.L3)
    activity = item.activity
    if activity is None:
        return None
    payload = msgspec.json.decode(activity.payload, type=_Payload)
    return Work(
        jti_of(activity.activity_id),
        activity.at_ms // 1000,
        activity.par,
        activity.wid,
        Level.L3,
        # A decision is the gateway's; what it is about is the agent's.
        iss=issuer,
        exec_act=f"{exec_act_of(activity.action_type, activity.decision)} {activity.decision}"
        f" for {agent_did(activity.agent_id)}",
        inp_hash=encode(bytes.fromhex(payload.action_hash)) if payload.action_hash else None,
        outcome=activity.decision,
    )


def _who(jti: str, find: provenance.FindWork) -> dict[str, Json]:
    return {"agents": msgspec.to_builtins(provenance.who(jti, find))}


def _find_transformed(jti: str, find: provenance.FindWork) -> dict[str, Json]:
    return {"steps": msgspec.to_builtins(provenance.transformed(jti, find))}


def _complete(jti: str, find: provenance.FindWork) -> dict[str, Json]:
    found: dict[str, Json] = msgspec.to_builtins(provenance.complete(jti, find))
    return found


def _graph(jti: str, find: provenance.FindWork) -> dict[str, Json]:
    drawn = provenance.graph(jti, find)
    return {**provenance.to_wire(drawn), "dot": provenance.to_dot(drawn)}


_QUESTIONS: Final[dict[str, Callable[[str, provenance.FindWork], dict[str, Json]]]] = {
    "who": _who,
    "transformed": _find_transformed,
    "complete": _complete,
    "graph": _graph,
}
