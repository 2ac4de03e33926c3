"""Check 1: whose credential is this? The same answer, in the same time, for every wrong one."""

import hmac
from collections.abc import Sequence

import msgspec

from qwed.domain.agents import AgentStatus
from qwed.domain.credentials import AGENT_TOKEN_PREFIX, Caller, credential_hash
from qwed.gateway.kernel.services import Services


class PresentedCredentials(msgspec.Struct, frozen=True):
    """The different credentials a request carried. Two of them must agree."""

    credentials: tuple[str, ...] = ()


async def authenticate(services: Services, presented: PresentedCredentials) -> Caller | None:
    """The caller, or None: no credential, a wrong one, or two that disagree."""
    if len(presented.credentials) == 1:
        return await identify(services, presented.credentials[0])
    callers: list[Caller] = []
    for credential in presented.credentials:
        caller = await identify(services, credential)
        if caller is None:
            return None
        callers.append(caller)
    return _agree(callers)


async def identify(services: Services, credential: str) -> Caller | None:
    digest = credential_hash(credential)
    if digest is None:
        return None
    if credential.startswith(AGENT_TOKEN_PREFIX):
        agent = await services.store.agent_by_token(digest)
        if agent is None or agent.status is AgentStatus.DEREGISTERED:
            return None
        if not hmac.compare_digest(agent.token_hash, digest):
            return None
        return Caller(agent_id=agent.agent_id, principal_id=agent.principal_id)
    return await caller_of_key(services, digest)


async def caller_of_key(services: Services, digest: bytes) -> Caller | None:
    """The key that is known by this hash, as long as it was not revoked and has not expired."""
    key = await services.store.api_key(digest)
    if key is None or not hmac.compare_digest(key.key_hash, digest):
        return None
    return Caller.of_key(key) if key.is_valid(services.clock.now_ms()) else None


def _agree(callers: Sequence[Caller]) -> Caller | None:
    """A key and a token of one of its principal's agents agree: the narrower one, the agent, acts."""
    if len(callers) < 2:
        return callers[0] if callers else None
    keys = [caller for caller in callers if caller.key is not None]
    agents = [caller for caller in callers if caller.agent_id is not None]
    if len(keys) != 1 or len(agents) != 1:
        return None
    key, agent = keys[0], agents[0]
    if not key.is_operator and key.principal_id != agent.principal_id:
        return None
    return msgspec.structs.replace(agent, beside=key.name, owner=key.owner)
