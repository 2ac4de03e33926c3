"""Admission across processes: the plain case at once, else read, run the rules, hold at the version read.

The rules are the domain's own. Whoever changed the state in between raised the version: then nothing was
held, and the rules run again on what is there now. No lock is held while they run.
"""

import time
from typing import Any, Final

import asyncpg
import msgspec

from qwed.domain.admission import UNLIMITED, Account, loop_refusal, spending_refusal
from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.budgets import HOUR_SECONDS, Spending
from qwed.domain.codes import Refusal
from qwed.domain.conduct import Standing
from qwed.domain.conversations import Conversation, Reservation, Step
from qwed.domain.policy import Policy
from qwed.domain.times import DAY_MS, day_of
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.bodies import decode
from qwed.stores.postgres.credentials import Kept
from qwed.stores.postgres.plain import PlainAdmissions
from qwed.stores.postgres.requests import AdmissionRequest, Held, Request
from qwed.stores.postgres.rows import spending_of, standing_of
from qwed.stores.postgres.seals import RecordSealer
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import StatedRow, check_body
from qwed.stores.postgres.texts import store_text, store_text_or_none

CONTENTION_SECONDS: Final = 5.0

Row = Any


class _State:
    """What one batch reads, as the rules see it while they go from request to request."""

    def __init__(self) -> None:
        self.agents: dict[AgentId, Agent] = {}
        self.versions: dict[str, int] = {}
        self.spending: dict[AgentId, Spending] = {}
        self.unsettled: dict[AgentId, frozenset[bytes]] = {}
        self.principals: dict[PrincipalId, Spending] = {}
        self.conversations: dict[tuple[AgentId, str], Conversation] = {}
        #: Tokens of reservations that were read, and of those, the ones overtaken after their lease.
        self.tokens: dict[tuple[AgentId, str], int] = {}
        self.overtaken: list[int] = []
        self.held: list[tuple[Request, Held]] = []
        self.refused: list[tuple[Request, Refusal]] = []


