"""Behaviour verification: an agent's tokens, one after the other, against its specification.

Four checks: the action is allowed; not too many a minute; a checkpoint before what is gated; no forbidden
target. Each costs the same however long the stream has been.
"""

import enum
import fnmatch
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from qwed.assurance.accusations import (
    CHECKPOINT,
    COMPLIANCE_CHECK,
    ERROR,
    HITL_DECISION,
    ROLLBACK_REQUEST,
    SPEC_UPDATE,
    TRUST_ASSERTION,
    TRUST_REVOKE,
)
from qwed.assurance.specs import BehaviourSpec
from qwed.domain.json_types import Json
from qwed.ect.claims import Claims
from qwed.ect.dag import Find, ancestors

WINDOW_SECONDS: Final = 60
#: Tokens are at most 15 minutes old when they come; older seconds cannot matter any more.
_KEPT_SECONDS: Final = 1_200
#: Of more workflows at a time, the one idle for longest has to make its checkpoint again.
MAX_WORKFLOWS: Final = 10_000
_MAX_DETAIL: Final = 200
_TARGET: Final = re.compile(r"(?:.*\.)?targets?", re.DOTALL)

#: Any agent may say these; they are not the work that a specification lists.
OF_ANY_AGENT: Final = frozenset({CHECKPOINT, ERROR, ROLLBACK_REQUEST, TRUST_ASSERTION, TRUST_REVOKE})
#: Only who watches, or keeps the specifications, or asks people, may say these.
OF_AUTHORITIES: Final = frozenset({COMPLIANCE_CHECK, SPEC_UPDATE, HITL_DECISION})


class BehaviourRule(enum.StrEnum):
    ALLOWED_ACTIONS = "allowed_actions"
    MAX_ACTIONS_PER_MINUTE = "max_actions_per_minute"
    REQUIRE_CHECKPOINT_BEFORE = "require_checkpoint_before"
    FORBIDDEN_TARGETS = "forbidden_targets"


class Violation(msgspec.Struct, frozen=True):
    rule: BehaviourRule
    jti: str
    detail: str

    def to_wire(self) -> dict[str, str]:
        return {"rule": self.rule.value, "jti": self.jti, "detail": self.detail}


class Monitor:
    """Told every token of the agent in the order of the ledger. `find` makes checkpoints strict: they have
    to be ancestors of what they precede."""

    def __init__(
        self, spec: BehaviourSpec, *, authorities: Collection[str] = (), find: Find | None = None
    ) -> None:
        self.spec = spec
        constraints = spec.constraints
        self._allowed = frozenset(spec.allowed_actions)
        self._gated = frozenset(constraints.require_checkpoint_before)
        self._is_authority = spec.agent_id in authorities
        self._find = find
        rate = constraints.max_actions_per_minute
        self._rate = None if rate is None else _Rate(rate)
        self._forbidden = _globs(constraints.forbidden_targets)
        #: Workflow → its checkpoint that no action has used, (jti, iat).
        self._checkpoints: OrderedDict[str | None, tuple[str, int]] = OrderedDict()

    def check(self, claims: Claims, received_ms: int) -> tuple[Violation, ...]:
        if claims.iss != self.spec.agent_id:
            return ()
        return tuple(
            Violation(rule, claims.jti, detail[:_MAX_DETAIL])
            for rule, detail in self._violations(claims, received_ms)
        )

    def _violations(self, claims: Claims, received_ms: int) -> Iterator[tuple[BehaviourRule, str]]:
        action = claims.exec_act
        if action == CHECKPOINT:
            self._checkpoint(claims)
        is_work = action not in OF_ANY_AGENT and not (action in OF_AUTHORITIES and self._is_authority)
        if is_work and action not in self._allowed:
            yield BehaviourRule.ALLOWED_ACTIONS, f"{action!r} is not among the allowed actions"
        if is_work and self._rate is not None and (passed := self._rate.passed(claims.iat, received_ms)):
            yield (
                BehaviourRule.MAX_ACTIONS_PER_MINUTE,
                f"more than {self._rate.limit} in a minute by {passed}",
            )
        if action in self._gated and not self._has_checkpoint(claims):
            yield BehaviourRule.REQUIRE_CHECKPOINT_BEFORE, f"no checkpoint of its own before {action!r}"
        if self._forbidden is not None:
            for target in _targets(claims.ext):
                if not isinstance(target, str) or self._forbidden.fullmatch(target):
                    yield BehaviourRule.FORBIDDEN_TARGETS, f"{target!r} is forbidden, or no text"

    def _checkpoint(self, claims: Claims) -> None:
        self._checkpoints[claims.wid] = claims.jti, claims.iat
        self._checkpoints.move_to_end(claims.wid)
        if len(self._checkpoints) > MAX_WORKFLOWS:
            self._checkpoints.popitem(last=False)

    def _has_checkpoint(self, claims: Claims) -> bool:
        jti, iat = self._checkpoints.pop(claims.wid, (None, 0))
        if jti is None or iat > claims.iat:
            return False
        if self._find is None:
            return True
        before = ancestors(claims.par, self._find)
        return any(node.jti == jti for node in before.nodes)


class _Rate:
    """At most `limit` in any (t − 60, t], by the agent's own clock and by the ledger's."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._received: deque[int] = deque(maxlen=limit + 1)
        self._seconds: Counter[int] = Counter()
        self._newest = 0
        self._within = 0

    def passed(self, iat: int, received_ms: int) -> str | None:
        """Whose clock says that this action is one too many; None for neither."""
        self._received.append(received_ms)
        is_full = len(self._received) > self.limit
        by_ledger = is_full and self._received[0] > received_ms - WINDOW_SECONDS * 1_000
        if self._by_own_clock(iat) > self.limit:
            return "its own clock"
        return "the ledger's clock" if by_ledger else None

    def _by_own_clock(self, iat: int) -> int:
        """The most actions in any window that this one is in."""
        if iat > self._newest:
            self._move_to(iat)
        self._seconds[iat] += 1
        if iat == self._newest:
            self._within += 1
            return self._within
        if iat > self._newest - WINDOW_SECONDS:
            self._within += 1
        return self._most_around(iat)

    def _move_to(self, iat: int) -> None:
        gone = range(self._newest - WINDOW_SECONDS + 1, min(iat - WINDOW_SECONDS, self._newest) + 1)
        self._within -= sum(self._seconds.get(second, 0) for second in gone)
        self._newest = iat
        if len(self._seconds) > 2 * _KEPT_SECONDS:
            kept = {second: n for second, n in self._seconds.items() if second > iat - _KEPT_SECONDS}
            self._seconds = Counter(kept)

    def _most_around(self, iat: int) -> int:
        count = sum(self._seconds.get(second, 0) for second in range(iat - WINDOW_SECONDS + 1, iat + 1))
        most = count
        for second in range(iat + 1, iat + WINDOW_SECONDS):
            count += self._seconds.get(second, 0) - self._seconds.get(second - WINDOW_SECONDS, 0)
            most = max(most, count)
        return most


def _globs(patterns: Collection[str]) -> re.Pattern[str] | None:
    """Case counts, and the whole text has to match."""
    return re.compile("|".join(map(fnmatch.translate, patterns))) if patterns else None


def _targets(value: Mapping[str, Json] | list[Any]) -> Iterator[Any]:
    """Whatever `ext` calls a target, at any depth. One that is no text can't be compared, and is yielded."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                yield from _targets(item)
        return
    for name, item in value.items():
        if _TARGET.fullmatch(name):
            yield from item if isinstance(item, list) else (item,)
        elif isinstance(item, dict | list):
            yield from _targets(item)
