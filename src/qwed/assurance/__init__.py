"""Assurance: what may be relied on, and why: trust, behaviour, provenance, profiles."""

from qwed.assurance.explanations import NOT_TRUSTED_ENOUGH, ScoreExplanation, ScoreMove, Thresholds
from qwed.assurance.scores import ZERO_TRUST, Confidence, InvalidScore, ScoreEvent, ScoreRules
from qwed.assurance.trust_table import TrustTable

__all__ = [
    "NOT_TRUSTED_ENOUGH",
    "ZERO_TRUST",
    "Confidence",
    "InvalidScore",
    "ScoreEvent",
    "ScoreExplanation",
    "ScoreMove",
    "ScoreRules",
    "Thresholds",
    "TrustTable",
]
