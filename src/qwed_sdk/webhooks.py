"""For those who are told: whether a webhook's words are the gateway's, whole and fresh."""

import json
import time
from typing import Final

from qwed.domain.signatures import is_signed
from qwed_sdk.results import Json

TOLERANCE_SECONDS: Final = 300.0


class NotTheGateway(ValueError):
    """The signature is wrong, too old, or for something else: pass over what came."""


def verify(
    body: bytes,
    signature: str,
    event_id: str,
    secret: str,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now_seconds: float | None = None,
) -> dict[str, Json]:
    """The event, if `secret` signed exactly these bytes lately; raises `NotTheGateway` if not.

    `body` is the request's body as it came, `signature` and `event_id` are its headers `QWED-Signature`
    and `QWED-Event-Id`. The same event may come twice: keep the ids that you have handled.
    """
    now = time.time() if now_seconds is None else now_seconds
    if not is_signed(secret, signature, event_id, body, now_seconds=now, tolerance_seconds=tolerance_seconds):
        raise NotTheGateway("the signature does not fit")
    event: dict[str, Json] = json.loads(body)
    return event
