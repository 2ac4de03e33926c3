"""Letter case of SQL outside quotation marks.

Databases do not agree on what a quotation mark is. So a statement is folded only where every reading agrees:
backslashes, nested comments, `#`, Oracle's own quotes and whatever is not closed leave it as it is.
"""

import string
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

# Each begins with a literal, so that the search goes from one such character to the next.
_CLOSED: Final = (
    r"'[^'\\]*'",
    r'"[^"\\]*"',
    r"`[^`\\]*`",
    r"\[[^\]\\'\"`]*\]",
    r"--(?=\s|\Z)[^\n]*",
    r"/\*[^*/]*\*/",
    r"\$(?P<tag>[A-Za-z_]\w*|)\$[^$\\]*\$(?P=tag)\$",
)
# Where databases differ: these take all the rest, so that nothing is looked at twice.
_OPEN: Final = (r"'.*", r'".*', r"`.*", r"\[.*", r"\\.*", r"\#.*", r"--.*", r"/\*.*", r"\$[A-Za-z_]?\w*\$.*")
_KEPT = lazy_pattern(f"(?s)({'|'.join(_CLOSED + _OPEN)})")
_IS_CLOSED = lazy_pattern(f"(?s)(?:{'|'.join(_CLOSED)})")
#: What `split` gives for one match: what is outside before it, all of it, and its tag.
_STRIDE: Final = 3
_ORACLE = lazy_pattern(r"(?<!\w)[nN]?[qQ]'")
_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def fold_sql_case(text: str) -> str:
    """In small letters outside quotation marks and comments; as it is, where that is unclear."""
    parts = _KEPT.split(text)
    if len(parts) == 1:
        return _lower(text)
    if _IS_CLOSED.fullmatch(parts[-_STRIDE]) is None or ("'" in text and _ORACLE.search(text)):
        return text
    parts[0::_STRIDE] = map(_lower, parts[0::_STRIDE])
    parts[2::_STRIDE] = [""] * len(parts[2::_STRIDE])
    return "".join(parts)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
