"""Changes of what is in force: a policy applied or rolled back, something stopped or resumed.

Each is a row of the store with the next number. The newest is in force everywhere: a decision carries the
number it was made under, and the store refuses it when a newer row is there.
"""

import enum
from collections.abc import Mapping

import msgspec

from qwed.domain.json_types import Json
from qwed.domain.times import iso


class ChangeKind(enum.StrEnum):
    APPLY = "apply"
    ROLLBACK = "rollback"
    STOP = "stop"
    RESUME = "resume"


class StopScope(enum.StrEnum):
    ALL = "all"
    TEAM = "team"
    TOOL = "tool"


class Stop(msgspec.Struct, frozen=True):
    """Nothing of this scope is allowed, whatever the policy says, until somebody resumes it."""

    scope: StopScope
    #: The team or the tool; empty where everything is stopped.
    name: str
    reason: str
    by: str
    at_ms: int

    def to_wire(self) -> dict[str, Json]:
        return {
            "scope": self.scope,
            "name": self.name or None,
            "reason": self.reason,
            "by": self.by,
            "at": iso(self.at_ms),
        }


class PolicyChange(msgspec.Struct, frozen=True):
    """One change, with all that is in force after it. `policy` is the whole policy as JSON where this change
    brought it; else the change with the number `policy_at` did. `policy_at` is 0 while nobody applied one."""

    number: int
    kind: ChangeKind
    at_ms: int
    by: str
    reason: str
    policy_at: int
    #: The content's hash of the policy that is in force.
    version: str
    #: Where the policy came from: a file's path, or "store".
    source: str = ""
    #: As its author wrote it; None for one that never was a text.
    text: str | None = None
    policy: Mapping[str, Json] | None = None
    stops: tuple[Stop, ...] = ()
    #: The change whose policy a rollback brought back.
    rolled_back_to: int | None = None
    #: The person who agreed, where a second one had to.
    approved_by: str | None = None

    def to_wire(self) -> dict[str, Json]:
        """For a list: without the policy itself."""
        return {
            "version": self.number,
            "kind": self.kind,
            "at": iso(self.at_ms),
            "by": self.by,
            "reason": self.reason,
            "policy_at": self.policy_at,
            "policy_version": self.version,
            "source": self.source,
            "stops": [stop.to_wire() for stop in self.stops],
            "rolled_back_to": self.rolled_back_to,
            "approved_by": self.approved_by,
        }
