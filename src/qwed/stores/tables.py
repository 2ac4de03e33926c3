"""What a storage back-end offers. Plain blocking calls; who may call them from where is `access.py`."""

from typing import Protocol

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.outcomes import Outcome
from qwed.domain.webhooks import Webhook
from qwed.gateway.records import Activity, ActivityPage, ActivityQuery, Record, Remembered


class Counters(msgspec.Struct, frozen=True):
    """A subject's counters of one day."""

    requests: int = 0
    cost_nano: int = 0
    tokens: int = 0


class AccountRows(msgspec.Struct, frozen=True):
    """What is read when an agent is seen for the first time in a while."""

    today: Counters
    hour: list[tuple[int, int]]
    open_approvals: dict[str, int]
    #: Fingerprints, with how many of their outcomes are unknown.
    unsettled: dict[bytes, int]


class Tables(Protocol):
    def agent(self, agent_id: AgentId) -> Agent | None: ...
    def agent_by_token(self, token_hash: bytes) -> Agent | None: ...
    def api_key(self, key_hash: bytes) -> ApiKey | None: ...
    def account(self, agent_id: AgentId, now_ms: int) -> AccountRows: ...
    def principal_today(self, principal_id: PrincipalId, day: int) -> Counters: ...
    def conversation(self, agent_id: AgentId, conversation_id: str) -> list[Step]: ...
    def crossings(self, agent_id: AgentId, fingerprint: bytes, since_ms: int) -> set[str]: ...
    def remembered(self, agent_id: AgentId, key_hash: bytes, now_ms: int) -> Remembered | None: ...

    def agents(self, principal_id: PrincipalId | None, after: str | None, limit: int) -> list[Agent]: ...
    def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]: ...
    def activities(self, query: ActivityQuery) -> ActivityPage: ...
    def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None: ...
    def approval(self, approval_id: str) -> Approval | None: ...
    def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]: ...
    def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]: ...
    def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]: ...

    def ping(self) -> None: ...

    def write(self, records: list[Record]) -> None:
        """All records, in order, in one durable transaction, each chained into the ledger."""
        ...

    def close(self) -> None: ...
