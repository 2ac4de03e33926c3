"""What a policy says about the origin of values: which sources are trusted, and what an argument needs."""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec


class Uncovered(enum.StrEnum):
    """What happens to a conversation of which nobody reports messages and results."""

    PASS = "pass"  # noqa: S105
    ASK = "ask"
    DENY = "deny"


class SourceLabel(enum.StrEnum):
    """`directory`: rows that only the operator's own people can write. What is all that a field says is as
    good as the user's word; what stands inside a longer text is not."""

    UNTRUSTED = "untrusted"
    DIRECTORY = "directory"
    TRUSTED = "trusted"


class SourceRule(msgspec.Struct, frozen=True):
    """Of a directory, `fields` may name the ones that strangers can't write; without them, all are meant.
    `trusted_when` is an expression about the call: where it is true, this result is trusted."""

    label: SourceLabel = SourceLabel.UNTRUSTED
    fields: tuple[str, ...] = ()
    trusted_when: str | None = None
    #: What only it says must not reach a public sink.
    private: bool = False


class OriginNeed(enum.StrEnum):
    """Whose word an argument needs: any of those that a rule names."""

    USER = "user"
    TRUSTED = "trusted"
    ENDORSED = "endorsed"


class OtherwiseAct(enum.StrEnum):
    ASK = "ask"
    DENY = "deny"


class SinkRule(msgspec.Struct, frozen=True):
    """Whose word an argument needs, and whether others can read what stands there."""

    needs: tuple[OriginNeed, ...] = ()
    otherwise: OtherwiseAct = OtherwiseAct.ASK
    public: bool = False


UNTRUSTED_SOURCE: Final = SourceRule()


class ProvenanceRules(msgspec.Struct, frozen=True):
    """`sinks` is by tool and argument: `send_email.to`."""

    uncovered: Uncovered = Uncovered.PASS
    sources: Mapping[str, SourceRule] = {}
    sinks: Mapping[str, SinkRule] = {}

    def source(self, tool: str) -> SourceRule:
        return self.sources.get(tool, UNTRUSTED_SOURCE)


NO_PROVENANCE_RULES: Final = ProvenanceRules()
