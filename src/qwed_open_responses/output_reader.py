"""Finds the tool calls, the structured value and the texts of an output, whatever shape it has.

Known shapes stand in the tables below. What can't be read completely is a problem, and a problem blocks: half
an output proves nothing. Not read: identifiers and other bookkeeping of the envelopes around messages.
"""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from qwed.domain import json_text
from qwed.domain.json_text import Unrepresentable, describe_type
from qwed.domain.json_types import Json
from qwed_open_responses import items
from qwed_open_responses.foreign import UnreadableText, decode_text, digits_of, json_value, unpack
from qwed_open_responses.parts import OutputText, OutputToolCall
from qwed_open_responses.shapes import (
    ARGUMENT_KEYS,
    CALL_NESTS,
    ENVELOPE,
    FREE_TEXT_INPUTS,
    NAME_KEYS,
    is_call,
    is_item,
    is_message,
    is_named_by_type,
    is_surely_a_call,
    tool_of,
)

MAX_CHARACTERS: Final = 8_000_000
MAX_NODES: Final = 400_000
# Shorter whole numbers are never personal data by themselves.
_LONG_INTEGER: Final = 10**8

_SILENT: Final = frozenset({bool, type(None), Decimal})
_JSON_STARTS: Final = ("{", "[", " ", "\n", "\t")
_TEXT_FIELDS: Final = (
    "text",
    "refusal",
    "thinking",
    "reasoning",
    "reasoning_content",
    "output_text",
    "completion",
)
_LIST_FIELDS: Final = ("content", "parts", "blocks", "summary")


