"""`QWEDClient`: the gateway, synchronously."""

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2

from qwed_sdk import calls
from qwed_sdk.calls import Call
from qwed_sdk.connection import connect, environment
from qwed_sdk.conversations import Conversation
from qwed_sdk.errors import GatewayUnavailable
from qwed_sdk.events import EventReader
from qwed_sdk.results import Agent, Approval, Decision, Event, Result, ToolDecision

R = TypeVar("R")


class QWEDClient:
    """Thread-safe; connections are reused. `api_key` and `base_url` default to `QWED_API_KEY` and
    `QWED_BASE_URL`. A gateway that is down, slow or talks nonsense raises `GatewayUnavailable`."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        max_tries: int = 3,
        verify: Any = True,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._connection = connect(
            base_url, api_key, timeout=timeout, max_tries=max_tries, environ=environment()
        )
        self._http = httpx2.Client(
            base_url=self._connection.base_url, timeout=timeout, verify=verify, transport=transport
        )

    def __repr__(self) -> str:
        return f"QWEDClient({self._connection.base_url!r})"

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- agents --------------------------------------------------------------------------------

    def register_agent(
        self, name: str, type: str = "supervised", principal_id: str | None = None, **details: Any
    ) -> Agent:
        """Register an agent; its token is remembered for its own requests.

        `details`: permissions, budget, trust_level, description, framework, model.
        """
        given = {"name": name, "type": type, "principal_id": principal_id, **details}
        agent = self._run(calls.register_agent(given))
        self._connection.tokens[agent.agent_id] = str(agent["agent_token"])
        return agent

    def get_agent(self, agent_id: str) -> Agent:
        return self._run(calls.get_agent(agent_id))

    def get_agent_budget(self, agent_id: str) -> Result:
        return self._run(calls.get_agent_budget(agent_id))

    def suspend(self, agent_id: str, reason: str | None = None) -> Agent:
        return self._run(calls.suspend(agent_id, reason))

    def reactivate(self, agent_id: str) -> Agent:
        return self._run(calls.reactivate(agent_id))

    # --- deciding ------------------------------------------------------------------------------

    def verify_action(
        self,
        agent_id: str,
        action: Mapping[str, Any],
        context: Mapping[str, Any] | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        usage: Mapping[str, Any] | None = None,
        agent_token: str | None = None,
    ) -> Decision:
        return self._run(calls.verify_action(agent_id, action, context, options, usage), agent_token)

    def verify_tool(
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
        return self._run(call, agent_token)

    def conversation(self, agent_id: str, conversation_id: str | None = None) -> Conversation:
        """Numbers the steps by itself, and reports what became of them."""
        return Conversation(self, agent_id, conversation_id)

    # --- the record ----------------------------------------------------------------------------

    def get_agent_activity(self, agent_id: str, limit: int = 50, **query: Any) -> list[Result]:
        """One page, newest first. `from_` and `to` are ISO 8601."""
        page = self._run(calls.get_activity_page(agent_id, {"limit": limit, **query}))
        return [Result(entry) for entry in page["activities"]]

    def iterate_agent_activity(self, agent_id: str, **query: Any) -> Iterator[Result]:
        """Every entry, page by page."""
        cursor: str | None = None
        while True:
            page = self._run(calls.get_activity_page(agent_id, {"limit": 500, **query, "cursor": cursor}))
            yield from (Result(entry) for entry in page["activities"])
            cursor = page.get("next")
            if cursor is None:
                return

    def report_outcome(
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
        return self._run(calls.report_outcome(agent_id, activity_id, given))

    # --- approvals -----------------------------------------------------------------------------

    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> list[Approval]:
        page = self._run(calls.approvals({"agent_id": agent_id, "status": status}))
        return [Approval(entry) for entry in page["approvals"]]

    def get_approval(self, approval_id: str, *, agent_id: str | None = None) -> Approval:
        return self._run(calls.get_approval(approval_id, agent_id))

    def wait_for_approval(
        self, approval_id: str, timeout: float = 900.0, *, agent_id: str | None = None
    ) -> Approval:
        """The approval once it is no longer open, or as it is when the time is over."""
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            wait = max(0, min(30, int(left)))
            approval = self._run(calls.get_approval(approval_id, agent_id, wait))
            if approval.status != "open" or left <= 1:
                return approval

    def approve(
        self, approval_id: str, *, note: str | None = None, action: Mapping[str, Any] | None = None
    ) -> Approval:
        """Approve, as it stands or with an edited action. Not with the key that made the request."""
        answer = {"note": note, "action": action}
        return self._run(calls.answer_approval(approval_id, "approve", answer))

    def deny(self, approval_id: str, *, note: str | None = None) -> Approval:
        return self._run(calls.answer_approval(approval_id, "deny", {"note": note}))

    def redeem(
        self, approval_id: str, agent_id: str, action: Mapping[str, Any], *, agent_token: str | None = None
    ) -> Decision:
        """Use an approved grant, once, with exactly the approved action."""
        return self._run(calls.redeem(approval_id, agent_id, action), agent_token)

    def request_trust(
        self, agent_id: str, from_level: int, to_level: int, justification: str, evidence: Any = None
    ) -> Result:
        request = {"from_level": from_level, "to_level": to_level, "justification": justification}
        return self._run(calls.request_trust(agent_id, {**request, "evidence": evidence}))

    def events(self) -> Iterator[Event]:
        """What happens, as it happens. Ends when the gateway closes the stream."""
        call = Call[Result]("GET", "/events", calls.expect(Result))
        headers = {**self._connection.headers(call, None), "Accept": "text/event-stream"}
        try:
            with self._http.stream("GET", "/events", headers=headers, timeout=None) as response:
                if response.status_code != 200:
                    raise calls.refusal(
                        response.status_code, calls.parse(response.status_code, response.read())
                    )
                reader = EventReader()
                for line in response.iter_lines():
                    event = reader.feed(line)
                    if event is not None:
                        yield event
        except httpx2.HTTPError as error:
            raise GatewayUnavailable(f"the event stream broke: {type(error).__name__}") from error

    # --- sending -------------------------------------------------------------------------------

    def _run(self, call: Call[R], agent_token: str | None = None) -> R:
        headers = self._connection.headers(call, agent_token)
        attempt = 0
        while True:
            attempt += 1
            status, raw, answered = None, b"", None
            try:
                response = self._http.request(
                    call.method,
                    call.path,
                    json=call.body,
                    params=dict(call.query),
                    headers=headers,
                    timeout=call.timeout_seconds or self._connection.timeout_seconds,
                )
                status, raw, answered = response.status_code, response.content, response.headers
            except httpx2.HTTPError as error:
                failure = f"no answer from {self._connection.base_url} ({type(error).__name__})"
            if self._connection.may_try_again(call, attempt, status):
                time.sleep(self._connection.pause_seconds(attempt, answered))
                continue
            if status is None:
                raise GatewayUnavailable(failure)
            return call.read(status, calls.parse(status, raw))
