"""A decision as the record holds it, for whoever decides it again."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec


class RecordedDecision(msgspec.Struct, frozen=True):
    """What of an entry decides; the rest is not even read."""

    decision: str
    activity_id: str = ""
    agent_id: str = ""
    timestamp: str = ""
    action_type: str = ""
    action_hash: str | None = None
    error_code: str | None = None
    error: dict[str, Any] | None = None
    action: Any = None
    context: Any = None
    policy_version: str = ""
    verification: dict[str, Any] | None = None
    account: dict[str, Any] | None = None
    redacted: Any = None
    observed: bool = False
    approval_id: str | None = None
    corrected_action: Any = None
    origins: Any = None
    requested_by: str = ""


read_recorded: Final = msgspec.json.Decoder(RecordedDecision)


def whole_of(entry: RecordedDecision) -> dict[str, Any]:
    """The entry; what older ones lack is lacking."""
    whole = msgspec.structs.asdict(entry)
    for name in ("corrected_action", "origins"):
        if whole[name] is None:
            del whole[name]
    return whole


def door_of(entry: RecordedDecision) -> str:
    return str((entry.account or {}).get("door"))


def conversation_of(entry: RecordedDecision) -> tuple[str, str] | None:
    name = entry.context.get("conversation_id") if isinstance(entry.context, Mapping) else None
    return (entry.agent_id, name) if isinstance(name, str) else None
