"""A local server that speaks the OpenAI API: what it answers next is queued by the test."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Script:
    def __init__(self) -> None:
        self.calls: list[dict[str, str]] = []
        self.text = "done"
        # Items of a response, as they are, instead of the calls and the text.
        self.items: list[dict[str, Any]] = []
        self.requests: list[str] = []


def _completion(script: Script) -> dict[str, Any]:
    calls = [
        {
            "id": f"c{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"]},
        }
        for index, call in enumerate(script.calls)
    ]
    message = {"role": "assistant", "content": None if calls else script.text, "tool_calls": calls or None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _chunks(script: Script) -> Iterator[dict[str, Any]]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4"}
    for index, call in enumerate(script.calls):
        start = {
            "index": index,
            "id": f"c{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": ""},
        }
        yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [start]}}]}
        for piece in _pieces(call["arguments"]):
            part = {"index": index, "function": {"arguments": piece}}
            yield {**base, "choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}
    for piece in () if script.calls else _pieces(script.text):
        yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def _pieces(text: str) -> list[str]:
    return [text[index : index + 5] for index in range(0, len(text), 5)]


def _items(script: Script) -> list[dict[str, Any]]:
    if script.items:
        return script.items
    if script.calls:
        return [
            {
                "type": "function_call",
                "id": f"fc{index}",
                "call_id": f"c{index}",
                "status": "completed",
                **call,
            }
            for index, call in enumerate(script.calls)
        ]
    text = {"type": "output_text", "text": script.text, "annotations": []}
    return [{"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}]


def _response(script: Script) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-4",
        "output": _items(script),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _events(script: Script) -> Iterator[dict[str, Any]]:
    number = iter(range(1000))
    yield {
        "type": "response.created",
        "response": {**_response(script), "output": []},
        "sequence_number": next(number),
    }
    for index, item in enumerate(_items(script)):
        where = {"output_index": index, "item_id": item["id"]}
        started = {**item, "arguments": ""} if item["type"] == "function_call" else {**item, "content": []}
        yield {
            "type": "response.output_item.added",
            "item": started,
            "output_index": index,
            "sequence_number": next(number),
        }
        if item["type"] == "function_call":
            for piece in _pieces(item["arguments"]):
                event = {"type": "response.function_call_arguments.delta", "delta": piece}
                yield {**event, **where, "sequence_number": next(number)}
        yield {
            "type": "response.output_item.done",
            "item": item,
            "output_index": index,
            "sequence_number": next(number),
        }
    yield {"type": "response.completed", "response": _response(script), "sequence_number": next(number)}


@contextmanager
def serving() -> Iterator[tuple[str, Script]]:
    """The base URL, and the script of what it answers."""
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(
                json.dumps({"object": "list", "data": [{"id": "gpt-4", "object": "model"}]}),
                "application/json",
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.requests.append(self.path)
            is_chat = self.path.endswith("/chat/completions")
            if not body.get("stream"):
                self._answer(
                    json.dumps(_completion(script) if is_chat else _response(script)), "application/json"
                )
                return
            events = _chunks(script) if is_chat else _events(script)
            lines = [
                (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                for event in events
            ]
            self._answer("".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")

        def _answer(self, text: str, kind: str) -> None:
            raw = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
