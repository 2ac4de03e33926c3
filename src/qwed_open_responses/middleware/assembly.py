"""A stream's events put together into the output they are the parts of."""

from collections.abc import Mapping
from typing import Any


def assembled(events: list[Any]) -> dict[str, Any]:
    """The output that chat completion chunks or Responses events describe.

    Parts that never became complete are kept as they are: a call without its name or with half its arguments
    does not parse, and blocks.
    """
    read = [_read(event) for event in events]
    if any("choices" in event for event in read):
        return _chat(read)
    return _responses(read)


def _read(event: Any) -> Mapping[str, Any]:
    if isinstance(event, Mapping):
        return event
    dumped = event.model_dump(mode="json", warnings=False)
    return dumped if isinstance(dumped, Mapping) else {}


def _chat(chunks: list[Mapping[str, Any]]) -> dict[str, Any]:
    messages: dict[int, dict[str, Any]] = {}
    usage = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            message = messages.setdefault(
                choice.get("index", 0), {"role": "assistant", "calls": {}, "content": ""}
            )
            _add_delta(message, choice.get("delta") or {})
    choices = [{"message": _message(message)} for _, message in sorted(messages.items())]
    return {"choices": choices, **({"usage": usage} if usage else {})}


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for field in ("content", "refusal", "reasoning", "reasoning_content"):
        if isinstance(delta.get(field), str):
            message[field] = message.get(field, "") + delta[field]
    for part in delta.get("tool_calls") or ():
        _add_call(message["calls"].setdefault(part.get("index", 0), {"name": "", "arguments": ""}), part)
    if delta.get("function_call"):
        call = message["calls"].setdefault("function_call", {"name": "", "arguments": ""})
        _add_call(call, {"function": delta["function_call"]})


def _add_call(call: dict[str, str], part: Mapping[str, Any]) -> None:
    function = part.get("function") or part.get("custom") or {}
    call["name"] += function.get("name") or ""
    call["arguments"] += function.get("arguments") or function.get("input") or ""


def _message(message: dict[str, Any]) -> dict[str, Any]:
    calls = [{"type": "function", "function": call} for call in message.pop("calls").values()]
    return {**message, **({"tool_calls": calls} if calls else {})}


def _responses(events: list[Mapping[str, Any]]) -> dict[str, Any]:
    output: list[Any] = []
    texts: dict[str, str] = {}
    arguments: dict[str, str] = {}
    usage = None
    done: set[str] = set()
    for event in events:
        kind = str(event.get("type", ""))
        key = str(event.get("item_id") or (event.get("item") or {}).get("id") or event.get("output_index"))
        if kind == "response.output_item.done":
            output.append(event.get("item"))
            done.add(key)
        elif kind.endswith(("arguments.delta", "input.delta")):
            arguments[key] = arguments.get(key, "") + str(event.get("delta", ""))
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            texts[key] = texts.get(key, "") + event["delta"]
        elif isinstance(event.get("response"), Mapping):
            usage = event["response"].get("usage") or usage
            output += event["response"].get("output") or []
    output += [{"type": "output_text", "text": text} for key, text in texts.items() if key not in done]
    output += [
        {"type": "function_call", "arguments": text} for key, text in arguments.items() if key not in done
    ]
    return {"output": output, **({"usage": usage} if usage else {})}
