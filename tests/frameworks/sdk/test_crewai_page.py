"""The page of CrewAI runs as printed."""

from pathlib import Path

from tests.support.documents import blocks, printed_by, shop

PAGE = "how-to/protect-a-crewai-agent.md"


def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    with shop(tmp_path) as environment:
        printed = printed_by("\n".join(blocks(PAGE, "python")), environment, tmp_path)

    assert printed == "".join(blocks(PAGE, "text"))
