"""Pydantic AI, with its own function model."""

from typing import Any, Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.pydantic_ai import QWEDCapability


class Said:
    """Asks for these tools at once, then says it is done; remembers what the tools answered."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = calls
        self.answers: list[ToolReturnPart] = []

    def __call__(self, messages: Any, info: AgentInfo) -> ModelResponse:
        self.answers = [
            part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)
        ]
        if self.answers:
            return ModelResponse(parts=[TextPart("done")])
        parts = [ToolCallPart(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(self.calls)]
        return ModelResponse(parts=parts)


def tools_of(shop: Shop) -> list[Any]:
    return [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]


def capability(world: Protected, **options: Any) -> QWEDCapability:
    return QWEDCapability(world.agent_id, **gate_options(world, **options))


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    said = Said(*calls)
    agent = Agent(FunctionModel(said), tools=tools_of(shop), capabilities=[capability(world)])
    assert agent.run_sync("go").output == "done"
    return [str(answer.content) for answer in said.answers]


WAYS: Final = {"pydantic-ai": Way(play, is_failure_final=True)}
