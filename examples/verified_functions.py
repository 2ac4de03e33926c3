"""Plain functions behind a QWED gateway.

Start one with `qwed serve --config examples/qwed.yaml`, put its key into QWED_API_KEY, and run this file.
"""

from qwed_sdk import QWEDClient, ToolRefused, verified

client = QWEDClient()
client.register_agent("Clerk", "autonomous", "shop", permissions={"allowed_engines": ["sql"]})


@verified(client)
def lookup_order(order: int) -> str:
    return f"order {order} has shipped"


@verified(client, action_type="execute_sql", query="statement")
def run_sql(statement: str) -> str:
    return f"ran {statement}"


@verified(client)
def refund(amount: int) -> str:
    return f"refunded {amount}"


print(lookup_order(7))
print(run_sql("SELECT name FROM customers"))
try:
    print(refund(20))
except ToolRefused as refused:
    print(refused)
