"""The section `provenance`: which sources are trusted, and what an argument needs."""

import re
from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.provenance_rules import (
    OriginNeed,
    OtherwiseAct,
    ProvenanceRules,
    SinkRule,
    SourceLabel,
    SourceRule,
    Uncovered,
)
from qwed.domain.rules import MAX_EXPRESSION_BYTES
from qwed.policy import readers
from qwed.policy.readers import PolicyReading, Reader
from qwed.policy.yaml_text import YamlNode
from qwed.rules.expressions import NotAnExpression
from qwed.rules.sources import read_condition

_TOOL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_LABEL: Final = readers.member("label", SourceLabel)


def _condition(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    text = node.value
    if not isinstance(text, str) or not text.strip() or len(text.encode()) > MAX_EXPRESSION_BYTES:
        return reading.expected(node, path, f"an expression (CEL) of at most {MAX_EXPRESSION_BYTES} bytes")
    try:
        read_condition(text)
    except NotAnExpression as error:
        for mistake in error.mistakes:
            reading.fail(node.line, path, str(mistake))
        return readers.INVALID
    return text


_SOURCE: Final[Mapping[str, Reader]] = {
    "label": _LABEL,
    "fields": readers.list_of(readers.text, 64),
    "trusted_when": _condition,
    "private": readers.flag,
}
_SINK: Final[Mapping[str, Reader]] = {
    "needs": readers.list_of(readers.member("need", OriginNeed), 3),
    "else": readers.member("answer", OtherwiseAct),
    "public": readers.flag,
}


def provenance(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(SECTION)(reading, node, path)
    return ProvenanceRules(**given) if isinstance(given, Mapping) else None


def _source(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """A label alone, or `{label: directory, fields: [...]}`, `{trusted_when: ...}`, `{private: true}`."""
    if not isinstance(node.value, dict):
        return SourceRule(_LABEL(reading, node, path))
    given = readers.fields(_SOURCE)(reading, node, path)
    if {"label", "trusted_when", "private"}.isdisjoint(map(str, node.value)):
        reading.fail(node.line, path, "needs a label: untrusted, directory or trusted")
    return SourceRule(**{**given, "fields": tuple(given.get("fields", ()))})


def _sink(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(_SINK)(reading, node, path)
    if not given.get("needs") and not given.get("public"):
        reading.fail(node.line, path, "needs says whose word is enough: [user], [user, trusted] or more")
    needs, otherwise = tuple(given.get("needs", ())), given.get("else", OtherwiseAct.ASK)
    return SinkRule(needs, otherwise, given.get("public", False))


def _tool(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if _TOOL.fullmatch(key):
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not the name of a tool")
    return False


def _argument(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if "." in key and _TOOL.fullmatch(key):
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not an argument; expected tool.argument")
    return False


SECTION: Final[Mapping[str, Reader]] = {
    "uncovered": readers.member("answer", Uncovered),
    "sources": readers.mapping_of(_tool, _source),
    "sinks": readers.mapping_of(_argument, _sink),
}
