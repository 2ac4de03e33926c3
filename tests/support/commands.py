"""Collections of commands: read, expanded, and split into a half for writing rules and one for measuring."""

import hashlib
import itertools
import re
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent.parent / "corpora" / "commands"
_CHOICE: Final = re.compile("⟨([^⟩]*)⟩")
# A pipe has spaces around it.
_BETWEEN: Final = re.compile(r"(?<! )\|(?! )")


def read_commands(name: str) -> list[str]:
    """The commands of a collection, each once, in the order of the file."""
    lines = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    kept = (line for line in lines if line.strip() and not line.startswith("# "))
    return list(dict.fromkeys(each for line in kept for each in expand(line)))


def expand(line: str) -> list[str]:
    pieces = _CHOICE.split(line)
    choices = [_BETWEEN.split(piece) if index % 2 else [piece] for index, piece in enumerate(pieces)]
    return ["".join(made).strip().replace("⏎", "\n") for made in itertools.product(*choices)]


def is_held_out(command: str) -> bool:
    """Half of a collection, by the text alone: nobody chose which, and a new command does not move others."""
    return hashlib.sha256(command.encode()).digest()[0] % 2 == 1


def split(commands: list[str]) -> tuple[list[str], list[str]]:
    """The half that rules are written from, and the half that is only measured."""
    return [each for each in commands if not is_held_out(each)], list(filter(is_held_out, commands))
