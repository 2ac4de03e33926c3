"""One gateway in this process, with hands on its clock, its ids, its engines, its key and its commits.

Everything else here speaks HTTP. What this module needs of the gateway's rooms: `bootstrap.build`, its names
`SystemClock` and `RandomIds`, and `first_operator_key`; of what it builds the members `store` (its `commit`),
`prover`, `signer` (its `sign`) and `events`; and the values that an engine or a failing part hands over
(`Finding` and its parts, `StoreUnavailable`, `LeaseLost`, `AgentChanged`, `SigningFailed`).
"""

import asyncio
import functools
import io
import itertools
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from tests.support.fakes import FakeClock

from qwed import bootstrap
from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.gateway.kernel.issuers import read_issuers
from qwed.gateway.kernel.ports import AgentChanged, LeaseLost, SigningFailed, StoreUnavailable
from qwed.http.app import create_app
from qwed.http.logs import EventLog
from qwed.policy import load_policy

FAULTS = {
    "store_unavailable": lambda: StoreUnavailable("no space left"),
    "lease_lost": lambda: LeaseLost("somebody else took over this step"),
    "agent_changed": lambda: AgentChanged("the agent was changed meanwhile"),
    "defect": lambda: RuntimeError("a defect"),
}
Hook = Callable[[], Awaitable[None]]


class Gateway:
    """`send` is one HTTP request. Hooks run once, at the next proof or the next commit."""

    def __init__(
        self,
        policy: str,
        ids: "Ids",
        clock: FakeClock,
        *,
        database: Path | None = None,
        is_real: bool = False,
        operator_key: str,
        state_required: bool = False,
        issuers: str | None = None,
    ) -> None:
        with (
            mock.patch.object(bootstrap, "SystemClock", lambda: clock),
            mock.patch.object(bootstrap, "RandomIds", lambda: ids),
        ):
            self._built = bootstrap.build(
                database,
                policy=load_policy(policy, "policy"),
                state_required=state_required,
                issuers=read_issuers(issuers) if issuers else None,
            )
        self.store = _HookedStore(self._built.store)
        self.prover = _real_prover() if is_real else ScriptedProver()
        self.signer = self._built.signer
        _make_breakable(self.signer)
        services = msgspec.structs.replace(self._built, store=self.store, prover=self.prover)
        services = msgspec.structs.replace(services, address_problems=_address_problems)
        bootstrap.first_operator_key(services, operator_key)
        self.heard: list[dict[str, Any]] = []
        services.events.subscribe(_Ear(self.heard))
        self._log = EventLog(stream=io.BytesIO())
        self._app = create_app(services, log=self._log)
        self._runner = asyncio.Runner()

    @property
    def issuer(self) -> str:
        return self.signer.issuer

    def run(self, work: Awaitable[Any]) -> Any:
        return self._runner.run(work)

    async def send(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("gateway", 80),
        }
        received = iter([{"type": "http.request", "body": body, "more_body": False}])
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return next(received, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        head = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in sent[0]["headers"]]
        return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:])

    def fail_commit(self, fault: str) -> None:
        async def fail() -> None:
            raise FAULTS[fault]()

        self.store.before_commit = fail

    def break_key(self, is_broken: bool = True) -> None:
        self.signer.__dict__["is_broken"] = is_broken

    def close(self) -> None:
        self._runner.close()
        self._log.close()
        bootstrap.close(self._built)


class _HookedStore:
    """A store of which something else gets in between, or which fails, at one commit."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.before_commit: Hook | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self, *arguments: Any) -> Any:
        hook, self.before_commit = self.before_commit, None
        if hook is not None:
            await hook()
        return await self._inner.commit(*arguments)


def _make_breakable(signer: Any) -> None:
    """`isinstance` is asked of it, so it stays what it is; for the store's own signing it stays whole."""
    sign = signer.sign

    def sign_or_fail(typ: str, claims: dict[str, Any]) -> str:
        if signer.__dict__.get("is_broken") and "checkpoint" not in typ:
            raise SigningFailed("the key is gone")
        return sign(typ, claims)

    signer.sign = sign_or_fail


