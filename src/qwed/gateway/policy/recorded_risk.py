"""The risk that another policy gives a recorded action, as far as the record tells.

Of the risk of the action's type and that of the engine, the higher one was recorded.
"""

from collections.abc import Mapping
from typing import Any

from qwed.domain.policy import Policy
from qwed.domain.risk import Risk

Json = Mapping[str, Any]


def is_risk_unknown(before: Policy, after: Policy, action_type: str, found: Json) -> bool:
    """What the engine said is known only where that was the higher of the two."""
    then, now = before.action_rules.get(action_type), after.action_rules.get(action_type)
    if then is None or now is None or now.risk == then.risk:
        return False
    return _own_risk(found, then.risk) is None and not _covers(found, now.risk)


def under_risk(whole: Json, before: Policy, after: Policy) -> Json:
    """The entry with the risk that the other policy gives the type, where it gives another."""
    name, found = whole["action_type"], whole.get("verification")
    then, now = before.action_rules.get(name), after.action_rules.get(name)
    if found is None or then is None or now is None or then.risk == now.risk:
        return whole
    recorded, own = Risk.from_wire(found["risk_level"]), _own_risk(found, then.risk)
    risk = max(now.risk or Risk.LOW, recorded if own is None and now.risk is None else own or Risk.LOW)
    return {**whole, "verification": {**found, "risk_level": risk.wire}}


def _covers(found: Json, risk: Risk | None) -> bool:
    """A risk at least as high as what was recorded is the higher of the two, whatever the engine said."""
    return risk is not None and risk >= Risk.from_wire(found["risk_level"])


def _own_risk(found: Json, of_type: Risk | None) -> Risk | None:
    """What the engine itself said, where the record tells."""
    recorded = Risk.from_wire(found["risk_level"])
    return recorded if of_type is None or recorded > of_type else None
