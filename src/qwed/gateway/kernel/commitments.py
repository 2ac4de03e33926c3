"""What the ledger's entry about an activity commits to."""

from typing import Any, Final

import msgspec

from qwed.gateway.kernel.records import Activity

_encoder: Final = msgspec.json.Encoder()


def committed(activity: Activity) -> bytes:
    """The payload, a line end (which JSON never holds), and the facts beside it."""
    facts = (
        activity.activity_id,
        activity.agent_id,
        activity.principal_id,
        activity.at_ms,
        activity.action_type,
        activity.decision,
        activity.error_code,
        activity.conversation_id,
        activity.cost_nano,
        activity.tokens,
        activity.fingerprint,
        activity.par,
        activity.wid,
    )
    return content_of(activity.payload, facts)


def content_of(payload: bytes, facts: tuple[Any, ...]) -> bytes:
    return payload + b"\n" + _encoder.encode(facts)
