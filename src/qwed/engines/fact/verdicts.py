"""What one piece of a source says about one piece of a claim."""

import enum
from typing import Any

import msgspec


class Stance(enum.StrEnum):
    ENTAILS = "entails"
    CONTRADICTS = "contradicts"


class Witness(msgspec.Struct, frozen=True):
    """Where in which source the stance was found, by which rule, and what was compared."""

    stance: Stance
    rule: str
    source: str
    quote: str
    detail: str = ""

    def to_evidence(self) -> dict[str, Any]:
        evidence = {
            "stance": self.stance.value,
            "rule": self.rule,
            "source": self.source,
            "witness": self.quote,
        }
        if self.detail:
            evidence["detail"] = self.detail
        return evidence
