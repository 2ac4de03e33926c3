"""A LangChain agent behind a QWED gateway, offline: LangChain's own fake model asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.langchain import QWEDMiddleware


def lookup_order(order: int) -> str:
    """Look an order up."""
    return f"order {order} has shipped"


def run_sql(statement: str) -> str:
    """Run a statement."""
    return f"ran {statement}"


def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


class Model(FakeMessagesListChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


calls = [
    {"name": "lookup_order", "args": {"order": 7}, "id": "1"},
    {"name": "run_sql", "args": {"statement": "SELECT name FROM customers"}, "id": "2"},
    {"name": "refund", "args": {"amount": 20}, "id": "3"},
]
model = Model(responses=[AIMessage("", tool_calls=calls), AIMessage("done")])

client = QWEDClient()
me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
gate = QWEDMiddleware(
    agent_id=me.agent_id, client=client, tool_map={"run_sql": ToolAs("execute_sql", query="statement")}
)
agent = create_agent(model, [lookup_order, run_sql, refund], middleware=[gate])
result = agent.invoke({"messages": [("user", "help the customer")]})

for message in result["messages"]:
    if isinstance(message, ToolMessage):
        print(f"{message.name}: {message.content}")
print(result["messages"][-1].content)
