"""What one guard has let through so far, counted exactly."""

import threading
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

_INPUT_TOKENS: Final = ("input_tokens", "prompt_tokens", "prompt_token_count", "input_token_count")
_OUTPUT_TOKENS: Final = ("output_tokens", "completion_tokens", "candidates_token_count", "output_token_count")
_COSTS: Final = ("cost_usd", "cost", "total_cost")


class ToolCharge(msgspec.Struct, frozen=True):
    cost: Decimal
    tokens: int


class NotACharge(ValueError):
    """A cost or a token count that can't be added up; the message says which."""


class ToolSpending:
    """Reserves before it counts, under one lock: concurrent calls never exceed a limit together."""

    def __init__(self, max_cost: Decimal, max_tokens: int | None, max_calls: int | None) -> None:
        self._lock = threading.Lock()
        self._limits = (max_cost, max_tokens, max_calls)
        self.cost = Decimal(0)
        self.tokens = 0
        self.calls = 0

    def reserve(self, charge: ToolCharge) -> str | None:
        """Counts the call, or says which limit it would pass and counts nothing."""
        max_cost, max_tokens, max_calls = self._limits
        with self._lock:
            if max_calls is not None and self.calls + 1 > max_calls:
                return f"call {self.calls + 1} is past the limit of {max_calls} calls"
            if self.cost + charge.cost > max_cost:
                return f"a cost of {charge.cost} on top of {self.cost} is past the budget of {max_cost}"
            if max_tokens is not None and self.tokens + charge.tokens > max_tokens:
                return f"{charge.tokens} tokens on top of {self.tokens} are past the limit of {max_tokens}"
            self.calls += 1
            self.cost += charge.cost
            self.tokens += charge.tokens
            return None

    def reset(self) -> None:
        with self._lock:
            self.cost, self.tokens, self.calls = Decimal(0), 0, 0


def charge_of(context: Mapping[str, Json], usage: Any, cost_per_call: Decimal) -> ToolCharge:
    """The cost the caller names, else the one the usage names, else the fixed cost of a call."""
    if not context and usage is None:
        return ToolCharge(cost_per_call, 0)
    usage = context.get("usage", usage)
    usage = usage if isinstance(usage, Mapping) else {}
    named = context.get("cost_usd", _first(usage, _COSTS))
    cost = cost_per_call if named is None else amount("cost_usd", named)
    return ToolCharge(cost, _tokens(context.get("tokens"), usage))


def amount(name: str, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise NotACharge(f"{name} is {type(value).__name__}, expected an amount")
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        raise NotACharge(f"{name} is not a number") from None
    if not exact.is_finite() or exact < 0:
        raise NotACharge(f"{name} is {exact}, expected a finite amount of at least 0")
    return exact


def _tokens(named: Any, usage: Mapping[str, Json]) -> int:
    total = named if named is not None else usage.get("total_tokens", usage.get("total_token_count"))
    if total is None:
        total = sum(_first(usage, names) or 0 for names in (_INPUT_TOKENS, _OUTPUT_TOKENS))
    if isinstance(total, bool) or not isinstance(total, int) or total < 0:
        raise NotACharge("the token count is not a whole number of at least 0")
    return total


def _first(usage: Mapping[str, Json], names: tuple[str, ...]) -> Any:
    return next((usage[name] for name in names if usage.get(name) is not None), None)
