"""Logic: what follows from what, what can hold together, and what never can."""

from qwed.engines.logic.engine import LogicEngine

__all__ = ["LogicEngine"]
