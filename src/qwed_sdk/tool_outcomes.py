"""What is reported of a tool that ran."""

import hashlib
import json
from typing import Final

from qwed_sdk.conversations import Permit, describe, outcome_of
from qwed_sdk.reported_values import error_members, result_members
from qwed_sdk.results import Json
from qwed_sdk.tool_map import plain

MAX_HASHED: Final = 1024 * 1024


def outcome_members(
    permit: Permit, result: object, error: BaseException | None, *, tells_values: bool
) -> dict[str, Json]:
    """`tells_values`: with what the tool returned, so that the gateway knows its values again."""
    if error is not None:
        text = describe(error)
        said = error_members(error, text) if tells_values else {}
        return {"outcome": outcome_of(error), "error": text, **said}
    said = result_members(result) if tells_values else {}
    return {"outcome": permit.outcome, "result_hash": hash_of_result(result), **said}


def hash_of_result(result: object) -> str | None:
    """Of a text, or of a value that is JSON; other results have no form to compare by."""
    try:
        text = result if isinstance(result, str) else json.dumps(plain(result), sort_keys=True)
        raw = text.encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - a result is the tool's own affair, whatever it is
        return None
    return hashlib.sha256(raw).hexdigest() if len(raw) <= MAX_HASHED else None
