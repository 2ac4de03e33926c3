"""A witness over HTTP (C2SP tlog-witness): `POST /add-checkpoint`, and nothing else that changes anything.

What it signed last is in one file for each log, written durably before the answer leaves. One process owns
the folder; requests are answered one after the other.
"""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from qwed.ect.keys import sync_directory
from qwed.http.load_limit import RequestGate
from qwed.ledger.notes import MAX_NOTE_BYTES, InvalidNote, NoteKey, NoteSigner
from qwed.ledger.tlog import LogCheckpoint, parse_log_checkpoint
from qwed.ledger.witness import WitnessAnswer, witness_checkpoint

MAX_BODY_BYTES: Final = 2 * MAX_NOTE_BYTES


class WitnessUnusable(Exception):
    """The folder can't be used; the message says why."""


class WitnessMemory:
    """The last tree of each log. Raises `WitnessUnusable`, also where a file does not say what it should: a
    witness that forgot must not sign."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.seen = {
                found.origin: found for found in map(self._read, sorted(folder.glob("*.checkpoint")))
            }
        except BlockingIOError:
            raise WitnessUnusable(f"another witness works in {folder}") from None
        except OSError as error:
            raise WitnessUnusable(f"{folder} can't be used: {error.strerror}") from None

    def _read(self, path: Path) -> LogCheckpoint:
        try:
            found = parse_log_checkpoint(path.read_text("utf-8"))
        except (InvalidNote, UnicodeError) as error:
            raise WitnessUnusable(f"{path} is damaged ({error}): restore it from a backup") from None
        if path.name != _name(found.origin):
            raise WitnessUnusable(f"{path} is about another log, {found.origin!r}: was it renamed?")
        return found

    def keep(self, checkpoint: LogCheckpoint) -> None:
        """Durable before it returns. Raises `OSError`."""
        path = self._folder / _name(checkpoint.origin)
        fresh = path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(checkpoint.text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_directory(self._folder)
        self.seen[checkpoint.origin] = checkpoint

    def close(self) -> None:
        os.close(self._lock)


def _name(origin: str) -> str:
    return f"{hashlib.sha256(origin.encode()).hexdigest()[:32]}.checkpoint"


class WitnessApp:
    def __init__(
        self,
        signer: NoteSigner,
        logs: Mapping[str, tuple[NoteKey, ...]],
        memory: WitnessMemory,
        now: Callable[[], int],
        report: Callable[[str], None],
    ) -> None:
        self.gate = RequestGate()
        self._signer = signer
        self._logs = logs
        self._memory = memory
        self._now = now
        self._report = report
        self._turn = asyncio.Lock()

    def stop(self) -> None:
        """Nothing waits here."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            with self.gate:
                response = await self._respond(Request(scope, receive))
                await response(scope, receive, send)
        elif scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})

    async def _respond(self, request: Request) -> Response:
        path = request.url.path
        if path in ("/", "/key") and request.method in ("GET", "HEAD"):
            return PlainTextResponse(f"{self._signer.cosigner.vkey}\n")
        if path != "/add-checkpoint":
            return PlainTextResponse("a witness answers POST /add-checkpoint and GET /key\n", 404)
        if request.method != "POST":
            return PlainTextResponse("send it with POST\n", 405, {"Allow": "POST"})
        try:
            raw = await _read_body(request)
        except ClientDisconnect:
            return PlainTextResponse("the client left before it was read\n", 400)
        except UnicodeDecodeError:
            return PlainTextResponse("the request is not UTF-8\n", 400)
        if raw is None:
            return PlainTextResponse(f"a request has at most {MAX_BODY_BYTES} bytes\n", 413)
        async with self._turn:
            answer = await asyncio.to_thread(self._witness, raw)
        return Response(answer.body, answer.status, media_type=answer.content_type)

    def _witness(self, raw: str) -> WitnessAnswer:
        answer = witness_checkpoint(self._signer, raw, self._logs, self._memory.seen, self._now())
        if answer.seen is None:
            self._report(f"refused with {answer.status}: {answer.body.strip()}")
            return answer
        try:
            self._memory.keep(answer.seen)
        except OSError as error:
            self._report(f"nothing signed: the memory can't be written ({error.strerror})")
            return WitnessAnswer(503, "the witness can't remember, so it does not sign\n")
        self._report(f"signed {answer.seen.size} entries of {answer.seen.origin}")
        return answer


async def _read_body(request: Request) -> str | None:
    """None where it is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return None
    return body.decode("utf-8")
