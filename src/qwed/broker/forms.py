"""A credential in what comes back: found in every form that a server might echo it in, and covered.

The forms: as it is in any case of its letters, base64 (both alphabets, at every alignment, in lines), and
hexadecimal; each of these with any of its characters as `%41`, `%2541`, `\\u0041`, `\\x41`, `=41`, `&#65;` or
`&#x41;`, and in UTF-16. What is covered keeps its length, and a message its framing.
"""

import base64
import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import re2

#: Shorter ones would be found by chance.
MIN_CREDENTIAL: Final = 8
COVER: Final = b"*"
#: So many characters are looked for in the bytes; where they are found, the others are compared one by one. A
#: pattern for a whole token of a thousand characters would be a hundred times slower.
HEAD: Final = 10
_PAIRS: Final = {0x2B: b"+-", 0x2D: b"+-", 0x2F: b"/_", 0x5F: b"/_"}
#: Between the letters of base64 that is written in lines, as bytes or escaped.
_LINE_ENDS: Final = (b"\n", b"\r\n", rb"\n", rb"\r\n", b"%0a", b"%0d%0a")

#: One character: the texts that stand for it, in lower case where case says nothing.
Spelling = tuple[tuple[bytes, bool], ...]
Word = Sequence[Spelling]


class Forms:
    """What to look for. One for all answers that could hold these credentials."""

    def __init__(self, credentials: Iterable[bytes]) -> None:
        self._words = [word for credential in credentials for word in _words_of(credential)]
        self._first = frozenset(
            start for word in self._words for text, free in word[0] for start in _starts(text, free)
        )
        self._longest = max(map(_length, self._words), default=0)
        self._longest_head = max((_length(word[:HEAD]) for word in self._words), default=0)
        pattern = b"|".join(b"".join(map(_pattern, word[:HEAD])) for word in self._words)
        self._heads = re2.compile(pattern) if pattern else None

    def cover(self, data: bytes) -> bytes:
        """The same bytes, with stars over every form that is whole."""
        parts, kept = [], 0
        for start, end in self._spans(data):
            parts += [data[kept:start], COVER * (end - start)]
            kept = end
        return data if kept == 0 else b"".join([*parts, data[kept:]])

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        at = 0
        while (start := self._head(data, at)) is not None:
            # The nearest end: in pieces, nobody has seen another one yet.
            ends = [end for word in self._words if (end := _end_of(word, data, start)[0]) is not None]
            if ends:
                yield start, min(ends)
            at = min(ends, default=start + 1)

    def _head(self, data: bytes, at: int) -> int | None:
        found = None if self._heads is None else self._heads.search(data, at)
        return None if found is None else int(found.start())

    def find_unfinished(self, data: bytes) -> int:
        """From where on the end of these bytes could be the beginning of a form; their length if nowhere."""
        near = max(0, len(data) - self._longest_head)
        at = max(0, len(data) - self._longest)
        # Further from the end, a form that has begun has a whole head.
        while (start := self._head(data, at)) is not None and start < near:
            if self._may_begin(data, start):
                return start
            at = start + 1
        for start in range(near, len(data)):
            if data[start] in self._first and self._may_begin(data, start):
                return start
        return len(data)

    def _may_begin(self, data: bytes, start: int) -> bool:
        return any(_end_of(word, data, start)[1] for word in self._words)


class CoveredStream:
    """Bytes that come in pieces. A piece is held back only as far as it could be the beginning of a form."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        data = self._forms.cover(self._held + piece)
        until = self._forms.find_unfinished(data)
        self._held = data[until:]
        return data[:until]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held


def _words_of(credential: bytes) -> list[Word]:
    words = [_word(credential, is_free=True)]
    words += [_word(_base64_core(credential, before), line_ends=_LINE_ENDS) for before in range(3)]
    words.append(_word(credential.hex().encode(), is_free=True))
    return words


def _word(letters: bytes, *, is_free: bool = False, line_ends: Sequence[bytes] = ()) -> Word:
    first, *others = letters
    return [
        _spelling(first, (), is_free, bool(line_ends)),
        *(_spelling(byte, (b"\0", *line_ends), is_free, bool(line_ends)) for byte in others),
    ]


def _base64_core(credential: bytes, before: int) -> bytes:
    """The letters that are the same whatever stands around the credential."""
    text = base64.b64encode(bytes(before) + credential).rstrip(b"=")
    bits = 8 * (before + len(credential))
    first = -(-8 * before // 6)
    return text[first : bits // 6]


def _spelling(byte: int, between: Sequence[bytes], is_free: bool, is_base64: bool) -> Spelling:
    texts: list[tuple[bytes, bool]] = []
    for letter in _PAIRS.get(byte, bytes([byte])) if is_base64 else bytes([byte]):
        plain = bytes([letter]).lower() if is_free else bytes([letter])
        texts += [(before + plain, is_free) for before in (b"", *between)]
        code = b"%02x" % letter
        texts += [
            (form % code, True) for form in (b"%%%b", b"%%25%b", rb"\u00%b", rb"\x%b", b"=%b", b"&#x%b;")
        ]
        texts += [(b"&#%d;" % letter, False), (b"&#%03d;" % letter, False)]
        if letter in b'/"\\':
            texts.append((b"\\" + bytes([letter]), False))
        named = html.escape(chr(letter)).encode("latin-1")
        if named != bytes([letter]):
            texts.append((named, False))
        if letter == 0x20:
            texts.append((b"+", False))
    return tuple(dict.fromkeys(texts))


def _length(word: Word) -> int:
    return sum(max(len(text) for text, _ in unit) for unit in word)


def _starts(text: bytes, is_free: bool) -> bytes:
    return text[:1] + (text[:1].upper() if is_free else b"")


def _pattern(unit: Spelling) -> bytes:
    return b"(?:" + b"|".join((b"(?i:%s)" if free else b"%s") % _quote(text) for text, free in unit) + b")"


def _quote(text: bytes) -> bytes:
    return b"".join(rb"\x%02x" % byte for byte in text)


def _end_of(word: Word, data: bytes, start: int) -> tuple[int | None, bool]:
    """Where a whole form of this word that begins here ends, and whether the data ends inside one."""
    ends: list[int] = []
    is_open = False
    waiting, seen = [(0, start)], {(0, start)}
    while waiting:
        unit, at = waiting.pop()
        if unit == len(word):
            ends.append(at)
            continue
        for text, is_free in word[unit]:
            piece = data[at : at + len(text)]
            if is_free:
                piece = piece.lower()
            after = (unit + 1, at + len(text))
            if piece == text and after not in seen:
                seen.add(after)
                waiting.append(after)
            elif len(piece) < len(text) and text.startswith(piece):
                is_open = True
    return min(ends, default=None), is_open
