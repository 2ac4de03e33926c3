"""The solver gets the time it needs."""

from tests.support.solver import _solver_has_time

__all__ = ["_solver_has_time"]
