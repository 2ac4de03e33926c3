"""Readers of one value: each says what it expected, and answers `INVALID` once it has said so."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import msgspec

from qwed.domain.money import MAX_USD
from qwed.domain.nearest import did_you_mean
from qwed.domain.risk import RISK_NAMES, Risk
from qwed.policy.mistakes import PolicyMistake, quoted
from qwed.policy.yaml_text import YamlNode


class Invalid(msgspec.Struct, frozen=True):
    pass


INVALID: Final = Invalid()
MAX_PLACES: Final = 9
MAX_TEXT: Final = 256


class PolicyReading:
    """Collects the mistakes of one file."""

    def __init__(self) -> None:
        self.mistakes: list[PolicyMistake] = []

    def fail(self, line: int, path: str, message: str) -> Invalid:
        self.mistakes.append(PolicyMistake(line, path, message))
        return INVALID

    def expected(self, node: YamlNode, path: str, what: str) -> Invalid:
        return self.fail(node.line, path, f"expected {what}, not {shown(node.value)}")


Reader = Callable[[PolicyReading, YamlNode, str], Any]


def shown(value: Any) -> str:
    """A value as people wrote it, within bounds."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case dict():
            return "a mapping"
        case list():
            return "a list"
    return str(value)


def whole(least: int, most: int) -> Reader:
    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        if type(node.value) is not int or not least <= node.value <= most:
            return reading.expected(node, path, f"a whole number from {least} to {most}")
        return node.value

    return read


def seconds(least: float, most: float) -> Reader:
    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        # Compared as it is used: 0.05 is a little more as a float than as a decimal.
        if type(node.value) not in (int, Decimal) or not least <= float(node.value) <= most:
            return reading.expected(node, path, f"seconds from {least:g} to {most:g}")
        return float(node.value)

    return read


def amount_in(unit: str) -> Reader:
    """Money, quoted or not, exact to the billionth."""

    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        value = _decimal(node.value)
        if value is None or not 0 <= value <= MAX_USD:
            return reading.expected(node, path, f"an amount in {unit} from 0 to {MAX_USD:f}")
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int) or exponent < -MAX_PLACES:
            return reading.fail(node.line, path, f"an amount has at most {MAX_PLACES} decimal places")
        return value

    return read


amount: Final = amount_in("USD")


def share(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """A number from 0 to 1, quoted or not, exact to the billionth."""
    value = _decimal(node.value)
    if value is None or not 0 <= value <= 1 or value != round(value, MAX_PLACES):
        return reading.expected(node, path, f"a number from 0 to 1 with at most {MAX_PLACES} decimal places")
    return value


def _decimal(value: Any) -> Decimal | None:
    if type(value) in (int, Decimal):
        return Decimal(value)
    if not isinstance(value, str) or not value.replace(".", "", 1).isdecimal() or not value.isascii():
        return None
    return Decimal(value)


def flag(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    return node.value if type(node.value) is bool else reading.expected(node, path, "true or false")


def matching(pattern: str, what: str) -> Reader:
    compiled = re.compile(pattern)

    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        if not isinstance(node.value, str) or not compiled.fullmatch(node.value):
            return reading.expected(node, path, what)
        return node.value

    return read


def text(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    if not isinstance(node.value, str) or not 0 < len(node.value.strip()) <= len(node.value) <= MAX_TEXT:
        return reading.expected(node, path, f"text of 1 to {MAX_TEXT} characters")
    return node.value


def one_of(what: str, names: Iterable[str]) -> Reader:
    allowed = tuple(names)

    def read(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        if not isinstance(node.value, str) or node.value not in allowed:
            return reading.fail(node.line, path, _not_among(node.value, what, allowed))
        return node.value

    return read


def _not_among(value: Any, what: str, allowed: tuple[str, ...]) -> str:
    article = "an" if what[0] in "aeiou" else "a"
    return f"{shown(value)} is not {article} {what}; expected one of {', '.join(allowed)}"


def member(what: str, enum: type[StrEnum]) -> Reader:
    return map_reader(one_of(what, [item.value for item in enum]), enum)


def risk(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    return map_reader(one_of("risk", RISK_NAMES), Risk.from_wire)(reading, node, path)


def map_reader(read: Reader, convert: Callable[[Any], Any]) -> Reader:
    def read_and_convert(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        value = read(reading, node, path)
        return value if isinstance(value, Invalid) else convert(value)

    return read_and_convert


def optional(read: Reader) -> Reader:
    """`null` is a value of its own here: off, unlimited or kept."""
    return lambda reading, node, path: None if node.value is None else read(reading, node, path)


def always_on(read: Reader) -> Reader:
    """`null` would read as "off", which this cannot be."""

    def read_given(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        if node.value is None:
            return reading.fail(node.line, path, "cannot be switched off; leave it out to keep the default")
        return read(reading, node, path)

    return read_given


def list_of(read: Reader, most: int = 10_000) -> Reader:
    def read_list(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        if not isinstance(node.value, list) or len(node.value) > most:
            return reading.expected(node, path, f"a list of at most {most} entries")
        values = [read(reading, item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        return INVALID if INVALID in values else tuple(values)

    return read_list


def mapping_of(name: Callable[[PolicyReading, int, str, str], bool], read: Reader) -> Reader:
    """A mapping with names of the reader's own choice, which `name` accepts or reports."""

    def read_mapping(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        entries = members_of(reading, node, path)
        values = {
            key: read(reading, item, f"{path}.{key[:80]}")
            for key, item in entries.items()
            if name(reading, item.key_line, path, key)
        }
        return {key: value for key, value in values.items() if not isinstance(value, Invalid)}

    return read_mapping


def fields(readers: Mapping[str, Reader]) -> Reader:
    """A mapping of known keys; the answer holds those that were given and are valid."""

    def read_fields(reading: PolicyReading, node: YamlNode, path: str) -> Any:
        values: dict[str, Any] = {}
        for key, item in members_of(reading, node, path).items():
            inner = f"{path}.{key[:80]}" if path else key[:80]
            if key not in readers:
                reading.fail(item.key_line, inner, f"unknown key; {did_you_mean(key, readers)}")
                continue
            value = readers[key](reading, item, inner)
            if not isinstance(value, Invalid):
                values[key] = value
        return values

    return read_fields


def members_of(reading: PolicyReading, node: YamlNode, path: str) -> dict[str, YamlNode]:
    """The entries of a mapping. One left empty, as when all below is commented out, has none."""
    if isinstance(node.value, dict):
        return node.value
    if node.value is not None:
        reading.expected(node, path, "a mapping")
    return {}
