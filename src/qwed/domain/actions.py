"""What an agent wants to do, and the hash that names it exactly.

Grants, attestations and idempotency are bound to that hash. What two spellings of one action share is its
loop fingerprint (`fingerprints.py`).
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.domain.canonical import encode_exact, sha256_hex

JsonValue = Any


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    type: str
    query: str | None = None
    code: str | None = None
    target: str | None = None
    parameters: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)

    def to_wire(self) -> dict[str, JsonValue]:
        """The JSON shape, absent fields left out."""
        wire: dict[str, JsonValue] = {"type": self.type}
        if self.query is not None:
            wire["query"] = self.query
        if self.code is not None:
            wire["code"] = self.code
        if self.target is not None:
            wire["target"] = self.target
        if self.parameters:
            wire["parameters"] = self.parameters
        return wire


def action_hash(action: Action) -> str:
    """SHA-256 of the exact action. Raises `NotCanonical` for what is not JSON."""
    return sha256_hex(encode_exact(members_of(action)))


def members_of(action: Action) -> dict[str, JsonValue]:
    """What hashes are made of: every member, absent or not."""
    return {
        "action_type": action.type,
        "query": action.query,
        "code": action.code,
        "target": action.target,
        "parameters": action.parameters,
    }
