"""What is reported of a tool that ran."""

import hashlib
import json
from typing import Final

from qwed_sdk.conversations import Permit, described, outcome_of
from qwed_sdk.results import Json
from qwed_sdk.tool_map import plain

MAX_HASHED: Final = 1024 * 1024


def outcome_members(permit: Permit, result: object, error: BaseException | None) -> dict[str, Json]:
    if error is not None:
        return {"outcome": outcome_of(error), "error": described(error)}
    return {"outcome": permit.outcome, "result_hash": _hash_of(result)}


def _hash_of(result: object) -> str | None:
    """Of a text, or of a value that is JSON; other results have no form to compare by."""
    try:
        text = result if isinstance(result, str) else json.dumps(plain(result), sort_keys=True)
        raw = text.encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - a result is the tool's own affair, whatever it is
        return None
    return hashlib.sha256(raw).hexdigest() if len(raw) <= MAX_HASHED else None
