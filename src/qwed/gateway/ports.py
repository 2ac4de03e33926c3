"""What the use cases need of the world, in their own words."""

from typing import Any, Protocol

import msgspec

from qwed.domain.actions import Action
from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.budgets import Charge, Spending
from qwed.domain.codes import Refusal
from qwed.domain.conversations import Reservation
from qwed.domain.credentials import ApiKey
from qwed.domain.findings import Finding
from qwed.domain.outcomes import Outcome
from qwed.domain.webhooks import Webhook
from qwed.gateway.records import Activity, ActivityPage, ActivityQuery, Record, Remembered


class GatewayError(Exception):
    """Broken promises of the gateway's surroundings.

    GatewayError
    ├── StoreUnavailable   the store cannot read or record
    ├── LeaseLost          somebody else took over the reserved step
    ├── AgentChanged       the agent was suspended or trusted less while its request was at work
    └── SigningFailed      the key cannot sign
    """


class StoreUnavailable(GatewayError):
    pass


class LeaseLost(GatewayError):
    pass


class AgentChanged(GatewayError):
    pass


class SigningFailed(GatewayError):
    pass


class Admission(msgspec.Struct, frozen=True):
    """A counted request: its charge is held, and its step (if it has one) is reserved."""

    serial: int
    agent_id: AgentId
    principal_id: PrincipalId
    charge: Charge
    at_ms: int
    #: The agent's counters as they go on; the hold is among them.
    spending: Spending
    reservation: Reservation | None = None


class Clock(Protocol):
    def now_ms(self) -> int: ...
    def counter(self) -> float:
        """Seconds of a clock that only goes forward, for durations."""
        ...


class Ids(Protocol):
    """Names nobody can guess; those of activities and approvals also sort by time."""

    def activity(self, now_ms: int) -> str: ...
    def agent(self) -> str: ...
    def agent_token(self) -> str: ...
    def api_key(self) -> str: ...
    def key(self) -> str: ...
    def approval(self, now_ms: int) -> str: ...
    def attestation(self) -> str: ...
    def webhook(self) -> str: ...
    def secret(self) -> str: ...


class Signer(Protocol):
    """Signs with the deployment's key. Raises `SigningFailed` only."""

    @property
    def issuer(self) -> str: ...

    def sign(self, typ: str, claims: dict[str, Any]) -> str: ...

    def jwks(self) -> dict[str, Any]: ...

    def verify(self, typ: str, token: str) -> dict[str, Any] | None:
        """The claims of a token that one of our keys signed, else None."""
        ...


class Prover(Protocol):
    """Runs an engine within its time limit, off the event loop where it may be slow.

    Never raises: a crash, a time-out and a full queue are UNCERTAIN findings.
    """

    async def prove(self, engine: str, action: Action, client: str) -> Finding: ...
    def warm(self) -> None: ...
    def close(self) -> None: ...


class Store(Protocol):
    """The gateway's memory. Every method raises `StoreUnavailable` when it cannot do its work.

    `admit` is atomic across everything that shares the store: of any number of callers, one gets a
    step, and holds never pass a limit. `commit` is durable before it returns, and all of a record is
    written or nothing.
    """

    async def agent(self, agent_id: AgentId) -> Agent | None: ...
    async def agent_by_token(self, token_hash: bytes) -> Agent | None: ...
    async def api_key(self, key_hash: bytes) -> ApiKey | None: ...

    async def admit(self, agent: Agent, attempt: Attempt, now_ms: int) -> Admission | Refusal:
        """Checks 6 to 14, the reservation and the hold, in one atomic step."""
        ...

    async def hold(self, agent: Agent, charge: Charge, now_ms: int) -> Admission | Refusal:
        """Check 14 alone, for a tool call without a conversation."""
        ...

    async def release(self, admission: Admission) -> None:
        """Give back step and hold; the request stays counted. Harmless if it was committed or lost."""
        ...

    async def commit(self, record: Record, admission: Admission | None = None) -> Refusal | None:
        """Write the record. With an admission: only while its reservation is held (`LeaseLost`), and
        the hold is settled. A record with an approval is refused when too many are open."""
        ...

    async def recall(self, agent_id: AgentId, key_hash: bytes, now_ms: int) -> Remembered | None: ...

    async def spending(self, agent: Agent, now_ms: int) -> Spending: ...

    async def agents(
        self, principal_id: PrincipalId | None, after: str | None, limit: int
    ) -> list[Agent]: ...
    async def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        """How many agents the principal has, and whether one is suspended for a violation."""
        ...

    async def activities(self, query: ActivityQuery) -> ActivityPage: ...
    async def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None: ...
    async def approval(self, approval_id: str) -> Approval | None: ...
    async def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]: ...
    async def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]: ...
    async def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]: ...

    async def ping(self) -> None: ...
    def close(self) -> None: ...
