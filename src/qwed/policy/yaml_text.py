"""YAML 1.2 with line numbers, and without its traps.

Scalars are read by the core schema, whatever `%YAML` says: `no`, `on` and `12:30` are text. Decimals
keep their digits. Tags, merge keys, keys that are not text and repeated keys are mistakes. An alias
stands for a copy, and copies count: a file that unfolds to more than it should is refused.
"""

import re
from decimal import Decimal
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from qwed.policy.mistakes import PolicyMistake, quoted

#: Room for the most rules that a policy may have (`MAX_TEAM_RULES`).
MAX_CHARACTERS: Final = 512 * 1024
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 16
MAX_NUMBER_LENGTH: Final = 40

Scalar = str | int | Decimal | bool | None

_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FLAGS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE: Final = re.compile(r"[-+]?[0-9]+")
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


class YamlNode(msgspec.Struct, frozen=True):
    """A value and the lines, from 1, of its key and of itself. Mappings and lists hold nodes."""

    value: Any
    line: int
    key_line: int


class YamlError(ValueError):
    """The text cannot be read any further."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.mistake = PolicyMistake(line, "", message)


def read(text: str) -> tuple[YamlNode | None, list[PolicyMistake]]:
    """The document (None if there is none) and the mistakes that do not prevent reading on.

    Raises `YamlError` only.
    """
    if len(text) > MAX_CHARACTERS:
        raise YamlError(1, f"is longer than {MAX_CHARACTERS} characters")
    root = _compose(text)
    if root is None:
        return None, []
    conversion = _Conversion()
    return conversion.node(root, "", root.start_mark.line + 1, 0), conversion.mistakes


def _compose(text: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).compose(text)
    except RecursionError:
        raise YamlError(1, "is nested too deeply") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(
            mark.line + 1 if mark else 1, f"is not YAML: {error.problem or error.context}"
        ) from None
    except YAMLError as error:
        raise YamlError(1, f"is not YAML: {str(error).splitlines()[0]}") from None
    # The scanner trips over some texts with an error of Python's own.
    except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        raise YamlError(1, f"is not YAML ({type(error).__name__})") from None


class _Conversion:
    def __init__(self) -> None:
        self.mistakes: list[PolicyMistake] = []
        self._nodes = 0

    def node(self, node: Any, path: str, key_line: int, depth: int) -> YamlNode:
        line = node.start_mark.line + 1
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise YamlError(line, "holds more than a policy can need once its aliases are unfolded")
        if node.tag not in _TAGS:
            self.mistakes.append(PolicyMistake(line, path, f"the tag {quoted(node.tag)} has no meaning here"))
        match node:
            case ScalarNode():
                value: Any = node.value if node.style else _scalar(node.value)
            case SequenceNode():
                value = [
                    self.node(item, f"{path}[{i}]", line, depth + 1) for i, item in enumerate(node.value)
                ]
            case MappingNode():
                value = self._mapping(node, path, depth)
        return YamlNode(value, line, key_line)

    def _mapping(self, node: MappingNode, path: str, depth: int) -> dict[str, YamlNode]:
        mapping: dict[str, YamlNode] = {}
        for key, item in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode) or (not key.style and not isinstance(_scalar(key.value), str)):
                self.mistakes.append(PolicyMistake(line, path, "a key that is not text; write it in quotes"))
                continue
            name = key.value
            inner = f"{path}.{name[:80]}" if path else name[:80]
            if name in mapping:
                first = mapping[name].key_line
                self.mistakes.append(PolicyMistake(line, inner, f"is given twice, first in line {first}"))
                continue
            mapping[name] = self.node(item, inner, line, depth + 1)
        return mapping


def _scalar(text: str) -> Scalar:
    if text in _NULLS:
        return None
    if text in _FLAGS:
        return _FLAGS[text]
    if len(text) > MAX_NUMBER_LENGTH:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    return text
