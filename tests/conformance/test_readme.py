"""The README's session runs as printed."""

import contextlib
import io
import itertools
import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[2] / "README.md"


def test_every_python_block_of_the_readme_prints_what_it_says() -> None:
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    names: dict[str, Any] = {}
    compared = 0
    for (kind, code), (_, printed) in itertools.pairwise(blocks):
        if kind != "python":
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        compared += 1

        assert output.getvalue() == printed

    assert compared == 2
