"""What many decisions were made from, kept once: the agent as it was, and the policy in force.

A decision names both by the hash of their content, so that it can be made again from the record.
"""

import hashlib
from typing import Final

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, Permissions
from qwed.domain.policy import Policy
from qwed.domain.trust import TrustLevel
from qwed.ect import base64url
from qwed.gateway.kernel.ports import Records
from qwed.gateway.kernel.wire import encode_json

MAX_KNOWN: Final = 20_000
_DIGEST_BYTES: Final = 16


class AgentFacts(msgspec.Struct, frozen=True):
    """What decisions read of an agent."""

    status: AgentStatus
    status_reason: str | None
    trust_level: TrustLevel
    permissions: Permissions


class SharedFacts:
    """Remembers what this process has kept already: most decisions have nothing to write."""

    def __init__(self) -> None:
        self._digests: dict[AgentId, tuple[Agent, str]] = {}
        self._kept: set[str] = set()

    async def keep(self, store: Records, agent: Agent, policy: Policy) -> str:
        """The digest of the agent as it is. Raises `StoreUnavailable`."""
        known = self._digests.get(agent.agent_id)
        if known is not None and known[0] is agent and policy.version in self._kept:
            return known[1]
        body = encode_json(facts_of(agent))
        digest = base64url.encode(hashlib.sha256(body).digest()[:_DIGEST_BYTES])
        await self._keep(store, digest, body)
        if policy.version not in self._kept:
            await self._keep(store, policy.version, encode_json(policy.to_wire()))
        if len(self._digests) >= MAX_KNOWN:
            self._digests.clear()
        self._digests[agent.agent_id] = (agent, digest)
        return digest

    async def _keep(self, store: Records, digest: str, body: bytes) -> None:
        if digest in self._kept:
            return
        if await store.shared(digest) is None:
            await store.keep_shared(digest, body)
        if len(self._kept) >= MAX_KNOWN:
            self._kept.clear()
        self._kept.add(digest)


def facts_of(agent: Agent) -> AgentFacts:
    return AgentFacts(agent.status, agent.status_reason, agent.trust_level, agent.permissions)


def read_agent_facts(body: bytes) -> AgentFacts:
    return msgspec.json.decode(body, type=AgentFacts)
