"""The documents' framework snippets, as printed (LangChain's with the import path of 1.x)."""

import textwrap
from typing import Any

from langchain_core.tools import StructuredTool
from tests.frameworks.open_responses.doubles import Calls
from tests.frameworks.open_responses.openai_server import serving

OPENAI = textwrap.dedent(
    """
    from qwed_open_responses.middleware.openai_sdk import VerifiedOpenAI
    from qwed_open_responses.guards import SchemaGuard, SafetyGuard

    # Create verified client
    client = VerifiedOpenAI(
        api_key="sk-...",
        guards=[
            SchemaGuard(schema=my_schema),
            SafetyGuard(block_pii=True)
        ]
    )

    # Use normally - verification is automatic
    response = client.chat.completions.create(
        model="gpt-4",
        messages=[{"role": "user", "content": "Generate an order"}],
        tools=my_tools
    )

    # Tool calls are verified before returning
    for tool_call in response.choices[0].message.tool_calls:
        print(f"Verified tool call: {tool_call.function.name}")
    """
)
LANGCHAIN = textwrap.dedent(
    """
    from langchain_openai import ChatOpenAI
    from langchain_classic.agents import create_tool_calling_agent, AgentExecutor
    from qwed_open_responses.middleware.langchain import QWEDCallbackHandler
    from qwed_open_responses.guards import SafetyGuard, ToolGuard

    # Create callback with guards
    callback = QWEDCallbackHandler(
        guards=[ToolGuard(), SafetyGuard()],
        block_on_failure=True,  # Stop execution if guard fails
    )

    # Add to agent
    llm = ChatOpenAI(model="gpt-4")
    agent = create_tool_calling_agent(llm, tools, prompt)
    executor = AgentExecutor(
        agent=agent,
        tools=tools,
        callbacks=[callback]
    )

    # Every tool call is now verified!
    result = executor.invoke({"input": "Calculate 25% of 500"})
    """
)


def test_the_openai_snippet(monkeypatch: Any, capsys: Any) -> None:
    schema = {"type": "object", "required": ["order_id"]}
    tools = [{"type": "function", "function": {"name": "order", "parameters": {"type": "object"}}}]
    with serving() as (url, script):
        script.calls = [{"name": "order", "arguments": '{"order_id": "ORD-1"}'}]
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        exec(compile(OPENAI, "seed", "exec"), {"my_schema": schema, "my_tools": tools})

    assert capsys.readouterr().out == "Verified tool call: order\n"


def test_the_langchain_snippet(monkeypatch: Any) -> None:
    from langchain_core.prompts import ChatPromptTemplate

    calls = Calls()
    prompt = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])
    scope: dict[str, Any] = {"tools": [StructuredTool.from_function(calls.pay, name="pay")], "prompt": prompt}
    with serving() as (url, script):
        script.text = "25% of 500 is 125"
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        exec(compile(LANGCHAIN, "seed", "exec"), scope)

    assert scope["result"]["output"] == "25% of 500 is 125"
