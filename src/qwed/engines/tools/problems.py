"""What a checker found wrong with one argument."""

from typing import Any

import msgspec

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk


class ArgumentProblem(msgspec.Struct, frozen=True):
    """`value` is the argument as the checker understood it. No `failure`: the checker could not decide."""

    rule: str
    message: str
    value: str = ""
    failure: Failure | None = Failure.FORBIDDEN
    risk: Risk = Risk.LOW
    where: str = ""

    def to_evidence(self) -> dict[str, Any]:
        evidence = {"parameter": self.where, "rule": self.rule, "message": self.message, "value": self.value}
        if self.failure is not None:
            evidence["failure"] = self.failure.value
        return evidence


# Evidence is stored and shown: a megabyte of argument is not evidence.
_SHOWN = 300


def forbidden(rule: str, message: str, value: str, risk: Risk = Risk.HIGH) -> ArgumentProblem:
    return ArgumentProblem(rule, message, value[:_SHOWN], Failure.FORBIDDEN, risk)


def malformed(rule: str, message: str, value: str) -> ArgumentProblem:
    return ArgumentProblem(rule, message, value[:_SHOWN], Failure.MALFORMED, Risk.LOW)


def undecided(rule: str, message: str, value: str) -> ArgumentProblem:
    return ArgumentProblem(rule, message, value[:_SHOWN], None, Risk.LOW)
