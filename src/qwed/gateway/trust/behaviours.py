"""Behaviour specifications at the gateway: uploaded, recorded before they hold, and what tokens break.

A specification is an entry of the ledger, and so is each finding: both are found again by reading it. Each
finding is written once, whoever reads first: its id follows from what it is about.
"""

from typing import Any, Final

import msgspec

from qwed.assurance.compliance import HOUR_SECONDS, ComplianceCheck, ComplianceStatus
from qwed.assurance.profiles import Mechanism
from qwed.assurance.specs import (
    BehaviourSpec,
    InvalidSpec,
    document_of,
    read_signed_spec,
    read_spec,
    update_body,
)
from qwed.domain.agents import AgentId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.nodes import AGENT_DID, activity_id_about
from qwed.domain.policy import Profile
from qwed.ect.keys import KeyRing
from qwed.ect.verifier import TrustedKeys
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.scorekeeper import CHECK_COMPLIANCE, UPDATE_SPEC, ScoreFinding, Scorekeeper
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_agent, require_own_or_scope, require_scope
from qwed.gateway.kernel.wire import encode_json
from qwed.gateway.trust.review_behaviour import commit_for_review
from qwed.gateway.trust.trust_scores import announce_revocations

UNSIGNED: Final = "the specification is not signed: the regulated profile would refuse it"


class SpecBody(msgspec.Struct, forbid_unknown_fields=True):
    """Either the document, or the document signed (a JWS)."""

    spec: Any = None
    signed: str | None = None


async def set_spec(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    """Written down, then in force: the next token is checked against it."""
    require_scope(caller, Scope.REGISTER)
    agent = await require_agent(services, caller, agent_id)
    body = convert(raw, SpecBody)
    if (body.spec is None) == (body.signed is None):
        raise malformed("spec", "is the document, or 'signed' is the document signed; one of them")
    profile = services.assurance.profile
    if body.signed is None and profile is Profile.REGULATED:
        raise malformed("spec", "has to be signed in the regulated profile: send it as 'signed'")
    keeper = await follow(services)
    try:
        spec, signer = _read(services, body)
        ext = update_body(spec, keeper.spec_of(agent.did))
    except InvalidSpec as error:
        raise malformed("spec", str(error)) from None
    document = dict(document_of(spec))
    if spec.agent_id != agent.did:
        raise malformed("spec.agent_id", f"is {agent.did}")
    if encode_json(shown(document)) != encode_json(document):
        raise malformed("spec", "holds what looks like a secret, or is too long to be kept")
    details = {**ext, "spec": document, "signer": signer}
    activity = noted(services, caller, UPDATE_SPEC, details, agent=agent)
    await services.store.commit(Record(activity))
    await follow(services)
    answer = {"activity_id": activity.activity_id, "signer": signer, **ext, "spec": document}
    return Answer(answer if signer is not None else {**answer, "warning": UNSIGNED})


def _read(services: Services, body: SpecBody) -> tuple[BehaviourSpec, str | None]:
    if body.signed is None:
        return read_spec(body.spec), None
    keys = services.issuers.keys
    if isinstance(services.signer, KeyRing):
        keys = keys.joined(TrustedKeys.of_ring(services.signer))
    signed = read_signed_spec(body.signed, keys, services.issuers.algorithms)
    return signed.spec, signed.signer


async def show_spec(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    agent = await require_agent(services, caller, agent_id)
    require_own_or_scope(caller, Scope.READ)
    spec = (await follow(services)).spec_of(agent.did)
    if spec is None:
        raise refuse(Code.NOT_FOUND, "the agent has no behaviour specification")
    return Answer({"spec": dict(document_of(spec)), "apae.spec_hash": spec.hash})


async def follow(services: Services) -> Scorekeeper:
    """Read on in the ledger, and write down what that shows."""
    keeper = services.assurance.keeper
    if keeper is None:
        raise refuse(Code.NOT_FOUND, "behaviour verification is off here: the policy turns it on (assurance)")
    await keeper.catch_up(services.store)
    while keeper.findings:
        finding = keeper.findings[0]
        await _write(services, finding)
        if keeper.findings and keeper.findings[0] is finding:
            keeper.findings.pop(0)
        await keeper.catch_up(services.store)
    await announce_revocations(services)
    return keeper


async def check_periodically(services: Services) -> int:
    """Report every watched agent whose hour is over; how many were."""
    if services.assurance.keeper is None or not is_watching(services):
        return 0
    keeper = await follow(services)
    hour = services.clock.now_ms() // 1000 // HOUR_SECONDS
    due = keeper.reports(hour)
    for finding in due:
        await _write(services, finding)
    return len(due)


def is_watching(services: Services) -> bool:
    own = services.assurance.own
    if own is None:
        return services.policy.assurance.behaviour_verification is True
    return own.has(Mechanism.BEHAVIOUR)


async def _write(services: Services, finding: ScoreFinding) -> None:
    for number, check in enumerate(finding.checks):
        activity_id = _finding_id(services.signer.issuer, finding, number)
        async with services.turns.turn(("compliance", finding.agent)):
            if await services.store.activity(activity_id) is None:
                await _record(services, finding, check, activity_id)


async def _record(
    services: Services, finding: ScoreFinding, check: ComplianceCheck, activity_id: str
) -> None:
    agent = await services.store.agent(AgentId(finding.agent.removeprefix(AGENT_DID)))
    activity = noted(services, None, CHECK_COMPLIANCE, check.ext, agent=agent, activity_id=activity_id)
    # What it is about are tokens, which the check follows in the graph.
    record = Record(msgspec.structs.replace(activity, par=check.par))
    if check.status is ComplianceStatus.FAILING and agent is not None:
        await commit_for_review(services, agent, record, check)
    else:
        await services.store.commit(record)


def _finding_id(observer: str, finding: ScoreFinding, number: int) -> str:
    return activity_id_about(finding.at, observer, finding.agent, finding.name, str(number))
