"""What is wrong with a policy file, where, and what was expected."""

import json
from collections.abc import Iterable

import msgspec


class PolicyMistake(msgspec.Struct, frozen=True):
    """`path` is the key as written from the top (`actions.deploy.risk`), empty for the file itself."""

    line: int
    path: str
    message: str


class PolicyError(ValueError):
    """The file cannot be put in force. `mistakes` has all of them, in the order of the file."""

    def __init__(self, source: str, mistakes: Iterable[PolicyMistake]) -> None:
        self.source = source
        self.mistakes = sorted(mistakes, key=lambda mistake: mistake.line)
        super().__init__("\n".join(map(self._line, self.mistakes)))

    def _line(self, mistake: PolicyMistake) -> str:
        place = f"{self.source}:{mistake.line}"
        return ": ".join(filter(None, (place, mistake.path, mistake.message)))


def quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 80 else text[:80] + "…", ensure_ascii=False)
