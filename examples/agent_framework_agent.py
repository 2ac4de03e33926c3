"""A Microsoft Agent Framework agent behind a QWED gateway, offline: a scripted client asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

import asyncio

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.agent_framework import QWEDFunctionMiddleware, QWEDRunMiddleware


def lookup_order(order: int) -> str:
    """Look an order up."""
    return f"order {order} has shipped"


def run_sql(statement: str) -> str:
    """Run a statement."""
    return f"ran {statement}"


def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


turns = [
    [
        Content.from_function_call("1", "lookup_order", arguments={"order": 7}),
        Content.from_function_call("2", "run_sql", arguments={"statement": "SELECT name FROM customers"}),
        Content.from_function_call("3", "refund", arguments={"amount": 20}),
    ],
    [Content.from_text("done")],
]


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    async def _inner_get_response(self, *, messages, stream=False, options=None, **kwargs):
        return ChatResponse(messages=[Message("assistant", turns.pop(0))])


async def main():
    client = QWEDClient()
    me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
    gate = QWEDFunctionMiddleware(
        agent_id=me.agent_id, client=client, tool_map={"run_sql": ToolAs("execute_sql", query="statement")}
    )
    agent = Agent(
        client=Model(), tools=[lookup_order, run_sql, refund], middleware=[QWEDRunMiddleware(), gate]
    )
    result = await agent.run("help the customer")
    for message in result.messages:
        for content in message.contents:
            if content.type == "function_result":
                print(content.result)
    print(result.text.strip())


asyncio.run(main())
