"""A backtest over the gateway's own store: in stretches, so that nobody waits for a long record."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.policy import Policy
from qwed.domain.times import parse_iso
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.live_policy import UnreadablePolicy
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.gateway.policy.backtest import Backtest, backtest_store
from qwed.gateway.policy.change_policy import read_text
from qwed.gateway.policy.prove_again import engines_of

#: Entries that one request looks at.
MAX_ENTRIES: Final = 20_000
#: The same where proofs are made.
MAX_PROVEN: Final = 500
#: Backtests that a process keeps for whoever asks for their next stretch.
MAX_RUNS: Final = 4


class BacktestBody(msgspec.Struct, forbid_unknown_fields=True):
    """`after` goes on where the answer before ended (its `next`); `since` is a time, `agent_id` an agent.
    `reprove` makes the proofs that the other policy asks for, however long that takes."""

    text: str
    since: str | None = None
    agent_id: str | None = None
    after: int = 0
    reprove: bool = False


async def backtest_policy(services: Services, caller: Caller, raw: Any) -> Answer:
    """One stretch more of the record under another policy; nothing is recorded, and nothing changes. The
    report is about everything up to `next`."""
    require_scope(caller, Scope.POLICY)
    body = convert_body(raw)
    policy = await read_text(services, body.text)
    runs, place = services.live.runs, (policy.version, body.since, body.agent_id, body.reprove)
    backtest = runs.pop((*place, body.after), None)
    if not isinstance(backtest, Backtest):
        # Windows hold what came before: where this process did not see it, it is read again.
        backtest = _start(services, policy, body.since, body.agent_id)
        if body.after:
            await _look(services, policy, backtest, reprove=body.reprove, limit=body.after)
    limit = MAX_PROVEN if body.reprove else MAX_ENTRIES
    end = await _look(services, policy, backtest, reprove=body.reprove, after=body.after, limit=limit)
    if end is not None:
        while len(runs) >= MAX_RUNS:
            del runs[next(iter(runs))]
        runs[(*place, end)] = backtest
    total = await services.store.evidence.size()
    return Answer({**backtest.report(), "next": end, "total": total, "policy_version": policy.version})


async def backtest_all(
    services: Services,
    text: str,
    since: str | None,
    agent_id: str | None,
    progress: Callable[[int, int], None],
    *,
    reprove: bool = False,
) -> dict[str, Any]:
    """The whole record, for whoever opens the store."""
    policy = await read_text(services, text)
    backtest = _start(services, policy, since, agent_id)
    await _look(services, policy, backtest, reprove=reprove, progress=progress)
    return backtest.report()


async def _look(
    services: Services, policy: Policy, backtest: Backtest, *, reprove: bool, **stretch: Any
) -> int | None:
    if not reprove:
        return await backtest_store(services.store, backtest, **stretch)
    try:
        with engines_of(services, policy) as backtest.engines:
            return await backtest_store(services.store, backtest, **stretch)
    except UnreadablePolicy as error:
        raise refuse(Code.POLICY_UNREADABLE, str(error)) from None
    finally:
        backtest.engines = None


def _start(services: Services, policy: Policy, since: str | None, agent_id: str | None) -> Backtest:
    store = services.store
    return Backtest(policy, store.shared, store.agent, agent_id=agent_id, since_ms=_since(since))


def convert_body(raw: Any) -> BacktestBody:
    body = convert(raw, BacktestBody)
    if body.after < 0:
        raise malformed("after", "is a number from 0 on")
    return body


def _since(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except ValueError:
        raise malformed("since", "is a time as in 2026-01-31T12:00:00Z") from None
