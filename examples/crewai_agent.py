"""A CrewAI agent behind a QWED gateway, offline: a model of three scripted turns asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

import json

from crewai import BaseLLM, Crew, Task
from crewai.tools import tool

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.crewai import QWEDVerifiedAgent


@tool("lookup_order")
def lookup_order(order: int) -> str:
    """Look an order up."""
    return f"order {order} has shipped"


@tool("run_sql")
def run_sql(statement: str) -> str:
    """Run a statement."""
    return f"ran {statement}"


@tool("refund")
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


class Model(BaseLLM):
    def supports_function_calling(self):
        return True

    def call(self, messages, tools=None, **kwargs):
        answers = [message for message in messages if message.get("role") == "tool"]
        if answers:
            for message in answers:
                print(f"{message['name']}: {message['content']}")
            return "done"
        calls = [
            ("lookup_order", {"order": 7}),
            ("run_sql", {"statement": "SELECT name FROM customers"}),
            ("refund", {"amount": 20}),
        ]
        return [
            {"id": name, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in calls
        ]


client = QWEDClient()
me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
analyst = QWEDVerifiedAgent(
    role="Analyst",
    goal="Analyze data",
    agent_id=me.agent_id,
    client=client,
    tool_map={"run_sql": ToolAs("execute_sql", query="statement")},
    llm=Model(model="scripted"),
    tools=[lookup_order, run_sql, refund],
)
task = Task(description="help the customer", expected_output="an answer", agent=analyst)
print(Crew(agents=[analyst], tasks=[task]).kickoff().raw)
