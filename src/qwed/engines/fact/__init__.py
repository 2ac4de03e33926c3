"""Facts: a claim held against given sources, by rule alone."""

from qwed.engines.fact.engine import FactEngine

__all__ = ["FactEngine"]
