"""The README's session runs as printed."""

import contextlib
import io
import itertools
import re
import subprocess
import sys
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


def test_the_command_of_the_readme_prints_what_it_says() -> None:
    text = README.read_text(encoding="utf-8")
    printed = text.split('$ qwed verify sql "DELETE FROM users"\n', 1)[1].split("```", 1)[0]
    command = [sys.executable, "-m", "qwed", "verify", "sql", "DELETE FROM users"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)

    assert shown.stdout == printed
