"""What leaves with an agent, and what speaks to it in passing: addresses, descriptions of tools, cards of
agents.

One description a line (`\\n` is a line break), hostile and honest; all of them written before the rules were
looked at. A card is an A2A card around a description, which stands in a different field of it each time.
"""

from pathlib import Path
from typing import Any, Final

_HERE: Final = Path(__file__).parent


def _read(name: str) -> tuple[str, ...]:
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    return tuple(line.replace("\\n", "\n") for line in lines if line)


HOSTILE_DESCRIPTIONS: Final = _read("definitions_hostile.txt")
HONEST_DESCRIPTIONS: Final = _read("definitions_honest.txt")


def tools(descriptions: tuple[str, ...]) -> list[dict[str, Any]]:
    return [_tool(text, index) for index, text in enumerate(descriptions)]


def cards(descriptions: tuple[str, ...]) -> list[dict[str, Any]]:
    return [_card(text, index) for index, text in enumerate(descriptions)]


def _tool(text: str, index: int) -> dict[str, Any]:
    """The description of the tool, or of an argument."""
    outer = text if index % 2 else "Works on records of the project."
    inner = "The record's name." if index % 2 else text
    arguments = {"name": {"type": "string", "description": inner}}
    return {
        "name": f"tool_{index}",
        "description": outer,
        "inputSchema": {"type": "object", "properties": arguments, "required": ["name"]},
    }


def _card(text: str, index: int) -> dict[str, Any]:
    plain = "Plans trips by train and bus, and books the tickets."
    skill = {
        "id": "plan",
        "name": "Plan a trip",
        "description": text if index % 3 == 1 else plain,
        "tags": ["travel", "booking"],
        "examples": [text if index % 3 == 2 else "Find me a train from Berlin to Prague on Friday morning."],
    }
    return {
        "protocolVersion": "0.3.0",
        "name": "Trip planner",
        "description": text if index % 3 == 0 else plain,
        "url": "https://agents.example.com/a2a/trips",
        "provider": {"organization": "Example Travel", "url": "https://travel.example.com"},
        "version": "1.4.2",
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [skill],
    }
