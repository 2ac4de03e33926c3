"""The gateway as an MCP server: verify, approvals, activity and budget as tools.

Answering approvals is offered only where a person asked for it: an agent that reads these tools must
not be the one who approves, and the gateway refuses the key that made a request in any case.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.async_conversation import AsyncConversation
from qwed_sdk.errors import GatewayUnavailable, QWEDError

MAX_ENTRIES: Final = 200
MAX_WAIT_SECONDS: Final = 60

INSTRUCTIONS: Final = (
    "QWED decides whether actions may be done, and records every decision. Ask verify_action before an"
    " action with consequences, and do it only when the decision is APPROVED, or CORRECTED and then as"
    " corrected. PENDING waits for a person: look at get_approval later."
)


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    agent_id: str | None = None


class VerifyAction(_Arguments, kw_only=True):
    action_type: str
    query: str | None = None
    code: str | None = None
    target: str | None = None
    parameters: dict[str, Any] | None = None
    user_intent: str | None = None


class ReportOutcome(_Arguments, kw_only=True):
    activity_id: str
    outcome: str
    error: str | None = None


class ListApprovals(_Arguments, kw_only=True):
    status: str = "open"


class GetApproval(_Arguments, kw_only=True):
    approval_id: str
    wait_seconds: int = 0


class AnswerApproval(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    approval_id: str
    note: str | None = None


class ActivityArguments(_Arguments, kw_only=True):
    limit: int = 20


class BudgetArguments(_Arguments, kw_only=True):
    pass


class GatewayTool(msgspec.Struct, frozen=True):
    """`read_only` is a hint for clients; `handler` is the name of the method that answers."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    handler: str
    read_only: bool = True
    answers: bool = False


TOOLS: Final = (
    GatewayTool(
        "verify_action",
        "Ask whether this agent may do an action now. The decision is recorded. Nothing is executed.",
        VerifyAction,
        "verify",
        read_only=False,
    ),
    GatewayTool(
        "report_outcome",
        "Say what became of an approved action: success, partial, failure or unknown.",
        ReportOutcome,
        "report",
        read_only=False,
    ),
    GatewayTool(
        "list_approvals",
        "List what waits for a person, or what was answered (status approved, denied, expired, redeemed).",
        ListApprovals,
        "approvals",
    ),
    GatewayTool(
        "get_approval",
        "Look at one approval; wait up to wait_seconds (at most 60) for a person's answer.",
        GetApproval,
        "approval",
    ),
    GatewayTool("activity", "Read an agent's latest decisions, newest first.", ActivityArguments, "activity"),
    GatewayTool("budget", "Read an agent's budget: limits, and what is used.", BudgetArguments, "budget"),
    GatewayTool(
        "approve",
        "Approve what waits. Only for a person who read the whole action.",
        AnswerApproval,
        "approve",
        read_only=False,
        answers=True,
    ),
    GatewayTool("deny", "Deny what waits.", AnswerApproval, "deny", read_only=False, answers=True),
)


class GatewayTools:
    """The answers. `agent_id` is who is meant where a call names nobody."""

    def __init__(self, client: AsyncQWEDClient, agent_id: str | None, *, allows_answers: bool) -> None:
        self._client = client
        self._agent_id = agent_id
        self._conversations: dict[str, AsyncConversation] = {}
        self._tools = {tool.name: tool for tool in TOOLS if allows_answers or not tool.answers}

    async def list(self, ctx: ServerRequestContext[Any], params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe(tool) for tool in self._tools.values()])

    async def call(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _fail(f"there is no tool {params.name[:80]!r}")
        try:
            arguments = msgspec.convert(params.arguments or {}, tool.arguments)
            handler: Callable[[Any], Awaitable[Mapping[str, Any]]] = getattr(self, f"_{tool.handler}")
            answer = await handler(arguments)
        except (msgspec.ValidationError, ValueError) as error:
            return _fail(str(error))
        except GatewayUnavailable:
            return _fail("the gateway gave no usable answer: nothing is approved")
        except QWEDError as error:
            return _fail(str(error))
        text = json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=dict(answer)
        )

    async def _verify(self, given: VerifyAction) -> Mapping[str, Any]:
        named = {"query": given.query, "code": given.code, "target": given.target}
        action: dict[str, Any] = {"type": given.action_type}
        action |= {name: value for name, value in named.items() if value is not None}
        if given.parameters:
            action["parameters"] = given.parameters
        agent_id = self._find_meant(given)
        conversation = self._conversations.setdefault(agent_id, self._client.conversation(agent_id))
        details = {} if given.user_intent is None else {"user_intent": given.user_intent}
        return await conversation.verify(action, **details)

    async def _report(self, given: ReportOutcome) -> Mapping[str, Any]:
        return await self._client.report_outcome(
            self._find_meant(given), given.activity_id, given.outcome, error=given.error
        )

    async def _approvals(self, given: ListApprovals) -> Mapping[str, Any]:
        agent_id = given.agent_id or self._agent_id
        found = await self._client.approvals(agent_id=agent_id, status=given.status)
        return {"approvals": found[:MAX_ENTRIES]}

    async def _approval(self, given: GetApproval) -> Mapping[str, Any]:
        wait = min(max(given.wait_seconds, 0), MAX_WAIT_SECONDS)
        agent_id = given.agent_id or self._agent_id
        return await self._client.wait_for_approval(given.approval_id, wait, agent_id=agent_id)

    async def _activity(self, given: ActivityArguments) -> Mapping[str, Any]:
        limit = min(max(given.limit, 1), MAX_ENTRIES)
        return {"activities": await self._client.get_agent_activity(self._find_meant(given), limit)}

    async def _budget(self, given: BudgetArguments) -> Mapping[str, Any]:
        return await self._client.get_agent_budget(self._find_meant(given))

    async def _approve(self, given: AnswerApproval) -> Mapping[str, Any]:
        return await self._client.approve(given.approval_id, note=given.note)

    async def _deny(self, given: AnswerApproval) -> Mapping[str, Any]:
        return await self._client.deny(given.approval_id, note=given.note)

    def _find_meant(self, given: _Arguments) -> str:
        agent_id = given.agent_id or self._agent_id
        if agent_id is None:
            raise ValueError("agent_id is missing: this server speaks for no agent in particular")
        return agent_id


def gateway_server(client: AsyncQWEDClient, agent_id: str | None, *, allows_answers: bool) -> Server[Any]:
    tools = GatewayTools(client, agent_id, allows_answers=allows_answers)
    return Server("qwed", instructions=INSTRUCTIONS, on_list_tools=tools.list, on_call_tool=tools.call)


async def serve_stdio(server: Server[Any], client: AsyncQWEDClient) -> None:
    async with client, stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _describe(tool: GatewayTool) -> types.Tool:
    _, components = msgspec.json.schema_components((tool.arguments,))
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=components[tool.arguments.__name__],
        annotations=types.ToolAnnotations(read_only_hint=tool.read_only),
    )


def _fail(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
