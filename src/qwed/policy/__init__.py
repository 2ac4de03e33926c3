"""The policy file: read with line numbers, every mistake at once, into the value of `qwed.domain.policy`."""

from qwed.policy.engines import engine_rules
from qwed.policy.explanation import Change, Explanation, explain
from qwed.policy.loading import load_policy
from qwed.policy.mistakes import Mistake, PolicyError

__all__ = ["Change", "Explanation", "Mistake", "PolicyError", "engine_rules", "explain", "load_policy"]
