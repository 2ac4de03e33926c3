"""A function that an agent may call, behind QWED: the first example of the README."""

from qwed_sdk import QWEDClient, ToolRefused, verified

client = QWEDClient()
client.register_agent("Analyst", "supervised", "me", permissions={"allowed_engines": ["sql"]})


@verified(client, action_type="execute_sql", query="statement")
def run_sql(statement):
    return f"your database would now run: {statement}"


for statement in ("SELECT name FROM users", "DROP TABLE users"):
    try:
        print(run_sql(statement))
    except ToolRefused as refused:
        print(refused)
