"""Rows to values and back, where a column is not the value itself."""

from collections.abc import Iterable
from typing import Any

from qwed.domain.budgets import Spending
from qwed.domain.conduct import Conduct, Standing
from qwed.domain.deliveries import Delivery, DeliveryState
from qwed.domain.times import day_of
from qwed.domain.webhooks import Event
from qwed.stores.bodies import decode


def par_of(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def standing_of(actions: int, conduct: bytes | None) -> Standing:
    return Standing(actions, decode(Conduct, conduct) if conduct else Conduct())


def delivery_of(row: Any) -> Delivery:
    values: dict[str, Any] = dict(zip(Delivery.__struct_fields__, row, strict=True))
    values["event"], values["state"] = Event(values["event"]), DeliveryState(values["state"])
    return Delivery(**values)


def delivery_row(delivery: Delivery) -> tuple[Any, ...]:
    return tuple(getattr(delivery, name) for name in Delivery.__struct_fields__)


def spending_of(row: Any, now_ms: int, hour: int | Iterable[tuple[int, int]]) -> Spending:
    """Counters as they are recorded, and on top of them what is in flight."""
    second = now_ms // 1000
    counted = [(second, hour)] if isinstance(hour, int) else [*hour]
    counted.append((second, row["held"]))
    spending = Spending(
        day_of(now_ms),
        requests=row["requests"] + row["today"],
        cost=row["cost"],
        tokens=row["tokens"],
        hour=[pair for pair in counted if pair[1]],
    )
    spending.in_flight = row["held"]
    spending.cost_held, spending.tokens_held = row["cost_held"], row["tokens_held"]
    return spending
