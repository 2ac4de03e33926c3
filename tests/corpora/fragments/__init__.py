"""Values that leave the literal they are put in, and ordinary values that hold the same signs and words.

One value a line. Half of them, by the parity of a hash, were set aside before the rules were changed.
"""

import hashlib
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent


def _read(name: str) -> tuple[str, ...]:
    return tuple(line for line in (_HERE / name).read_text(encoding="utf-8").split("\n") if line)


INJECTIONS: Final = _read("injections.txt")
ORDINARY: Final = _read("ordinary.txt")


def is_held_back(value: str) -> bool:
    return hashlib.sha256(value.encode()).digest()[0] % 2 == 1
