"""Examples in the documentation print what they say."""

import contextlib
import io
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["engines.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_prints_the_text_block_after_it(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", text, re.S | re.M)
    names: dict[str, Any] = {}
    compared = 0
    for (kind, code), (_, printed) in itertools.pairwise(blocks):
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, names)
            compared += 1

            assert output.getvalue() == printed

    assert compared
