"""The page of the SDK and its example run as printed; the frameworks' pages show the examples as they are."""

from pathlib import Path

import pytest
from tests.support.documents import ROOT, blocks, printed_by, shop

FRAMEWORK_PAGES = {
    "agent_framework_agent": "how-to/protect-an-agent-framework-agent.md",
    "langchain_agent": "how-to/protect-a-langchain-agent.md",
    "openai_agents_agent": "how-to/protect-an-openai-agents-agent.md",
    "llamaindex_agent": "how-to/protect-a-llamaindex-agent.md",
    "pydantic_ai_agent": "how-to/protect-a-pydantic-ai-agent.md",
    "crewai_agent": "how-to/protect-a-crewai-agent.md",
}


def test_the_page_of_the_sdk_prints_what_it_says(tmp_path: Path) -> None:
    with shop(tmp_path) as environment:
        printed = printed_by("\n".join(blocks("sdk.md", "python")), environment, tmp_path)

    assert printed == "".join(blocks("sdk.md", "text"))


def test_the_example_of_plain_functions_runs(tmp_path: Path) -> None:
    script = (ROOT / "examples" / "verified_functions.py").read_text(encoding="utf-8")
    with shop(tmp_path) as environment:
        printed = printed_by(script, environment, tmp_path).splitlines()

    assert printed[:2] == ["order 7 has shipped", "ran SELECT name FROM customers LIMIT 1000"]
    assert "QWED-AGENT-TRUST-001" in printed[2]


@pytest.mark.parametrize(("example", "page"), FRAMEWORK_PAGES.items(), ids=list(FRAMEWORK_PAGES))
def test_a_page_shows_the_example_that_the_tests_run(example: str, page: str) -> None:
    script = (ROOT / "examples" / f"{example}.py").read_text(encoding="utf-8")

    assert blocks(page, "python")[0] == script
