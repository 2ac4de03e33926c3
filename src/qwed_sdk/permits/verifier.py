"""`PermitVerifier`: a tool that runs only what the gateway approved."""

import asyncio
import functools
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

from qwed.domain.canonical import NotCanonical
from qwed.domain.codes import Code
from qwed.domain.permits import LEEWAY_SECONDS, PERMIT_ARGUMENT
from qwed_sdk.bound_calls import BoundCall, bind_call
from qwed_sdk.carried_permits import carrying, current_permit
from qwed_sdk.client import QWEDClient
from qwed_sdk.connection import environment
from qwed_sdk.conversations import action_hash_of, outcome_of
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.permits.keys import KeySet
from qwed_sdk.permits.mcp_server import PermitMcp
from qwed_sdk.permits.permit_search import find_only
from qwed_sdk.permits.receipt_keys import ReceiptKey
from qwed_sdk.permits.replay import GatewayList, MemoryList, RedisList, ReplayList
from qwed_sdk.permits.reports import PermitReports
from qwed_sdk.permits.tokens import VerifiedPermit as VerifiedPermit
from qwed_sdk.permits.tokens import jti_of, read_permit
from qwed_sdk.permits.web import Asgi, PermitAsgi, PermitWsgi, RequestCheck, Routes, Wsgi
from qwed_sdk.results import Json
from qwed_sdk.tool_map import NotShowable, ToolAs, ToolMap, action_of_call
from qwed_sdk.tool_outcomes import hash_of_result

F = TypeVar("F", bound=Callable[..., Json])
R = TypeVar("R")

#: A clock before this is not set.
_FIRST_SECOND: Final = 1_700_000_000


