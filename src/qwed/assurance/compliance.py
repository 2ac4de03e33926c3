"""The results of behaviour verification, as the tokens that report them."""

import enum
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from qwed.assurance.behaviour import Monitor, Violation
from qwed.assurance.specs import BehaviourSpec
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.ect.claims import MAX_EXT_BYTES, Claims
from qwed.ect.dag import Find

HOUR_SECONDS: Final = 3_600
#: Kept free in `ext` for what the observer says of its own entry.
OBSERVERS_BYTES: Final = 512


class ComplianceStatus(enum.StrEnum):
    PASSING = "passing"
    FAILING = "failing"
    #: Nothing was seen, so nothing can be said.
    UNKNOWN = "unknown"


class ComplianceCheck(msgspec.Struct, frozen=True):
    """`par` and `ext` of an `apae:compliance_check`."""

    status: ComplianceStatus
    par: tuple[str, ...]
    ext: dict[str, Json]


class Watch:
    """An agent's tokens as they come, and what is to be reported of them when asked."""

    def __init__(
        self,
        spec: BehaviourSpec,
        started_at: int,
        *,
        authorities: Collection[str] = (),
        find: Find | None = None,
    ) -> None:
        self.spec = spec
        self._monitor = Monitor(spec, authorities=authorities, find=find)
        self._since = started_at
        self._latest: str | None = None
        self._is_seen = False
        self._open: list[Violation] = []

    def see(self, claims: Claims, received_ms: int) -> tuple[Violation, ...]:
        """The violations of this token; they also wait for the next report."""
        if claims.iss != self.spec.agent_id:
            return ()
        self._latest, self._is_seen = claims.jti, True
        found = self._monitor.check(claims, received_ms)
        self._open += found
        return found

    def forget(self, jtis: Collection[str]) -> None:
        """These were reported before: reading the same stream again does not report them twice."""
        self._open = [violation for violation in self._open if violation.jti not in jtis]

    def report(self, now: int) -> list[ComplianceCheck]:
        """All violations since the last report: in one token, or in as many as they need."""
        violations, self._open = self._open, []
        is_seen, self._is_seen = self._is_seen, False
        start, self._since = self._since, now
        status = (
            ComplianceStatus.FAILING
            if violations
            else ComplianceStatus.PASSING
            if is_seen
            else ComplianceStatus.UNKNOWN
        )
        common = {
            "apae.subject": self.spec.agent_id,
            "apae.compliance_status": status.value,
            "apae.violations_total": len(violations),
            "apae.spec_version": self.spec.spec_version,
            "apae.window": f"{iso(start * 1_000).replace('.000Z', 'Z')}/{duration(now - start)}",
        }
        room = MAX_EXT_BYTES - OBSERVERS_BYTES - len(msgspec.json.encode({**common, "apae.violations": []}))
        par = (self._latest,) if self._latest is not None else ()
        return [
            ComplianceCheck(status, par, {**common, "apae.violations": part})
            for part in _fitting([violation.to_wire() for violation in violations], room)
        ]


def _fitting(violations: Sequence[dict[str, str]], room: int) -> Iterator[list[dict[str, str]]]:
    part: list[dict[str, str]] = []
    left = room
    for violation in violations:
        size = len(msgspec.json.encode(violation)) + 1
        if part and size > left:
            yield part
            part, left = [], room
        part.append(violation)
        left -= size
    yield part


def duration(seconds: int) -> str:
    """ISO 8601: 3600 seconds are PT1H."""
    hours, rest = divmod(max(0, seconds), 3_600)
    minutes, left = divmod(rest, 60)
    parts = [f"{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M"), (left, "S")) if number]
    return "PT" + ("".join(parts) or "0S")
