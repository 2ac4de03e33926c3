"""The pairs of `weak_pairs.txt`: a weak program and its look-alike; half of them are only measured."""

import random
import re
import string
from pathlib import Path
from typing import NamedTuple

from tests.support.commands import is_held_out


class Pair(NamedTuple):
    language: str
    kind: str
    title: str
    weak: str
    safe: str


_BLOCK = re.compile(r"^== (\w+) (\w+) (.+)\n-- weak\n((?:.*\n)*?)-- safe\n((?:.*\n)*?)(?=^== |\Z)", re.M)
_HOLE = re.compile(r"([§¶])(\d+)")


def _fill(text: str) -> str:
    """Keys made up at random; `¶` are those of capitals and digits."""
    chance = random.Random(7)
    letters = {"§": string.ascii_letters + string.digits, "¶": string.ascii_uppercase + string.digits}
    return _HOLE.sub(lambda hole: "".join(chance.choices(letters[hole[1]], k=int(hole[2]))), text)


def pairs() -> list[Pair]:
    text = (Path(__file__).parent / "weak_pairs.txt").read_text(encoding="utf-8")
    found = _BLOCK.findall(text)
    return [Pair(*head, _fill(weak), _fill(safe)) for *head, weak, safe in found]


def halves() -> tuple[list[Pair], list[Pair]]:
    everything = pairs()
    return (
        [pair for pair in everything if not is_held_out(pair.title)],
        [pair for pair in everything if is_held_out(pair.title)],
    )


def second(language: str) -> list[tuple[bool, str, str]]:
    """Programs written without a look at the rules, one a line: is it weak, its kind, its text."""
    rows = (Path(__file__).parent / f"weak_second_{language}.txt").read_text("utf-8").splitlines()
    parts = (row.split("\t") for row in rows)
    return [(kind[0] == "W", kind[2:], _fill(text.replace("\\n", "\n"))) for kind, text in parts]
