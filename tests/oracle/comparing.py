"""Where two runs of one world differ, after what may differ was taken out of both.

What may differ is named by paths into a line: `wrote.*.checks` is the member `checks` of every entry written;
`**` stands for any depth. Labels are numbered again after something was taken out, so that an id that stood
only there moves no other.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.oracle.labels import number_again

IGNORED = Path(__file__).parent / "ignored.txt"
_MISSING = "(nothing)"


class Difference:
    """One request, and the first members in which its lines differ."""

    def __init__(self, world: int, line: int, old: Any, new: Any) -> None:
        self.world, self.line, self.old, self.new = world, line, old, new

    def __str__(self) -> str:
        asked = self.new or self.old
        head = f"world {self.world}, line {self.line}: {_short(asked.get('asked', asked), 1500)}"
        if note := asked.get("note"):
            head += f"\n  ({note})"
        told = [
            f"  {path}\n    old {_short(old)}\n    new {_short(new)}"
            for path, old, new in self.members()[:12]
        ]
        return "\n".join([head, *told])

    def members(self) -> list[tuple[str, Any, Any]]:
        return list(_members(self.old, self.new, ""))


def read_ignored(path: Path = IGNORED) -> list[str]:
    """One path in a line; what follows # says why."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def compare(world: int, old: Sequence[str], new: Sequence[str], ignored: Sequence[str]) -> list[Difference]:
    if list(old) == list(new):
        return []
    before, after = _comparable(old, ignored), _comparable(new, ignored)
    longest = max(len(before), len(after))
    before += [None] * (longest - len(before))
    after += [None] * (longest - len(after))
    return [
        Difference(world, number, one, other)
        for number, (one, other) in enumerate(zip(before, after, strict=True))
        if json.dumps(one) != json.dumps(other)
    ]


def _comparable(lines: Sequence[str], ignored: Sequence[str]) -> list[Any]:
    read = [json.loads(line) for line in lines]
    for line in read:
        for path in ignored:
            _take_out(line, path.split("."))
    return number_again(read) if ignored else read


def _take_out(value: Any, path: list[str]) -> None:
    name, rest = path[0], path[1:]
    if name == "**":
        _take_out(value, rest)
        for item in _items(value):
            _take_out(item, path)
    elif not rest:
        for key in [key for key in value if name in (key, "*")] if isinstance(value, dict) else []:
            del value[key]
    elif isinstance(value, dict):
        for key, item in value.items():
            if name in (key, "*"):
                _take_out(item, rest)
    elif isinstance(value, list) and name == "*":
        for item in value:
            _take_out(item, rest)


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _members(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _members(old.get(key, _MISSING), new.get(key, _MISSING), f"{path}.{key}".lstrip("."))
        if list(old) != list(new) and set(old) == set(new):
            yield f"{path} (order)", list(old), list(new)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path} (length)", len(old), len(new)
        for number in range(max(len(old), len(new))):
            one = old[number] if number < len(old) else _MISSING
            other = new[number] if number < len(new) else _MISSING
            yield from _members(one, other, f"{path}[{number}]")
    elif json.dumps(old) != json.dumps(new):
        yield path, old, new


def _short(value: Any, limit: int = 400) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"
