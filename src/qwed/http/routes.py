"""Every endpoint: read the request, call one use case, answer. No rule is decided here."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from qwed.domain.agents import AgentId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller, Scope
from qwed.ect.attestations import ATTESTATION_TYPE
from qwed.gateway import answer_approval, manage_agents, manage_keys, registries
from qwed.gateway.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.authenticate import Presented, authenticate
from qwed.gateway.change_trust import change_trust
from qwed.gateway.ports import StoreUnavailable
from qwed.gateway.read_activity import read_activity, read_limit
from qwed.gateway.read_approvals import list_approvals, show_approval
from qwed.gateway.register_agent import register_agent
from qwed.gateway.report_outcome import report_outcome, settle_outcome
from qwed.gateway.requests import read_tool, read_verify
from qwed.gateway.services import Services
from qwed.gateway.verify_action import denied_unrecorded, verify_action
from qwed.gateway.verify_tool import verify_tool
from qwed.gateway.walls import require_own_or_scope
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.metrics import Metrics
from qwed.http.reading import (
    MAX_READ_AT_ONCE,
    BodyReader,
    body_token,
    idempotency_of,
    presented,
    tokens_in,
)
from qwed.http.responses import response_of
from qwed.http.sse import MAX_STREAMS, Streams, event_stream, listening

LOOPBACK = ("127.0.0.1", "::1")
MAX_WAIT_SECONDS = 60
RETRY_STREAM_SECONDS = 60


class Api:
    def __init__(
        self,
        services: Services,
        gatekeeper: Gatekeeper,
        metrics: Metrics,
        version: str,
        *,
        behind_proxy: bool = False,
    ) -> None:
        self._services = services
        self._bodies = BodyReader(services.policy.limits)
        self._gatekeeper = gatekeeper
        self._metrics = metrics
        self._version = version
        self._behind_proxy = behind_proxy
        self._streams = Streams()
        self.stopping = threading.Event()

    # --- deciding ------------------------------------------------------------------------------

    async def verify(self, request: Request) -> Response:
        agent_id = AgentId(request.path_params["agent_id"])
        acting = await self._acting(request, agent_id)
        if isinstance(acting, Answer):
            return self._decided(request, acting)
        asked = read_verify(acting.body, idempotency_of(request, acting.raw))
        answer = await verify_action(self._services, acting.caller, agent_id, asked)
        return self._decided(request, answer) if isinstance(answer, Answer) else response_of(answer)

    async def verify_tool(self, request: Request) -> Response:
        agent_id, tool = AgentId(request.path_params["agent_id"]), request.path_params["tool"]
        acting = await self._acting(request, agent_id)
        if isinstance(acting, Answer):
            return self._decided(request, acting)
        asked = read_tool(tool, acting.body)
        answer = await verify_tool(self._services, acting.caller, agent_id, asked)
        return self._decided(request, answer)

    async def _acting(self, request: Request, agent_id: AgentId) -> "_Acting | Answer":
        """Check 1, answered as the denial it is; then the request of somebody who may ask."""
        try:
            acting = await self._authenticated(request)
        except RequestError as error:
            if error.refusal.code is not Code.AUTH_MISSING:
                raise
            return denied_unrecorded(Code.AGENT_TOKEN, "no valid credential for this agent")
        caller = acting.caller
        if caller.agent_id is not None and caller.agent_id != agent_id:
            self._gatekeeper.failure(request)
            return denied_unrecorded(Code.AGENT_TOKEN, "the token belongs to another agent")
        require_own_or_scope(caller, Scope.VERIFY)
        _check_agent_id(acting.body, agent_id)
        return acting

    async def _authenticated(self, request: Request) -> "_Acting":
        """A credential in the headers is judged before the body is even read; only where there is none
        may the body carry it. Where both do, they must agree."""
        credentials = presented(request)
        caller = await self._gatekeeper.caller(request, credentials) if credentials.credentials else None
        try:
            raw = await self._bodies.raw(request)
            if caller is None and len(raw) > MAX_READ_AT_ONCE:
                await self._require_token_in(request, raw)
            body = await self._bodies.parsed(raw)
        except RequestError:
            if caller is None:
                raise self._gatekeeper.failure(request) from None
            raise
        if caller is None:
            caller = await self._gatekeeper.caller(request, presented(request, body))
        elif body_token(body) is not None:
            caller = await self._gatekeeper.recognised(request, presented(request, body))
        return _Acting(caller, raw, body)

    async def _require_token_in(self, request: Request, raw: bytes) -> None:
        for token in tokens_in(raw):
            if await authenticate(self._services, Presented((token,))) is not None:
                return
        raise refuse(Code.AUTH_MISSING, "no valid credential")

    def _decided(self, request: Request, answer: Answer) -> Response:
        decision, error = answer.body.get("decision", ""), answer.body.get("error")
        code = error["code"] if error else ""
        self._metrics.decision(decision, code)
        request.scope["noted"].update(decision=decision, code=code)
        return response_of(answer)

    async def ask_engine(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(
            await registries.ask_engine(self._services, caller, request.path_params["engine"], raw)
        )

    # --- agents --------------------------------------------------------------------------------

    async def register(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await register_agent(self._services, caller, raw))

    async def agents(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "after", "limit")
        limit = read_limit(query.get("limit"))
        return response_of(await manage_agents.list_agents(self._services, caller, query.get("after"), limit))

    async def agent(self, request: Request) -> Response:
        return await self._on_agent(request, manage_agents.show_agent)

    async def budget(self, request: Request) -> Response:
        return await self._on_agent(request, manage_agents.show_budget)

    async def deregister(self, request: Request) -> Response:
        return await self._on_agent(request, manage_agents.deregister_agent)

    async def reactivate(self, request: Request) -> Response:
        return await self._on_agent(request, manage_agents.reactivate_agent)

    async def rotate_token(self, request: Request) -> Response:
        return await self._on_agent(request, manage_agents.rotate_token)

    async def change(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, manage_agents.change_agent)

    async def suspend(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, manage_agents.suspend_agent)

    async def complaint(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, manage_agents.complain)

    async def _on_agent(
        self, request: Request, use_case: Callable[[Services, Caller, AgentId], Awaitable[Answer]]
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        agent_id = AgentId(request.path_params["agent_id"])
        return response_of(await use_case(self._services, caller, agent_id))

    async def _on_agent_with_body(
        self, request: Request, use_case: Callable[[Services, Caller, AgentId, Any], Awaitable[Answer]]
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        agent_id = AgentId(request.path_params["agent_id"])
        return response_of(await use_case(self._services, caller, agent_id, raw))

    # --- the record ----------------------------------------------------------------------------

    async def activity(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        agent_id = AgentId(request.path_params["agent_id"])
        return response_of(await read_activity(self._services, caller, agent_id, dict(request.query_params)))

    async def outcome(self, request: Request) -> Response:
        return await self._on_activity(request, report_outcome)

    async def settle(self, request: Request) -> Response:
        return await self._on_activity(request, settle_outcome)

    async def _on_activity(
        self,
        request: Request,
        use_case: Callable[[Services, Caller, AgentId, str, Any], Awaitable[Answer]],
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        agent_id, activity_id = AgentId(request.path_params["agent_id"]), request.path_params["activity_id"]
        return response_of(await use_case(self._services, caller, agent_id, activity_id, raw))

    async def approvals(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "agent_id", "status", "after", "limit")
        found = await list_approvals(
            self._services,
            caller,
            agent_id=query.get("agent_id"),
            status=query.get("status"),
            after=query.get("after"),
            limit=read_limit(query.get("limit")),
        )
        return response_of(found)

    async def approval(self, request: Request) -> Response:
        """With `wait`, answers as soon as the approval is no longer open, or when the time is over."""
        caller = await self._gatekeeper.caller(request)
        approval_id = request.path_params["approval_id"]
        seconds = _wait_seconds(_query(request, "wait").get("wait"))
        answer = await show_approval(self._services, caller, approval_id)
        if seconds and answer.body["status"] == ApprovalStatus.OPEN:
            async with listening(self._services.events, caller, self.stopping) as arrivals:
                # Listening first and looking again, so that an answer in between is not missed.
                answer = await show_approval(self._services, caller, approval_id)
                if answer.body["status"] == ApprovalStatus.OPEN:
                    await arrivals.approval(approval_id, seconds)
                    # A credential may have ended in the meantime.
                    caller = await self._gatekeeper.recognised(request, presented(request))
                    answer = await show_approval(self._services, caller, approval_id)
        return response_of(answer)

    async def approve(self, request: Request) -> Response:
        return await self._on_approval(request, answer_approval.approve)

    async def deny(self, request: Request) -> Response:
        return await self._on_approval(request, answer_approval.deny)

    async def redeem(self, request: Request) -> Response:
        return await self._on_approval(request, answer_approval.redeem)

    async def _on_approval(
        self, request: Request, use_case: Callable[[Services, Caller, str, Any], Awaitable[Answer]]
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await use_case(self._services, caller, request.path_params["approval_id"], raw))

    async def trust(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, change_trust)

    # --- credentials and notices ---------------------------------------------------------------

    async def keys(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await manage_keys.list_keys(self._services, caller))

    async def create_key(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await manage_keys.create_key(self._services, caller, raw))

    async def revoke_key(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(
            await manage_keys.revoke_key(self._services, caller, request.path_params["key_id"])
        )

    async def webhooks(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await manage_keys.list_webhooks(self._services, caller))

    async def create_webhook(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await manage_keys.create_webhook(self._services, caller, raw))

    async def drop_webhook(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(
            await manage_keys.drop_webhook(self._services, caller, request.path_params["webhook_id"])
        )

    async def events(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        require_own_or_scope(caller, Scope.READ)
        if self._streams.is_full(caller):
            refusal = Refusal(Code.RATE_LIMITED, f"this credential has {MAX_STREAMS} streams open already")
            raise RequestError(refusal, retry_after=RETRY_STREAM_SECONDS)
        return StreamingResponse(self._stream(request, caller), media_type="text/event-stream")

    async def _stream(self, request: Request, caller: Caller) -> AsyncIterator[bytes]:
        credentials = presented(request)

        async def is_welcome() -> bool:
            try:
                return await authenticate(self._services, credentials) is not None
            except StoreUnavailable:
                return False

        # Of many that came together, those beyond the limit are known only here.
        if not self._streams.is_full(caller):
            with self._streams.one_more(caller):
                async for frame in event_stream(self._services.events, caller, self.stopping, is_welcome):
                    yield frame

    # --- registries, evidence, health ----------------------------------------------------------

    async def tools(self, request: Request) -> Response:
        await self._gatekeeper.caller(request)
        return response_of(registries.list_tools(self._services.policy))

    async def actions(self, request: Request) -> Response:
        await self._gatekeeper.caller(request)
        return response_of(registries.list_actions(self._services.policy))

    async def jwks(self, request: Request) -> Response:
        return response_of(Answer(self._services.signer.jwks()))

    async def verify_attestation(self, request: Request) -> Response:
        """One uniform refusal for every reason: a prober learns nothing."""
        raw = await self._bodies.json(request)
        token = raw.get("attestation") if isinstance(raw, dict) else None
        if not isinstance(token, str):
            raise malformed("attestation", "is missing or no string")
        claims = self._services.signer.verify(ATTESTATION_TYPE, token)
        now = self._services.clock.now_ms() // 1000
        if claims is None or claims.get("exp", 0) <= now:
            raise refuse(Code.ATTESTATION_REJECTED, "the attestation is not valid")
        return response_of(Answer({"valid": True, "claims": claims}))

    async def health(self, request: Request) -> Response:
        return response_of(Answer({"status": "ok", "version": self._version}))

    async def ready(self, request: Request) -> Response:
        try:
            await self._services.store.ping()
        except StoreUnavailable as error:
            return response_of(Answer({"ready": False, "store": str(error)}, status=503))
        body = {"ready": True, "store": "ok", "limiter": "local"}
        return response_of(Answer({**body, "policy_version": self._services.policy.version}))

    async def metrics(self, request: Request) -> Response:
        """For an operator, or from this machine itself (which a proxy would make of everybody)."""
        address = request.client.host if request.client else ""
        if self._behind_proxy or address not in LOOPBACK:
            caller = await self._gatekeeper.caller(request)
            if not caller.is_operator:
                raise refuse(Code.AUTH_FORBIDDEN, "metrics are for operators")
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


class _Acting(msgspec.Struct, frozen=True):
    """Who asks for a decision, and the body as it came and as it reads."""

    caller: Caller
    raw: bytes
    body: Any


def _wait_seconds(text: str | None) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 2 and int(text) <= MAX_WAIT_SECONDS):
        raise malformed("wait", f"is a number of seconds from 0 to {MAX_WAIT_SECONDS}")
    return int(text)


def _check_agent_id(body: Any, agent_id: AgentId) -> None:
    given = body.get("agent_id") if isinstance(body, dict) else None
    if given is not None and given != agent_id:
        raise malformed("agent_id", "differs from the agent in the path")


def _query(request: Request, *known: str) -> dict[str, str]:
    given = dict(request.query_params)
    for name in given:
        if name not in known:
            raise malformed(name[:80], f"is no parameter of this query; there are {', '.join(known)}")
    return given
