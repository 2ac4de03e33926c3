"""The policy file: read with line numbers, every mistake at once, into the value of `qwed.domain.policy`."""

from qwed.policy.engines import engine_rules
from qwed.policy.explanation import ChangedSetting, PolicyExplanation, explain
from qwed.policy.load import load_policy
from qwed.policy.mistakes import PolicyError, PolicyMistake

__all__ = [
    "ChangedSetting",
    "PolicyError",
    "PolicyExplanation",
    "PolicyMistake",
    "engine_rules",
    "explain",
    "load_policy",
]
