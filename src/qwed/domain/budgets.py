"""What an agent may spend, what it has spent, and the one atomic check-and-hold between them.

`Spending` is the only mutable value of the domain besides `Conversation`: a store changes it under
its own lock, so that checking and holding are one step. What is *held* belongs to requests in
flight; what is *settled* is recorded.
"""

from collections import deque
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.money import NanoUsd, nano_of, usd_of
from qwed.domain.policy import BudgetLimits, PrincipalCeilings
from qwed.domain.times import DAY_MS, day_of, iso

HOUR_SECONDS: Final = 3600


class Charge(msgspec.Struct, frozen=True):
    """What one request asks of the budget."""

    cost: NanoUsd
    tokens: int


FREE: Final = Charge(NanoUsd(0), 0)


class Spending:
    """One subject's counters: an agent's, or (without the hour) a principal's."""

    __slots__ = (
        "_hour",
        "cost_held",
        "cost_settled",
        "day",
        "hour_total",
        "in_flight",
        "requests",
        "tokens",
        "tokens_held",
    )

    def __init__(
        self,
        day: int,
        *,
        requests: int = 0,
        cost: int = 0,
        tokens: int = 0,
        hour: Iterable[tuple[int, int]] | None = (),
    ) -> None:
        """`hour` is None where nobody asks for it."""
        self.day = day
        self.requests = requests
        self.cost_settled = cost
        self.cost_held = 0
        self.tokens = tokens
        self.tokens_held = 0
        self.in_flight = 0
        counted = [[second, count] for second, count in hour or ()]
        self._hour: deque[list[int]] | None = None if hour is None else deque(counted)
        self.hour_total = sum(count for _, count in counted)

    def roll(self, now_ms: int) -> None:
        """Forget what has left the windows."""
        day = now_ms // DAY_MS
        if day > self.day:
            self.day, self.requests, self.cost_settled, self.tokens = day, 0, 0, 0
        hour = self._hour
        if hour is None:
            return
        # Whole seconds bound the memory; a request leaves the hour up to a second late, never early.
        oldest = now_ms // 1000 - HOUR_SECONDS
        while hour and hour[0][0] < oldest:
            self.hour_total -= hour.popleft()[1]

    def take(self, charge: Charge, now_ms: int) -> None:
        """One request more, and a hold on what it may cost."""
        self.in_flight += 1
        self.cost_held += charge.cost
        self.tokens_held += charge.tokens
        self.requests += 1
        hour = self._hour
        if hour is None:
            return
        self.hour_total += 1
        second = now_ms // 1000
        if hour and (newest := hour[-1])[0] >= second:
            newest[1] += 1
        else:
            hour.append([second, 1])

    def hold(self, charge: Charge) -> None:
        self.in_flight += 1
        self.cost_held += charge.cost
        self.tokens_held += charge.tokens

    def release(self, charge: Charge) -> None:
        self.in_flight -= 1
        self.cost_held -= charge.cost
        self.tokens_held -= charge.tokens

    def settle(self, day: int, cost: int, tokens: int) -> None:
        """Book what was spent on `day`; a day that is over is booked in the store alone."""
        if day == self.day:
            cost, tokens = self.cost_settled + cost, self.tokens + tokens
            self.cost_settled = cost if cost > 0 else 0
            self.tokens = tokens if tokens > 0 else 0

    @property
    def cost(self) -> int:
        return self.cost_settled + self.cost_held

    @property
    def tokens_all(self) -> int:
        return self.tokens + self.tokens_held

    def hour_frees_at_ms(self, needed: int) -> int:
        """When `needed` requests of the sliding hour will have left it."""
        left = needed
        for second, count in self._hour or ():
            left -= count
            if left <= 0:
                return (second + HOUR_SECONDS + 1) * 1000
        return 0


def budget_refusal(limits: BudgetLimits, spent: Spending, charge: Charge, now_ms: int) -> Refusal | None:
    """The first limit that this charge would pass (check 14). `spent` has been rolled to now."""
    per_request, daily = limits.max_per_request_cost_usd, limits.max_daily_cost_usd
    if per_request is not None and charge.cost > nano_of(per_request):
        return _refuse(Code.BUDGET_COST, "request_cost", per_request, usd_of(charge.cost), None)
    if daily is not None and spent.cost + charge.cost > nano_of(daily):
        return _refuse(Code.BUDGET_COST, "daily_cost", daily, usd_of(spent.cost), _tomorrow(now_ms))
    return _request_refusal(limits, spent, now_ms) or _token_refusal(limits, spent, charge, now_ms)


