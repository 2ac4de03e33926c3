"""`QWEDClient`: the gateway, synchronously."""

# Written from async_client.py by scripts/generate-sync-client: change that, and run it.

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import httpx2

from qwed_sdk import calls
from qwed_sdk.bodies import encode
from qwed_sdk.calls import AnswerMismatch, Call, HttpAnswer
from qwed_sdk.connection import Tries, connect, environment
from qwed_sdk.conversation import Conversation
from qwed_sdk.conversations import late_reports
from qwed_sdk.errors import GatewayUnavailable, RequestRefused
from qwed_sdk.events import EventReader
from qwed_sdk.person_wait import Somewhere
from qwed_sdk.pools import Pool, Verify
from qwed_sdk.procedures import Procedure, approval_answer, carry_out
from qwed_sdk.reported_values import ProvenanceMode, reports_values
from qwed_sdk.results import Agent, Approval, Decision, Event, Json, Result, ToolDecision
from qwed_sdk.unsent import Unsent

R = TypeVar("R")


class QWEDClient:
    """The gateway, for threads, which share it: connections are reused, and forked processes have their own.

    `api_key` and `base_url` default to `QWED_API_KEY` and `QWED_BASE_URL`. A gateway that is down, slow or
    talks nonsense raises `GatewayUnavailable`. A call is sent up to `max_tries` times, each for `timeout`
    seconds at most, and all of them within the time of all. `provenance="off"` (or `QWED_PROVENANCE`) sends
    neither results of tools nor messages of the user.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        max_tries: int = 3,
        verify: Verify = True,
        transport: httpx2.BaseTransport | None = None,
        provenance: ProvenanceMode | None = None,
    ) -> None:
        self._connection = connect(
            base_url, api_key, timeout=timeout, max_tries=max_tries, environ=environment()
        )
        self._pool = Pool(self._connection, verify, transport)
        #: Outcomes that the gateway has not heard of yet.
        self.unsent = Unsent()
        #: Whether outcomes carry what tools returned, and proposals what the user wrote.
        self.tells_values = reports_values(provenance, environment())
        self.somewhere = Somewhere(self._connection.base_url)

    def __repr__(self) -> str:
        return f"QWEDClient({self._connection.base_url!r})"

    def close(self) -> None:
        """Sends what is still unsent, if the gateway hears it."""
        self.carry_out(late_reports(self.unsent))
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- agents --------------------------------------------------------------------------------

    def register_agent(
        self, name: str, type: str = "supervised", principal_id: str | None = None, **details: Json
    ) -> Agent:
        """Register an agent; its token is remembered for its own requests.

        `details`: permissions, budget, trust_level, description, framework, model.
        """
        given = {"name": name, "type": type, "principal_id": principal_id, **details}
        agent = self.send(calls.register_agent(given))
        self._connection.tokens[agent.agent_id] = str(agent["agent_token"])
        return agent

    def use_agent_token(self, agent_id: str, agent_token: str) -> None:
        """Sign this agent's requests with its token, as for an agent that was registered here."""
        self._connection.tokens[agent_id] = agent_token

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents whose tokens this client has."""
        return tuple(self._connection.tokens)

    def get_agent(self, agent_id: str) -> Agent:
        return self.send(calls.get_agent(agent_id))

    def get_agent_budget(self, agent_id: str) -> Result:
        return self.send(calls.get_agent_budget(agent_id))

    def suspend(self, agent_id: str, reason: str | None = None) -> Agent:
        return self.send(calls.suspend(agent_id, reason))

    def reactivate(self, agent_id: str) -> Agent:
        return self.send(calls.reactivate(agent_id))

    # --- deciding ------------------------------------------------------------------------------

    def verify_action(
        self,
        agent_id: str,
        action: Mapping[str, Json],
        context: Mapping[str, Json] | None = None,
        *,
        options: Mapping[str, Json] | None = None,
        usage: Mapping[str, Json] | None = None,
        agent_token: str | None = None,
        execution_context: Sequence[str] = (),
    ) -> Decision:
        """`execution_context`: tokens (ECT) of what led to this action."""
        call = calls.verify_action(
            agent_id, action, context, options, usage, execution_context=execution_context
        )
        return self.send(call, agent_token)

    def verify_tool(
        self,
        agent_id: str,
        tool_name: str,
        parameters: Mapping[str, Json] | None = None,
        *,
        justification: str | None = None,
        context: Mapping[str, Json] | None = None,
        agent_token: str | None = None,
    ) -> ToolDecision:
        call = calls.verify_tool(agent_id, tool_name, parameters, justification, context)
        return self.send(call, agent_token)

    def conversation(
        self, agent_id: str, conversation_id: str | None = None, *, agent_token: str | None = None
    ) -> Conversation:
        """Numbers the steps by itself, and reports what became of them."""
        if agent_token is not None:
            self.use_agent_token(agent_id, agent_token)
        return Conversation(self, agent_id, conversation_id)

    def actions(self) -> list[Result]:
        """The action types in force: name, engine, risk."""
        found = self.send(calls.actions())
        return [Result(row) for row in found["actions"]]

    # --- the record ----------------------------------------------------------------------------

    def get_agent_activity(self, agent_id: str, limit: int = 50, **query: Json) -> list[Result]:
        """One page, newest first. `from_` and `to` are ISO 8601."""
        page = self.send(calls.get_activity_page(agent_id, {"limit": limit, **query}))
        return [Result(entry) for entry in page["activities"]]

    def iterate_agent_activity(self, agent_id: str, **query: Json) -> Iterator[Result]:
        """Every entry, page by page."""
        cursor: str | None = None
        while True:
            page = self.send(calls.get_activity_page(agent_id, {"limit": 500, **query, "cursor": cursor}))
            for entry in page["activities"]:
                yield Result(entry)
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
        usage: Mapping[str, Json] | None = None,
        result: Json = None,
        messages: Sequence[Mapping[str, Json]] | None = None,
        truncated: bool | None = None,
    ) -> Result:
        """`result` is what the tool returned, `messages` what the user wrote since; `truncated` says that
        not all of it is there."""
        given: dict[str, Json] = {"outcome": outcome, "result_hash": result_hash, "error": error}
        given |= {"usage": usage, "result": result, "messages": messages, "truncated": truncated}
        return self.send(calls.report_outcome(agent_id, activity_id, given))

    # --- approvals -----------------------------------------------------------------------------

    def approvals(self, *, agent_id: str | None = None, status: str | None = None) -> list[Approval]:
        page = self.send(calls.approvals({"agent_id": agent_id, "status": status}))
        return [Approval(entry) for entry in page["approvals"]]

    def get_approval(self, approval_id: str, *, agent_id: str | None = None) -> Approval:
        return self.send(calls.get_approval(approval_id, agent_id))

    def wait_for_approval(
        self, approval_id: str, timeout: float = 900.0, *, agent_id: str | None = None
    ) -> Approval:
        """The approval once it is no longer open, or as it is when the time is over."""
        return self.carry_out(approval_answer(approval_id, agent_id, timeout))

    def approve(
        self, approval_id: str, *, note: str | None = None, action: Mapping[str, Json] | None = None
    ) -> Approval:
        """Approve, as it stands or with an edited action. Not with the key that made the request."""
        answer = {"note": note, "action": action}
        return self.send(calls.answer_approval(approval_id, "approve", answer))

    def deny(self, approval_id: str, *, note: str | None = None) -> Approval:
        return self.send(calls.answer_approval(approval_id, "deny", {"note": note}))

    def redeem(
        self, approval_id: str, agent_id: str, action: Mapping[str, Json], *, agent_token: str | None = None
    ) -> Decision:
        """Use an approved grant, once, with exactly the approved action."""
        return self.send(calls.redeem(approval_id, agent_id, action), agent_token)

    def trust_history(self, agent_id: str, *, limit: int = 50, cursor: str | None = None) -> Result:
        """Level, conduct, and every change with its reasons, newest first; `next` is the next cursor."""
        return self.send(calls.trust_history(agent_id, limit, cursor))

    def set_trust(self, agent_id: str, to_level: int | str, reason: str) -> Agent:
        """Needs a key with the scope `trust`; level 3 needs an operator's."""
        return self.send(calls.set_trust(agent_id, to_level, reason))

    def request_trust(
        self, agent_id: str, from_level: int, to_level: int, justification: str, evidence: Json = None
    ) -> Result:
        request = {"from_level": from_level, "to_level": to_level, "justification": justification}
        return self.send(calls.request_trust(agent_id, {**request, "evidence": evidence}))

    def events(self) -> Iterator[Event]:
        """What happens, as it happens. Ends when the gateway closes the stream."""
        call = Call[Result]("GET", "/events", calls.expect(Result))
        headers = {**self._connection.headers(call, None), "Accept": "text/event-stream"}
        try:
            with self._pool.stream("/events", headers) as response:
                if response.status_code != 200:
                    answered = HttpAnswer(response.status_code, response.headers, response.read())
                    calls.read_answer(call, answered)
                    raise GatewayUnavailable(f"the gateway answered {response.status_code} with no events")
                calls.require_named(call, response.headers)
                reader = EventReader()
                for line in response.iter_lines():
                    event = reader.feed(line)
                    if event is not None:
                        yield event
        except httpx2.HTTPError as error:
            raise GatewayUnavailable(f"the event stream broke: {type(error).__name__}") from error

    # --- evidence ------------------------------------------------------------------------------

    def submit_ects(self, ects: Sequence[str], *, agent_id: str | None = None) -> Result:
        """Record execution context tokens; the answer has a receipt for each."""
        return self.send(calls.submit_ects(ects, agent_id))

    def get_ect(self, jti: str, *, agent_id: str | None = None) -> Result:
        return self.send(calls.get_ect(jti, agent_id))

    def set_ect_keys(self, agent_id: str, keys: Sequence[Mapping[str, Json]]) -> Agent:
        """The public keys (JWK) with which the agent signs its tokens."""
        return self.send(calls.set_ect_keys(agent_id, keys))

    def ledger_checkpoint(self) -> Result:
        """The newest signed checkpoint: kept elsewhere, it shows that nothing before it was changed."""
        return self.send(calls.ledger_checkpoint())

    # --- sending -------------------------------------------------------------------------------

    def send(self, call: Call[R], agent_token: str | None = None) -> R:
        """One call to its answer, tried again where that can do no harm."""
        headers = self._connection.headers(call, agent_token)
        content = None if call.body is None else encode(call.body)
        tries = Tries(self._connection, call)
        while True:
            try:
                return calls.read_answer(call, self._pool.ask(call, headers, content))
            except (GatewayUnavailable, RequestRefused) as error:
                if isinstance(error, AnswerMismatch):
                    self._pool.drop()
                pause = tries.pause_after(error)
                if pause is None:
                    raise
            time.sleep(pause)

    def carry_out(self, procedure: Procedure[R]) -> R:
        """A procedure of several calls, to its result."""
        return carry_out(procedure, self.send)
