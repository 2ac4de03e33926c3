"""The tokens of a piece of SQL, in one pass. A literal that does not end goes to the end of the piece."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from qwed.domain.lazy_pattern import lazy_pattern

WORD: Final = "word"
NUMBER: Final = "number"
STRING: Final = "string"
NAME: Final = "name"
SIGN: Final = "sign"
# A comment to the end, or a NUL: what follows is not read.
STOP: Final = "stop"

_TOKEN = lazy_pattern(
    r"""(?sx)
      (?P<space> \s+ | /\*!\d{0,6} | \*/ | /\*\*/ | /\*[^!].*?\*/ )
    | (?P<stop> --.* | \#.* | /\*.* | \x00.* | ;?%00.* )
    | (?P<string> [nNxXbB]?'(?:[^'\\]|\\.|'')*(?:'|$) | "(?:[^"\\]|\\.|"")*(?:"|$) )
    | (?P<name> `[^`]*(?:`|$) | \[\w[\w ]*\] )
    | (?P<number> 0[xX][0-9a-fA-F]+ | \d+(?:\.\d*)?(?:[eE][+-]?\d+)? | \.\d+ )
    | (?P<word> [@:$]{0,2}[A-Za-z_\u0080-\uffff][\w$]* )
    | (?P<sign> <=> | <> | != | <= | >= | \|\| | && | := | :: | \.\. | . )
    """
)
MAX_TOKENS: Final = 400


class SqlToken(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == WORD else ""


def tokens(text: str) -> Iterator[SqlToken]:
    for count, match in enumerate(_TOKEN.finditer(text)):
        if count > MAX_TOKENS:
            return
        kind = str(match.lastgroup)
        if kind == STOP:
            yield SqlToken(STOP, match.group(), match.start())
            return
        if kind != "space":
            yield SqlToken(kind, match.group(), match.start())
