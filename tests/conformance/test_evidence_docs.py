"""The examples of the evidence page print what the page says."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


def test_every_python_block_prints_what_stands_below_it():
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    names = {}
    compared = 0
    for (kind, code), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        compared += kind == "python"

        assert output.getvalue() == printed

    assert compared == 2
