"""A Pydantic AI agent behind a QWED gateway, offline: its own function model asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.pydantic_ai import QWEDCapability


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
        ToolCallPart("lookup_order", {"order": 7}),
        ToolCallPart("run_sql", {"statement": "SELECT name FROM customers"}),
        ToolCallPart("refund", {"amount": 20}),
    ],
    [TextPart("done")],
]
model = FunctionModel(lambda messages, info: ModelResponse(parts=turns.pop(0)))

client = QWEDClient()
me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
gate = QWEDCapability(
    agent_id=me.agent_id, client=client, tool_map={"run_sql": ToolAs("execute_sql", query="statement")}
)
agent = Agent(model, tools=[lookup_order, run_sql, refund], capabilities=[gate])
result = agent.run_sync("help the customer")

for message in result.all_messages():
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            print(f"{part.tool_name}: {part.content}")
print(result.output)
