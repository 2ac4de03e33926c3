"""Who calls: operator, principal or agent, and what each credential may do."""

import enum
import hashlib
from typing import Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId

AGENT_TOKEN_PREFIX: Final = "qwed_agent_"  # noqa: S105
API_KEY_PREFIX: Final = "qwed_live_"
#: Longer than any credential we issue: what is longer is not hashed at all.
MAX_CREDENTIAL_LENGTH: Final = 256


class Scope(enum.StrEnum):
    VERIFY = "verify"
    REGISTER = "register"
    READ = "read"
    APPROVE = "approve"
    TRUST = "trust"


DEFAULT_SCOPES: Final = (Scope.VERIFY, Scope.REGISTER, Scope.READ)
OPERATOR_ROLE: Final = "operator"


class ApiKey(msgspec.Struct, frozen=True):
    """A stored key: only its hash is known here. An operator's key is bound to no principal."""

    key_id: str
    key_hash: bytes
    principal_id: PrincipalId | None
    scopes: tuple[Scope, ...]
    roles: tuple[str, ...]
    created_ms: int
    label: str | None = None
    revoked_ms: int | None = None

    @property
    def is_operator(self) -> bool:
        return OPERATOR_ROLE in self.roles


class Caller(msgspec.Struct, frozen=True):
    """An authenticated credential. Exactly one of `key` and `agent_id` is set."""

    key: ApiKey | None = None
    agent_id: AgentId | None = None
    principal_id: PrincipalId | None = None
    #: The key that came along with an agent's token: it asked too, so it may not answer.
    beside: str | None = None

    @property
    def is_operator(self) -> bool:
        return self.key is not None and self.key.is_operator

    def may(self, scope: Scope) -> bool:
        """Whether a key holds this scope. An agent's rights are its own few endpoints, never a scope."""
        return self.key is not None and (self.key.is_operator or scope in self.key.scopes)

    @property
    def name(self) -> str:
        """How the audit trail calls the caller."""
        return f"key:{self.key.key_id}" if self.key else f"agent:{self.agent_id}"

    @property
    def names(self) -> tuple[str, ...]:
        """Every credential that took part in the request."""
        return (self.name,) if self.beside is None else (self.name, self.beside)


def credential_hash(credential: str) -> bytes | None:
    """What is stored of a credential; None for what can't be one of ours."""
    if len(credential) > MAX_CREDENTIAL_LENGTH or not credential.isascii():
        return None
    return hashlib.sha256(credential.encode("ascii")).digest()