def _request_refusal(limits: BudgetLimits, spent: Spending, now_ms: int) -> Refusal | None:
    per_hour, per_day = limits.max_requests_per_hour, limits.max_requests_per_day
    if per_hour is not None and spent.hour_total + 1 > per_hour:
        frees = spent.hour_frees_at_ms(spent.hour_total + 1 - per_hour) or now_ms + HOUR_SECONDS * 1000
        return _refuse(Code.BUDGET_REQUESTS, "hourly_requests", per_hour, spent.hour_total, frees)
    if per_day is not None and spent.requests + 1 > per_day:
        return _refuse(Code.BUDGET_REQUESTS, "daily_requests", per_day, spent.requests, _tomorrow(now_ms))
    return None


def _token_refusal(limits: BudgetLimits, spent: Spending, charge: Charge, now_ms: int) -> Refusal | None:
    per_request, daily = limits.max_tokens_per_request, limits.max_daily_tokens
    if per_request is not None and charge.tokens > per_request:
        return _refuse(Code.BUDGET_TOKENS, "request_tokens", per_request, charge.tokens, None)
    if daily is not None and spent.tokens_all + charge.tokens > daily:
        return _refuse(Code.BUDGET_TOKENS, "daily_tokens", daily, spent.tokens_all, _tomorrow(now_ms))
    return None


def _tomorrow(now_ms: int) -> int:
    return (day_of(now_ms) + 1) * DAY_MS


def ceiling_refusal(
    ceilings: PrincipalCeilings, spent: Spending, charge: Charge, now_ms: int
) -> Refusal | None:
    """The principal's own ceilings, over all its agents."""
    tomorrow = _tomorrow(now_ms)
    cost, requests = ceilings.max_daily_cost_usd, ceilings.max_requests_per_day
    if cost is not None and spent.cost + charge.cost > nano_of(cost):
        return _refuse(Code.BUDGET_COST, "principal_daily_cost", cost, usd_of(spent.cost), tomorrow)
    if requests is not None and spent.requests + 1 > requests:
        return _refuse(Code.BUDGET_REQUESTS, "principal_daily_requests", requests, spent.requests, tomorrow)
    return None


def _refuse(
    code: Code, scope: str, limit: Decimal | int, current: Decimal | int, reset_ms: int | None
) -> Refusal:
    name = scope.replace("_", " ")
    reset_at = None if reset_ms is None else iso(reset_ms)
    when = f"; it resets at {reset_at}" if reset_at else "; send a smaller request"
    return Refusal(
        code,
        f"{name} limit {limit} would be passed (now {current}){when}",
        {"scope": scope, "limit": limit, "current": current, "reset_at": reset_at},
    )


def remaining(
    limits: BudgetLimits, spent: Spending, returned: Charge = FREE
) -> dict[str, Decimal | int | None]:
    """What is left, never below zero; none means unlimited. Holds of requests in flight count as spent,
    but for the one that is about to be `returned`."""
    spent_cost = spent.cost_settled + spent.cost_held - returned.cost
    spent_tokens = spent.tokens + spent.tokens_held - returned.tokens
    cost, hour = limits.max_daily_cost_usd, limits.max_requests_per_hour
    day, tokens = limits.max_requests_per_day, limits.max_daily_tokens
    return {
        "daily_cost_usd": None if cost is None else usd_of(max(0, nano_of(cost) - spent_cost)),
        "hourly_requests": None if hour is None else max(0, hour - spent.hour_total),
        "daily_requests": None if day is None else max(0, day - spent.requests),
        "daily_tokens": None if tokens is None else max(0, tokens - spent_tokens),
    }


def budget_status(limits: BudgetLimits, spent: Spending) -> dict[str, dict[str, Decimal | int | None]]:
    return {
        "cost": {
            "max_daily_usd": limits.max_daily_cost_usd,
            "max_per_request_usd": limits.max_per_request_cost_usd,
            "current_daily_usd": usd_of(spent.cost),
        },
        "requests": {
            "max_per_hour": limits.max_requests_per_hour,
            "current_hour": spent.hour_total,
            "max_per_day": limits.max_requests_per_day,
            "current_day": spent.requests,
        },
        "tokens": {
            "max_per_request": limits.max_tokens_per_request,
            "max_daily": limits.max_daily_tokens,
            "current_daily": spent.tokens_all,
        },
    }