class PermitVerifier:
    """Thread-safe. `jwks` is the address of the gateway's key set, or a file. `audience` is this tool, as the
    gateway's policy names it.

    `replay` is who makes sure that a permit is used once: `"gateway"` (the issuer, asked at every call),
    `"redis://…"`, or `"memory"`: this process alone, which is right only where no other one serves the tool.
    With `agent_id` only permits of that agent are taken.
    Without `api_key` the key is taken from `QWED_API_KEY`; it needs the scope `permits`. Whatever can't be
    verified is refused.
    """

    def __init__(
        self,
        jwks: str | Path,
        audience: str,
        *,
        issuer: str | None = None,
        replay: str = "gateway",
        gateway: str | None = None,
        api_key: str | None = None,
        leeway: float = LEEWAY_SECONDS,
        tool_map: ToolMap | None = None,
        receipt_key: str | Path | None = None,
        clock: Callable[[], float] = time.time,
        agent_id: str | None = None,
    ) -> None:
        self.audience = audience
        self._keys = KeySet(jwks, issuer)
        self._leeway = leeway
        self._tool_map = dict(tool_map or {})
        self._clock = clock
        self._latest = 0.0
        self._agent_id = agent_id
        self._client = client = _client(jwks, gateway, api_key)
        self._replay = _replay_list(replay, client)
        self._reports = PermitReports(client, audience)
        self._receipt_key = None if receipt_key is None else ReceiptKey(receipt_key)

    # --- one call ------------------------------------------------------------------------------

    def verify(self, token: str | None, *actions: Mapping[str, Json]) -> VerifiedPermit:
        """Use the permit for one of these actions (more than one are spellings of the same call). Raises
        `PermitRefused`, which is reported."""
        try:
            return self._verify(token, [action_hash_of(action) for action in actions])
        except PermitRefused as refusal:
            self._refuse(token, refusal)
            raise
        except (NotCanonical, TypeError, ValueError) as problem:
            reason = f"the call can't be named: {problem}"
            raise self.refuse(token, Code.PERMIT_MISMATCH, reason) from problem

    def verify_found(self, *actions: Mapping[str, Json]) -> VerifiedPermit:
        """As `verify`, for a call that can't carry its permit: the one that the gateway has for this agent
        and that nobody used, if there is exactly one."""
        try:
            hashes = [action_hash_of(action) for action in actions]
            if self._client is None or self._agent_id is None:
                raise PermitRefused(Code.PERMIT_MISSING, "the call carries no permit")
            permit = find_only(self._client, self._agent_id, self.audience, hashes)
            self._replay.use(permit, self._now(), self._leeway)
            return permit
        except PermitRefused as refusal:
            self._refuse(None, refusal)
            raise
        except (NotCanonical, TypeError, ValueError) as problem:
            reason = f"the call can't be named: {problem}"
            raise self.refuse(None, Code.PERMIT_MISMATCH, reason) from problem

    def check(self, token: str | None, hashes: Sequence[str]) -> VerifiedPermit:
        """All but the use: signature, times, place and action. Raises `PermitRefused`."""
        permit = read_permit(token, self._keys, self.audience, self._now(), self._leeway)
        if permit.action_hash not in hashes:
            raise PermitRefused(Code.PERMIT_MISMATCH, "the permit is for a call with other arguments")
        if self._agent_id is not None and permit.agent_id != self._agent_id:
            raise PermitRefused(Code.PERMIT_MISMATCH, "the permit is for another agent")
        return permit

    def _verify(self, token: str | None, hashes: Sequence[str]) -> VerifiedPermit:
        permit = self.check(token, hashes)
        self._replay.use(permit, self._now(), self._leeway)
        return permit

    def refuse(self, token: str | None, code: Code, reason: str) -> PermitRefused:
        """A refusal for another reason than the permit itself, reported like one."""
        refusal = PermitRefused(code, reason)
        self._refuse(token, refusal)
        return refusal

    def _refuse(self, token: str | None, refusal: PermitRefused) -> None:
        # What the gateway refused when it was asked, it has recorded already.
        by_gateway = refusal.__cause__ is not None and refusal.code is not Code.PERMIT_UNVERIFIABLE
        is_recorded = by_gateway and self._replay.name == "gateway"
        self._reports.refused(refusal.code, refusal.reason, jti_of(token), is_recorded=is_recorded)

    def report(
        self,
        permit: VerifiedPermit,
        action_hash: str,
        started: float,
        *,
        result: object = None,
        error: BaseException | None = None,
    ) -> None:
        """The receipt. Never raises: the tool ran already."""
        receipt: dict[str, Json] = {
            "action_hash": action_hash,
            "outcome": "success" if error is None else outcome_of(error),
            "result_hash": None if error is not None else hash_of_result(result),
            "duration_ms": max(0, round((time.monotonic() - started) * 1000)),
            "replay": self._replay.name,
        }
        if self._receipt_key is not None:
            receipt["signature"] = self._receipt_key.sign(permit.jti, receipt)
        self._reports.receipt(permit.jti, receipt)

    def flush(self) -> None:
        """Wait until every refused call is reported."""
        self._reports.flush()

    def _now(self) -> float:
        try:
            now = float(self._clock())
        except (OSError, ValueError, OverflowError) as error:
            raise PermitRefused(Code.PERMIT_UNVERIFIABLE, "there is no clock") from error
        if not math.isfinite(now) or now < _FIRST_SECOND or now < self._latest - self._leeway:
            raise PermitRefused(Code.PERMIT_UNVERIFIABLE, "the clock is not set, or went back")
        self._latest = max(self._latest, now)
        return now

    # --- a function ----------------------------------------------------------------------------

    def required(
        self,
        action_type: str | None = None,
        *,
        query: str | None = None,
        code: str | None = None,
        target: str | None = None,
    ) -> Callable[[F], F]:
        """The function runs only with a permit for exactly this call: in the argument `qwed_permit`, or
        carried in the context. `query`, `code` and `target` name the argument that is that field."""

        def decorate(function: F) -> F:
            if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
                raise TypeError("a generator runs after it was called, so a permit can't be for it")
            name = function.__name__
            known = self._tool_map.get(name, name)
            as_action = ToolAs(action_type or name, query, code, target) if query or code or target else None
            tool_map = {name: as_action or action_type or known}
            signature = inspect.signature(function)

            def report(permit: VerifiedPermit, started: float, **outcome: Json) -> None:
                self.report(permit, permit.action_hash, started, **outcome)

            def admit(args: tuple[Json, ...], kwargs: dict[str, Json]) -> tuple[BoundCall, VerifiedPermit]:
                token = kwargs.pop(PERMIT_ARGUMENT, None) or current_permit()
                call = bind_call(function, signature, args, kwargs).copy_call()
                return call, self.verify(token, *self._actions(function, call, tool_map, token))

            @functools.wraps(function)
            def run(*args: Json, **kwargs: Json) -> Json:
                call, permit = admit(args, kwargs)
                started = time.monotonic()
                try:
                    # What the function calls in its turn has no permit.
                    with carrying(None):
                        result = call.call(function, call.named())
                except BaseException as error:
                    report(permit, started, error=error)
                    raise
                report(permit, started, result=result)
                return result

            @functools.wraps(function)
            async def arun(*args: Json, **kwargs: Json) -> Json:
                call, permit = await asyncio.to_thread(admit, args, kwargs)
                started = time.monotonic()
                try:
                    with carrying(None):
                        result = await cast(Awaitable[Json], call.call(function, call.named()))
                except BaseException as error:
                    await asyncio.shield(
                        asyncio.to_thread(self.report, permit, permit.action_hash, started, error=error)
                    )
                    raise
                await asyncio.to_thread(self.report, permit, permit.action_hash, started, result=result)
                return result

            return cast(F, arun if inspect.iscoroutinefunction(function) else run)

        return decorate

    # --- a service -----------------------------------------------------------------------------

    def asgi(
        self, app: Asgi, routes: Routes, *, open_routes: Sequence[str] = (), tool_map: ToolMap | None = None
    ) -> Asgi:
        """Around an ASGI application: `routes` such as `{"POST /payments": "send_money"}` need a permit in
        the header `QWED-Permit`, `open_routes` need none, and every other route is refused."""
        return PermitAsgi(app, RequestCheck(self, routes, open_routes, tool_map or self._tool_map))

    def wsgi(
        self, app: Wsgi, routes: Routes, *, open_routes: Sequence[str] = (), tool_map: ToolMap | None = None
    ) -> Wsgi:
        """As `asgi`, around a WSGI application."""
        return PermitWsgi(app, RequestCheck(self, routes, open_routes, tool_map or self._tool_map))

    def mcp(self, *, open_tools: Collection[str] = (), tool_map: ToolMap | None = None) -> PermitMcp:
        """A middleware for an MCP server: every tool needs a permit in `_meta`, but for `open_tools`."""
        return PermitMcp(self, tool_map or self._tool_map, open_tools)

    def _actions(
        self, function: Callable[..., Json], call: BoundCall, tool_map: ToolMap, token: str | None
    ) -> list[Mapping[str, Json]]:
        """What the call is to the gateway: with the tool's own defaults, and with what the caller gave."""
        named = call.named()
        given = {
            name: value
            for name, value in named.items()
            if name in call.given or name not in call.arguments.arguments
        }
        try:
            whole = action_of_call(function.__name__, named, tool_map, is_strict=True).action
            if given == named:
                return [whole]
            return [whole, action_of_call(function.__name__, given, tool_map, is_strict=True).action]
        except NotShowable as problem:
            raise self.refuse(token, Code.PERMIT_MISMATCH, str(problem)) from problem


def _client(jwks: str | Path, gateway: str | None, api_key: str | None) -> QWEDClient | None:
    """Where reports go; None where neither a gateway nor a key is known."""
    environ = environment()
    address = gateway or (_origin(str(jwks)) if "://" in str(jwks) else environ.get("QWED_BASE_URL"))
    key = api_key or environ.get("QWED_API_KEY")
    if not address or not key:
        return None
    return QWEDClient(key, address, timeout=5.0, max_tries=1)


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _replay_list(replay: str, client: QWEDClient | None) -> ReplayList:
    if replay == "memory":
        return MemoryList()
    if replay.startswith(("redis://", "rediss://", "unix://")):
        return RedisList(replay)
    if replay != "gateway":
        raise ValueError(f"replay is 'gateway', 'memory' or a Redis address, not {replay[:80]!r}")
    if client is None:
        raise ValueError(
            "the gateway is asked whether a permit was used: set QWED_API_KEY to a key with the scope"
            " 'permits' (and gateway= where the keys come from a file), or choose another replay="
        )
    return GatewayList(client)
