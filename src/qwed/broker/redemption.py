"""A permit for a request: the one that it carries, or the only one that the gateway has for it."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from qwed.broker.upstream import BrokenAnswer
from qwed_sdk.permits import PermitVerifier, VerifiedPermit
from qwed_sdk.results import Json


class GatewayAddress(msgspec.Struct, frozen=True):
    """Where permits come from, and as whom the broker asks. `replay` as of `PermitVerifier`."""

    base_url: str
    key: str
    agent_id: str | None = None
    replay: str = "gateway"
    jwks: str | None = None

    def __repr__(self) -> str:
        return f"GatewayAddress({self.base_url!r})"


class Redeemer:
    """For one audience. Raises `PermitRefused`, which the verifier has reported."""

    def __init__(self, gateway: GatewayAddress, audience: str) -> None:
        self._agent_id = gateway.agent_id
        self.permits = PermitVerifier(
            gateway.jwks or f"{gateway.base_url}/.well-known/jwks.json",
            audience,
            replay=gateway.replay,
            gateway=gateway.base_url,
            api_key=gateway.key,
            agent_id=gateway.agent_id,
        )

    async def redeem(self, token: str | None, actions: Sequence[Mapping[str, Json]]) -> VerifiedPermit:
        if token is None and self._agent_id is not None:
            return await asyncio.to_thread(self.permits.verify_found, *actions)
        return await asyncio.to_thread(self.permits.verify, token, *actions)

    async def report(self, permit: VerifiedPermit, started: float, status: int | None) -> None:
        """The receipt: what ran is what the permit is for, because nothing else is sent."""
        failure = None if status is not None and status < 400 else BrokenAnswer(f"status {status}")
        await asyncio.to_thread(self.permits.report, permit, permit.action_hash, started, error=failure)

    def flush(self) -> None:
        self.permits.flush()
