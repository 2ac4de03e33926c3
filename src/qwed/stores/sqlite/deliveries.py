"""Deliveries: rows that are claimed, tried and settled beside the record."""

from collections.abc import Sequence
from typing import Any, Final

from qwed.domain.deliveries import Delivery, DeliveryState
from qwed.domain.webhooks import Event
from qwed.stores.sqlite.rows import Row

DELIVERY: Final = (
    "delivery_id, webhook_id, principal_id, event_id, event, created_ms, due_ms, body, state, attempts,"
    " last_attempt_ms, last_error"
)
PUT_DELIVERY: Final = f"INSERT OR REPLACE INTO deliveries ({DELIVERY}) VALUES ({','.join('?' * 12)})"  # noqa: S608
#: The oldest few of each webhook, found by its name: however much waits for one, it is not looked through.
DUE_DELIVERIES: Final = """
WITH RECURSIVE hooks (name) AS (
    SELECT min(webhook_id) FROM deliveries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(webhook_id) FROM deliveries WHERE state = 'pending' AND webhook_id > hooks.name)
    FROM hooks WHERE hooks.name IS NOT NULL
)
SELECT d.delivery_id, d.webhook_id FROM hooks JOIN deliveries d ON d.delivery_id IN (
    SELECT delivery_id FROM deliveries
    WHERE state = 'pending' AND webhook_id = hooks.name AND due_ms <= ? ORDER BY due_ms LIMIT ?
)
WHERE hooks.name NOT IN ({full}) ORDER BY d.due_ms
"""


def delivery_of(row: Row) -> Delivery:
    values: dict[str, Any] = dict(zip(Delivery.__struct_fields__, row, strict=True))
    values["event"], values["state"] = Event(values["event"]), DeliveryState(values["state"])
    return Delivery(**values)


def delivery_row(delivery: Delivery) -> Row:
    return tuple(getattr(delivery, name) for name in Delivery.__struct_fields__)


def places(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
