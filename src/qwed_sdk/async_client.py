"""`AsyncQWEDClient`: the gateway, under asyncio."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from qwed_sdk import calls
from qwed_sdk.bodies import encode
from qwed_sdk.calls import Call
from qwed_sdk.connection import connect, environment
from qwed_sdk.conversations import AsyncConversation
from qwed_sdk.direct_transport import DirectTransport, Door
from qwed_sdk.errors import GatewayUnavailable
from qwed_sdk.events import EventReader
from qwed_sdk.procedures import Procedure, acarry_out, approval_answer
from qwed_sdk.results import Agent, Approval, Decision, Event, Result, ToolDecision

R = TypeVar("R")


class AsyncQWEDClient:
    """As `QWEDClient`, with awaitable methods."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        max_tries: int = 3,
        verify: Any = True,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = connect(
            base_url, api_key, timeout=timeout, max_tries=max_tries, environ=environment()
        )
        self._http = httpx2.AsyncClient(
            base_url=self._connection.base_url, timeout=timeout, verify=verify, transport=transport
        )
        self._door = (
            Door(transport, self._connection.base_url) if isinstance(transport, DirectTransport) else None
        )

    def __repr__(self) -> str:
        return f"AsyncQWEDClient({self._connection.base_url!r})"

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # --- agents --------------------------------------------------------------------------------

    async def register_agent(
        self, name: str, type: str = "supervised", principal_id: str | None = None, **details: Any
    ) -> Agent:
        """Register an agent; its token is remembered for its own requests.

        `details`: permissions, budget, trust_level, description, framework, model.
        """
        given = {"name": name, "type": type, "principal_id": principal_id, **details}
        agent = await self.send(calls.register_agent(given))
        self._connection.tokens[agent.agent_id] = str(agent["agent_token"])
        return agent

    def use_agent_token(self, agent_id: str, agent_token: str) -> None:
        """Sign this agent's requests with its token, as for an agent that was registered here."""
        self._connection.tokens[agent_id] = agent_token

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents whose tokens this client has."""
        return tuple(self._connection.tokens)

    async def get_agent(self, agent_id: str) -> Agent:
        return await self.send(calls.get_agent(agent_id))

    async def get_agent_budget(self, agent_id: str) -> Result:
        return await self.send(calls.get_agent_budget(agent_id))

    async def suspend(self, agent_id: str, reason: str | None = None) -> Agent:
        return await self.send(calls.suspend(agent_id, reason))

    async def reactivate(self, agent_id: str) -> Agent:
        return await self.send(calls.reactivate(agent_id))

    # --- deciding ------------------------------------------------------------------------------

    async def verify_action(
        self,
        agent_id: str,
        action: Mapping[str, Any],
        context: Mapping[str, Any] | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        usage: Mapping[str, Any] | None = None,
        agent_token: str | None = None,
        execution_context: Sequence[str] = (),
    ) -> Decision:
        """`execution_context`: tokens (ECT) of what led to this action."""
        call = calls.verify_action(
            agent_id, action, context, options, usage, execution_context=execution_context
        )
        return await self.send(call, agent_token)

    async def verify_tool(
        self,
        agent_id: str,
        tool_name: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        justification: str | None = None,
        context: Mapping[str, Any] | None = None,
        agent_token: str | None = None,
    ) -> ToolDecision:
        call = calls.verify_tool(agent_id, tool_name, parameters, justification, context)
        return await self.send(call, agent_token)

    def conversation(
        self, agent_id: str, conversation_id: str | None = None, *, agent_token: str | None = None
    ) -> AsyncConversation:
        """Numbers the steps by itself, and reports what became of them."""
        if agent_token is not None:
            self.use_agent_token(agent_id, agent_token)
        return AsyncConversation(self, agent_id, conversation_id)

    async def actions(self) -> list[Result]:
        """The action types in force: name, engine, risk."""
        found = await self.send(calls.actions())
        return [Result(row) for row in found["actions"]]

    # --- the record ----------------------------------------------------------------------------

    async def get_agent_activity(self, agent_id: str, limit: int = 50, **query: Any) -> list[Result]:
        """One page, newest first. `from_` and `to` are ISO 8601."""
        page = await self.send(calls.get_activity_page(agent_id, {"limit": limit, **query}))
        return [Result(entry) for entry in page["activities"]]

    async def iterate_agent_activity(self, agent_id: str, **query: Any) -> AsyncIterator[Result]:
        """Every entry, page by page."""
        cursor: str | None = None
        while True:
            page = await self.send(
                calls.get_activity_page(agent_id, {"limit": 500, **query, "cursor": cursor})
            )
            for entry in page["activities"]:
                yield Result(entry)
            cursor = page.get("next")
            if cursor is None:
                return

    async def report_outcome(
        self,
        agent_id: str,
        activity_id: str,
        outcome: str,
        *,
        result_hash: str | None = None,
        error: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> Result:
        given = {"outcome": outcome, "result_hash": result_hash, "error": error, "usage": usage}
        return await self.send(calls.report_outcome(agent_id, activity_id, given))

    # --- approvals -----------------------------------------------------------------------------

    async def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> list[Approval]:
        page = await self.send(calls.approvals({"agent_id": agent_id, "status": status}))
        return [Approval(entry) for entry in page["approvals"]]

    async def get_approval(self, approval_id: str, *, agent_id: str | None = None) -> Approval:
        return await self.send(calls.get_approval(approval_id, agent_id))

    async def wait_for_approval(
        self, approval_id: str, timeout: float = 900.0, *, agent_id: str | None = None
    ) -> Approval:
        """The approval once it is no longer open, or as it is when the time is over."""
        return await self.carry_out(approval_answer(approval_id, agent_id, timeout))

    async def approve(
        self, approval_id: str, *, note: str | None = None, action: Mapping[str, Any] | None = None
    ) -> Approval:
        """Approve, as it stands or with an edited action. Not with the key that made the request."""
        answer = {"note": note, "action": action}
        return await self.send(calls.answer_approval(approval_id, "approve", answer))

    async def deny(self, approval_id: str, *, note: str | None = None) -> Approval:
        return await self.send(calls.answer_approval(approval_id, "deny", {"note": note}))

    async def redeem(
        self, approval_id: str, agent_id: str, action: Mapping[str, Any], *, agent_token: str | None = None
    ) -> Decision:
        """Use an approved grant, once, with exactly the approved action."""
        return await self.send(calls.redeem(approval_id, agent_id, action), agent_token)

    async def trust_history(self, agent_id: str, *, limit: int = 50, cursor: str | None = None) -> Result:
        """Level, conduct, and every change with its reasons, newest first; `next` is the next cursor."""
        return await self.send(calls.trust_history(agent_id, limit, cursor))

    async def set_trust(self, agent_id: str, to_level: int | str, reason: str) -> Agent:
        """Needs a key with the scope `trust`; level 3 needs an operator's."""
        return await self.send(calls.set_trust(agent_id, to_level, reason))

    async def request_trust(
        self, agent_id: str, from_level: int, to_level: int, justification: str, evidence: Any = None
    ) -> Result:
        request = {"from_level": from_level, "to_level": to_level, "justification": justification}
        return await self.send(calls.request_trust(agent_id, {**request, "evidence": evidence}))

    async def events(self) -> AsyncIterator[Event]:
        """What happens, as it happens. Ends when the gateway closes the stream."""
        call = Call[Result]("GET", "/events", calls.expect(Result))
        headers = {**self._connection.headers(call, None), "Accept": "text/event-stream"}
        try:
            async with self._http.stream("GET", "/events", headers=headers, timeout=None) as response:
                if response.status_code != 200:
                    raise calls.refusal(
                        response.status_code,
                        calls.parse(response.status_code, await response.aread(), response.headers),
                    )
                reader = EventReader()
                async for line in response.aiter_lines():
                    event = reader.feed(line)
                    if event is not None:
                        yield event
        except httpx2.HTTPError as error:
            raise GatewayUnavailable(f"the event stream broke: {type(error).__name__}") from error

    # --- evidence ------------------------------------------------------------------------------

    async def submit_ects(self, ects: Sequence[str], *, agent_id: str | None = None) -> Result:
        """Record execution context tokens; the answer has a receipt for each."""
        return await self.send(calls.submit_ects(ects, agent_id))

    async def get_ect(self, jti: str, *, agent_id: str | None = None) -> Result:
        return await self.send(calls.get_ect(jti, agent_id))

    async def set_ect_keys(self, agent_id: str, keys: Sequence[Mapping[str, Any]]) -> Agent:
        """The public keys (JWK) with which the agent signs its tokens."""
        return await self.send(calls.set_ect_keys(agent_id, keys))

    async def ledger_checkpoint(self) -> Result:
        """The newest signed checkpoint: kept elsewhere, it shows that nothing before it was changed."""
        return await self.send(calls.ledger_checkpoint())

    # --- sending -------------------------------------------------------------------------------

    async def send(self, call: Call[R], agent_token: str | None = None) -> R:
        """One call to its answer, tried again where that can do no harm."""
        headers = self._connection.headers(call, agent_token)
        content = None if call.body is None else encode(call.body)
        attempt = 0
        while True:
            attempt += 1
            status, raw, answered = None, b"", None
            try:
                status, raw, answered = await self._answer(call, headers, content)
            except httpx2.HTTPError as error:
                failure = f"no answer from {self._connection.base_url} ({type(error).__name__})"
            if self._connection.may_try_again(call, attempt, status):
                await asyncio.sleep(self._connection.pause_seconds(attempt, answered))
                continue
            if status is None:
                raise GatewayUnavailable(failure)
            return calls.read_answer(call, status, raw, answered or {})

    async def _answer(
        self, call: Call[R], headers: Mapping[str, str], content: bytes | None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """One try. Raises `httpx2.HTTPError`."""
        seconds = call.timeout_seconds or self._connection.timeout_seconds
        if self._door is not None and not call.query:
            direct = await self._door.ask(call.method, call.path, headers, content, seconds)
            if direct is not None:
                return direct.status, direct.body, direct.texts()
        response = await self._http.request(
            call.method,
            call.path,
            content=content,
            params=dict(call.query) or None,
            headers=headers,
            timeout=seconds,
        )
        return response.status_code, response.content, response.headers

    async def carry_out(self, procedure: Procedure[R]) -> R:
        """A procedure of several calls, to its result."""
        return await acarry_out(procedure, self.send)
