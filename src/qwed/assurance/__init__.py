"""Assurance: what may be relied on, and why: trust, behaviour, provenance, profiles."""

from qwed.assurance.explanations import NOT_TRUSTED_ENOUGH, Change, Explanation, Thresholds
from qwed.assurance.scores import ZERO_TRUST, Confidence, Event, InvalidScore, ScoreRules
from qwed.assurance.trust_table import TrustTable

__all__ = [
    "NOT_TRUSTED_ENOUGH",
    "ZERO_TRUST",
    "Change",
    "Confidence",
    "Event",
    "Explanation",
    "InvalidScore",
    "ScoreRules",
    "Thresholds",
    "TrustTable",
]
