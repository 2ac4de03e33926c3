"""The example of the assurance page prints what the page says, and its table is the table in force."""

import contextlib
import io
import re
from pathlib import Path

from qwed.assurance.scores import ScoreEvent

PAGE = (Path(__file__).parents[2] / "docs" / "assurance.md").read_text(encoding="utf-8")


def test_the_python_block_prints_what_stands_below_it():
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
    (printed,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.S | re.M)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})

    assert output.getvalue() == printed


def test_every_event_has_a_row():
    assert set(re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.M)) == set(ScoreEvent)
