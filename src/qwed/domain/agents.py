"""Who acts: an agent, what it may use, and how far it is trusted."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NewType

import msgspec

from qwed.domain.policy import BudgetLimits
from qwed.domain.times import iso
from qwed.domain.trust import TrustLevel

AgentId = NewType("AgentId", str)
PrincipalId = NewType("PrincipalId", str)

#: Entries that concern no agent are kept under this name.
GATEWAY: Final = AgentId("gateway")


class AgentType(enum.StrEnum):
    SUPERVISED = "supervised"
    AUTONOMOUS = "autonomous"
    TRUSTED = "trusted"


DEFAULT_TRUST: Final[Mapping[AgentType, TrustLevel]] = MappingProxyType(
    {
        AgentType.SUPERVISED: TrustLevel.SUPERVISED,
        AgentType.AUTONOMOUS: TrustLevel.AUTONOMOUS,
        AgentType.TRUSTED: TrustLevel.TRUSTED,
    }
)


class AgentStatus(enum.StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    DEREGISTERED = "deregistered"


class Permissions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    allowed_engines: tuple[str, ...] = ("math", "logic")
    allowed_tools: tuple[str, ...] = ()
    blocked_tools: tuple[str, ...] = ()


class Agent(msgspec.Struct, frozen=True):
    agent_id: AgentId
    name: str
    type: AgentType
    principal_id: PrincipalId
    token_hash: bytes
    trust_level: TrustLevel
    permissions: Permissions
    budget: BudgetLimits
    created_ms: int
    status: AgentStatus = AgentStatus.ACTIVE
    #: Suspended for what it did, not for maintenance: its principal can't shed that by a new name.
    suspended_for_violation: bool = False
    status_reason: str | None = None
    description: str | None = None
    framework: str | None = None
    model: str | None = None
    #: Public keys (JWK) with which it signs its execution context tokens.
    ect_keys: tuple[Mapping[str, str], ...] = ()
    #: The keys that were shown a token of it, by registering it or rotating its token; () where nobody knows.
    token_seen_by: tuple[str, ...] = ()

    @property
    def did(self) -> str:
        return f"did:qwed:agent:{self.agent_id}"

    def to_wire(self) -> dict[str, object]:
        """Everything but the token."""
        wire: dict[str, object] = {
            "agent_id": self.agent_id,
            "did": self.did,
            "name": self.name,
            "type": self.type,
            "principal_id": self.principal_id,
            "status": self.status,
            "trust_level": int(self.trust_level),
            "permissions": self.permissions,
            "budget": self.budget,
            "created_at": iso(self.created_ms),
        }
        for name in ("description", "framework", "model", "status_reason"):
            if getattr(self, name) is not None:
                wire[name] = getattr(self, name)
        return wire
