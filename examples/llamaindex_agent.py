"""A LlamaIndex agent behind a QWED gateway, offline: LlamaIndex's own mock model asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.llamaindex import protect


def lookup_order(order: int) -> str:
    """Look an order up."""
    return f"order {order} has shipped"


def run_sql(statement: str) -> str:
    """Run a statement."""
    return f"ran {statement}"


def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


calls = [
    ToolCallBlock(tool_call_id="1", tool_name="lookup_order", tool_kwargs={"order": 7}),
    ToolCallBlock(
        tool_call_id="2", tool_name="run_sql", tool_kwargs={"statement": "SELECT name FROM customers"}
    ),
    ToolCallBlock(tool_call_id="3", tool_name="refund", tool_kwargs={"amount": 20}),
]
turns = [calls, [TextBlock(text="done")]]


def answer(messages, *args, **kwargs):
    return ChatMessage(role="assistant", blocks=turns.pop(0))


async def main():
    client = QWEDClient()
    me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
    agent = FunctionAgent(
        tools=[lookup_order, run_sql, refund],
        llm=MockFunctionCallingLLM(response_generator=answer, is_chat_model=True),
        streaming=False,
    )
    protect(agent, me.agent_id, client=client, tool_map={"run_sql": ToolAs("execute_sql", query="statement")})
    result = await agent.run("help the customer")
    for call in sorted(result.tool_calls, key=lambda call: call.tool_id):
        print(f"{call.tool_name}: {call.tool_output.content}")
    print(result)


asyncio.run(main())
