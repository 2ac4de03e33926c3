"""How things stand: what was decided and refused lately, how fast, what was spent, and who needs a look.

Counted by the hour as decisions are recorded, so that the answer costs the same however long the record
is; what is not counted is read from the newest entries alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.codes import CODES, Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.money import nano_of, usd_of
from qwed.domain.times import DAY_MS, HOUR_MS, day_of, iso
from qwed.domain.trust import TrustLevel
from qwed.gateway.kernel.answers import Answer, malformed
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.records import Activity, HourCount, SearchQuery
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import names_of, require_scope

#: The periods offered, with the hours that one bar of the chart stands for.
PERIODS: Final = {24: 1, 168: 6, 720: 24}
SAMPLE: Final = 1_000
MAX_LISTED: Final = 10
MAX_AGENTS: Final = 100
#: How long an answer may be given again: many may look at the same page.
KEPT_SECONDS: Final = 1.0
MAX_KEPT: Final = 256

#: Refusals that also lower an agent's trust (section 8).
_COUNTED: Final = frozenset(
    {Code.LOOP_NO_PROGRESS, Code.TOOL_NOT_ALLOWED, Code.VERIFICATION_FAILED, Code.TRUST_INSUFFICIENT}
)
_WINDOW: Final = 50
_MIN_ACTIONS: Final = 10
_DENIED_SHARE: Final = 0.1
_NEARLY_SPENT: Final = Decimal("0.8")


class Overviews:
    """Overviews, each made at most once a second."""

    def __init__(self, services: Services) -> None:
        self._first = services
        self._kept: dict[tuple[PrincipalId | None, int], tuple[float, Answer]] = {}

    @property
    def _services(self) -> Services:
        return self._first.newest

    async def read(self, caller: Caller, hours: str | None) -> Answer:
        require_scope(caller, Scope.READ)
        key = (caller.reads_of, _read_hours(hours))
        now = self._services.clock.counter()
        made, answer = self._kept.get(key, (0.0, None))
        if answer is not None and 0 <= now - made < KEPT_SECONDS:
            return answer
        answer = await read_overview(self._services, *key)
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = (now, answer)
        return answer


def _read_hours(given: str | None) -> int:
    if given is None:
        return min(PERIODS)
    if given not in {str(hours) for hours in PERIODS}:
        raise malformed("hours", f"is one of {', '.join(str(hours) for hours in PERIODS)}")
    return int(given)


async def read_overview(services: Services, principal_id: PrincipalId | None, hours: int) -> Answer:
    now_ms = services.clock.now_ms()
    bar = PERIODS[hours]
    # Whole bars, the last of which is the one that goes on.
    last = now_ms // HOUR_MS // bar
    first = last - hours // bar + 1
    counted = await services.store.hours(principal_id, first * bar)
    newest = (await services.store.search(SearchQuery(principal_id, limit=SAMPLE))).entries
    decisions = [activity for activity, _ in newest if activity.decision != NOTED]
    agents = await services.store.agents_by_spending(principal_id, day_of(now_ms), MAX_AGENTS)
    today = await services.store.hours(principal_id, day_of(now_ms) * (DAY_MS // HOUR_MS))
    return Answer(
        {
            "at": iso(now_ms),
            "period": {"hours": hours, "bar_hours": bar, "from": iso(first * bar * HOUR_MS)},
            "waiting": await services.store.count_waiting(principal_id, now_ms),
            "totals": _totals(counted),
            "bars": _bars(range(first, last + 1), bar, counted),
            "refusals": _refusals(counted),
            "verification_ms": _latency(decisions),
            "spending": _spending(services, principal_id, agents, today),
            "permit_findings": await services.store.count_findings(
                principal_id, None, first * bar * HOUR_MS, now_ms + 1
            ),
            "at_risk": await _at_risk(services, agents, decisions),
        }
    )


def _totals(counted: Iterable[HourCount]) -> dict[str, Json]:
    totals: Counter[str] = Counter()
    cost = 0
    for row in counted:
        totals[row.decision] += row.entries
        cost += row.cost_nano
    return {**{decision.lower(): totals[decision] for decision in Decision}, "cost_usd": usd_of(cost)}


def _bars(numbers: Iterable[int], bar: int, counted: Iterable[HourCount]) -> list[dict[str, Json]]:
    """One for each stretch of time, those in which nothing happened too."""
    rows: defaultdict[int, list[HourCount]] = defaultdict(list)
    for row in counted:
        rows[row.hour // bar].append(row)
    return [{"from": iso(number * bar * HOUR_MS), **_totals(rows[number])} for number in numbers]


def _refusals(counted: Iterable[HourCount]) -> list[dict[str, Json]]:
    refusals: Counter[str] = Counter()
    for row in counted:
        if row.decision in (Decision.DENIED, Decision.BUDGET_EXCEEDED):
            refusals[row.error_code] += row.entries
    return [
        {"error_code": code, "meaning": _meaning(code), "count": count}
        for code, count in refusals.most_common(MAX_LISTED)
    ]


def _meaning(code: str) -> str:
    return CODES[Code(code)].meaning if code in tuple(Code) else ""


class _Timed(msgspec.Struct):
    latency_ms: float


class _Examined(msgspec.Struct):
    verification: _Timed | None = None


def _latency(decisions: Iterable[Activity]) -> dict[str, Json]:
    """Of the newest decisions that an engine looked at."""
    times = sorted(time for activity in decisions if (time := _time_of(activity)) is not None)
    if not times:
        return {"sample": 0}
    middle, high, top = (times[min(len(times) - 1, len(times) * share // 100)] for share in (50, 95, 99))
    return {"sample": len(times), "p50": middle, "p95": high, "p99": top, "max": times[-1]}


def _time_of(activity: Activity) -> float | None:
    try:
        found = msgspec.json.decode(activity.payload, type=_Examined).verification
    except msgspec.DecodeError:
        return None
    return None if found is None else found.latency_ms


def _spending(
    services: Services,
    principal_id: PrincipalId | None,
    agents: Sequence[tuple[Agent, int]],
    today: Iterable[HourCount],
) -> dict[str, Json]:
    ceiling = None
    if principal_id is not None:
        ceiling = services.policy.ceilings_of(principal_id).max_daily_cost_usd
    spenders = sorted((row for row in agents if row[1]), key=lambda row: -row[1])[:MAX_LISTED]
    return {
        "today_usd": usd_of(sum(row.cost_nano for row in today)),
        "ceiling_usd": ceiling,
        "agents": [
            {
                "agent_id": agent.agent_id,
                "name": agent.name,
                "spent_usd": usd_of(spent),
                "limit_usd": agent.budget.max_daily_cost_usd,
            }
            for agent, spent in spenders
        ],
    }


async def _at_risk(
    services: Services, agents: Sequence[tuple[Agent, int]], decisions: Sequence[Activity]
) -> list[dict[str, Json]]:
    """Agents with a reason to look at them, those with the most reasons first."""
    reasons: defaultdict[AgentId, list[str]] = defaultdict(list)
    for agent, spent in agents:
        reasons[agent.agent_id] += [*_standing(agent), *_spent(agent, spent)]
    for agent_id, own in _by_agent(decisions).items():
        reasons[agent_id] += _conduct(own)
    found = {agent_id: why for agent_id, why in reasons.items() if why}
    worst = sorted(found, key=lambda agent_id: (-len(found[agent_id]), agent_id))[:MAX_LISTED]
    names = await names_of(services, set(worst))
    return [
        {"agent_id": agent_id, "name": names.get(agent_id), "reasons": found[agent_id]} for agent_id in worst
    ]


def _standing(agent: Agent) -> list[str]:
    if agent.status is AgentStatus.SUSPENDED:
        return [f"suspended: {agent.status_reason}" if agent.status_reason else "suspended"]
    return ["not trusted at all"] if agent.trust_level is TrustLevel.UNTRUSTED else []


def _spent(agent: Agent, spent: int) -> list[str]:
    limit = agent.budget.max_daily_cost_usd
    if limit is None or not spent or spent < nano_of(limit) * _NEARLY_SPENT:
        return []
    return [f"spent {usd_of(spent)} of {limit} USD today"]


def _by_agent(decisions: Iterable[Activity]) -> dict[AgentId, list[Activity]]:
    """Newest first, as many of each as its trust is computed from."""
    found: defaultdict[AgentId, list[Activity]] = defaultdict(list)
    for activity in decisions:
        if len(found[activity.agent_id]) < _WINDOW:
            found[activity.agent_id].append(activity)
    return found


def _conduct(own: Sequence[Activity]) -> list[str]:
    denied = sum(activity.error_code in _COUNTED for activity in own)
    overdrawn = sum(activity.decision == Decision.BUDGET_EXCEEDED for activity in own)
    why = []
    if len(own) >= _MIN_ACTIONS and denied > len(own) * _DENIED_SHARE:
        why.append(f"{denied} of its last {len(own)} actions denied")
    if overdrawn:
        why.append(f"{overdrawn} of its last {len(own)} actions past the budget")
    return why
