"""What it costs a tool to verify a permit, beside the bare signature."""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Figure = tuple[str, float, str, float | None]

ROUNDS = 9
TIMES = 400


def figures() -> list[Figure]:
    bare, check = _costs()
    return [
        ("permit, a bare ES256 verification", bare * 1e6, "µs CPU", None),
        ("permit, signature, claims and action compared", check * 1e6, "µs CPU", None),
        ("permit, verified / bare", check / bare, "times", 1.4),
    ]


def _costs() -> tuple[float, float]:
    """Of each the best round, taken in turns."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    from qwed.domain.agents import AgentId, PrincipalId
    from qwed.domain.permits import PERMIT_TYPE, issue_permit
    from qwed.ect.keys import NodeSigner, generate
    from qwed_sdk.permits import PermitVerifier

    signer, action = NodeSigner(generate(), "bench"), "a" * 64
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "jwks.json"
        file.write_text(json.dumps(signer.jwks()))
        permits = PermitVerifier(file, "payments", replay="memory")
        now = int(time.time() * 1000)
        permit = issue_permit(
            "act_1", AgentId("agent_1"), PrincipalId("acme"), "payments", "pay", action, now, 600
        )
        token = signer.sign(PERMIT_TYPE, permit.claims(signer.issuer))
        private, scheme = ec.generate_private_key(ec.SECP256R1()), ec.ECDSA(hashes.SHA256())
        signed = token.rpartition(".")[0].encode()
        signature, public = private.sign(signed, scheme), private.public_key()
        rounds = [
            (
                _cpu_of(lambda: public.verify(signature, signed, scheme)),
                _cpu_of(lambda: permits.check(token, [action])),
            )
            for _ in range(ROUNDS)
        ]
    return min(bare for bare, _ in rounds), min(check for _, check in rounds)


def _cpu_of(work: Callable[[], object]) -> float:
    started = time.process_time()
    for _ in range(TIMES):
        work()
    return (time.process_time() - started) / TIMES
