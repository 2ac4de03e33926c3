"""What is wrong with a body, in the words of JSON: what was given, and what was expected instead."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from qwed.domain.json_text import describe_type

MAX_GIVEN: Final = 80
MAX_SENTENCE: Final = 200


class FieldMistake(NamedTuple):
    """The field, by its path, and a sentence about it."""

    field: str
    message: str


def mistake_in(raw: Any, kind: type, error: msgspec.ValidationError) -> FieldMistake:
    """msgspec names the place and the types of Python; a caller knows neither our types nor our choices."""
    sentence, _, path = str(error).partition(" - at `")
    inside = path.rstrip("`").removeprefix("$").lstrip(".")
    steps = _STEP.findall(inside)
    absent = _ABSENT.match(sentence)
    if absent is not None:
        return FieldMistake(_join(inside, absent[1]), "is missing")
    unknown = _UNKNOWN.match(sentence)
    if unknown is not None:
        return FieldMistake(_join(inside, unknown[1]), f"is no field here; there are {_names(kind, steps)}")
    types = _types_at(kind, steps)
    expected = " or ".join(dict.fromkeys(_words(types)))
    if not expected or not sentence.startswith(("Expected", "Invalid enum")):
        return FieldMistake(inside or "body", sentence[:MAX_SENTENCE])
    return FieldMistake(
        inside or "body", f"is {expected}, not {_describe_given(_value_at(raw, steps), types)}"
    )


# msgspec puts these names into its sentence, not into its path.
_ABSENT: Final = re.compile(r"Object missing required field `(.*)`\Z", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`\Z", re.DOTALL)
_STEP: Final = re.compile(r"[^.\[\]]+|\.\.\.")

_WORDS: Final[Mapping[type[inspect.Type], str]] = {
    inspect.StrType: "a string",
    inspect.BoolType: "true or false",
    inspect.IntType: "an integer",
    inspect.FloatType: "a number",
    inspect.NoneType: "null",
    inspect.StructType: "an object",
    inspect.DictType: "an object",
    inspect.ListType: "an array",
    inspect.VarTupleType: "an array",
    inspect.TupleType: "an array",
}


def _join(inside: str, name: str) -> str:
    return f"{inside}.{name}" if inside else name


def _names(kind: type, steps: Sequence[str]) -> str:
    structs = [found for found in _types_at(kind, steps) if isinstance(found, inspect.StructType)]
    return ", ".join(field.encode_name for struct in structs for field in struct.fields)


def _words(types: Sequence[inspect.Type]) -> Iterator[str]:
    for found in types:
        if isinstance(found, inspect.EnumType):
            yield f"one of {', '.join(str(member.value) for member in found.cls)}"
        elif type(found) in _WORDS:
            yield _WORDS[type(found)]


def _types_at(kind: type, steps: Sequence[str]) -> Sequence[inspect.Type]:
    """What may stand at the end of the path; nothing where the type does not say."""
    found: Sequence[inspect.Type] = _variants(inspect.type_info(kind))
    for step in steps:
        found = [inner for outer in found for inner in _inside(outer, step)]
    return found


def _variants(found: inspect.Type) -> Sequence[inspect.Type]:
    return found.types if isinstance(found, inspect.UnionType) else (found,)


def _inside(outer: inspect.Type, step: str) -> Sequence[inspect.Type]:
    match outer:
        case inspect.StructType():
            inner = [field.type for field in outer.fields if field.encode_name == step]
        case inspect.ListType() | inspect.VarTupleType():
            inner = [outer.item_type]
        case inspect.DictType():
            inner = [outer.value_type]
        case _:
            inner = []
    return [variant for found in inner for variant in _variants(found)]


def _value_at(raw: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(raw, Mapping):
            raw = raw.get(step)
        elif isinstance(raw, Sequence) and step.isdigit() and int(step) < len(raw):
            raw = raw[int(step)]
    return raw


def _describe_given(value: Any, expected: Sequence[inspect.Type]) -> str:
    """By its kind; by its own name only among names, since what is misplaced elsewhere may be a secret."""
    is_name = any(isinstance(found, inspect.EnumType) for found in expected)
    return repr(value[:MAX_GIVEN]) if is_name and isinstance(value, str) else describe_type(value)
