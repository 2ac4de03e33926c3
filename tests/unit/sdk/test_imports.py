"""What importing costs, and what a missing framework says."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ADAPTERS = {
    "ag2": "ag2",
    "agent_framework": "agent-framework",
    "autogen": "autogen",
    "claude_agent_sdk": "claude-agent-sdk",
    "google_adk": "google-adk",
    "haystack": "haystack",
    "litellm": "litellm",
    "semantic_kernel": "semantic-kernel",
    "smolagents": "smolagents",
    "strands": "strands",
    "langchain": "langchain",
    "crewai": "crewai",
    "openai_agents": "openai",
    "llamaindex": "llamaindex",
    "pydantic_ai": "pydantic-ai",
}


def modules_after(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_sdk_loads_next_to_nothing() -> None:
    loaded = modules_after("import qwed_sdk")

    assert {name for name in loaded if name.startswith("qwed")} == {"qwed_sdk"}
    assert len(loaded) < 60


def test_the_client_loads_no_framework_and_none_of_the_gateway() -> None:
    loaded = modules_after("from qwed_sdk import AsyncQWEDClient, QWEDClient, ToolGate, verified")
    ours = {name for name in loaded if name.startswith("qwed.")}

    assert ours == set()
    assert not {name.partition(".")[0] for name in loaded} & {
        "langchain",
        "crewai",
        "agents",
        "pydantic",
        "mcp",
    }


@pytest.mark.parametrize(("module", "extra"), ADAPTERS.items(), ids=list(ADAPTERS))
def test_an_adapter_without_its_framework_says_what_to_install(module: str, extra: str) -> None:
    """No framework is in the environment of these tests."""
    done = subprocess.run([sys.executable, "-c", f"import qwed_sdk.{module}"], capture_output=True, text=True)

    assert f"pip install 'qwed-gateway[{extra}]'" in done.stderr


def test_every_adapter_has_its_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))

    assert set(ADAPTERS.values()) <= project["project"]["optional-dependencies"].keys()
    assert [entry.partition(">")[0] for entry in project["project"]["dependencies"]] == ["httpx2", "msgspec"]


def test_a_star_import_hides_nobodys_agent() -> None:
    loaded = modules_after(
        "from qwed_sdk import *; assert 'Agent' not in globals(); assert 'ToolGate' in globals()"
    )

    assert "qwed_sdk.tool_gate" in loaded
