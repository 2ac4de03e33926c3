"""The places of a SQL text that a driver fills: neither quoted, nor in a comment, nor an operator."""

import re
from collections.abc import Iterable
from typing import Final

from qwed.engines.sql.dialects import dialect_named
from qwed.engines.sql.lexemes import blank_out
from qwed.engines.words import words

_PLACEHOLDER: Final = re.compile(
    r"(?P<next>\?|%s\b)|\$(?P<number>\d{1,4})|%\((?P<percent>\w+)\)s|(?<![:\w]):(?P<colon>\w+)"
    r"|(?<![\w@])@(?P<at>\w+)"
)
# A name in brackets, as against a subscript, which follows a value directly.
_BRACKETED: Final = re.compile(r"(?<![\w\])'\"])\[[^\]]*+\]?")
_BLANKS: Final = re.compile(r"\s+")
_LAST_WORDS: Final = re.compile(r"(?:(\w+) )?([\w.]+)\Z")
# Words that a value follows. After any other word a `?` is an operator, as `jsonb` has it.
_BEFORE_A_VALUE: Final = words(
    """
    where and or not in like ilike limit offset between values value select when then else case on having set
    by is using top interval date time timestamp distinct all any some from into returning similar to regexp
    rlike glob match escape fetch first next call exec execute with div mod xor return default as at if
    """
)
_CALLS: Final = words("exec execute call")
_REACH: Final = 80


def count_placeholders(texts: Iterable[str], dialect: str | None) -> tuple[int, frozenset[str]]:
    """How many values the texts take by position, and the names of the others."""
    count, names = 0, set()
    known = dialect_named(dialect) if dialect else None
    for text in texts:
        code = _code_of(text, known)
        for match in _PLACEHOLDER.finditer(code):
            count += match["next"] is not None and _takes_a_value(code, match.start())
            count = max(count, int(match["number"] or 0))
            names.add(match["percent"] or match["colon"] or match["at"] or "")
    return count, frozenset(names - {""})


def _code_of(text: str, dialect: str | None) -> str:
    """What is code in every reading that the text may be given."""
    readings = [blank_out(text, dialect or "postgres")]
    if dialect is None or "\\" in text:
        readings.append(blank_out(text, "mysql"))
    code = readings[0] if len(readings) == 1 else "".join(map(_hide_in_either, *readings))
    code = _BRACKETED.sub(lambda match: "'" * len(match.group()), code)
    # Comments nest in some databases: what stands before the last end of one may be a part of it.
    return _BLANKS.sub(" ", code[code.rfind("*/") + 2 :] if "*/" in code else code)


def _hide_in_either(one: str, other: str) -> str:
    return one if one == other else "'" if "'" in (one, other) else " "


def _takes_a_value(code: str, position: int) -> bool:
    before = code[max(0, position - _REACH) : position].rstrip()
    if not before or before[-1] in ")]'":
        return False
    found = _LAST_WORDS.search(before)
    if found is None:
        return True
    return found[2].lower() in _BEFORE_A_VALUE or (found[1] or "").lower() in _CALLS