class OutputReader:
    def __init__(self) -> None:
        self.calls: list[OutputToolCall] = []
        self.texts: list[OutputText] = []
        self.objects: list[tuple[str, Mapping[str, Json]]] = []
        self.problems: list[str] = []
        self.structured: Any = None
        self.has_structured = False
        self.usage: Mapping[str, Json] | None = None
        self._nodes = 0
        self._characters = 0
        #: Members' names that were looked at, and hold nothing.
        self._plain_names: set[str] = set()

    def guarded(self, read: Callable[..., None], *arguments: Any) -> None:
        try:
            read(*arguments)
        except UnreadableText as problem:
            self.problems.append(str(problem))
        except RecursionError:
            self.problems.append("the output is nested too deeply to check")
        except Exception as error:  # noqa: BLE001 - the boundary to foreign objects: what raises can't be read
            self.problems.append(f"the output can't be read ({type(error).__name__})")

    # Whole outputs

    def read_output(self, value: Any) -> None:
        if isinstance(value, bytes | bytearray):
            value = decode_text(bytes(value))
        if value is None or (isinstance(value, str) and not value.strip()):
            raise UnreadableText("the output is empty: there is nothing to check")
        if isinstance(value, str):
            self._prose(value, "text")
            return
        value = unpack(value)
        if isinstance(value, Mapping):
            self._envelope(value, "")
        elif isinstance(value, list | tuple) and any(is_item(unpack(item)) for item in value):
            self._items(value, "")
        else:
            self.read_structured(value)

    def read_structured(self, value: Any) -> None:
        if isinstance(value, str) and (parsed := json_value(value)) is not None:
            value = parsed
        self._take_structured(unpack(value))

    def _prose(self, text: str, path: str) -> None:
        """Text is a structured output when it is a JSON object or array, and prose otherwise."""
        value = json_value(text)
        if value is None:
            self._text(text, path, "")
        elif isinstance(value, Mapping):
            self._envelope(value, "")
        elif any(map(is_item, value)):
            self._items(value, "")
        else:
            self._take_structured(value)

    def _take_structured(self, value: Any) -> None:
        if not self.has_structured:
            self.structured, self.has_structured = value, True
        self._walk(value, "", "", 0, in_call=False)

    # Envelopes and messages

    def _envelope(self, value: Mapping[str, Json], path: str) -> None:
        usage = value.get("usage") or value.get("usage_metadata")
        if isinstance(usage, Mapping):
            self.usage = usage
        if is_call(value):
            self._call(value, path)
        elif isinstance(value.get("choices"), list):
            for index, choice in enumerate(value["choices"]):
                self._choice(unpack(choice), f"{path}choices[{index}]")
        elif isinstance(value.get("output"), list) and (
            value.get("object") == "response" or any(is_item(unpack(item)) for item in value["output"])
        ):
            self._output(value["output"], f"{path}output")
        elif isinstance(value.get("candidates"), list):
            for index, candidate in enumerate(value["candidates"]):
                self._item(unpack(candidate), f"{path}candidates[{index}]")
        elif isinstance(value.get("generations"), list):
            self._generations(value["generations"], f"{path}generations")
        elif isinstance(value.get("messages"), list) and any(map(is_item, map(unpack, value["messages"]))):
            self._items(value["messages"], f"{path}messages")
        elif is_message(value) or is_item(value):
            self._item(value, path)
        else:
            self._take_structured(value)
            return
        self._stray_calls(value, path)

    def _stray_calls(self, value: Mapping[str, Json], path: str) -> None:
        """Calls beside a recognised body, where some consumer may still find them."""
        if not is_message(value) and not is_call(value) and isinstance(value.get("tool_calls"), list):
            self._calls(value["tool_calls"], f"{path}tool_calls")

    def _choice(self, choice: Any, path: str) -> None:
        if not isinstance(choice, Mapping):
            raise UnreadableText(f"{path} is {describe_type(choice)}, not an object")
        for name in ("message", "delta"):
            if (message := unpack(choice.get(name))) is not None:
                self._item(message, f"{path}.{name}")
        if isinstance(choice.get("text"), str):
            self._text(choice["text"], f"{path}.text", "text")

    def _generations(self, generations: Any, path: str) -> None:
        for index, generation in enumerate(generations):
            here = f"{path}[{index}]"
            generation = unpack(generation)
            if isinstance(generation, list | tuple):
                self._generations(generation, here)
            elif (
                isinstance(generation, Mapping) and (message := unpack(generation.get("message"))) is not None
            ):
                self._item(message, f"{here}.message")
            else:
                self._item(generation, here)

    def _items(self, items: Any, path: str) -> None:
        for index, item in enumerate(items):
            self._item(unpack(item), f"{path}[{index}]")

    def _output(self, output: list[Any], path: str) -> None:
        """The items of a response; one of a type that nobody knows may be a call that nobody sees."""
        for index, item in enumerate(map(unpack, output)):
            if isinstance(item, Mapping) and not is_item(item) and not items.only_tells(item):
                kind = str(item.get("type"))[:80]
                raise UnreadableText(
                    f"{path}[{index}] is of the unknown type {kind!r}, which can't be checked"
                )
            self._item(item, f"{path}[{index}]")

    def _item(self, item: Any, path: str) -> None:
        if isinstance(item, str):
            self._text(item, path, "")
            return
        if not isinstance(item, Mapping):
            self._walk(item, path, "", 0, in_call=False)
            return
        if is_call(item):
            self._call(item, path)
            return
        if not self._message(item, f"{path}." if path else ""):
            self._walk(item, path, "", 0, in_call=False)

    def _message(self, message: Mapping[str, Json], path: str) -> bool:
        """Reads every part of a message or content block; False when it holds none of the known parts."""
        known = False
        for field in _TEXT_FIELDS:
            part = message.get(field)
            if isinstance(part, str):
                self._message_text(part, f"{path}{field}")
                known = True
        for field in _LIST_FIELDS:
            part = unpack(message.get(field))
            if isinstance(part, str):
                self._message_text(part, f"{path}{field}")
            elif isinstance(part, list | tuple):
                self._items(part, f"{path}{field}")
            elif isinstance(part, Mapping):
                self._item(part, f"{path}{field}")
            known = known or field in message
        return self._message_calls(message, path) or known

    def _message_calls(self, message: Mapping[str, Json], path: str) -> bool:
        calls = message.get("tool_calls")
        if calls:
            self._calls(calls, f"{path}tool_calls")
        if message.get("invalid_tool_calls"):
            raise UnreadableText(f"{path}invalid_tool_calls holds a tool call whose arguments do not parse")
        nested = False
        for name in CALL_NESTS:
            if isinstance(call := unpack(message.get(name)), Mapping):
                self._call(call, f"{path}{name}")
                nested = True
        extra = message.get("additional_kwargs")
        if isinstance(extra, Mapping) and not calls:
            nested = self._message_calls(extra, f"{path}additional_kwargs.") or nested
        return bool(calls) or nested or "tool_calls" in message

    def _message_text(self, text: str, path: str) -> None:
        """A message that is one JSON value is a structured output."""
        value = json_value(text)
        if value is None:
            self._text(text, path, "")
            return
        self._walk(value, path, "", 0, in_call=False)
        if not self.has_structured:
            self.structured, self.has_structured = value, True

    # Tool calls

    def _calls(self, calls: Any, path: str) -> None:
        if not isinstance(calls, list | tuple):
            raise UnreadableText(f"{path} is {describe_type(calls)}, not a list of tool calls")
        for index, call in enumerate(calls):
            call = unpack(call)
            if not isinstance(call, Mapping):
                raise UnreadableText(f"{path}[{index}] is {describe_type(call)}, not a tool call")
            self._call(call, f"{path}[{index}]")

    def _call(self, call: Mapping[str, Json], path: str, nested: bool = False) -> None:
        for nest in CALL_NESTS:
            if isinstance(inner := unpack(call.get(nest)), Mapping):
                self._call(inner, f"{path}.{nest}" if path else nest, nested)
                return
        named = next((key for key in NAME_KEYS if isinstance(call.get(key), str)), None)
        key = next((key for key in ARGUMENT_KEYS if key in call), None)
        kind = call.get("type")
        if named is None or (key is None and is_named_by_type(kind)):
            name, key, named = tool_of(kind), None, None
        else:
            name = call[named]
        if name is None:
            raise UnreadableText(f"{path or 'the tool call'} has no name")
        # Where nothing is called the arguments, everything but bookkeeping is.
        arguments = (
            call[key]
            if key is not None
            else {each: value for each, value in call.items() if each not in ENVELOPE and each != named}
        )
        if (
            isinstance(arguments, str)
            and key in FREE_TEXT_INPUTS
            and arguments.lstrip()[:1] not in ("{", "[")
        ):
            arguments = {"input": arguments}
        self.add_call(name, arguments, path, nested)

    def add_call(self, name: Any, arguments: Any, path: str, nested: bool = False) -> None:
        if not isinstance(name, str) or not name.strip():
            raise UnreadableText(f"{path or 'the tool call'} has no name")
        where = f"{path}.arguments" if path else "arguments"
        arguments = self._arguments(arguments, where)
        self.calls.append(OutputToolCall(name, arguments, path, nested))
        self._walk(arguments, where, "", 0, in_call=True)

    def _arguments(self, arguments: Any, path: str) -> Mapping[str, Json]:
        if type(arguments) is dict:
            return arguments
        if arguments is None:
            return {}
        if isinstance(arguments, bytes | bytearray):
            arguments = decode_text(bytes(arguments))
        if isinstance(arguments, str):
            if not arguments.strip():
                return {}
            try:
                arguments = json_text.loads(arguments.encode("utf-8", "surrogatepass"))
            except json_text.JsonError as error:
                raise UnreadableText(f"{path} do not parse as JSON: {error}") from None
        arguments = unpack(arguments)
        if not isinstance(arguments, Mapping):
            raise UnreadableText(f"{path} are {describe_type(arguments)}, expected an object")
        return arguments

    # Values

    def _text(self, text: str, path: str, key: str, in_call: bool = False) -> None:
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise UnreadableText(f"the output is longer than {MAX_CHARACTERS} characters, too large to check")
        self.texts.append(OutputText(path, key, text, in_call))

    def _walk(self, value: Any, path: str, key: str, depth: int, in_call: bool) -> None:
        kind = type(value)
        if kind is str:
            if value[:1] in _JSON_STARTS and self._json_text(value, path, key, depth, in_call):
                return
            self._text(value, path, key, in_call)
        elif kind is int:
            if value >= _LONG_INTEGER:
                self._text(digits_of(value), path, key, in_call)
        elif kind is dict:
            self._object(value, path, key, depth, in_call)
        elif kind is list or kind is tuple:
            self._enter(len(value), depth)
            for index, item in enumerate(value):
                self._walk(item, f"{path}[{index}]", key, depth + 1, in_call)
        elif kind is bool or value is None or kind is Decimal:
            pass
        elif kind is float:
            if not math.isfinite(value):
                raise UnreadableText(f"{path or 'the value'} is {value}, which is not a number")
        else:
            self._foreign(value, path, key, depth, in_call)

    def _json_text(self, text: str, path: str, key: str, depth: int, in_call: bool) -> bool:
        """A string that is itself a JSON object or array is read as one: names and calls in it count."""
        value = json_value(text)
        if value is None:
            return False
        self._characters += len(text)
        # Depth counts double here, so that strings within strings end soon.
        self._walk(value, f"{path}<json>", key, depth + 8, in_call)
        return True

    def _object(self, value: Mapping[Any, Any], path: str, key: str, depth: int, in_call: bool) -> None:
        self._enter(len(value), depth)
        self.objects.append((path, value))
        if depth and is_surely_a_call(value):
            self._call(value, path, nested=True)
            return
        prefix, known = f"{path}." if path else "", self._plain_names
        for name, item in value.items():
            if name not in known:
                # In a list of records the same names come again and again.
                if isinstance(name, str) and name.isidentifier():
                    known.add(name)
                else:
                    self._odd_name(name, path, key, in_call)
            # Most values of a record are small numbers and flags, which hold nothing to look at.
            kind = type(item)
            if kind in _SILENT or (kind is int and item < _LONG_INTEGER):
                continue
            if kind is float and math.isfinite(item):
                continue
            self._walk(item, f"{prefix}{name}", name, depth + 1, in_call)

    def _odd_name(self, name: Any, path: str, key: str, in_call: bool) -> None:
        """A member's name that is more than a name, and so a text."""
        if not isinstance(name, str):
            raise UnreadableText(f"a key of {path or 'the output'} is {describe_type(name)}, not a string")
        self._text(name, f"{path}.{name[:40]}" if path else name[:40], key, in_call)

    def _enter(self, members: int, depth: int) -> None:
        if depth > json_text.MAX_DEPTH:
            raise UnreadableText(f"the output is nested deeper than {json_text.MAX_DEPTH} levels")
        self._nodes += members
        if self._nodes > MAX_NODES:
            raise UnreadableText(f"the output has more than {MAX_NODES} values, too many to check")

    def _foreign(self, value: Any, path: str, key: str, depth: int, in_call: bool) -> None:
        if isinstance(value, Unrepresentable):
            raise UnreadableText(f"{path or 'the value'} is {value.why}")
        plain = unpack(value)
        if plain is value and isinstance(value, str | int | float):
            plain = str(value)
        if type(plain) is type(value) and not isinstance(plain, Mapping):
            raise UnreadableText(
                f"{path or 'the output'} is a {type(value).__name__}, which can't be checked"
            )
        if isinstance(plain, Mapping) and type(plain) is not dict:
            plain = dict(plain)
        self._walk(plain, path, key, depth + 1, in_call)
