"""CrewAI crews and single agents, with native calls and with text."""

import json
from typing import Any, Final

from crewai import BaseLLM, Crew, Task
from crewai.tools import BaseTool, tool
from pydantic import Field
from tests.frameworks.sdk.drivers.shop import Play, Shop, Way, gate_options
from tests.support.protected import Protected

from qwed_sdk.crewai import QWEDVerifiedAgent


class Model(BaseLLM):
    """CrewAI's own base class for models; asks for these tools at once, then says it is done."""

    calls: list[Any] = Field(default_factory=list)
    native: bool = True
    seen: list[Any] = Field(default_factory=list)
    turns: int = 0

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, tools: Any = None, **kwargs: Any) -> Any:
        self.turns += 1
        self.seen.append(json.dumps(messages, default=str))
        if self.native:
            if self.turns > 1:
                return "done"
            return [
                {
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for n, (name, arguments) in enumerate(self.calls)
            ]
        if self.turns <= len(self.calls):
            name, arguments = self.calls[self.turns - 1]
            return f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return "Thought: I know\nFinal Answer: done"


def tools_of(shop: Shop) -> list[BaseTool]:
    """Classes and functions, one of them a coroutine."""

    class LookupOrder(BaseTool):
        name: str = "lookup_order"
        description: str = "Look an order up."

        def _run(self, order: int) -> str:
            return shop.lookup_order(order)

    class OwnTool(BaseTool):
        name: str = "own_tool"
        description: str = "Fails."

        async def _run(self, value: str) -> str:
            return shop.own_tool(value)

    functions = (shop.wipe_disk, shop.publish_page, shop.sums)
    return [LookupOrder(), OwnTool(), *(tool(function.__name__)(function) for function in functions)]


def make(world: Protected, shop: Shop, native: bool, *calls: Any) -> tuple[QWEDVerifiedAgent, Model]:
    model = Model(model="fake", calls=list(calls), native=native)
    agent = QWEDVerifiedAgent(
        role="Analyst",
        goal="Analyze data",
        agent_id=world.agent_id,
        llm=model,
        tools=tools_of(shop),
        **gate_options(world),
    )
    return agent, model


def go(way: str, agent: QWEDVerifiedAgent) -> str:
    if way == "kickoff":
        return str(agent.kickoff("go").raw)
    task = Task(description="go", expected_output="something", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], memory=False).kickoff().raw)


def _play(native: bool, way: str) -> Play:
    def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
        agent, model = make(world, shop, native, *calls)
        assert go(way, agent) == "done"
        return [model.seen[-1]]

    return play


WAYS: Final = {
    f"crewai-{way}-{'native' if native else 'text'}": Way(
        _play(native, way), retries_failures=True, failure_says="error executing tool" if native else ""
    )
    for native in (True, False)
    for way in ("crew", "kickoff")
}
