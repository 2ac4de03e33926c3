"""A signed statement that this gateway approved exactly this action (section 10)."""

from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.agents import Agent
from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.decisions import Decision
from qwed.domain.findings import Finding
from qwed.ect.attestations import ATTESTATION_TYPE
from qwed.gateway.kernel.ports import Signer

VERSION: Final = "1.0"
LIFETIME_SECONDS: Final = 3600


def attest(
    signer: Signer,
    *,
    attestation_id: str,
    agent: Agent,
    action: Action,
    action_hash: str,
    finding: Finding,
    decision: Decision,
    conversation_id: str | None,
    step: int | None,
    activity_id: str,
    now_ms: int,
) -> str:
    """Raises `SigningFailed`."""
    issued = now_ms // 1000
    claims: dict[str, Any] = {
        "iss": signer.issuer,
        "sub": f"sha256:{action_hash}",
        "iat": issued,
        "exp": issued + LIFETIME_SECONDS,
        "jti": attestation_id,
        "qwed": {
            "version": VERSION,
            "result": {
                "status": finding.status.value,
                "verified": finding.status in ("VERIFIED", "CORRECTED"),
                "engine": finding.engine,
                # Engines prove or they do not: there is no confidence in between.
                "confidence": 1 if finding.status in ("VERIFIED", "CORRECTED") else 0,
            },
            "query_hash": f"sha256:{sha256_hex((action.query or action.code or '').encode())}",
            "proof_hash": f"sha256:{sha256_hex(encode_exact(dict(finding.evidence)))}",
            "agent": {
                "did": agent.did,
                "decision": decision.value,
                "conversation_id": conversation_id,
                "step_number": step,
                "activity_id": activity_id,
            },
        },
    }
    return signer.sign(ATTESTATION_TYPE, claims)
