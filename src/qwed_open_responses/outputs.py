"""One view of any output of a model or agent: its tool calls, its structured value, its texts.

Known shapes: Open Responses items, OpenAI chat completions and Responses, Anthropic content blocks, Gemini
parts, LangChain and LlamaIndex messages and actions, our own `{tool_name, arguments}`, plain JSON values,
JSON text and prose. Objects are read through what they offer (`model_dump`, dataclass fields), so no
framework is imported. What can't be read completely is a problem, and a problem blocks: half an output
proves nothing. Not read: identifiers and other bookkeeping of the envelopes around messages.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from qwed.domain.json_types import Json
from qwed_open_responses.output_reader import OutputReader
from qwed_open_responses.parts import OutputText, OutputToolCall

__all__ = [
    "Output",
    "OutputText",
    "OutputToolCall",
    "normalise",
    "normalise_structured",
    "normalise_tool_call",
    "plain_arguments",
]


class Output(Mapping[str, Json]):
    """The view. As a mapping it is the response it was made from, if that was one."""

    __slots__ = (
        "_cache",
        "has_structured",
        "objects",
        "problems",
        "raw",
        "structured",
        "texts",
        "tool_calls",
        "usage",
    )

    def __init__(self, raw: Any, reader: OutputReader) -> None:
        self.raw = raw
        self.tool_calls: tuple[OutputToolCall, ...] = tuple(reader.calls)
        self.has_structured = reader.has_structured
        self.structured = reader.structured
        self.texts: list[OutputText] = reader.texts
        self.objects: list[tuple[str, Mapping[str, Json]]] = reader.objects
        self.problems: tuple[str, ...] = tuple(reader.problems)
        self.usage: Mapping[str, Json] | None = reader.usage
        self._cache: dict[Any, Any] = {}

    def once(self, make: "Callable[[Output], Any]") -> Any:
        """What several guards derive from the same view is derived once."""
        if make not in self._cache:
            self._cache[make] = make(self)
        return self._cache[make]

    def __getitem__(self, key: str) -> Any:
        if isinstance(self.raw, Mapping):
            return self.raw[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw if isinstance(self.raw, Mapping) else ())

    def __len__(self) -> int:
        return len(self.raw) if isinstance(self.raw, Mapping) else 0

    def __bool__(self) -> bool:
        return True


def normalise(response: Any) -> Output:
    """The view of any output. Never raises: what can't be read is in `problems`."""
    reader = OutputReader()
    reader.guarded(reader.read_output, response)
    return Output(response, reader)


def normalise_tool_call(tool_name: Any, arguments: Any) -> Output:
    reader = OutputReader()
    reader.guarded(reader.add_call, tool_name, arguments, "")
    return Output({"type": "tool_call", "tool_name": tool_name, "arguments": arguments}, reader)


def normalise_structured(value: Any) -> Output:
    reader = OutputReader()
    reader.guarded(reader.read_structured, value)
    return Output(value, reader)


def plain_arguments(arguments: Any) -> Any:
    """Arguments as a tool would get them: a JSON string parsed with ordinary numbers."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return arguments
    return arguments
