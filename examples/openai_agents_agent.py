"""An OpenAI Agents SDK agent behind a QWED gateway, offline: the SDK's scripted model asks for three tools.

Start a gateway with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, run this file.
"""

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from qwed_sdk import QWEDClient, ToolAs
from qwed_sdk.openai_agents import protect

set_tracing_disabled(True)


@function_tool
def lookup_order(order: int) -> str:
    """Look an order up."""
    return f"order {order} has shipped"


@function_tool
def run_sql(statement: str) -> str:
    """Run a statement."""
    return f"ran {statement}"


@function_tool
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"refunded {amount}"


calls = [
    function_call("lookup_order", {"order": 7}, call_id="1"),
    function_call("run_sql", {"statement": "SELECT name FROM customers"}, call_id="2"),
    function_call("refund", {"amount": 20}, call_id="3"),
]
model = ScriptedModel([calls, [assistant_message("done")]])

client = QWEDClient()
me = client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})
agent = Agent(name="Clerk", model=model, tools=[lookup_order, run_sql, refund])
protect(agent, me.agent_id, client=client, tool_map={"run_sql": ToolAs("execute_sql", query="statement")})
result = Runner.run_sync(agent, "help the customer")

for item in result.new_items:
    if item.type == "tool_call_output_item":
        print(item.output)
print(result.final_output)
