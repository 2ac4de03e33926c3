"""Agents that are tools of others, and whose own tools an adapter does not reach."""

import warnings


class UnprotectedAgent(UserWarning):
    """The tools of this agent do not ask the gateway."""


def warn_unprotected(name: str, remedy: str) -> None:
    """Said where the program runs, once per place: a page is not read by who starts it."""
    message = f"the agent {name!r} is a tool here, and its own tools do not ask the gateway: {remedy}"
    warnings.warn(message, UnprotectedAgent, stacklevel=3)
