"""A stream's events put together into the output they are the parts of."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed_open_responses import items
from qwed_open_responses.foreign import unpack

_TEXTS: Final = ("content", "refusal", "reasoning", "reasoning_content")
# Members of a message or of a piece of one that call nothing.
_PLAIN: Final = frozenset({*_TEXTS, "role", "audio", "annotations", "name", "obfuscation", "logprobs"})
_CALLS: Final = ("tool_calls", "function_call")


def assemble(events: Iterable[Any]) -> dict[str, Json]:
    """The output that chat completion chunks or Responses events describe.

    Parts that never became complete are kept as they are: a call without its name or with half its arguments
    does not parse, and blocks. So does what is not known.
    """
    read = [_read(event) for event in events]
    if any("choices" in event for event in read):
        return _chat(read)
    return _responses(read)


def carries_call(chunk: Mapping[str, Json]) -> bool:
    """Whether a chunk holds anything but text."""
    for choice in chunk.get("choices") or ():
        message = _message_of(choice)
        if message is None or not isinstance(message.get("content"), str | None):
            return True
        if any(value for key, value in message.items() if key not in _PLAIN):
            return True
    return False


def _message_of(choice: Any) -> Mapping[str, Json] | None:
    """What a choice says: in pieces, as a whole, or as plain text."""
    if not isinstance(choice, Mapping):
        return None
    found = choice.get("delta") or choice.get("message") or {}
    return found if isinstance(found, Mapping) else None


def _read(event: Any) -> Mapping[str, Json]:
    value = unpack(event)
    return value if isinstance(value, Mapping) else {"type": f"a {type(event).__name__}", "value": True}


def _chat(chunks: list[Mapping[str, Json]]) -> dict[str, Json]:
    messages: dict[Any, dict[str, Json]] = {}
    usage = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            index = choice.get("index", 0) if isinstance(choice, Mapping) else 0
            message = messages.setdefault(index, {"role": "assistant", "calls": {}, "content": ""})
            _add_delta(message, _message_of(choice), choice)
    choices = [{"message": _message(message)} for message in messages.values()]
    return {"choices": choices, **({"usage": usage} if usage else {})}


def _add_delta(message: dict[str, Json], delta: Mapping[str, Json] | None, choice: Any) -> None:
    if delta is None:
        message["invalid_tool_calls"] = [choice]
        return
    if isinstance(choice.get("text"), str):
        message["content"] += choice["text"]
    for field in _TEXTS:
        if isinstance(delta.get(field), str):
            message[field] = message.get(field, "") + delta[field]
    if isinstance(delta.get("content"), list):
        message["parts"] = [*message.get("parts", []), *delta["content"]]
    for number, part in enumerate(delta.get("tool_calls") or ()):
        index = part.get("index", number)
        _add_call(message["calls"].setdefault(index, {"name": "", "arguments": ""}), part)
    if delta.get("function_call"):
        call = message["calls"].setdefault("function_call", {"name": "", "arguments": ""})
        _add_call(call, {"function": delta["function_call"]})
    # A member that nobody knows may be a call that nobody sees.
    if any(value for key, value in delta.items() if key not in _PLAIN and key not in _CALLS):
        message["invalid_tool_calls"] = [delta]


def _add_call(call: dict[str, Json], part: Mapping[str, Json]) -> None:
    function = part.get("function") or part.get("custom") or {}
    call["name"] += function.get("name") or ""
    member = "input" if "custom" in part or "input" in call else "arguments"
    call[member] = call.get(member, "") + (function.get("arguments") or function.get("input") or "")


def _message(message: dict[str, Json]) -> dict[str, Json]:
    calls = [_function(call) for call in message.pop("calls").values()]
    return {**message, **({"tool_calls": calls} if calls else {})}


def _function(call: dict[str, Json]) -> dict[str, Json]:
    if "input" in call:
        return {"type": "custom_tool_call", "name": call["name"], "input": call["input"]}
    return {"type": "function", "function": call}


def _responses(events: list[Mapping[str, Json]]) -> dict[str, Json]:
    output = _Output()
    for event in events:
        output.add(event)
    return output.whole()


class _Output:
    """A response's items: those that are complete, and what was begun and never ended."""

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._begun: dict[str, Json] = {}
        self._texts: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._done: dict[str, Json] = {}
        self._usage: Any = None

    def add(self, event: Mapping[str, Json]) -> None:
        kind = str(event.get("type", ""))
        item = event.get("item")
        inner = item if isinstance(item, Mapping) else {}
        key = str(event.get("item_id") or inner.get("id") or event.get("output_index"))
        if kind == items.ITEM_DONE:
            self._items.append(item)
            self._done[key] = item
        elif kind == items.ITEM_ADDED:
            self._begun[key] = item
        elif kind in items.WHOLE_EVENTS:
            self._add_whole(event.get("response"))
        elif kind in items.PART_EVENTS:
            self._items.append(event.get("part"))
        elif kind in items.CALL_EVENTS:
            if isinstance(event.get("delta"), str):
                self._pieces[key] = self._pieces.get(key, "") + event["delta"]
        elif kind not in items.HARMLESS_EVENTS:
            self._items.append(event)
        elif kind in _TEXT_EVENTS and isinstance(event.get("delta"), str):
            self._texts[key] = self._texts.get(key, "") + event["delta"]

    def _add_whole(self, response: Any) -> None:
        if isinstance(response, Mapping):
            self._usage = response.get("usage") or self._usage
            self._items += response.get("output") or []

    def whole(self) -> dict[str, Json]:
        left = [
            item for key, item in self._begun.items() if key not in self._done and key not in self._pieces
        ]
        texts = [{"type": "output_text", "text": text} for text in self._texts.values()]
        # Without a name it does not pass: pieces that no complete item tells the same as.
        calls = [
            {"type": "function_call", "arguments": text}
            for key, text in self._pieces.items()
            if text not in _assemble(self._done.get(key))
        ]
        usage = {"usage": self._usage} if self._usage else {}
        return {"object": "response", "output": [*self._items, *left, *texts, *calls], **usage}


_TEXT_EVENTS: Final = frozenset(
    kind
    for kind in items.HARMLESS_EVENTS
    if kind.endswith(("text.delta", "refusal.delta", "reasoning.delta", "transcript.delta", "content.delta"))
)


def _assemble(item: Any) -> list[Any]:
    """What the pieces of a complete item add up to."""
    if not isinstance(item, Mapping):
        return []
    action = item.get("action")
    commands = action.get("commands") if isinstance(action, Mapping) else None
    joined = ["".join(map(str, commands))] if isinstance(commands, list) else []
    return [item.get("arguments"), item.get("input"), item.get("code"), *joined]
