"""What an agent wants to do, and the two hashes that name it.

The *loop fingerprint* folds blank ends of strings, so that adding a space is not a new action. The
*action hash* is over the exact action: grants, attestations and idempotency are bound to it.
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
    return sha256_hex(encode_exact(_members(action)))


def loop_fingerprint(action: Action) -> str:
    """SHA-256 of the action with blank ends of every string folded."""
    return sha256_hex(encode_exact(_folded(_members(action))))


def hashes(action: Action) -> tuple[str, str]:
    """The action hash and the loop fingerprint; mostly there is nothing to fold, and they are one."""
    members = _members(action)
    if not action.parameters and all(
        map(_is_simple, (action.type, action.query, action.code, action.target))
    ):
        exact = sha256_hex(_plain_encoder.encode(members))
        return exact, exact
    exact = sha256_hex(encode_exact(members))
    folded = _folded(members)
    return exact, exact if folded == members else sha256_hex(encode_exact(folded))


# Where every text is simple, these bytes are what `encode_exact` writes (a property test holds it so).
_plain_encoder = msgspec.json.Encoder(order="sorted")


def _is_simple(text: str | None) -> bool:
    """Printable ASCII without blank ends: nothing to escape, tag or fold."""
    return text is None or (text.isascii() and text.isprintable() and text == text.strip())


def _members(action: Action) -> dict[str, JsonValue]:
    return {
        "action_type": action.type,
        "query": action.query,
        "code": action.code,
        "target": action.target,
        "parameters": action.parameters,
    }


def _folded(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return {key: _folded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_folded(item) for item in value]
    return value
