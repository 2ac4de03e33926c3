"""Ordinary tool calls of many trades, one to a line: the tool's name, then its arguments as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def ordinary_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(Path(__file__).parent.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                tool, _, arguments = line.partition(" ")
                yield tool, json.loads(arguments)
