"""What a deployment may set about programs."""

from collections.abc import Mapping

import msgspec


class CodeRules(msgspec.Struct, frozen=True):
    slots: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """By action type: what the operator says of its members (`shell`, `python`, `javascript`, `text`)."""
