"""Exact arithmetic, algebra and claims about them."""

from qwed.engines.math.engine import MathEngine

__all__ = ["MathEngine"]
