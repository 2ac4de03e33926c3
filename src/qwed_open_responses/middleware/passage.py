"""One stream on its way through the guards: what passes, what is held back, what is refused."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed_open_responses import items
from qwed_open_responses.foreign import UnreadableText, unpack
from qwed_open_responses.middleware.assembly import assemble, carries_call
from qwed_open_responses.middleware.gate import OutputGate, refused
from qwed_open_responses.outputs import normalise
from qwed_open_responses.results import VerificationResult
from qwed_open_responses.shapes import is_call

MAX_HELD: Final = 10_000
_LAST_EVENTS: Final = items.WHOLE_EVENTS - {"response.created", "response.queued", "response.in_progress"}
# The member of a call that the pieces of it belong to.
_MEMBERS: Final = {
    "function_call_arguments": "arguments",
    "tool_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
    "shell_call_command": "command",
}


class _Held:
    """One call that is not complete: its events, its item so far, and its pieces by member."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.item: dict[str, Json] = {}
        self.pieces: dict[tuple[str, Any], list[str]] = {}
        self.is_complete = False

    def versions(self) -> list[dict[str, Json]]:
        """The call as its item tells it, and as each of its pieces does where they tell another."""
        base = {"type": "function_call", **self.item}
        told = [base]
        for (member, _), pieces in self.pieces.items():
            text = "".join(pieces)
            if base.get(member) in ("", None) and len(told) == 1:
                base[member] = text
            elif base.get(member) != text:
                told.append({**base, member: text})
        return told


class Passage:
    """`feed` answers what goes on in place of an item. `take_refusals` hands out what there is to report."""

    def __init__(
        self,
        gate: OutputGate,
        count: Callable[[VerificationResult], None],
        intervene: Callable[[VerificationResult], Any],
    ) -> None:
        self._gate = gate
        self._count = count
        self._intervene = intervene
        self._held: dict[str, _Held] = {}
        self._chunks: list[tuple[Any, Mapping[str, Json]]] = []
        self._refusals: list[tuple[Any, VerificationResult]] = []

    def take_refusals(self) -> list[tuple[Any, VerificationResult]]:
        refusals, self._refusals = self._refusals, []
        return refusals

    def feed(self, item: Any) -> list[Any]:
        try:
            read = _read(item)
        except UnreadableText as problem:
            return self._refuse(item, str(problem), [item])
        if read is None:
            return [item]
        if self._chunks or "choices" in read:
            return self._chunk(item, read)
        return self._event(item, read, read.get("type"))

    def finish(self) -> list[Any]:
        """A stream that ended inside a call: what was held is not complete, and does not pass."""
        passed = self._release_chunks()
        for key in list(self._held):
            passed += self._judge_held(key)
        return passed

    # Responses events and bare items

    def _event(self, item: Any, read: Mapping[str, Json], kind: Any) -> list[Any]:
        if kind in (items.ITEM_ADDED, items.ITEM_DONE):
            return self._item_event(item, read, kind == items.ITEM_DONE)
        if kind in items.CALL_EVENTS:
            return self._piece(item, read)
        if kind in items.WHOLE_EVENTS:
            return self._whole(item, read, kind)
        if kind in items.HARMLESS_EVENTS:
            held = self._held.get(_key(read, {}))
            return [item] if held is None else self._hold(held, item)
        if items.is_call_type(kind) or is_call(read):
            return self._judge(item, [read], [item])
        part = read.get("part") if kind in items.PART_EVENTS else read
        if isinstance(part, Mapping) and _is_harmless(part):
            return self._judge(item, [part], [item]) if _holds_call(part) else [item]
        return self._refuse(item, _unknown(kind), [item])

    def _item_event(self, item: Any, event: Mapping[str, Json], is_done: bool) -> list[Any]:
        inner = event.get("item")
        if not isinstance(inner, Mapping):
            return self._refuse(item, "the event holds no item", [item])
        if items.is_call_type(inner.get("type")) or is_call(inner):
            held = self._held.setdefault(_key(event, inner), _Held())
            held.item = dict(inner)
            held.is_complete = is_done
            passed = self._hold(held, item)
            return self._judge_held(_key(event, inner)) if is_done else passed
        if not _is_harmless(inner):
            return self._refuse(item, _unknown(inner.get("type")), [item])
        return self._judge(item, [inner], [item]) if _holds_call(inner) else [item]

    def _piece(self, item: Any, event: Mapping[str, Json]) -> list[Any]:
        held = self._held.setdefault(_key(event, {}), _Held())
        member = _MEMBERS[str(event["type"]).split(".")[1]]
        pieces = held.pieces.setdefault((member, event.get("command_index")), [])
        if str(event["type"]).endswith(".delta"):
            pieces.append(str(event.get("delta", "")))
        elif isinstance(whole := event.get(member), str):
            held.is_complete = held.is_complete or str(event["type"]).endswith(".done")
            held.item.setdefault("name", event.get("name"))
            if pieces and "".join(pieces) != whole:
                held.pieces[member, "at the end"] = [whole]
            held.pieces[member, event.get("command_index")] = pieces or [whole]
        return self._hold(held, item)

    def _hold(self, held: _Held, item: Any) -> list[Any]:
        held.events.append(item)
        return []

    def _judge_held(self, key: str) -> list[Any]:
        held = self._held.pop(key)
        if not held.is_complete:
            return self._refuse(held.events[-1], "the stream ended inside a tool call", held.events)
        if len(held.events) > MAX_HELD:
            return self._refuse(held.events[-1], f"a tool call in more than {MAX_HELD} pieces", held.events)
        return self._judge(held.events[-1], held.versions(), held.events)

    def _whole(self, item: Any, event: Mapping[str, Json], kind: str) -> list[Any]:
        """Such an event repeats the output: a refused call must not leave through it."""
        left = self.finish() if kind in _LAST_EVENTS else []
        response = event.get("response")
        if not isinstance(response, Mapping):
            return [*left, item] if response is None else [*left, *self._refuse(item, _unknown(kind), [item])]
        whole = {**response, "object": "response"}
        if not _holds_call(whole):
            return [*left, item]
        result = self._gate.judge_response(whole)
        self._refusals.append((item, result))
        return [*left, self._intervene(result) if self._gate.blocks(result) else item]

    # Chat completion chunks

    def _chunk(self, item: Any, read: Mapping[str, Json]) -> list[Any]:
        """From the first piece of a call on, chunks wait for its end."""
        if not self._chunks and not carries_call(read):
            return [item]
        self._chunks.append((item, read))
        if len(self._chunks) > MAX_HELD or _ends_all(self._chunks):
            return self._release_chunks()
        return []

    def _release_chunks(self) -> list[Any]:
        if not self._chunks:
            return []
        chunks, self._chunks = self._chunks, []
        events = [item for item, _ in chunks]
        if len(chunks) > MAX_HELD:
            return self._refuse(events[-1], f"a tool call in more than {MAX_HELD} pieces", events)
        return self._judge(events[-1], [assemble([read for _, read in chunks])], events)

    # Verdicts

    def _judge(self, subject: Any, versions: list[Any], events: list[Any]) -> list[Any]:
        """All that was held back, or an intervention in its place: every version of a call has to pass."""
        results = [self._gate.judge_response(version) for version in versions]
        result = next((result for result in results if not result.verified), results[0])
        if result.verified and result.tool_name is None:
            result = refused("it holds no call that can be read")
        return self._decide(subject, result, events)

    def _refuse(self, subject: Any, reason: str, events: list[Any]) -> list[Any]:
        return self._decide(subject, refused(reason), events)

    def _decide(self, subject: Any, result: VerificationResult, events: list[Any]) -> list[Any]:
        self._count(result)
        self._refusals.append((subject, result))
        return [self._intervene(result)] if self._gate.blocks(result) else events


