"""Rows to values and back, where a column is not the value itself."""

from typing import Any

from qwed.domain.conduct import Conduct, Standing
from qwed.domain.deliveries import Delivery, DeliveryState
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
