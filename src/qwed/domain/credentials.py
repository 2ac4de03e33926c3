"""Who calls: operator, principal or agent, and what each credential may do."""

import hashlib
from typing import Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.canonical import encode, sha256_hex
from qwed.domain.cells import route_tag
from qwed.domain.scopes import OPERATOR_ROLE as OPERATOR_ROLE
from qwed.domain.scopes import Scope as Scope

AGENT_TOKEN_PREFIX: Final = "qwed_agent_"  # noqa: S105
API_KEY_PREFIX: Final = "qwed_live_"
#: Longer than any credential we issue: what is longer is not hashed at all.
MAX_CREDENTIAL_LENGTH: Final = 256


DEFAULT_SCOPES: Final = (Scope.VERIFY, Scope.REGISTER, Scope.READ)


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
    expires_ms: int | None = None
    #: The person who created it: whatever it asks, that person asked.
    owner: str | None = None

    @property
    def is_operator(self) -> bool:
        return OPERATOR_ROLE in self.roles

    def is_valid(self, now_ms: int) -> bool:
        return self.revoked_ms is None and (self.expires_ms is None or now_ms < self.expires_ms)


class Person(msgspec.Struct, frozen=True):
    """Somebody whom an identity provider knows, and how they signed in."""

    issuer: str
    subject: str
    name: str
    how: str

    @property
    def person_id(self) -> str:
        """The same for every session of this person. Names change and repeat; issuer and subject do not."""
        return f"person:{sha256_hex(encode([self.issuer, self.subject]))[:32]}"

    def to_wire(self) -> dict[str, str]:
        return {"id": self.person_id, **msgspec.structs.asdict(self)}


class Caller(msgspec.Struct, frozen=True):
    """Who calls. Exactly one of `key`, `agent_id` and `person` is set."""

    key: ApiKey | None = None
    agent_id: AgentId | None = None
    principal_id: PrincipalId | None = None
    #: The key that came along with an agent's token: it asked too, so it may not answer.
    beside: str | None = None
    person: Person | None = None
    #: What the person's groups give.
    group_roles: tuple[str, ...] = ()
    group_scopes: tuple[Scope, ...] = ()
    #: The person whose key it is, or whose key came along.
    owner: str | None = None

    @classmethod
    def of_key(cls, key: ApiKey) -> "Caller":
        return cls(key=key, principal_id=key.principal_id, owner=key.owner)

    @property
    def roles(self) -> tuple[str, ...]:
        return self.key.roles if self.key is not None else self.group_roles

    @property
    def scopes(self) -> tuple[Scope, ...]:
        if self.is_operator:
            return tuple(Scope)
        return self.key.scopes if self.key is not None else self.group_scopes

    @property
    def is_operator(self) -> bool:
        return OPERATOR_ROLE in self.roles

    def may(self, scope: Scope) -> bool:
        """Whether a key or a person holds this scope. An agent's rights are its own few endpoints, never a
        scope."""
        return scope in self.scopes

    @property
    def reads_all(self) -> bool:
        """Whether they read the record of every principal. They change nothing by that."""
        return self.is_operator or (self.may(Scope.AUDIT) and self.may(Scope.READ))

    @property
    def reads_of(self) -> PrincipalId | None:
        """Whose record they read; None for everybody's. An agent's own is a matter of its token."""
        return None if self.reads_all else self.principal_id

    @property
    def name(self) -> str:
        """How the audit trail calls the caller."""
        if self.key is not None:
            return f"key:{self.key.key_id}"
        return self.person.person_id if self.person is not None else f"agent:{self.agent_id}"

    @property
    def person_id(self) -> str | None:
        """The person behind the request, where one is known."""
        return self.person.person_id if self.person is not None else self.owner

    @property
    def names(self) -> tuple[str, ...]:
        """Every credential that took part in the request, and the person behind it."""
        taking_part = (self.name, self.beside, self.person_id)
        return tuple(dict.fromkeys(name for name in taking_part if name is not None))


def new_agent_token(principal_id: str, secret: str) -> str:
    return f"{AGENT_TOKEN_PREFIX}r{route_tag(principal_id)}_{secret}"


def new_api_key(principal_id: str | None, secret: str) -> str:
    """An operator's belongs to no principal, and has no tag."""
    return (
        f"{API_KEY_PREFIX}{secret}"
        if principal_id is None
        else (f"{API_KEY_PREFIX}r{route_tag(principal_id)}_{secret}")
    )


def credential_hash(credential: str) -> bytes | None:
    """What is stored of a credential; None for what can't be one of ours."""
    if len(credential) > MAX_CREDENTIAL_LENGTH or not credential.isascii():
        return None
    return hashlib.sha256(credential.encode("ascii")).digest()
