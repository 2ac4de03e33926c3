"""What masking adds to a decision: a quick look at what an agent said, and the walk where it must be."""

import time
from collections.abc import Callable, Mapping
from typing import Any

Figure = tuple[str, float, str, float | None]

ROUNDS = 7
TIMES = 1_000

_INTENT = "Work out the monthly total of the invoices for the customer, then report it, OK."
_ACTION = {"type": "calculate", "query": "1234 * 17 + 1237"}
_CONTEXTS: Mapping[str, dict[str, Any]] = {
    "a conversation of 4 letters": {"conversation_id": "c001", "step_number": 1},
    "a UUID and an intent": {
        "conversation_id": "8d1f3a90-52c7-4be1-9a6d-07f4c2e85b13",
        "step_number": 1,
        "user_intent": _INTENT,
    },
    "32 hexadecimal digits and an intent": {
        "conversation_id": "8d1f3a9052c74be19a6d07f4c2e85b13",
        "step_number": 1,
        "user_intent": _INTENT,
    },
    "a URL": {
        "conversation_id": "c001",
        "step_number": 1,
        "source": "https://shop.example/orders/2024/0001",
    },
    "the word password": {
        "conversation_id": "c001",
        "step_number": 1,
        "user_intent": "Tell how often a password is reset.",
    },
}


def figures() -> list[Figure]:
    return [
        (f"masking, {name}", _cpu_of(context) * 1e6, "µs CPU", None) for name, context in _CONTEXTS.items()
    ]


def _cpu_of(context: dict[str, Any]) -> float:
    """As a decision does it: one look, then what is recorded, shown as the look allows."""
    from qwed.gateway.kernel.masks import is_harmless, shown

    def mask() -> None:
        if not is_harmless((_ACTION, context)):
            shown(_ACTION)
            shown(context)

    return min(_cpu_of_one(mask) for _ in range(ROUNDS))


def _cpu_of_one(work: Callable[[], None]) -> float:
    started = time.process_time()
    for _ in range(TIMES):
        work()
    return (time.process_time() - started) / TIMES