class Admissions:
    """The work of the admission lane."""

    def __init__(self, policy: Policy, owner: str, standings: Kept[Standing]) -> None:
        self._standings = standings
        self._owner = owner
        self._plain = PlainAdmissions(policy, owner, standings)
        #: Set when the store is open.
        self.sealer: RecordSealer
        self.use_policy(policy)

    def use_policy(self, policy: Policy) -> None:
        self._policy = policy
        self._plain.use_policy(policy)
        self._lease_ms = int(policy.limits.lease_seconds * 1000)

    async def work(self, connection: "asyncpg.Connection[Any]", batch: list[Request]) -> None:
        deadline = time.monotonic() + CONTENTION_SECONDS
        batch = await self._plain.work(connection, batch)
        while batch:
            state = await self._read(connection, [item.what for item in batch])
            for item in batch:
                await self._decide(connection, state, item)
            stale = await self._hold(connection, state)
            batch = _answer_certain(state, stale)
            if batch and time.monotonic() > deadline:
                raise StoreUnavailable("too many decisions about the same agent at once")

    def keys_of(self, agent_id: AgentId, principal_id: PrincipalId) -> tuple[str, ...]:
        """Whose versions a change of this agent raises."""
        if self._is_limited(principal_id):
            return f"a:{agent_id}", f"p:{principal_id}"
        return (f"a:{agent_id}",)

    def _is_limited(self, principal_id: PrincipalId) -> bool:
        return self._policy.ceilings_of(principal_id) != UNLIMITED

    # --- reading -------------------------------------------------------------------------------

    async def _read(self, connection: "asyncpg.Connection[Any]", asked: list[AdmissionRequest]) -> _State:
        state = _State()
        moment = self._standings.moment
        now_ms = max(one.now_ms for one in asked)
        oldest = now_ms // 1000 - HOUR_SECONDS
        limited = sorted({a.agent.principal_id for a in asked if self._is_limited(a.agent.principal_id)})
        if limited:
            for row in await connection.fetch(SQL["principals"], limited, day_of(now_ms)):
                state.versions[f"p:{row[0]}"] = row["version"]
                state.principals[PrincipalId(row[0])] = spending_of(row, now_ms, 0)
        pairs = list(dict.fromkeys(map(_place, asked)))
        names = [agent_id for agent_id, _ in pairs]
        conversations = [store_text_or_none(conversation) for _, conversation in pairs]
        rows = await connection.fetch(SQL["accounts"], names, conversations, day_of(now_ms), oldest)
        found = {(row["agent_id"], row["conversation_id"]): row for row in rows}
        for (agent_id, conversation), name in zip(pairs, conversations, strict=True):
            row = found[agent_id, name]
            if agent_id not in state.spending:
                await self._read_account(connection, state, row, asked, now_ms)
                # Read with the rest, so that the decision that follows need not ask for it.
                standing = standing_of(row["actions"], row["conduct"])
                self._standings.put(agent_id, standing, moment)
            if conversation is not None:
                _read_conversation(state, row, agent_id, conversation)
        return state

    async def _read_account(
        self,
        connection: "asyncpg.Connection[Any]",
        state: _State,
        row: Row,
        asked: list[AdmissionRequest],
        now_ms: int,
    ) -> None:
        agent_id = AgentId(row["agent_id"])
        if row["body"] is None:
            raise StoreUnavailable(f"the agent {agent_id} is not in this database")
        agent = decode(Agent, row["body"])
        if any(one.agent != agent for one in asked if one.agent.agent_id == agent_id):
            # Changed meanwhile, by a gateway or by somebody else: the entry about it tells.
            stated = StatedRow("agents", "agent_id")
            agent = await check_body(connection, Agent, stated, agent_id, self.sealer)
        spending = spending_of(row, now_ms, row["hour"])
        per_hour = agent.budget.max_requests_per_hour
        wanting = sum(one.agent.agent_id == agent_id for one in asked)
        if per_hour is not None and spending.hour_total + wanting > per_hour:
            # Near the limit it matters when each request of the hour was made.
            oldest = now_ms // 1000 - HOUR_SECONDS
            hour = [tuple(r) for r in await connection.fetch(SQL["hour"], agent_id, oldest)]
            spending = spending_of(row, now_ms, hour)
        state.agents[agent_id] = agent
        state.versions[f"a:{agent_id}"] = row["version"]
        state.spending[agent_id] = spending
        state.unsettled[agent_id] = frozenset(row["unsettled"] or ())

    # --- deciding ------------------------------------------------------------------------------

    async def _decide(self, connection: "asyncpg.Connection[Any]", state: _State, item: Request) -> None:
        asked, agent = item.what, state.agents[item.what.agent.agent_id]
        principal = state.principals.get(agent.principal_id) or Spending(day_of(asked.now_ms))
        account = Account(
            agent.budget,
            self._policy.ceilings_of(agent.principal_id),
            state.spending[agent.agent_id],
            principal,
            state.unsettled[agent.agent_id],
            await self._crossings(connection, asked),
        )
        refusal = self._refusal(state, account, asked)
        if refusal is not None:
            state.refused.append((item, refusal))
            return
        state.held.append((item, self._take(state, account, asked)))

    async def _crossings(self, connection: "asyncpg.Connection[Any]", asked: AdmissionRequest) -> int:
        limits = self._policy.loops_of(asked.agent.agent_id)
        if asked.attempt is None or limits.cross_conversation is None:
            return 0
        attempt = asked.attempt
        seen: int = await connection.fetchval(
            SQL["crossings"],
            asked.agent.agent_id,
            [attempt.fingerprint, attempt.older],
            asked.now_ms - DAY_MS,
            store_text(attempt.conversation_id),
        )
        return seen

    def _refusal(self, state: _State, account: Account, asked: AdmissionRequest) -> Refusal | None:
        refusal = None
        if asked.attempt is not None:
            conversation = state.conversations[asked.agent.agent_id, asked.attempt.conversation_id]
            attempt = asked.attempt.number_in(conversation)
            limits = self._policy.loops_of(asked.agent.agent_id)
            refusal = loop_refusal(conversation, account, attempt, limits, asked.now_ms)
        return refusal or spending_refusal(account, asked.charge, asked.now_ms)

    def _take(self, state: _State, account: Account, asked: AdmissionRequest) -> Held:
        for spending in (account.spending, account.principal_spending):
            spending.take(asked.charge, asked.now_ms)
        token = asked.token()
        expires_ms = asked.now_ms + self._lease_ms
        reservation, previous = None, None
        if asked.attempt is not None:
            place = (asked.agent.agent_id, asked.attempt.conversation_id)
            conversation = state.conversations[place]
            if (late := state.tokens.pop(place, None)) is not None:
                state.overtaken.append(late)
            step = asked.attempt.number_in(conversation).step
            conversation.reserve(step, asked.now_ms, self._lease_ms)
            reservation = Reservation(step, token, expires_ms)
            previous = conversation.history[-1] if conversation.history else None
        agent = asked.agent
        return Held(
            token,
            agent.agent_id,
            agent.principal_id,
            asked.charge,
            asked.now_ms,
            account.spending,
            reservation,
            previous,
            agent=agent,
            keys=self.keys_of(agent.agent_id, agent.principal_id),
        )

    # --- holding -------------------------------------------------------------------------------

    async def _hold(self, connection: "asyncpg.Connection[Any]", state: _State) -> frozenset[str]:
        if not state.held:
            return frozenset()
        keys = sorted({key for _, held in state.held for key in held.keys})
        holds = [held for _, held in state.held]
        expires = [held.at_ms + self._lease_ms for held in holds]
        attempts = [item.what.attempt for item, _ in state.held]
        stale = await connection.fetchval(
            SQL["hold_unchanged"],
            keys,
            [state.versions[key] for key in keys],
            state.overtaken,
            [held.serial for held in holds],
            [held.keys[0] for held in holds],
            [held.keys[1] if len(held.keys) > 1 else None for held in holds],
            self._owner,
            [held.agent_id for held in holds],
            [held.principal_id for held in holds],
            [None if attempt is None else store_text(attempt.conversation_id) for attempt in attempts],
            [None if held.reservation is None else held.reservation.step for held in holds],
            [held.charge.cost for held in holds],
            [held.charge.tokens for held in holds],
            [held.at_ms for held in holds],
            expires,
        )
        return frozenset(stale)


