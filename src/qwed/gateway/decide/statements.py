"""What the token of an entry states about trust and behaviour, so that others can read the finding itself."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.nodes import NOTED
from qwed.ect.claims import MAX_EXT_BYTES
from qwed.gateway.kernel.wire import encode_json

_PREFIX: Final = "apae."
_SUBJECT: Final = "apae.subject"
_VIOLATIONS: Final = "apae.violations"
#: Entries about a peer's score, which the token leaves out: a score is told to one of the pair.
_ABOUT_PEERS: Final = frozenset({"seed_trust", "reinstate_trust"})
_CHANGE: Final = {
    "cause": "qwed.cause",
    "from_level": "qwed.from_level",
    "to_level": "qwed.to_level",
    "status": "qwed.status",
}


def state_in_token(action_type: str, decision: str, action: Any) -> dict[str, Any]:
    """Members of `ext`. Only what people and the gateway noted: an agent names its own action as it likes."""
    parameters = action.get("parameters") if isinstance(action, Mapping) else None
    if decision != NOTED or not isinstance(parameters, Mapping):
        return {}
    said = {name: value for name, value in parameters.items() if name.startswith(_PREFIX)}
    if action_type in _ABOUT_PEERS and "peer" in parameters:
        said[_SUBJECT] = parameters["peer"]
    if action_type == "change_trust":
        said |= {told: parameters[name] for name, told in _CHANGE.items() if name in parameters}
    return said


def fit_ext(ext: dict[str, Any]) -> dict[str, Any]:
    """Of too many violations, those that have room; their total is stated beside them."""
    violations = ext.get(_VIOLATIONS)
    if not isinstance(violations, list):
        return ext
    room = MAX_EXT_BYTES - len(encode_json({**ext, _VIOLATIONS: []}))
    kept: list[Any] = []
    for violation in violations:
        room -= len(encode_json(violation)) + 1
        if room < 0:
            break
        kept.append(violation)
    return {**ext, _VIOLATIONS: kept}
