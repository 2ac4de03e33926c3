"""A model that says what it was told to: enough of a model's protocol for an agent to run offline."""

import http.server
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec


class Drive(msgspec.Struct, frozen=True):
    """How one agent is started against a scripted model, and how that model speaks.

    `environment` may write into the folder that it is given; `shell` is the call that runs a command.
    """

    command: Callable[[str, int], list[str]]
    environment: Callable[[int, Path], dict[str, str]]
    stream: Callable[[Sequence[Mapping[str, Any]] | None], bytes]
    results: Callable[[Any], list[str]]
    shell: Callable[[str], Mapping[str, Any]]


Turn = str | Sequence[Mapping[str, Any]]


class ScriptedModel:
    """Each turn is a list of calls (or one command); after the last it says that it is done.

    A turn may be a function, which is called when its time has come: by then the calls before are over.
    `results` is what the agent told the model about its calls.
    """

    def __init__(self, drive: Drive, turns: Sequence[Turn | Callable[[], Turn]]) -> None:
        self._drive = drive
        self._turns = list(turns)
        self._lock = threading.Lock()
        self.results: list[str] = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                body = model.answer(json.loads(self.rfile.read(size) or b"{}"))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_HEAD = do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                """Nobody reads it."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    def answer(self, asked: Any) -> bytes:
        with self._lock:
            results = self._drive.results(asked)
            self.results += [result for result in results if result not in self.results]
            is_tool_turn = bool(asked.get("tools"))
            calls = self._next() if is_tool_turn and self._turns else None
        return self._drive.stream(calls)

    def _next(self) -> Sequence[Mapping[str, Any]]:
        turn = self._turns.pop(0)
        turn = turn() if callable(turn) else turn
        return [self._drive.shell(turn)] if isinstance(turn, str) else turn

    @property
    def is_over(self) -> bool:
        """Whether the agent came for every turn."""
        return not self._turns

    def __enter__(self) -> "ScriptedModel":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
