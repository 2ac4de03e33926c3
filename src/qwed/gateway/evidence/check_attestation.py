"""Is this attestation ours? One uniform refusal for every reason: a prober learns nothing.

Anybody may ask, without a credential, and is charged nothing. An agent that presents, under its own token,
a forgery that speaks of itself is charged with it (section 8); one that checks what others gave it is not.
"""

from typing import Any

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.json_types import Json
from qwed.ect.attestations import ATTESTATION_TYPE
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.degrade_trust import charge_forged_attestation
from qwed.gateway.kernel.services import Services


async def check_attestation(services: Services, caller: Caller | None, raw: Json) -> Answer:
    token = raw.get("attestation") if isinstance(raw, dict) else None
    if not isinstance(token, str):
        raise malformed("attestation", "is missing or no string")
    claims = services.signer.verify(ATTESTATION_TYPE, token)
    if claims is None and caller is not None:
        await _charge_forgery(services, caller, token)
    if claims is None or claims.get("exp", 0) <= services.clock.now_ms() // 1000:
        raise refuse(Code.ATTESTATION_REJECTED, "the attestation is not valid")
    return Answer({"valid": True, "claims": claims})


async def _charge_forgery(services: Services, caller: Caller, token: str) -> None:
    forged = services.signer.forged(ATTESTATION_TYPE, token)
    if forged is not None and _subject(forged) == f"did:qwed:agent:{caller.agent_id}":
        await charge_forged_attestation(services, caller, str(forged.get("jti", "")))


def _subject(claims: dict[str, Json]) -> Any:
    """The agent that the claims speak of, whatever a forger made of them."""
    said = claims.get("qwed")
    agent = said.get("agent") if isinstance(said, dict) else None
    return agent.get("did") if isinstance(agent, dict) else None
