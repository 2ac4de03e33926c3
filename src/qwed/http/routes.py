"""Every endpoint: read the request, call one use case, answer. No rule is decided here."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from qwed.domain.agents import AgentId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.bounds import Bounds
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller, Scope
from qwed.ect.header import NAME as EXECUTION_CONTEXT
from qwed.gateway.agents import manage_agents, manage_keys
from qwed.gateway.agents.authenticate import PresentedCredentials, authenticate
from qwed.gateway.agents.register_agent import register_agent
from qwed.gateway.approvals import answer_approval
from qwed.gateway.approvals.compare_approval import compare_approval
from qwed.gateway.approvals.read_approvals import list_approvals, show_approval
from qwed.gateway.decide.doors import deny_unrecorded, verify_action, verify_tool
from qwed.gateway.decide.evaluate_access import (
    AccessQuestion,
    AccessQuestions,
    evaluate,
    is_permitted,
    show_access,
)
from qwed.gateway.decide.observe import observes_until
from qwed.gateway.evidence import ledger_queries, permits, transparency
from qwed.gateway.evidence.check_attestation import check_attestation
from qwed.gateway.evidence.redact_activity import redact_activity, redact_matching
from qwed.gateway.evidence.redact_token import redact_token
from qwed.gateway.evidence.report_outcome import report_outcome, settle_outcome
from qwed.gateway.hooks.answer_hook import HookCall, answer_hook
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.degrade_trust import charge_foreign_token
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import read_tool, read_verify
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope, require_scope
from qwed.gateway.notices import manage_webhooks
from qwed.gateway.policy import registries, workflows
from qwed.gateway.policy.change_policy import differs
from qwed.gateway.reporting import read_provenance
from qwed.gateway.reporting.compliance import Report, compliance_report
from qwed.gateway.reporting.read_activity import read_activity, read_limit
from qwed.gateway.reporting.read_conversations import read_conversations
from qwed.gateway.reporting.read_origins import read_origins
from qwed.gateway.reporting.read_overview import Overviews
from qwed.gateway.reporting.read_trust import read_trust
from qwed.gateway.reporting.search_activity import search_activity, show_activity
from qwed.gateway.trust import behaviours, trust_scores
from qwed.gateway.trust.change_trust import change_trust
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.load_limit import RequestGate
from qwed.http.metrics import Metrics
from qwed.http.passkey_routes import PasskeyRoutes
from qwed.http.policy_routes import PolicyRoutes
from qwed.http.registrations import Registrations
from qwed.http.request_reader import (
    MAX_READ_AT_ONCE,
    BodyReader,
    body_token,
    execution_context_of,
    idempotency_of,
    presented,
    read_forwarded,
    tokens_in,
)
from qwed.http.responses import response_of
from qwed.http.session_routes import SessionRoutes
from qwed.http.signin.slack import MAX_SLACK_BYTES
from qwed.http.sse import MAX_STREAMS, Listeners, event_stream, listening, may_still_listen
from qwed.reports import RendererMissing, ReportFormat, render

LOOPBACK = ("127.0.0.1", "::1")
MAX_WAIT_SECONDS = 60
RETRY_STREAM_SECONDS = 60
MAX_REPORT_SECONDS = 120
#: What a request that Envoy asks about is, among the tools.
API_CALL = "api_call"
ECT_MEDIA = ("application/exec+jwt", "application/wimse-exec+jwt")


class Api(PolicyRoutes, SessionRoutes, PasskeyRoutes):
    def __init__(
        self,
        services: Services,
        gatekeeper: Gatekeeper,
        metrics: Metrics,
        version: str,
        gate: RequestGate,
        *,
        behind_proxy: bool = False,
        max_listeners: int = Bounds().listeners,
    ) -> None:
        self._first = services
        self._bodies = BodyReader(services.policy.limits, gate)
        self._gatekeeper = gatekeeper
        self._metrics = metrics
        self._version = version
        self._behind_proxy = behind_proxy
        self._listeners = Listeners(max_listeners)
        self._overviews = Overviews(services)
        self._registrations = Registrations()
        self.outage, self.limiter_name = services.commons.outage, services.commons.name
        self.stopping = threading.Event()

    @property
    def _services(self) -> Services:
        """Under what is in force now; a request keeps the set that it began with."""
        return self._first.newest

    # --- deciding ------------------------------------------------------------------------------

    async def verify(self, request: Request) -> Response:
        agent_id = AgentId(request.path_params["agent_id"])
        acting = await self._acting(request, agent_id)
        if isinstance(acting, Answer):
            return self._answer_decision(request, acting)
        tokens = execution_context_of(request)
        asked = read_verify(acting.body, idempotency_of(request, acting.raw), tokens)
        answer = await verify_action(self._services, acting.caller, agent_id, asked)
        return self._answer_decision(request, answer) if isinstance(answer, Answer) else response_of(answer)

    async def verify_tool(self, request: Request) -> Response:
        agent_id, tool = AgentId(request.path_params["agent_id"]), request.path_params["tool"]
        acting = await self._acting(request, agent_id, body_optional=True)
        if isinstance(acting, Answer):
            return self._answer_decision(request, acting)
        key = idempotency_of(request, acting.raw, tool)
        asked = read_tool(tool, acting.body, key, execution_context_of(request))
        answer = await verify_tool(self._services, acting.caller, agent_id, asked)
        return self._answer_decision(request, answer) if isinstance(answer, Answer) else response_of(answer)

    async def hook(self, request: Request) -> Response:
        """A tool call as a coding agent tells its hook of it; the answer is in that agent's words."""
        caller = await self._gatekeeper.caller(request)
        body = await self._bodies.json(request)
        if not isinstance(body, dict):
            raise malformed("body", "is an object")
        root = request.headers.get("qwed-project")
        state = request.headers.get("qwed-state")
        place = None if root is None else unquote(root)
        has_sign_in = self._gatekeeper.people is not None
        call = HookCall(request.path_params["coding_agent"], body, place, state, has_sign_in)
        return response_of(await answer_hook(self._services, caller, call))

    async def _acting(
        self, request: Request, agent_id: AgentId, *, body_optional: bool = False
    ) -> "_Acting | Answer":
        """Check 1, answered as the denial it is; then the request of somebody who may ask."""
        try:
            acting = await self._authenticate(request, body_optional)
        except RequestError as error:
            if error.refusal.code is not Code.AUTH_MISSING:
                raise
            message = "no valid credential for this agent: send its token, or an API key of its principal"
            return deny_unrecorded(Code.AGENT_TOKEN, message)
        caller = acting.caller
        if await self._is_foreign(request, caller, agent_id):
            return deny_unrecorded(Code.AGENT_TOKEN, "the token belongs to another agent")
        require_own_or_scope(caller, Scope.VERIFY)
        _check_agent_id(acting.body, agent_id)
        return acting

    async def _is_foreign(self, request: Request, caller: Caller, agent_id: AgentId) -> bool:
        """Whether one agent asks with its own token for another; that counts against it."""
        if caller.agent_id is None or caller.agent_id == agent_id:
            return False
        await self._gatekeeper.failure(request)
        await charge_foreign_token(self._services, caller, agent_id)
        return True

    async def _authenticate(self, request: Request, body_optional: bool) -> "_Acting":
        """A credential in the headers is judged before the body is even read; only where there is none
        may the body carry it. Where both do, they must agree."""
        credentials = presented(request)
        caller = await self._gatekeeper.caller(request, credentials) if credentials.credentials else None
        try:
            raw = await self._bodies.raw(request, is_known=caller is not None)
            if caller is None and len(raw) > MAX_READ_AT_ONCE:
                await self._require_token_in(request, raw)
            body = None if body_optional and not raw else await self._bodies.parsed(raw)
        except RequestError:
            if caller is None:
                raise await self._gatekeeper.failure(request) from None
            raise
        if caller is None:
            caller = await self._gatekeeper.caller(request, presented(request, body))
        elif body_token(body) is not None:
            caller = await self._gatekeeper.recognised(request, presented(request, body))
        return _Acting(caller, raw, body)

    async def _require_token_in(self, request: Request, raw: bytes) -> None:
        for token in tokens_in(raw):
            if await authenticate(self._services, PresentedCredentials((token,))) is not None:
                return
        raise refuse(Code.AUTH_MISSING, "no valid credential")

    async def evaluation(self, request: Request) -> Response:
        return await self._evaluate(request, AccessQuestions.of_one)

    async def evaluations(self, request: Request) -> Response:
        return await self._evaluate(request, AccessQuestions.of_many)

    async def _evaluate(self, request: Request, read: Callable[[Any], AccessQuestions]) -> Response:
        """AuthZEN: 200 with `decision: false` is a refusal; other statuses are about the question itself."""
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.raw(request)
        questions = read(await self._bodies.parsed(raw))
        for agent_id in dict.fromkeys(question.agent_id for question in questions.each):
            if await self._is_foreign(request, caller, agent_id):
                raise refuse(Code.AGENT_TOKEN, "the token belongs to another agent")
        require_own_or_scope(caller, Scope.VERIFY)
        keys = tuple(idempotency_of(request, raw, f"evaluation {n}") for n in range(len(questions.each)))
        shown = []
        async for answer in evaluate(self._services, caller, questions, keys):
            self._note_decision(request, answer)
            shown.append(show_access(answer))
        return response_of(Answer(shown[0] if questions.is_one else {"evaluations": shown}))

    async def ext_authz(self, request: Request) -> Response:
        """Envoy asks whether a request may pass (ext_authz over HTTP): 200 lets it, nothing else does.

        Only the agent's own token says who asks: `Authorization` is for whom the request is meant."""
        token = request.headers.get("x-agent-token", "")
        caller = await self._gatekeeper.caller(request, PresentedCredentials((token,) if token else ()))
        if caller.agent_id is None:
            raise refuse(Code.AGENT_TOKEN, "send the agent's own token in X-Agent-Token")
        question = AccessQuestion(caller.agent_id, API_CALL, read_forwarded(request))
        async for answer in evaluate(self._services, caller, AccessQuestions((question,)), (None,)):
            self._note_decision(request, answer)
            is_allowed = is_permitted(answer)
            response = response_of(Answer(answer.body, status=200 if is_allowed else 403))
            response.headers["QWED-Decision"] = str(answer.body.get("decision", "DENIED"))
        return response

    async def authzen(self, request: Request) -> Response:
        """Where the two endpoints are, by the address that the caller used."""
        here = str(request.base_url).rstrip("/")
        told = {
            "policy_decision_point": here,
            "access_evaluation_endpoint": f"{here}/access/v1/evaluation",
            "access_evaluations_endpoint": f"{here}/access/v1/evaluations",
        }
        return response_of(Answer(told))

    def _answer_decision(self, request: Request, answer: Answer) -> Response:
        self._note_decision(request, answer)
        response = response_of(answer)
        if (token := answer.body.get("execution_context")) is not None:
            response.headers[EXECUTION_CONTEXT] = token
        return response

    def _note_decision(self, request: Request, answer: Answer) -> None:
        decision, error = answer.body.get("decision", ""), answer.body.get("error")
        code = error["code"] if error else ""
        self._metrics.decision(decision, code)
        noted = {"decision": decision, "code": code, "activity_id": answer.body.get("activity_id", "")}
        request.scope["noted"].update(noted, **(answer.log or {}))

    async def ask_engine(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(
            await registries.ask_engine(self._services, caller, request.path_params["engine"], raw)
        )

    # --- agents --------------------------------------------------------------------------------

    async def register(self, request: Request) -> Response:
        """Repeated under its key, it is the same registration."""
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.raw(request)
        body = await self._bodies.parsed(raw) if raw else None
        key = idempotency_of(request, raw)
        if key is None:
            return response_of(await register_agent(self._services, caller, body))
        name, now_ms = (caller.names, key), self._services.clock.now_ms

        async def register_once() -> Answer | Remembered:
            answer = self._registrations.recall(name, now_ms())
            if answer is None:
                answer = await register_agent(self._services, caller, body)
                self._registrations.keep(name, answer, now_ms())
            return answer

        return response_of(
            await self._services.repeats.do((AgentId("\0".join(caller.names)), key), register_once)
        )

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
        return response_of(await read_activity(self._services, caller, agent_id, _parameters(request)))

    async def search(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await search_activity(self._services, caller, _parameters(request)))

    async def entry(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await show_activity(self._services, caller, request.path_params["activity_id"]))

    async def conversations(self, request: Request) -> Response:
        return await self._on_agent(request, read_conversations)

    async def origins(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await read_origins(self._services, caller, await self._bodies.json(request)))

    async def overview(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await self._overviews.read(caller, _query(request, "hours").get("hours")))

    async def outcome(self, request: Request) -> Response:
        return await self._on_activity(request, report_outcome)

    async def settle(self, request: Request) -> Response:
        return await self._on_activity(request, settle_outcome)

    async def unused_permits(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "agent_id", "audience", "action_hash")
        return response_of(await permits.find_unused(self._services, caller, query))

    async def permit(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await permits.show_permit(self._services, caller, request.path_params["jti"]))

    async def use_permit(self, request: Request) -> Response:
        return await self._on_permit(request, permits.use)

    async def receipt_of_permit(self, request: Request) -> Response:
        return await self._on_permit(request, permits.report_receipt)

    async def _on_permit(
        self, request: Request, use_case: Callable[[Services, Caller, str, Any], Awaitable[Answer]]
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await use_case(self._services, caller, request.path_params["jti"], raw))

    async def permit_finding(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await permits.report_finding(self._services, caller, raw))

    async def permit_findings(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "agent_id", "after", "limit")
        limit = read_limit(query.get("limit"))
        found = await permits.list_findings(
            self._services, caller, query.get("agent_id"), query.get("after"), limit
        )
        return response_of(found)

    async def _on_activity(
        self,
        request: Request,
        use_case: Callable[[Services, Caller, AgentId, str, Any], Awaitable[Answer]],
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        agent_id, activity_id = AgentId(request.path_params["agent_id"]), request.path_params["activity_id"]
        return response_of(await use_case(self._services, caller, agent_id, activity_id, raw))

    async def redact(self, request: Request) -> Response:
        return await self._on_activity(request, redact_activity)

    async def redact_matching(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, redact_matching)

    async def agent_report(self, request: Request) -> Response:
        return await self._report(request, AgentId(request.path_params["agent_id"]))

    async def report(self, request: Request) -> Response:
        return await self._report(request, None)

    async def _report(self, request: Request, agent_id: AgentId | None) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _parameters(request)
        form = _report_format(query.pop("format", ReportFormat.JSON))
        report = await compliance_report(
            self._services,
            caller,
            agent_id,
            query,
            software=f"qwed {self._version}",
            within_seconds=MAX_REPORT_SECONDS,
        )
        return await _render(report, form)

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
        """With `wait`, answers as soon as the approval is no longer open, or when the time is over; at once
        where too many wait already."""
        caller = await self._gatekeeper.caller(request)
        approval_id = request.path_params["approval_id"]
        seconds = _wait_seconds(_query(request, "wait").get("wait"))
        answer = await show_approval(self._services, caller, approval_id)
        if seconds and answer.body["status"] == ApprovalStatus.OPEN and not self._listeners.is_full(caller):
            with self._listeners.one_more(caller):
                answer = await self._await_approval(request, caller, approval_id, seconds)
        return response_of(answer)

    async def _await_approval(
        self, request: Request, caller: Caller, approval_id: str, seconds: int
    ) -> Answer:
        async with listening(self._services.events, caller, self.stopping) as arrivals:
            # Listening first and looking again, so that an answer in between is not missed.
            answer = await show_approval(self._services, caller, approval_id)
            if answer.body["status"] != ApprovalStatus.OPEN:
                return answer
            await arrivals.approval(approval_id, seconds)
        # A credential may have ended in the meantime.
        caller = await self._gatekeeper.recognised(request)
        return await show_approval(self._services, caller, approval_id)

    async def compare(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        approval_id = request.path_params["approval_id"]
        return response_of(await compare_approval(self._services, caller, approval_id))

    async def approve(self, request: Request) -> Response:
        caller, approval_id = await self._gatekeeper.caller(request), request.path_params["approval_id"]
        raw = await self._bodies.json(request)
        proof = await self._passkey_proof(caller, raw)
        return response_of(await answer_approval.approve(self._services, caller, approval_id, raw, proof))

    async def slack_answer(self, request: Request) -> Response:
        """Somebody pressed a button in Slack. Whatever Slack did not sign counts like a wrong key."""
        door = self._gatekeeper.slack
        if door is None:
            raise refuse(Code.NOT_FOUND, "no Slack app is set up here (QWED_SLACK_SIGNING_SECRET)")
        raw = await self._bodies.raw(request, is_known=False, most=MAX_SLACK_BYTES)
        pressed = door.read(request.headers, raw)
        if pressed is None:
            raise await self._gatekeeper.failure(request)
        caller = door.caller(pressed)
        use_case = answer_approval.approve if pressed.approves else answer_approval.deny
        body = {"action_hash": pressed.action_hash} if pressed.approves else {}
        await use_case(self._services, caller, pressed.approval_id, body)
        return response_of(Answer({}))

    async def deny(self, request: Request) -> Response:
        return await self._on_approval(request, answer_approval.deny)

    async def redeem(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw, approval_id = await self._bodies.raw(request), request.path_params["approval_id"]
        body = await self._bodies.parsed(raw) if raw else None
        key = idempotency_of(request, raw, approval_id)
        return response_of(await answer_approval.redeem(self._services, caller, approval_id, body, key))

    async def _on_approval(
        self, request: Request, use_case: Callable[[Services, Caller, str, Any], Awaitable[Answer]]
    ) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await use_case(self._services, caller, request.path_params["approval_id"], raw))

    async def trust(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, change_trust)

    # --- assurance -----------------------------------------------------------------------------

    async def own_trust_score(self, request: Request) -> Response:
        return await self._on_agent(request, trust_scores.show_own_score)

    async def spec(self, request: Request) -> Response:
        return await self._on_agent(request, behaviours.show_spec)

    async def set_spec(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, behaviours.set_spec)

    async def trust_score(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        peer = _query(request, "peer").get("peer")
        return response_of(await trust_scores.show_score(self._services, caller, peer))

    async def prove_scores(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await trust_scores.prove_scores(self._services, caller))

    async def seed_score(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await trust_scores.seed_score(self._services, caller, raw))

    async def assert_trust(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await trust_scores.assert_trust(self._services, caller, raw))

    async def reinstate(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await trust_scores.reinstate(self._services, caller, raw))

    async def provenance(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        jti, question = request.path_params["jti"], request.path_params["question"]
        return response_of(await read_provenance.ask(self._services, caller, jti, question))

    async def match(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(
            await read_provenance.match(self._services, caller, request.path_params["jti"], raw)
        )

    async def trust_history(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        agent_id = AgentId(request.path_params["agent_id"])
        query = _query(request, "cursor", "limit")
        limit = read_limit(query.get("limit"))
        return response_of(await read_trust(self._services, caller, agent_id, query.get("cursor"), limit))

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
        return response_of(await manage_webhooks.list_webhooks(self._services, caller))

    async def create_webhook(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await manage_webhooks.create_webhook(self._services, caller, raw))

    async def drop_webhook(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(
            await manage_webhooks.drop_webhook(self._services, caller, request.path_params["webhook_id"])
        )

    async def test_webhook(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(
            await manage_webhooks.test_webhook(self._services, caller, request.path_params["webhook_id"])
        )

    async def deliveries(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "after", "limit")
        found = await manage_webhooks.list_deliveries(
            self._services,
            caller,
            request.path_params["webhook_id"],
            after=query.get("after"),
            limit=read_limit(query.get("limit")),
        )
        return response_of(found)

    async def retry_delivery(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        webhook_id, delivery_id = request.path_params["webhook_id"], request.path_params["delivery_id"]
        return response_of(
            await manage_webhooks.retry_delivery(self._services, caller, webhook_id, delivery_id)
        )

    async def events(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        require_own_or_scope(caller, Scope.READ)
        if (enough := self._why_not_listen(caller)) is not None:
            raise RequestError(Refusal(Code.RATE_LIMITED, enough), retry_after=RETRY_STREAM_SECONDS)
        return StreamingResponse(self._stream(request, caller), media_type="text/event-stream")

    def _why_not_listen(self, caller: Caller) -> str | None:
        if self._listeners.has_enough_streams(caller):
            return f"this credential has {MAX_STREAMS} streams open already"
        if self._listeners.is_full(caller):
            return "as many streams and waiting requests are open as there may be, in all or of one principal"
        return None

    async def _stream(self, request: Request, caller: Caller) -> AsyncIterator[bytes]:
        async def is_welcome() -> bool:
            try:
                again = await self._gatekeeper.identified(request)
            except (StoreUnavailable, RequestError):
                return False
            return again is not None and may_still_listen(caller, again)

        # Of many that came together, those beyond the limit are known only here.
        if self._why_not_listen(caller) is None:
            with self._listeners.one_more_stream(caller):
                async for frame in event_stream(
                    self._services.events, caller, self.stopping, is_welcome, self._listeners.frames
                ):
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
        """Open to all; who sends a credential is known by it."""
        raw = await self._bodies.strangers_json(request)
        credentials = presented(request)
        caller = await authenticate(self._services, credentials) if credentials.credentials else None
        return response_of(await check_attestation(self._services, caller, raw))

    async def submit_ects(self, request: Request) -> Response:
        """As JSON, or a single token as it is."""
        caller = await self._gatekeeper.caller(request)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() in ECT_MEDIA:
            raw: Any = {"ects": [str(await self._bodies.raw(request), "latin-1").strip()]}
        else:
            raw = await self._bodies.json(request)
        return response_of(await ledger_queries.submit_ects(self._services, caller, raw))

    async def ect(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        return response_of(await ledger_queries.show_ect(self._services, caller, request.path_params["jti"]))

    async def redact_ect(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await redact_token(self._services, caller, request.path_params["jti"], raw))

    async def set_ect_keys(self, request: Request) -> Response:
        return await self._on_agent_with_body(request, ledger_queries.set_ect_keys)

    async def register_workflow(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await workflows.register_workflow(self._services, caller, raw))

    async def workflow(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        workflow_id = request.path_params["workflow_id"]
        return response_of(await workflows.show_workflow(self._services, caller, workflow_id))

    async def checkpoint(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        size = _number(_query(request, "size"), "size")
        return response_of(await ledger_queries.show_checkpoint(self._services, caller, size))

    async def cosign(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        raw = await self._bodies.json(request)
        return response_of(await ledger_queries.keep_cosignature(self._services, caller, raw))

    async def entries(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "after", "limit")
        limit = read_limit(query.get("limit"))
        after = _number(query, "after") or 0
        return response_of(await ledger_queries.list_entries(self._services, caller, after, limit))

    async def inclusion(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "seq", "subject", "size")
        seq, size = _number(query, "seq"), _number(query, "size")
        if (seq is None) == ("subject" not in query):
            raise malformed("seq", "name the entry by its number (seq) or by what it is about (subject)")
        return response_of(
            await ledger_queries.prove_entry(self._services, caller, seq, query.get("subject"), size)
        )

    async def consistency(self, request: Request) -> Response:
        caller = await self._gatekeeper.caller(request)
        query = _query(request, "first", "second")
        first, second = _number(query, "first"), _number(query, "second")
        if first is None:
            raise malformed("first", "is missing: the size of the ledger that you know")
        return response_of(await ledger_queries.prove_consistency(self._services, caller, first, second))

    async def log_checkpoint(self, request: Request) -> Response:
        caller = await self._log_reader(request)
        text, token = await transparency.show_log_checkpoint(self._services, caller)
        headers = {"Cache-Control": "max-age=1", "QWED-Checkpoint": token}
        return Response(text, media_type="text/plain", headers=headers)

    async def log_key(self, request: Request) -> Response:
        text = await transparency.show_log_key(self._services, await self._log_reader(request))
        return Response(text, media_type="text/plain")

    async def log_tile(self, request: Request) -> Response:
        caller = await self._log_reader(request)
        content = await transparency.read_tile(self._services, caller, request.path_params["place"])
        scope = "public" if self._services.public_log else "private"
        headers = {"Cache-Control": f"{scope}, max-age=31536000, immutable"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def _log_reader(self, request: Request) -> Caller | None:
        """Nobody in particular, where the log is public."""
        return None if self._services.public_log else await self._gatekeeper.caller(request)

    async def health(self, request: Request) -> Response:
        return response_of(Answer({"status": "ok", "version": self._version}))

    async def ready(self, request: Request) -> Response:
        """Names every component that is away, and why."""
        commons, away = self._services.commons, dict[str, str]()
        try:
            await self._services.store.ping()
        except StoreUnavailable as error:
            away[error.component] = str(error)
        if (outage := commons.outage()) is not None:
            away[commons.name] = outage
        integrity = self._services.store.integrity
        if (problem := integrity.problem()) is not None:
            away["state"] = problem
        if (behind := self._services.store.ledger_watch.problem()) is not None:
            away["ledger"] = behind
        body: dict[str, Any] = {"store": away.get("store", "ok"), "limiter": commons.name}
        body["state"] = away.get("state", "being compared with the ledger" if integrity.is_checking else "ok")
        if away:
            reason = "; ".join(f"{component}: {why}" for component, why in away.items())
            body |= {"ready": False, "components": list(away), "reason": reason}
            return response_of(Answer(body, status=503))
        services = self._services
        body |= {"policy_version": services.policy.version, "version": services.policy_number}
        if differs(services.live, services.policy):
            body["policy"] = f"differs: {services.live.file} is not what is in force"
        if (until := observes_until(services)) is not None:
            body["observing"] = {"until": until}
        if services.stops:
            body["stopped"] = [stop.to_wire() for stop in services.stops]
        return response_of(Answer({"ready": True, **body}))

    async def metrics(self, request: Request) -> Response:
        """For an operator, or from this machine itself (which a proxy would make of everybody)."""
        address = request.client.host if request.client else ""
        if self._behind_proxy or address not in LOOPBACK:
            caller = await self._gatekeeper.caller(request)
            require_scope(caller, Scope.METRICS)
        self._metrics.waiting = await self._count_waiting()
        self._metrics.permit_findings = await self._count_permit_findings()
        self._metrics.policy_version = self._services.policy.version
        text = await asyncio.to_thread(self._metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _count_waiting(self) -> int | None:
        """Metrics are there also when the store is not: then least of all should they be missing."""
        services = self._services
        try:
            return await services.store.count_waiting(None, services.clock.now_ms())
        except StoreUnavailable:
            return None

    async def _count_permit_findings(self) -> dict[str, int] | None:
        services = self._services
        try:
            return await services.store.count_findings(None, None, 0, services.clock.now_ms() + 1)
        except StoreUnavailable:
            return None


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


def _report_format(name: str) -> ReportFormat:
    if name not in tuple(ReportFormat):
        raise malformed("format", f"is one of {', '.join(ReportFormat)}")
    return ReportFormat(name)


async def _render(report: Report, form: ReportFormat) -> Response:
    """Drawn off the loop; a file is offered under a name of ours, not of an agent's."""
    try:
        rendered = await asyncio.to_thread(render, report, form)
    except RendererMissing as error:
        raise malformed("format", str(error)) from None
    headers = {"Content-Disposition": f'attachment; filename="compliance-report.{rendered.suffix}"'}
    return Response(rendered.content, 200, headers, rendered.media_type)


def _number(query: dict[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise malformed(name, "is a number from 0 on")
    return int(text)


def _check_agent_id(body: Any, agent_id: AgentId) -> None:
    given = body.get("agent_id") if isinstance(body, dict) else None
    if given is not None and given != agent_id:
        raise malformed("agent_id", "differs from the agent in the path")


def _parameters(request: Request) -> dict[str, str]:
    """Each once: of two values nobody could say which was meant."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in given:
            raise malformed(name[:80], "is given twice")
        given[name] = value
    return given


def _query(request: Request, *known: str) -> dict[str, str]:
    given = _parameters(request)
    for name in given:
        if name not in known:
            raise malformed(name[:80], f"is no parameter of this query; there are {', '.join(known)}")
    return given
