"""Tool names: safe, dangerous or unknown, and a score that says how risky a call sounds.

Safe names match byte for byte; dangerous and blocked ones match by what they look like, so that a
look-alike can be dangerous but never safe. The score explains; the group decides.
"""

import enum
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed.domain.registry import DANGEROUS_TOOLS, SAFE_TOOLS
from qwed.domain.skeleton import compact_skeleton


class Group(enum.StrEnum):
    SAFE = "safe"
    DANGEROUS = "dangerous"
    BLOCKED = "blocked"
    UNKNOWN = "unknown"


#: Where a score begins, before any word is read.
BASE_RISK: Final[Mapping[Group, float]] = {
    Group.SAFE: 0.0,
    Group.UNKNOWN: 0.2,
    Group.DANGEROUS: 0.6,
    Group.BLOCKED: 0.6,
}

#: Words in a tool's name, or in the names and texts of its parameters, and what each adds once.
RISK_WORDS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("delete", "drop", "destroy", "wipe", "purge", "truncate", "shutdown"), 0.4),
    **dict.fromkeys(("exec", "execute", "eval", "shell", "sudo", "root", "admin"), 0.4),
    **dict.fromkeys(("transfer", "payment", "pay", "money", "purchase", "refund"), 0.3),
    **dict.fromkeys(("password", "secret", "credential", "credentials", "token", "key"), 0.3),
    **dict.fromkeys(("write", "update", "modify", "grant", "revoke", "kill", "remove"), 0.2),
    **dict.fromkeys(("send", "upload", "post", "publish", "deploy", "external"), 0.1),
}
_WORD: Final = re.compile(r"[a-z]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MAX_TEXT: Final = 20_000


class RiskFactor(msgspec.Struct, frozen=True):
    factor: str
    weight: float


class ToolAssessment(dict[str, Json]):
    """The answer, as the documents print it: `approved`, `blocked_reason` where it is not, and beside them
    the tool's name and what its risk is made of."""

    def __init__(self, tool_name: str, group: Group, factors: tuple[RiskFactor, ...]) -> None:
        self.tool_name, self.group, self.factors = tool_name, group, factors
        self.base_risk = BASE_RISK[group]
        self.risk_score = _score(self.base_risk, factors)
        self.blocked_reason = None if group is Group.SAFE else _reason(group, tool_name, self.risk_score)
        self.approved = self.blocked_reason is None
        super().__init__(approved=self.approved)
        if self.blocked_reason is not None:
            self["blocked_reason"] = self.blocked_reason
        self |= {"tool_name": tool_name, "risk_score": self.risk_score, "risk_assessment": self._risk()}

    def _risk(self) -> dict[str, Json]:
        return {
            "base_risk": self.base_risk,
            "factors": [{"factor": item.factor, "weight": item.weight} for item in self.factors],
            "final_risk": self.risk_score,
            "requires_approval": self.group is Group.DANGEROUS,
        }


class ToolApprovalSystem:
    """Classifies tool calls in-process, without a gateway.

    `allowed` adds names to the safe group, `blocked` forbids names; blocked and dangerous win.
    """

    def __init__(
        self,
        safe: Iterable[str] = SAFE_TOOLS,
        dangerous: Iterable[str] = DANGEROUS_TOOLS,
        *,
        allowed: Iterable[str] = (),
        blocked: Iterable[str] = (),
    ) -> None:
        self._safe = frozenset(safe) | frozenset(allowed)
        self._dangerous = skeletons(tuple(dangerous))
        self._blocked = skeletons(tuple(blocked))

    def group_of(self, tool_name: str) -> Group:
        shape = compact_skeleton(tool_name)
        if shape in self._blocked:
            return Group.BLOCKED
        if shape in self._dangerous:
            return Group.DANGEROUS
        return Group.SAFE if tool_name in self._safe else Group.UNKNOWN

    def assess(self, tool_name: str, parameters: Mapping[str, Json] | None = None) -> ToolAssessment:
        """Whether this call is approved, and why not: `answer["approved"]`, `answer["blocked_reason"]`."""
        factors = tuple(_factors(tool_name, parameters or {}))
        return ToolAssessment(tool_name, self.group_of(tool_name), factors)


def explain_danger(tool_name: str, parameters: Mapping[str, Json]) -> str:
    """Why a dangerous tool waits for a person, however much its caller is trusted."""
    assessed = ToolAssessment(tool_name, Group.DANGEROUS, tuple(_factors(tool_name, parameters)))
    return str(assessed.blocked_reason)


def _score(base: float, factors: Iterable[RiskFactor]) -> float:
    return min(1.0, round(base + sum(factor.weight for factor in factors), 2))


@lru_cache(maxsize=4096)
def skeletons(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(compact_skeleton, names))


def _reason(group: Group, tool_name: str, score: float) -> str:
    shown = tool_name[:100]
    match group:
        case Group.DANGEROUS:
            return f"Dangerous tool '{shown}' requires manual approval (risk_score={score:.1f})"
        case Group.BLOCKED:
            return f"Tool '{shown}' is blocked for this agent"
    return f"Unknown tool '{shown}' requires explicit allowlisting (risk_score={score:.1f})"


def _factors(tool_name: str, parameters: Mapping[str, Json]) -> Iterable[RiskFactor]:
    in_name = name_words(tool_name)
    for word in sorted(in_name & RISK_WORDS.keys()):
        yield RiskFactor(f"name:{word}", RISK_WORDS[word])
    for word in sorted((name_words(_text_of(parameters)) & RISK_WORDS.keys()) - in_name):
        yield RiskFactor(f"parameters:{word}", RISK_WORDS[word])


def name_words(text: str) -> set[str]:
    """The words that a name or text is made of, in lower case."""
    return set(_WORD.findall(_CAMEL.sub(" ", text).lower()))


def _text_of(value: Any) -> str:
    """Names and texts of the parameters, as far as the bound reaches."""
    parts: list[str] = []
    size = 0
    pending: list[Any] = [value]
    while pending and size < _MAX_TEXT:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item[: _MAX_TEXT - size])
            size += len(parts[-1]) + 1
        elif isinstance(item, Mapping):
            pending.extend(item.values())
            pending.extend(key for key in item if isinstance(key, str))
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return " ".join(parts)