def _answer_certain(state: _State, stale: frozenset[str]) -> list[Request]:
    """Answer what is certain. The rest was decided on a state that had changed: it is decided again.

    A refusal beside a hold of the same agent may have been caused by it, so it is as certain as that.
    """
    again = [item for item, held in state.held if not stale.isdisjoint(held.keys)]
    unsure = {held.agent_id for _, held in state.held if not stale.isdisjoint(held.keys)}
    # With a ceiling, agents of one principal depend on each other.
    doubtful = {held.principal_id for _, held in state.held if len(held.keys) > 1 and held.agent_id in unsure}
    for item, held in state.held:
        if stale.isdisjoint(held.keys):
            item.bring(held)
    for item, refusal in state.refused:
        agent = item.what.agent
        if agent.agent_id in unsure or agent.principal_id in doubtful:
            again.append(item)
        else:
            item.bring(refusal)
    return again


def _place(asked: AdmissionRequest) -> tuple[AgentId, str | None]:
    return asked.agent.agent_id, None if asked.attempt is None else asked.attempt.conversation_id


def _read_conversation(state: _State, row: Row, agent_id: AgentId, name: str) -> None:
    failed = frozenset(row["failed"] or ())
    history = [
        Step(*step, failed=step[0] in failed)
        for step in zip(
            row["numbers"] or (),
            row["fingerprints"] or (),
            row["states"] or (),
            row["approved"] or (),
            strict=True,
        )
    ]
    if history:
        # Only the last one is asked which node it is.
        history[-1] = msgspec.structs.replace(history[-1], activity_id=row["last_node"], wid=row["last_wid"])
    conversation = Conversation(history)
    if row["token"] is not None:
        conversation.reservation = Reservation(row["step"], 0, row["expires_ms"])
        state.tokens[agent_id, name] = row["token"]
    state.conversations[agent_id, name] = conversation
