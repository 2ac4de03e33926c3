"""The parts of an output that guards look at."""

from collections.abc import Mapping

import msgspec

from qwed.domain.json_types import Json


class OutputToolCall(msgspec.Struct, frozen=True):
    """`nested` calls stand inside another value: a plan, or the arguments of a tool that calls tools."""

    name: str
    arguments: Mapping[str, Json]
    path: str = ""
    nested: bool = False


class OutputText(msgspec.Struct, frozen=True, gc=False):
    """A string of the output: where it stands, under which name, and whether a tool would receive it."""

    path: str
    key: str
    value: str
    in_call: bool
