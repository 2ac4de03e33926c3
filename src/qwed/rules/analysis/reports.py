"""What an analysis says: findings, what nobody can tell, and differences. Values only."""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec


class PolicyFinding(msgspec.Struct, frozen=True):
    """`code` names the kind of mistake; `example` is an action, or what else shows it."""

    code: str
    rule: str
    line: int
    message: str
    example: Mapping[str, Any] | None = None


class Unanalysed(msgspec.Struct, frozen=True):
    """A question that nobody can answer for this rule, and why."""

    rule: str
    line: int
    question: str
    why: str


class PolicyAnalysis(msgspec.Struct, frozen=True):
    findings: tuple[PolicyFinding, ...] = ()
    not_analysed: tuple[Unanalysed, ...] = ()


class Direction(enum.StrEnum):
    SAME = "same"
    TIGHTER = "tighter"
    LOOSER = "looser"
    BOTH = "both"
    NOT_ANALYSED = "not analysed"


class Difference(msgspec.Struct, frozen=True):
    """`tighter` and `looser` are actions on which the policies differ; `why` says what else matters."""

    subject: str
    direction: Direction
    why: str = ""
    tighter: Mapping[str, Any] | None = None
    looser: Mapping[str, Any] | None = None
