"""Every integration but CrewAI lives in one environment, at the versions that are written down."""

import importlib
import importlib.metadata
import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parents[3] / "requirements"
ADAPTERS = ["agent_framework", "langchain", "llamaindex", "openai_agents", "pydantic_ai"]


def test_all_adapters_can_be_imported_together() -> None:
    modules = [importlib.import_module(f"qwed_sdk.{name}") for name in ADAPTERS]

    assert all(module.ToolRefused is modules[0].ToolRefused for module in modules)


def test_the_environment_has_the_pinned_versions() -> None:
    pins = dict(
        line.split("==")
        for line in (REQUIREMENTS / "frameworks-constraints.txt").read_text(encoding="utf-8").split()
        if "==" in line
    )
    installed = {
        re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower(): each.version
        for each in importlib.metadata.distributions()
    }
    wrong = {
        name: (version, installed[name])
        for name, version in pins.items()
        if installed.get(name, version) != version
    }

    assert wrong == {}


@pytest.mark.parametrize("package", ["openai", "mcp", "pydantic"])
def test_what_keeps_crewai_apart_is_newer_here(package: str) -> None:
    """Should CrewAI take these versions one day, it can move in."""
    bound = {"openai": (3,), "mcp": (2,), "pydantic": (2, 13)}[package]
    version = importlib.metadata.version(package)

    assert tuple(int(part) for part in version.split(".")[: len(bound)]) >= bound
