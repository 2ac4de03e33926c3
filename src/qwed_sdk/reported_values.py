"""What the gateway is told of values: what a tool returned, and what the user wrote.

A result leaves as JSON or as text, and bounded. Of what has no such form the gateway hears that something was
not told (`truncated`): it is never guessed. `QWED_PROVENANCE=off` keeps all of it here.
"""

import contextvars
import dataclasses
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from qwed_sdk.calls import Call
from qwed_sdk.errors import QWEDError
from qwed_sdk.questions import new_key
from qwed_sdk.results import Json, Result
from qwed_sdk.tool_map import plain

#: Of a result as it stands in the request: what the gateway reads of one.
MAX_RESULT_BYTES: Final = 512 * 1024
MAX_MESSAGE_CHARACTERS: Final = 64 * 1024
#: Of the messages that go with one proposal; the others go with the next.
MAX_MESSAGES: Final = 64
MAX_MESSAGES_CHARACTERS: Final = 128 * 1024

_MEMBERS: Final = ("result", "messages", "truncated")
_UNTOLD: Final[Mapping[str, Json]] = {"result": "", "truncated": True}
_user_said: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("qwed_user_said", default=())

ProvenanceMode = Literal["off", "hashes"]


def reports_values(provenance: str | None, environ: Mapping[str, str]) -> bool:
    """Whether results and messages are sent at all. Raises `ValueError`."""
    mode = provenance or environ.get("QWED_PROVENANCE") or "hashes"
    if mode not in ("off", "hashes"):
        raise ValueError(f"provenance (QWED_PROVENANCE) is off or hashes, not {mode[:80]!r}")
    return mode == "hashes"


def result_members(result: object) -> dict[str, Json]:
    """A tool's result as an outcome carries it. Never raises; nothing where the tool returned nothing."""
    if result is None:
        return {}
    try:
        shown = plain(result)
        written = _write(shown)
        if len(written) <= MAX_RESULT_BYTES:
            return {"result": shown}
        return _cut(shown if isinstance(shown, str) else written.decode())
    except UnicodeEncodeError:
        return _cut(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
    except Exception:  # noqa: BLE001 - a result is the tool's own affair, whatever it is
        return dict(_UNTOLD)


def error_members(error: BaseException, text: str) -> dict[str, Json]:
    """A tool's error is what the model hears of it. Our own refusals are nobody's words."""
    return {} if isinstance(error, QWEDError) else result_members(text)


def _write(shown: Json) -> bytes:
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()


def _cut(text: str) -> dict[str, Json]:
    """The beginning of it, as text."""
    kept = text[:MAX_RESULT_BYTES].encode("utf-8", "replace").decode()
    while (size := len(_write(kept))) > MAX_RESULT_BYTES:
        kept = kept[: len(kept) * MAX_RESULT_BYTES // size - 1]
    return {"result": kept, "truncated": True}


def lesser_reports(report: Call[Result]) -> Iterator[Call[Result]]:
    """What to send once an outcome with its result was refused: that one exists; then the outcome alone."""
    told = report.body if isinstance(report.body, Mapping) else {}
    if not any(name in told for name in _MEMBERS):
        return
    bare = {name: value for name, value in told.items() if name not in _MEMBERS}
    for body in ({**bare, **_UNTOLD}, bare):
        yield dataclasses.replace(report, body=body, key=new_key())


def without_result(report: Call[Result]) -> Call[Result]:
    """The same, with word that there was a result in its place."""
    return next(lesser_reports(report), report)


class UserMessages:
    """What the user wrote in one conversation: each is told once."""

    def __init__(self) -> None:
        self._told: set[int] = set()
        self._waiting: dict[int, str] = {}

    def hear(self, text: str) -> None:
        # What is no Unicode could not be sent.
        told = text[:MAX_MESSAGE_CHARACTERS].encode("utf-8", "replace").decode()
        name = hash(told)
        if told and name not in self._told:
            self._waiting.setdefault(name, told)

    def next(self) -> dict[int, str]:
        """What goes with the next proposal."""
        found: dict[int, str] = {}
        size = 0
        for name, text in self._waiting.items():
            size += len(text)
            if len(found) == MAX_MESSAGES or (found and size > MAX_MESSAGES_CHARACTERS):
                break
            found[name] = text
        return found

    def settle(self, told: Mapping[int, str]) -> None:
        """The gateway has answered: it heard them."""
        for name in told:
            self._told.add(name)
            self._waiting.pop(name, None)


@contextmanager
def user_says(*texts: str) -> Iterator[None]:
    """Tool calls in this block are made for a user who wrote this. Only what a person wrote: a value in it
    counts as said by the user. Every framework's adapter finds it, whatever conversation it opens."""
    token = _user_said.set((*_user_said.get(), *texts))
    try:
        yield
    finally:
        _user_said.reset(token)


def said_here() -> tuple[str, ...]:
    """What `user_says` has around this code."""
    return _user_said.get()
