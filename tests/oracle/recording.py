"""A recording: the lines of worlds, one after the other, as JSON in an xz file, after one that says so."""

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FORMAT = 1
RECORDINGS = Path(__file__).parent / "recordings"
DEFAULT = RECORDINGS / "decisions.jsonl.xz"


def write(path: Path, worlds: Iterable[tuple[int, list[str]]]) -> int:
    """How many requests it holds."""
    made = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8", preset=6) as file:
        file.write(json.dumps({"format": FORMAT}) + "\n")
        for _, lines in worlds:
            made += sum(is_request(line) for line in lines)
            file.writelines(f"{line}\n" for line in lines)
    return made


def read(path: Path) -> Iterator[tuple[int, list[str]]]:
    """World by world."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        header = json.loads(next(file))
        if header.get("format") != FORMAT:
            raise ValueError(f"{path} has format {header.get('format')}, not {FORMAT}")
        lines: list[str] = []
        for line in file:
            if line.startswith('{"world":') and lines:
                yield _number(lines), lines
                lines = []
            lines.append(line.rstrip("\n"))
        if lines:
            yield _number(lines), lines


def is_request(line: str) -> bool:
    return line.startswith('{"asked":')


def _number(lines: list[str]) -> int:
    first: dict[str, Any] = json.loads(lines[0])
    return int(first["world"])
