"""smolagents, with a scripted model: an agent that calls tools, and one that writes code."""

from typing import Any, ClassVar, Final

from smolagents import ActionStep, CodeAgent, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from tests.frameworks.sdk.drivers.shop import Shop, Way, gate_options
from tests.support.protected import Protected

from qwed_sdk.smolagents import protect


class Scripted(Model):
    """Asks for these tools at once, then gives its final answer; remembers what it was shown."""

    def __init__(self, *turns: Any) -> None:
        super().__init__(model_id="scripted")
        self.turns = list(turns)
        self.shown: list[Any] = []

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        self.shown = list(messages)
        turn = self.turns.pop(0) if self.turns else [("final_answer", {"answer": "done"})]
        if isinstance(turn, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=turn)
        calls = [
            ChatMessageToolCall(
                id=f"c{n}",
                type="function",
                function=ChatMessageToolCallFunction(name=name, arguments=dict(arguments)),
            )
            for n, (name, arguments) in enumerate(turn)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


def _tool(function: Any, argument: str, kind: str) -> Tool:
    class ShopTool(Tool):
        name = function.__name__
        description = str(function.__doc__)
        inputs: ClassVar[dict[str, Any]] = {argument: {"type": kind, "description": argument}}
        output_type = "string"
        skip_forward_signature_validation = True

        def forward(self, **arguments: Any) -> str:
            return str(function(**arguments))

    return ShopTool()


def tools_of(shop: Shop) -> list[Tool]:
    return [
        _tool(shop.lookup_order, "order", "integer"),
        _tool(shop.wipe_disk, "disk", "string"),
        _tool(shop.publish_page, "title", "string"),
        _tool(shop.sums, "claim", "string"),
        _tool(shop.own_tool, "value", "string"),
    ]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    scripted = Scripted(list(calls))
    agent = ToolCallingAgent(tools=tools_of(shop), model=scripted, verbosity_level=0)
    protect(agent, world.agent_id, **gate_options(world))
    assert agent.run("go") == "done"
    # The last step is the final answer.
    steps = [step for step in agent.memory.steps if isinstance(step, ActionStep)][:-1]
    return [str(step.error.message if step.error else step.observations) for step in steps]


def code_agent(world: Protected, shop: Shop, code: str) -> CodeAgent:
    scripted = Scripted(f"<code>\n{code}\n</code>", '<code>\nfinal_answer("done")\n</code>')
    agent = CodeAgent(tools=tools_of(shop), model=scripted, verbosity_level=0)
    protect(agent, world.agent_id, **gate_options(world))
    return agent


WAYS: Final = {"smolagents": Way(play, is_step_refused=True)}
