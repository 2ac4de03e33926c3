"""What can be proven about the rules of a policy before it is in force."""

from qwed.rules.analysis.client import analyse, diff_rules
from qwed.rules.analysis.reports import (
    Difference,
    Direction,
    PolicyAnalysis,
    PolicyFinding,
    Unanalysed,
)

__all__ = [
    "Difference",
    "Direction",
    "PolicyAnalysis",
    "PolicyFinding",
    "Unanalysed",
    "analyse",
    "diff_rules",
]
