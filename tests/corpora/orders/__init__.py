"""Orders to a model that hide in data, and ordinary texts that hold the same words.

One text a line: family, language, text (`\\n` is a line break). Half of them, by the parity of a hash of the
text, were set aside before the first rule was written: the rules were made from the others, these measure.
The later ones were written without a look at the rules, each set (first to fifth) measured unseen, and then
looked at.
"""

import hashlib
from pathlib import Path
from typing import Final, NamedTuple

_HERE: Final = Path(__file__).parent


class Sample(NamedTuple):
    family: str
    language: str
    text: str

    @property
    def is_held_back(self) -> bool:
        return hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def _read(name: str) -> tuple[Sample, ...]:
    lines = (_HERE / name).read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line)
    return tuple(Sample(family, language, text.replace("\\n", "\n")) for family, language, text in rows)


ATTACKS: Final = _read("attacks.txt")
ORDINARY: Final = _read("ordinary.txt")
LATER_ATTACKS: Final = _read("later_attacks.txt")
LATER_ORDINARY: Final = _read("later_ordinary.txt")


def made_from(samples: tuple[Sample, ...]) -> list[Sample]:
    return [sample for sample in samples if not sample.is_held_back]


def held_back(samples: tuple[Sample, ...]) -> list[Sample]:
    return [sample for sample in samples if sample.is_held_back]
