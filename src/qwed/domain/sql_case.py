"""Letter case of SQL outside quotation marks.

Databases do not agree on what a quotation mark is. So a statement is folded only where every reading agrees:
backslashes, nested comments, `#`, Oracle's own quotes and whatever is not closed leave it as it is.
"""

import string
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

# Group 1 is kept as it stands, group 3 is where databases differ: it takes all the rest, so that nothing is
# looked at twice.
_KEPT = lazy_pattern(
    r"""(?xs)
    ( (?<!\w) [nN]?[qQ]' (?P<oracle>.*)
    | '[^'\\]*' | "[^"\\]*" | `[^`\\]*` | \[[^\]\\'"`]*\]
    | --(?=\s|$) [^\n]*
    | /\*[^*/]*\*/
    | \$ (?P<tag>[A-Za-z_]\w*|) \$ [^$\\]* \$ (?P=tag) \$
    | (?P<open> (?: ['"`\[\\\#] | -- | /\* | \$(?:[A-Za-z_]\w*)?\$ ) .* )
    )"""
)
#: What `_KEPT` gives to `split` for one match: all of it, and its three parts.
_STRIDE: Final = 5
_ASCII_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def fold_sql_case(text: str) -> str:
    """In small letters outside quotation marks and comments; as it is, where that is unclear."""
    parts = _KEPT.split(text)
    if len(parts) == 1:
        return _lower(text)
    oracle, unclosed = parts[2::_STRIDE], parts[4::_STRIDE]
    if any(part is not None for part in (*oracle, *unclosed)):
        return text
    outside, kept = parts[0::_STRIDE], parts[1::_STRIDE]
    return "".join(piece for pair in zip(map(_lower, outside), (*kept, ""), strict=True) for piece in pair)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
