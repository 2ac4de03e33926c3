"""The plain case of admission: held in one round trip, because nothing on record can change the answer.

An action that its conversation has not seen, in a step above all others, cannot be a loop; a charge within
limits that are far away cannot pass them. The rules are asked on an empty record here; that the record is
of that kind, the database looks itself, in the statement that holds. Whatever is not plain is decided in
full, on what is read.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg

from qwed.domain.admission import UNLIMITED, Account, loop_refusal, spending_refusal
from qwed.domain.agents import AgentId
from qwed.domain.budgets import HOUR_SECONDS, Spending
from qwed.domain.conduct import Standing
from qwed.domain.contexts import NEXT_STEP
from qwed.domain.conversations import Conversation, Reservation, Step
from qwed.domain.money import nano_of
from qwed.domain.policy import BudgetLimits, Policy
from qwed.domain.times import day_of
from qwed.stores.bodies import encode
from qwed.stores.postgres.credentials import Kept
from qwed.stores.postgres.requests import AdmissionRequest, Held, Request
from qwed.stores.postgres.rows import spending_of, standing_of
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.texts import store_text

Row = Any


class PlainAdmissions:
    def __init__(self, policy: Policy, owner: str, standings: Kept[Standing]) -> None:
        self._owner = owner
        self._standings = standings
        self.use_policy(policy)

    def use_policy(self, policy: Policy) -> None:
        self._policy = policy
        self._lease_ms = int(policy.limits.lease_seconds * 1000)

    async def work(self, connection: "asyncpg.Connection[Any]", batch: Sequence[Request]) -> list[Request]:
        """Answer what is plain; the rest comes back."""
        plain = [item for item in batch if self._may_be_plain(item.what)]
        days = {day_of(item.what.now_ms) for item in plain}
        # Around midnight two days are asked about: that is not plain.
        if len(days) != 1:
            return list(batch)
        tokens = [item.what.token() for item in plain]
        moment = self._standings.moment
        rows = await connection.fetch(SQL["hold_plain"], *self._columns(plain, tokens, days.pop()))
        by_token = dict(zip(tokens, plain, strict=True))
        held = self._answer(rows, by_token, moment)
        return [item for item in batch if id(item) not in held]

    def _may_be_plain(self, asked: AdmissionRequest) -> bool:
        """Whether the rules admit it on an empty record."""
        agent, attempt = asked.agent, asked.attempt
        if self._policy.ceilings_of(agent.principal_id) != UNLIMITED:
            return False
        nothing = Spending(day_of(asked.now_ms))
        account = Account(agent.budget, UNLIMITED, nothing, nothing, ())
        if attempt is not None:
            loops = self._policy.loops
            if loops.cross_conversation is not None or attempt.step == NEXT_STEP:
                return False
            if agent.agent_id in self._policy.agent_loops:
                return False
            if loop_refusal(Conversation(), account, attempt, loops, asked.now_ms) is not None:
                return False
        return spending_refusal(account, asked.charge, asked.now_ms) is None

    def _columns(self, plain: Sequence[Request], tokens: Sequence[int], day: int) -> list[Any]:
        """The parameters of `hold_plain_versioned`, in its order."""
        asked = [item.what for item in plain]
        attempts = [one.attempt for one in asked]
        agents = {one.agent.agent_id: one.agent for one in asked}
        now_ms = max(one.now_ms for one in asked)
        return [
            sorted(f"a:{agent_id}" for agent_id in agents),
            self._owner,
            self._policy.loops.max_steps,
            day,
            now_ms // 1000 - HOUR_SECONDS,
            list(agents),
            [encode(agent) for agent in agents.values()],
            *_limits(agent.budget for agent in agents.values()),
            tokens,
            [one.agent.agent_id for one in asked],
            [one.agent.principal_id for one in asked],
            [None if attempt is None else store_text(attempt.conversation_id) for attempt in attempts],
            [None if attempt is None else attempt.step for attempt in attempts],
            [None if attempt is None else attempt.fingerprint for attempt in attempts],
            [None if attempt is None else attempt.older for attempt in attempts],
            [one.charge.cost for one in asked],
            [one.charge.tokens for one in asked],
            [one.now_ms for one in asked],
            [one.now_ms + self._lease_ms for one in asked],
        ]

    def _answer(self, rows: Sequence[Row], by_token: dict[int, Request], moment: int) -> set[int]:
        accounts: dict[AgentId, Spending] = {}
        held = set()
        for row in rows:
            item = by_token[row["token"]]
            asked = item.what
            agent_id = asked.agent.agent_id
            if agent_id not in accounts:
                accounts[agent_id] = _count(row, asked)
                self._standings.put(agent_id, standing_of(row["actions"], row["conduct"]), moment)
            spending = accounts[agent_id]
            spending.take(asked.charge, asked.now_ms)
            item.bring(self._hold(row, asked, spending))
            held.add(id(item))
        return held

    def _hold(self, row: Row, asked: AdmissionRequest, spending: Spending) -> Held:
        agent, attempt, token = asked.agent, asked.attempt, row["token"]
        reservation, previous = None, None
        if attempt is not None:
            reservation = Reservation(attempt.step, token, asked.now_ms + self._lease_ms)
            if row["last_node"] is not None:
                # Whoever asks for the step before asks which node it is, and nothing else.
                previous = Step(0, b"", activity_id=row["last_node"], wid=row["last_wid"])
        return Held(
            token,
            agent.agent_id,
            agent.principal_id,
            asked.charge,
            asked.now_ms,
            spending,
            reservation,
            previous,
            agent=agent,
            keys=(f"a:{agent.agent_id}",),
        )


def _count(row: Row, asked: AdmissionRequest) -> Spending:
    # Where the agent has no limit at all, nobody counted.
    if row["held"] is None:
        return Spending(day_of(asked.now_ms))
    return spending_of(row, asked.now_ms, row["hour"])


def _limits(budgets: Iterable[BudgetLimits]) -> list[list[int | None]]:
    """Hour, day, cost and tokens, one array each."""
    rows = [
        (
            budget.max_requests_per_hour,
            budget.max_requests_per_day,
            None if budget.max_daily_cost_usd is None else nano_of(budget.max_daily_cost_usd),
            budget.max_daily_tokens,
        )
        for budget in budgets
    ]
    return [list(column) for column in zip(*rows, strict=True)]