class ScriptedProver:
    """Finds what the action says: `query` or `parameters.say` reads like "CORRECTED LOW"."""

    def __init__(self) -> None:
        self.before_answer: Hook | None = None

    async def prove(self, engine: str, action: Action, client: object) -> Finding:
        hook, self.before_answer = self.before_answer, None
        if hook is not None:
            await hook()
        return _finding(engine, action)

    def warm(self) -> None:
        pass

    def close(self) -> None:
        pass


def _finding(engine: str, action: Action) -> Finding:
    said = action.parameters.get("say", action.query)
    words = said.split(" ") if isinstance(said, str) else []
    status = Status(words[0]) if words and words[0] in tuple(Status) else Status.VERIFIED
    names = {risk.wire: risk for risk in Risk} | {risk.name: risk for risk in Risk}
    risk = names.get(words[1], Risk.LOW) if len(words) > 1 else Risk.LOW
    known = status in (Status.VERIFIED, Status.CORRECTED)
    return Finding(
        status,
        risk,
        engine,
        "" if known else f"told to be {status.value.lower()}",
        {} if len(words) < 3 else {"told": " ".join(words[2:])},
        _corrected(action) if status is Status.CORRECTED else None,
        _failure(words) if status is Status.FAILED else None,
        ("told",) if known else (),
        () if known else ("told",),
    )


def _corrected(action: Action) -> Action:
    changed = {**action.parameters, "corrected": True}
    return msgspec.structs.replace(action, query="corrected", parameters=changed)


def _failure(words: list[str]) -> Failure:
    return next((failure for failure in Failure if failure.value in words), Failure.INCORRECT)


@functools.cache
def _real_prover() -> Any:
    """One set of engines for all gateways of this process. A loaded machine must not make it give up."""
    prover = bootstrap.build(
        None, policy=load_policy("limits: {engine_seconds: 60, lease_seconds: 90}", "p")
    ).prover
    prover.warm()
    return prover


def _address_problems(url: str) -> list[str]:
    return [] if url.startswith("https://") else ["needs https"]


class _Ear:
    """Hears everything that is published, like an operator who listens."""

    def __init__(self, heard: list[dict[str, Any]]) -> None:
        self._heard = heard

    def hears(self, event: dict[str, Any]) -> bool:
        return True

    def offer(self, event: dict[str, Any]) -> None:
        # As a listener would read it.
        self._heard.append(msgspec.json.decode(msgspec.json.encode(event)))


class Ids:
    """Unique and in the order in which they were drawn; the rest of each is random."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = itertools.count(1)

    def _hex(self, digits: int) -> str:
        return f"{next(self._numbers):06x}{self._chance.randrange(16 ** (digits - 6)):0{digits - 6}x}"

    def activity(self, now_ms: int) -> str:
        digits = f"{next(self._numbers):06x}{self._chance.randrange(16**12):012x}"
        return f"act_{now_ms:012x}7{digits[:3]}8{digits[3:18]}"

    def approval(self, now_ms: int) -> str:
        return f"apr_{now_ms:012x}{self._hex(20)}"

    def agent(self) -> str:
        return f"agent_{self._hex(16)}"

    def agent_token(self, principal_id: str) -> str:
        return f"qwed_agent_{self._hex(43)}"

    def api_key(self, principal_id: str | None) -> str:
        return f"qwed_live_{self._hex(43)}"

    def key(self) -> str:
        return f"key_{self._hex(16)}"

    def attestation(self) -> str:
        return f"att_{self._hex(32)}"

    def webhook(self) -> str:
        return f"hook_{self._hex(16)}"

    def event(self, now_ms: int) -> str:
        return f"evt_{now_ms:012x}{self._hex(16)}"

    def delivery(self, now_ms: int) -> str:
        return f"dlv_{now_ms:012x}{self._hex(16)}"

    def secret(self) -> str:
        return f"whsec_{self._hex(43)}"
