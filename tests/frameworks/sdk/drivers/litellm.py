"""LiteLLM's proxy, over HTTP, between a small agent and a scripted model."""

import asyncio
import contextlib
import http.server
import json
import os
import socket
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Final

import httpx
import litellm
import uvicorn
from litellm.proxy import proxy_server
from tests.frameworks.sdk.drivers.shop import Shop, Way, gate_options
from tests.support.protected import Protected

from qwed_sdk.litellm import QWEDGuardrail

_CONFIG: Final = """
model_list:
  - model_name: scripted
    litellm_params: {{model: openai/scripted, api_base: "http://127.0.0.1:{port}/v1", api_key: none}}
general_settings: {{master_key: sk-test}}
guardrails:
  - guardrail_name: qwed
    litellm_params:
      guardrail: qwed_sdk.litellm.QWEDGuardrail
      mode: [pre_call, post_call]
      default_on: true
      agent_id: agent_of_the_file
      api_base: http://127.0.0.1:9
      api_key: none
      tool_map: {{sums: {{action_type: calculate, query: claim}}}}
"""


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """Asks for the calls that the first message names, then says that it is done."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        calls = json.loads(asked["messages"][0]["content"]) if len(asked["messages"]) == 1 else []
        tool_calls = [
            {
                "index": n,
                "id": f"call_{uuid.uuid4().hex}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(given)},
            }
            for n, (name, given) in enumerate(calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else "done"}
        if calls:
            message["tool_calls"] = tool_calls
        kind = "delta" if asked.get("stream") else "message"
        choice = {"index": 0, kind: message, "finish_reason": "tool_calls" if calls else "stop"}
        answer = {"id": "c", "created": 1, "model": "scripted", "choices": [choice]}
        body = json.dumps({**answer, "object": "chat.completion"}).encode()
        if asked.get("stream"):
            chunk = json.dumps({**answer, "object": "chat.completion.chunk"})
            body = f"data: {chunk}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        media = "text/event-stream" if asked.get("stream") else "application/json"
        self.send_header("content-type", media)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


class Proxy:
    """One for all tests: its start takes long."""

    def __init__(self) -> None:
        self._model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
        threading.Thread(target=self._model.serve_forever, daemon=True).start()
        folder = Path(tempfile.mkdtemp())
        config = folder / "config.yaml"
        config.write_text(_CONFIG.format(port=self._model.server_address[1]), encoding="utf-8")
        os.environ["WORKER_CONFIG"] = os.environ["CONFIG_FILE_PATH"] = str(config)
        listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(proxy_server.app, log_level="error"))
        run = lambda: asyncio.run(server.serve(sockets=[listener]))  # noqa: E731 - one line for a thread
        threading.Thread(target=run, daemon=True).start()
        end = time.monotonic() + 120
        while not server.started and time.monotonic() < end:
            time.sleep(0.05)
        #: The guardrail that the configuration made.
        self.of_the_file = next(each for each in litellm.callbacks if isinstance(each, QWEDGuardrail))
        litellm.callbacks.remove(self.of_the_file)

    @contextlib.contextmanager
    def guarded(self, guardrail: QWEDGuardrail) -> Any:
        litellm.callbacks.append(guardrail)
        try:
            yield
        finally:
            litellm.callbacks.remove(guardrail)

    def ask(self, messages: list[Any], session: str, stream: bool = False) -> httpx.Response:
        body = {"model": "scripted", "messages": messages, "stream": stream, "litellm_session_id": session}
        headers = {"authorization": "Bearer sk-test"}
        url = f"{self.base_url}/v1/chat/completions"
        return httpx.post(url, json=body, headers=headers, timeout=60)


_proxies: list[Proxy] = []


def proxy() -> Proxy:
    if not _proxies:
        _proxies.append(Proxy())
    return _proxies[0]


def assembled(answer: httpx.Response, stream: bool) -> tuple[dict[str, Any], str]:
    """The message, or what the proxy said instead."""
    if answer.status_code != 200:
        return {}, answer.text
    if not stream:
        return dict(answer.json()["choices"][0]["message"]), ""
    message: dict[str, Any] = {"tool_calls": {}}
    for line in answer.text.splitlines():
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line[6:])
        if "error" in chunk:
            return {}, line
        delta = chunk["choices"][0]["delta"]
        message["content"] = (message.get("content") or "") + (delta.get("content") or "")
        for call in delta.get("tool_calls") or ():
            kept = message["tool_calls"].setdefault(call["index"], {"function": {"arguments": ""}, "id": ""})
            kept["id"] = call.get("id") or kept["id"]
            function = call.get("function") or {}
            kept["function"]["name"] = function.get("name") or kept["function"].get("name")
            kept["function"]["arguments"] += function.get("arguments") or ""
    message["tool_calls"] = list(message["tool_calls"].values())
    return message, ""


def loop(shop: Shop, calls: Any, stream: bool = False) -> list[str]:
    """An agent that runs what the model's answer asks for."""
    messages: list[Any] = [{"role": "user", "content": json.dumps(calls)}]
    session, answers = str(uuid.uuid4()), []
    while True:
        message, refused = assembled(proxy().ask(messages, session, stream), stream)
        if refused:
            return [*answers, refused]
        messages.append({**message, "role": "assistant"})
        if not message.get("tool_calls"):
            assert message["content"] == "done"
            return answers
        for call in message["tool_calls"]:
            function = call["function"]
            try:
                said = getattr(shop, function["name"])(**json.loads(function["arguments"]))
            except ValueError as error:
                said = f"error: {error}"
            answers.append(said)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": said})


def way(stream: bool) -> Way:
    def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
        guardrail = QWEDGuardrail(
            world.agent_id, guardrail_name="qwed", event_hook=["pre_call", "post_call"], **gate_options(world)
        )
        with proxy().guarded(guardrail):
            return loop(shop, calls, stream)

    # The proxy hears of a failed tool as of any result.
    return Way(play, is_refusal_final=True, is_step_refused=True, failure_outcome="success")


WAYS: Final = {"litellm": way(False), "litellm-stream": way(True)}
