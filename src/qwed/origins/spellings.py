"""Spellings of a value that no decoder undoes: blanks inside it, `(at)` and `[.]`, marks of emphasis, lines
that break it, and hosts in another alphabet or as a number. All patterns are linear."""

import re
import socket
from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern

_MAX_LABEL: Final = 63
#: What stands in a text that is spelled so; most texts have none of it, and are not searched any further.
_SIGNS = lazy_pattern(
    r"[*`~]| (?:at|AT|dot|DOT|\.)|\s@|@\s|[\[({<][ \t]?(?:at|AT|dot|DOT|[.@])[ \t]?[\])}>]| \S \S \S \S \S "
)
_IN_BRACKETS: Final = r"[ \t]?[\[({{<][ \t]?(?:{})[ \t]?[\])}}>][ \t]?"
_STEPS: Final = (
    (lazy_pattern(r"[*`~]{1,3}"), ""),
    # Single characters with blanks between them.
    (lazy_pattern(r"(?<!\S)(?:\S ){7,}\S(?!\S)"), " "),
    (lazy_pattern(_IN_BRACKETS.format("at|AT|@") + r"|(?<=\w)[ \t]{1,2}@[ \t]{0,2}(?=\w)"), "@"),
    (lazy_pattern(r"(?<=\w)@[ \t]{1,2}(?=\w)"), "@"),
    (lazy_pattern(_IN_BRACKETS.format(r"dot|DOT|\.") + r"|(?<=\w) (?:dot|DOT|\.) (?=\w)"), "."),
    (lazy_pattern(r"(?<=\w) (?:at|AT) (?=[\w-]{1,63}\.\w)"), "@"),
)
_BROKEN_ACCOUNT = lazy_pattern(r"(?<!\w)([A-Za-z]{2}\d{2}[A-Za-z0-9 .-]{0,40})\n(?=\d)")
_WRAPPED = lazy_pattern(r"(?<=[A-Za-z0-9+/]{16})\r?\n(?=[A-Za-z0-9+/=]{4})")
#: Texts of a program with a plus, or nothing, between them.
_LITERALS = lazy_pattern(r"(?P<quote>['\"])(?:[ \t]?\+[ \t]?)?(?P=quote)(?=[^\s,)\]}:])")
_DASHES: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2043\u2212"), "-")
#: Digits that are the hexadecimal codes of letters, digits and what sets them apart.
_DIGIT_CODES = lazy_pattern(r"(?<!\w)(?:2[0-9]|3[0-9]|4[1-9]|5[0-9]|6[1-9]|7[0-9]){8,100}(?!\w)")
_MIN_CODES: Final = 16
_NUMERIC = lazy_pattern(r"(?:0[xX])?[0-9a-fA-F]{1,12}(?:\.(?:0[xX])?[0-9a-fA-F]{1,12}){0,3}")


def loosen(text: str) -> str | None:
    """The text with such spellings undone; None where there are none."""
    if not _may_be_loose(text):
        return None
    loose = text
    for pattern, by in _STEPS:
        loose = pattern.sub(_close_up if by == " " else by, loose)
    loose = _BROKEN_ACCOUNT.sub(r"\1 ", loose)
    return None if loose == text else loose


def _may_be_loose(text: str) -> bool:
    if _SIGNS.search(text) is not None:
        return True
    return "\n" in text and _BROKEN_ACCOUNT.search(text) is not None


def _close_up(match: re.Match[str]) -> str:
    return match.group().replace(" ", "")


def unwrap(text: str) -> str:
    """A long run of letters and digits as one, that lines were cut from."""
    return _WRAPPED.sub("", text) if "\n" in text else text


def join_literals(program: str) -> str | None:
    """The program with the parts of a text that it puts together as one; None where there are none."""
    joined = _LITERALS.sub("", program)
    return None if joined == program else joined


def fold_signs(text: str) -> str:
    """One kind of dash and one kind of dot."""
    return text if text.isascii() else text.translate(_DASHES).replace("\u3002", ".")


def decode_digits(text: str) -> str | None:
    """The text with each run of digits that are codes of characters as those; None where there are none."""
    if len(text) < _MIN_CODES:
        return None
    decoded = _DIGIT_CODES.sub(lambda run: bytes.fromhex(run.group()).decode("ascii"), text)
    return None if decoded == text else decoded


def plain_host(host: str) -> str:
    """A host as it is compared: its own letters for `xn--`, four numbers for an address written otherwise."""
    if "xn--" in host:
        host = ".".join(map(_label, host.split(".")))
    if host[:1].isdigit() and _NUMERIC.fullmatch(host) is not None:
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return host
    return host


def _label(label: str) -> str:
    if not label.startswith("xn--") or len(label) > _MAX_LABEL:
        return label
    try:
        return label[4:].encode("ascii").decode("punycode").casefold()
    except (UnicodeError, ValueError):
        return label
