"""The pages of the frameworks run as printed: the example, and what follows it."""

from pathlib import Path

import pytest
from tests.support.documents import blocks, printed_by, shop

PAGES = [
    "how-to/protect-an-agent-framework-agent.md",
    "how-to/protect-a-langchain-agent.md",
    "how-to/protect-an-openai-agents-agent.md",
    "how-to/protect-a-llamaindex-agent.md",
    "how-to/protect-a-pydantic-ai-agent.md",
]


@pytest.mark.parametrize("page", PAGES, ids=[page[7:-3] for page in PAGES])
def test_the_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    with shop(tmp_path) as environment:
        printed = printed_by("\n".join(blocks(page, "python")), environment, tmp_path)

    assert printed == "".join(blocks(page, "text"))