def _read(item: Any) -> Mapping[str, Json] | None:
    """The item as a mapping; None for a text. Raises `UnreadableText` for anything else."""
    value = unpack(item)
    if isinstance(value, str):
        return _read_text(value)
    if value is None or isinstance(value, Mapping):
        return value
    raise UnreadableText(f"an item that is a {type(item).__name__} can't be checked")


def _read_text(text: str) -> Mapping[str, Json] | None:
    """The event that a line of a raw stream holds, if it holds one."""
    lines = [line.partition("data:")[2] if line.startswith("data:") else line for line in text.splitlines()]
    found = [value for line in lines if isinstance(value := _json(line), Mapping)]
    if len(found) > 1:
        raise UnreadableText("several events in one text; pass them one by one")
    return found[0] if found else _json(text) if isinstance(_json(text), Mapping) else None


def _json(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_harmless(item: Mapping[str, Json]) -> bool:
    kind = item.get("type")
    return items.is_harmless_type(kind) or items.only_tells(item)


def _holds_call(item: Mapping[str, Json]) -> bool:
    """Whether a call stands inside, or something that can't be read."""
    view = normalise(dict(item))
    return bool(view.tool_calls or view.problems)


def _ends_all(chunks: list[tuple[Any, Mapping[str, Json]]]) -> bool:
    """Whether every choice that began a call has ended."""
    begun: set[Any] = set()
    for _, read in chunks:
        for choice in read.get("choices") or ():
            if isinstance(choice, Mapping):
                index = choice.get("index", 0)
                begun.add(index)
                if choice.get("finish_reason") is not None:
                    begun.discard(index)
    return not begun


def _unknown(kind: Any) -> str:
    shown = repr(str(kind)[:80]) if kind is not None else "none"
    return f"an item of an unknown type ({shown}) can't be verified; update qwed, or leave such items out"


def _key(event: Mapping[str, Json], inner: Mapping[str, Json]) -> str:
    found = event.get("item_id") or inner.get("id") or inner.get("call_id") or event.get("output_index")
    return str(found)
