"""Text into sentences."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

import msgspec


class FactSentence(msgspec.Struct, frozen=True):
    """`is_quoted`: it stands inside quotation marks, so the source does not assert it."""

    text: str
    is_quoted: bool = False
    follows_colon: bool = False


_SIGNS: Final = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u00a0": " ",
    }
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?i:mr|mrs|ms|dr|prof|sr|jr|st|inc|ltd|co|corp|vs|etc|e\.g|i\.e|no|approx|ca|fig|gen|sen|rep|gov|mt"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)|\b[A-Z]|\b[A-Za-z]\.[A-Za-z])\Z"
)
_SENTENCE_END: Final = re.compile(
    r"[.!?]+[\"')\]]*(?=\s|\Z)|\n\s*(?:\n|[-*•]\s)|\n(?=\s*\S{1,40}[^\n]{0,60}:\s)"
)


def plain_signs(text: str) -> str:
    """The text with typographic quotes and dashes made plain."""
    return text.translate(_SIGNS) if text.isascii() else unicodedata.normalize("NFKC", text.translate(_SIGNS))


def split_sentences(text: str) -> Iterator[FactSentence]:
    """Sentences in order. A full stop after an abbreviation or an initial does not end one."""
    plain = plain_signs(text)
    start = 0
    is_quoted = follows_colon = False
    for match in _SENTENCE_END.finditer(plain):
        piece = plain[start : match.end()]
        if match.group().startswith(".") and _is_abbreviation(plain, match.start()):
            continue
        stripped = piece.strip(" \t\r\n-*•")
        if stripped:
            yield FactSentence(stripped, is_quoted, follows_colon)
            follows_colon = stripped.endswith(":")
        is_quoted ^= piece.count('"') % 2 == 1
        start = match.end()
    rest = plain[start:].strip()
    if rest:
        yield FactSentence(rest, is_quoted, follows_colon)


def _is_abbreviation(text: str, stop: int) -> bool:
    if _ABBREVIATION.search(text[max(0, stop - 8) : stop]) is None:
        return False
    following = text[stop + 1 : stop + 40].lstrip()
    word = text[max(0, stop - 8) : stop].rpartition(" ")[2].lower()
    # "Acme Inc. The next" ends a sentence, "Dr. Who" does not.
    return bool(following) and not (
        word in ("inc", "ltd", "co", "corp", "etc", "no") and following[0].isupper()
    )
