"""One gateway, and everything that was asked of it, written down with what came of it.

A line is one request: who asked for what, what else happened meanwhile, the whole answer, what is in the
ledger since (entries with their activities as `GET /activity/{id}` shows them), what was published, and the
approval that it was about.
"""

import asyncio
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracle.adapter import Gateway, Ids
from tests.oracle.labels import Labels
from tests.support.fakes import FakeClock

OPERATOR = "qwed_live_" + "operator-of-the-oracle".ljust(43, "0")
OBSERVER = "observer"
_HIDDEN_HEADERS = {"x-request-id", "content-length", "date", "set-cookie"}
_UNCHANGING_HEADERS = {"x-content-type-options", "cache-control", "referrer-policy"}
_APPROVAL = re.compile(r"apr_[0-9a-f]{32}")


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: Any) -> None:
        self.status, self.headers, self.body = status, headers, body

    def get(self, *path: str) -> Any:
        value = self.body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    @property
    def decision(self) -> str | None:
        return self.get("decision")


class World:
    """`call` is recorded; `look` is not. Who asks is a name in `credentials`."""

    def __init__(
        self,
        number: int,
        chance: random.Random,
        policy: str = "{}",
        *,
        on_disk: bool = False,
        salt: str = "",
        **how: Any,
    ):
        self.number, self.chance, self.lines = number, chance, list[Any]()
        self._folder = Path(tempfile.mkdtemp(prefix="qwed-oracle-")) if on_disk else None
        database = None if self._folder is None else self._folder / "qwed.db"
        self._how = {"database": database, "operator_key": OPERATOR, **how}
        self.clock = FakeClock()
        self._ids = Ids(random.Random(f"{number} {salt}"))
        self.gateway = Gateway(policy, self._ids, self.clock, **self._how)
        self.credentials: dict[str, str | None] = {"operator": OPERATOR, "nobody": None}
        self._labels = Labels()
        self._meanwhile: list[Any] = []
        self._depth = 0
        self._read = 0
        self._note({"world": number, "policy": policy, "on_disk": on_disk, **how})
        made = self.look("POST", "/keys", {"roles": ["operator"], "label": "observer"}, key=OPERATOR)
        self.credentials[OBSERVER] = made.body["api_key"]
        self._note({"begun": self._wrote()})

    def close(self) -> None:
        self.gateway.close()
        if self._folder is not None:
            shutil.rmtree(self._folder)

    def reopen(self, policy: str) -> None:
        """The same store under another policy; in memory there is none to open again."""
        if self._folder is not None:
            self.gateway.close()
            self.gateway = Gateway(policy, self._ids, self.clock, **self._how)
            self._note({"reopened": policy})

    # --- asking --------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        by: str = "operator",
        headers: dict[str, str] | None = None,
        note: str | None = None,
    ) -> Answer:
        """One request, recorded. `body` is JSON, or bytes as they are."""
        return self.gateway.run(self._call(method, target, body, by, headers, note))

    async def _call(
        self, method: str, target: str, body: Any, by: str, headers: dict[str, str] | None, note: str | None
    ) -> Answer:
        asked: dict[str, Any] = {"at": self.clock.now, "by": by, "method": method, "target": target}
        if headers:
            asked["headers"] = {name: _split(value) for name, value in headers.items()}
        if body is not None:
            asked["body"] = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        self._depth += 1
        answer = await self._send(method, target, body, self.credentials[by], headers)
        self._depth -= 1
        line: dict[str, Any] = {"asked": asked}
        if note is not None:
            line["note"] = note
        told = {"status": answer.status, "headers": _shown(answer.headers), "body": answer.body}
        if self._depth:
            self._meanwhile.append({**line, "answer": told})
            return answer
        if self._meanwhile:
            line["meanwhile"], self._meanwhile = self._meanwhile, []
        line["answer"] = told
        line["wrote"] = await self._written()
        if self.gateway.heard:
            line["heard"] = list(self.gateway.heard)
            self.gateway.heard.clear()
        if (approval := _approval_of(target, answer)) is not None:
            found = await self._send("GET", f"/approvals/{approval}", None, self.credentials[OBSERVER], None)
            line["approval"] = found.body
        self._note(line)
        self.clock.advance(self.chance.randrange(20, 3_000))
        return answer

    def look(self, method: str, target: str, body: Any = None, key: str | None = None) -> Answer:
        """As an operator, and not recorded."""
        secret = key or self.credentials[OBSERVER]
        return self.gateway.run(self._send(method, target, body, secret, None))

    async def _send(
        self, method: str, target: str, body: Any, secret: str | None, headers: dict[str, str] | None
    ) -> Answer:
        sent = {"X-Request-Id": "oracle", **(headers or {})}
        if secret is not None:
            sent.setdefault("Authorization", f"Bearer {secret}")
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        if raw:
            sent.setdefault("Content-Type", "application/json")
            sent["Content-Length"] = str(len(raw))
        status, received, content = await self.gateway.send(method, target, sent, raw)
        found = dict(received)
        return Answer(status, found, _read(found, content))

    # --- getting in between --------------------------------------------------------------------

    def while_proving(self, *calls: Callable[["World"], tuple]) -> None:
        """The next proof happens after these requests; each is made from the arguments of `call`."""
        self.gateway.prover.before_answer = self._making(calls)

    def while_committing(self, *calls: Callable[["World"], tuple]) -> None:
        """The next commit happens after these requests."""
        self.gateway.store.before_commit = self._making(calls)

    def _making(self, calls: tuple[Callable[["World"], tuple], ...]) -> Any:
        async def make() -> None:
            for call in calls:
                arguments = call(self)
                if arguments:
                    padded = (*arguments, *(None, "operator", None, None)[len(arguments) - 2 :])
                    await asyncio.wait_for(self._call(*padded), 20)

        return make

    # --- writing down --------------------------------------------------------------------------

    def _note(self, line: dict[str, Any]) -> None:
        self.lines.append(self._labels.clean(line))

    def _wrote(self) -> list[Any]:
        return self.gateway.run(self._written())

    async def _written(self) -> list[Any]:
        """What the ledger has since the last time."""
        found: list[Any] = []
        observer = self.credentials[OBSERVER]
        while True:
            target = f"/ledger/entries?after={self._read}&limit=200"
            page = (await self._send("GET", target, None, observer, None)).body["entries"]
            for entry in page:
                self._read, subject = entry["seq"], entry["subject"]
                shown: dict[str, Any] = {"subject": subject, "at": entry["at_ms"]}
                if subject.startswith("act_"):
                    answer = await self._send("GET", f"/activity/{subject}", None, observer, None)
                    shown = {"at": entry["at_ms"], **answer.body} if answer.status == 200 else shown
                found.append(shown)
            if len(page) < 200:
                return found


def _split(value: str) -> Any:
    """Tokens one by one, so that each can be read."""
    return value.split(", ") if value.startswith("eyJ") else value


def _shown(headers: dict[str, str]) -> dict[str, Any]:
    left_out = _HIDDEN_HEADERS | _UNCHANGING_HEADERS
    return {name: value for name, value in sorted(headers.items()) if name not in left_out}


def _read(headers: dict[str, str], content: bytes) -> Any:
    if headers.get("content-type", "").startswith("application/json"):
        return json.loads(content)
    return content.decode("utf-8", "replace")


def _approval_of(target: str, answer: Answer) -> str | None:
    if (asked := answer.get("approval", "id")) is not None:
        return asked
    found = _APPROVAL.search(target)
    return found.group() if found is not None and answer.status < 500 else None
