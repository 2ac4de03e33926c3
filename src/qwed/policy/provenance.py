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
from qwed.policy import readers
from qwed.policy.readers import PolicyReading, Reader
from qwed.policy.yaml_text import YamlNode

_TOOL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_LABEL: Final = readers.member("label", SourceLabel)
_SOURCE: Final[Mapping[str, Reader]] = {"label": _LABEL, "fields": readers.list_of(readers.text, 64)}
_SINK: Final[Mapping[str, Reader]] = {
    "needs": readers.list_of(readers.member("need", OriginNeed), 3),
    "else": readers.member("answer", OtherwiseAct),
}


def provenance(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(SECTION)(reading, node, path)
    return ProvenanceRules(**given) if isinstance(given, Mapping) else None


def _source(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    """A label alone, or `{label: directory, fields: [...]}`."""
    if not isinstance(node.value, dict):
        return SourceRule(_LABEL(reading, node, path))
    given = readers.fields(_SOURCE)(reading, node, path)
    if "label" not in given:
        reading.fail(node.line, path, "needs a label: untrusted, directory or trusted")
    return SourceRule(given.get("label", SourceLabel.UNTRUSTED), tuple(given.get("fields", ())))


def _sink(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(_SINK)(reading, node, path)
    if not given.get("needs"):
        reading.fail(node.line, path, "needs says whose word is enough: [user], [user, trusted] or more")
    return SinkRule(tuple(given.get("needs", ())), given.get("else", OtherwiseAct.ASK))


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
