"""Requests that take several round trips: what was agreed in one is bound to the next by a word of ours.

The newest revision answers a call that needs something more with `input_required` and a state that the client
hands back with the same call. The state that leaves here is a random name for what is kept here: which action
it is of, the permit to run it, the server's own state. It is good once, for that action, for a while.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed_sdk.conversations import Permit
from qwed_sdk.mcp.messages import MalformedMessage

MAX_ROUNDS: Final = 20
MAX_KEPT: Final = 1_024
KEPT_SECONDS: Final = 3_600.0
#: Clients give up after about ten rounds, so a wait is cut into fewer.
WAITING_ROUNDS: Final = 8
#: A person in front of the client is told soon that another person is asked.
TELL_SECONDS: Final = 2.0
APPROVAL: Final = "qwed_approval"

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


class Round(msgspec.Struct, frozen=True):
    """`permit` is None while a person is asked; `state` is the server's own. `waited` is in seconds."""

    permit: Permit | None = None
    state: str | None = None
    number: int = 0
    waited: float = 0.0


class Rounds:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, float, Round]] = {}

    def keep(self, key: str, kept: Round) -> str:
        """The name under which a call of the same action finds it again."""
        token = f"qwed.{secrets.token_urlsafe(24)}"
        self._kept[token] = (key, self._clock() + KEPT_SECONDS, kept)
        return token

    def take(self, params: Mapping[str, Any], key: str) -> Round | None:
        """What this call goes on with; None where it begins. Raises `MalformedMessage` for a state that was
        not given for this very call, or was used already."""
        token = params.get("requestState")
        if token is None:
            return None
        found = self._kept.get(token) if isinstance(token, str) else None
        if found is None or found[0] != key or found[1] < self._clock():
            raise MalformedMessage("this requestState was not given for this call, or was used already")
        del self._kept[token]
        return found[2]

    def drop(self) -> list[Permit]:
        """Permits that nobody will come back for; with room for one more."""
        now = self._clock()
        late = [token for token, (_, end, _) in self._kept.items() if end < now]
        late += list(self._kept)[: max(0, len(self._kept) - len(late) - MAX_KEPT + 1)]
        return self._permits([self._kept.pop(token) for token in dict.fromkeys(late)])

    def all(self) -> list[Permit]:
        return self._permits(list(self._kept.values()))

    @staticmethod
    def _permits(kept: list[tuple[str, float, Round]]) -> list[Permit]:
        return [permit for _, _, each in kept if (permit := each.permit) is not None]


def takes_rounds(params: Mapping[str, Any]) -> bool:
    """Whether the client of this request speaks a revision that knows several round trips."""
    meta = params.get("_meta")
    version = meta.get(VERSION) if isinstance(meta, dict) else None
    return isinstance(version, str) and version >= "2026-07-28"


def asks_people(params: Mapping[str, Any]) -> bool:
    """Whether its client can put a question to the person in front of it."""
    meta = params.get("_meta")
    capabilities = meta.get(CAPABILITIES) if isinstance(meta, dict) else None
    offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(offered, dict) and (not offered or "form" in offered)


def seconds_to_wait(params: Mapping[str, Any], waited: float, wait_seconds: float) -> float:
    """How long this round waits for a person's approval."""
    left = max(wait_seconds - waited, 0.0)
    if not takes_rounds(params):
        return left
    if asks_people(params) and not waited:
        return min(left, TELL_SECONDS)
    return min(left, max(wait_seconds / WAITING_ROUNDS, TELL_SECONDS))


def waiting_result(params: Mapping[str, Any], approval_id: str, state: str) -> dict[str, Any]:
    """A person's approval is awaited: come back with the state. Where the client can, it tells its user."""
    result: dict[str, Any] = {"resultType": "input_required", "requestState": state}
    if asks_people(params):
        question = {
            "mode": "form",
            "message": f"This waits for an approval in QWED ({approval_id}). Answer it there, then go on"
            " here. Going on does not approve it.",
            "requestedSchema": {"type": "object", "properties": {}},
        }
        result["inputRequests"] = {APPROVAL: {"method": "elicitation/create", "params": question}}
    return result


def is_given_up(params: Mapping[str, Any]) -> bool:
    """The person in front of the client does not want to wait."""
    answers = params.get("inputResponses")
    answer = answers.get(APPROVAL) if isinstance(answers, dict) else None
    return isinstance(answer, dict) and answer.get("action") in ("decline", "cancel")


def continue_round(params: Mapping[str, Any], kept: Round) -> dict[str, Any]:
    """The parameters as the server may see them: with its own state, without what was said to us."""
    seen = {name: value for name, value in params.items() if name != "requestState"}
    answers = seen.get("inputResponses")
    if kept.permit is None and isinstance(answers, dict):
        seen["inputResponses"] = {name: value for name, value in answers.items() if name != APPROVAL}
        if not seen["inputResponses"]:
            del seen["inputResponses"]
    if kept.state is not None:
        seen["requestState"] = kept.state
    return seen
