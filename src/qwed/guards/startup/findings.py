"""One thing that the start-up guard cannot explain."""

from typing import Final

import msgspec

ACCEPT_OR_REMOVE: Final = "remove it, or accept it with `qwed doctor --trust-startup` if you know it"
CLOSE: Final = "take the right to write there from others (chmod o-w)"
REINSTALL: Final = "reinstall that distribution, or remove the file"


class StartupFinding(msgspec.Struct, frozen=True):
    """`line` is 0 where the whole file or directory is meant.

    `sha256` names the content that was seen; it is None where a person cannot accept the finding,
    because what they looked at could be exchanged, or could not be read at all.
    """

    path: str
    line: int
    why: str
    remedy: str
    sha256: str | None = None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.why}; {self.remedy}"
