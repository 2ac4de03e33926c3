"""Every activity is a node of the graph that execution context tokens form: one id, written two ways."""

import hashlib
import operator
from typing import Final

AGENT_DID: Final = "did:qwed:agent:"
#: What the entry of something that people or the gateway did has in place of a decision.
NOTED: Final = "NOTED"
_ACTIVITY: Final = "act_"
#: The groups of a UUID, in what follows that.
_parts_of: Final = operator.itemgetter(
    slice(4, 12), slice(12, 16), slice(16, 20), slice(20, 24), slice(24, None)
)


def jti_of(activity_id: str) -> str:
    """`act_` and 32 hexadecimal digits, as the UUID that they are."""
    return "-".join(_parts_of(activity_id))


def activity_id_of(jti: str) -> str:
    return f"{_ACTIVITY}{jti.replace('-', '')}"


def activity_id_about(at_seconds: int, *about: str) -> str:
    """The same for whoever computes it: of two who note the same thing, the second finds the first."""
    digest = hashlib.sha256("\n".join(about).encode()).hexdigest()
    return f"{_ACTIVITY}{at_seconds * 1000:012x}7{digest[:3]}8{digest[3:18]}"


def is_activity_id(text: object) -> bool:
    """Whether a name is that of an activity, and not that of a token."""
    return isinstance(text, str) and text.startswith(_ACTIVITY)


def agent_did(agent_id: str) -> str:
    """How tokens name a registered agent."""
    return f"{AGENT_DID}{agent_id}"


#: What people and the gateway do, as tokens name it; everything else is a decision.
_ACTS: Final = {
    "answer_approval": "hitl:decision",
    "report_outcome": "qwed:outcome",
    "settle_outcome": "qwed:outcome",
    "change_trust": "qwed:trust_change",
    "trust_revoke": "apae:trust_revoke",
    "update_spec": "apae:spec_update",
    "check_compliance": "apae:compliance_check",
}


def exec_act_of(action_type: str, decision: str) -> str:
    if decision != NOTED:
        return "qwed:decision"
    return _ACTS.get(action_type, f"qwed:{action_type}")
