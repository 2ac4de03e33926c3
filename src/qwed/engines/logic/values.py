"""The values of terms: integers are `int`, reals `Fraction`, propositions `bool`."""

from collections.abc import Mapping
from fractions import Fraction

import msgspec


class NotEvaluable(Exception):
    """The term is beyond this evaluator; the message says why."""


class Vector(msgspec.Struct, frozen=True):
    """A bit vector, its value unsigned."""

    value: int
    width: int

    @property
    def signed(self) -> int:
        return self.value - (1 << self.width) if self.value >> (self.width - 1) else self.value


class Element(msgspec.Struct, frozen=True):
    """A member of an enumeration or of an uninterpreted sort, or a built datatype value."""

    name: str
    fields: tuple["Value", ...] = ()


class FunctionTable(msgspec.Struct, frozen=True):
    """A function or an array: the listed arguments, and one value for all others."""

    entries: Mapping[tuple["Value", ...], "Value"]
    default: "Value"

    def __call__(self, *arguments: "Value") -> "Value":
        return self.entries.get(arguments, self.default)


Value = bool | int | Fraction | Vector | Element | FunctionTable
