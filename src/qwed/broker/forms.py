"""A credential in what comes back: found in every form that a server might echo it in, and covered.

The forms: as it is, base64 (both alphabets, at every alignment) and hexadecimal; each of these with any of
its characters as `%41`, `%2541` or `\\u0041`. What is covered keeps its length, and a message its framing.
"""

import base64
from collections.abc import Iterable, Sequence
from typing import Final

import re2

#: Shorter ones would be found by chance.
MIN_CREDENTIAL: Final = 8
COVER: Final = b"*"
_PAIRS: Final = {0x2B: b"+-", 0x2D: b"+-", 0x2F: b"/_", 0x5F: b"/_"}

#: One character: the texts that stand for it, in lower case where case says nothing.
Spelling = tuple[tuple[bytes, bool], ...]


class Forms:
    """What to look for. One for all answers that could hold these credentials."""

    def __init__(self, credentials: Iterable[bytes]) -> None:
        self._words = [word for credential in credentials for word in _words_of(credential)]
        self._first = frozenset(
            start for word in self._words for text, free in word[0] for start in _starts(text, free)
        )
        self.longest = max(
            (sum(max(len(t) for t, _ in unit) for unit in word) for word in self._words), default=0
        )
        pattern = b"|".join(b"".join(map(_pattern, word)) for word in self._words)
        self._pattern = re2.compile(pattern) if pattern else None

    def cover(self, data: bytes) -> bytes:
        """The same bytes, with stars over every form that is whole."""
        if self._pattern is None or self._pattern.search(data) is None:
            return data
        covered: bytes = self._pattern.sub(lambda found: COVER * len(found.group()), data)
        return covered

    def unfinished(self, data: bytes) -> int:
        """From where on the end of these bytes could be the beginning of a form; their length if nowhere."""
        for start in range(max(0, len(data) - self.longest + 1), len(data)):
            if data[start] in self._first and any(_may_begin(word, data, start) for word in self._words):
                return start
        return len(data)


class CoveredStream:
    """Bytes that come in pieces. A piece is held back only as far as it could be the beginning of a form."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        data = self._forms.cover(self._held + piece)
        until = self._forms.unfinished(data)
        self._held = data[until:]
        return data[:until]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held


def _words_of(credential: bytes) -> list[Sequence[Spelling]]:
    words: list[Sequence[Spelling]] = [[_spelling(byte) for byte in credential]]
    for before in range(3):
        core = _base64_core(credential, before)
        words.append([_spelling(byte, _PAIRS.get(byte)) for byte in core])
    words.append([_spelling(byte, is_free=True) for byte in credential.hex().encode()])
    return words


def _base64_core(credential: bytes, before: int) -> bytes:
    """The letters that are the same whatever stands around the credential."""
    text = base64.b64encode(bytes(before) + credential).rstrip(b"=")
    bits = 8 * (before + len(credential))
    first = -(-8 * before // 6)
    return text[first : bits // 6]


def _spelling(byte: int, letters: bytes | None = None, *, is_free: bool = False) -> Spelling:
    texts: list[tuple[bytes, bool]] = []
    for letter in letters or bytes([byte]):
        code = b"%02x" % letter
        texts += [
            (bytes([letter]).lower() if is_free else bytes([letter]), is_free),
            (b"%" + code, True),
            (b"%25" + code, True),
            (rb"\u00" + code, True),
        ]
        if letter in b'/"\\':
            texts.append((b"\\" + bytes([letter]), False))
    return tuple(texts)


def _starts(text: bytes, is_free: bool) -> bytes:
    return text[:1] + (text[:1].upper() if is_free else b"")


def _pattern(unit: Spelling) -> bytes:
    return b"(?:" + b"|".join((b"(?i:%s)" if free else b"%s") % _quote(text) for text, free in unit) + b")"


def _quote(text: bytes) -> bytes:
    return b"".join(rb"\x%02x" % byte for byte in text)


def _may_begin(word: Sequence[Spelling], data: bytes, start: int) -> bool:
    """Whether the data ends inside a form of this word that begins at `start`."""
    waiting, seen = [(0, start)], {(0, start)}
    while waiting:
        unit, at = waiting.pop()
        if unit == len(word):
            continue
        if at == len(data):
            return True
        for text, is_free in word[unit]:
            piece = data[at : at + len(text)]
            if is_free:
                piece = piece.lower()
            after = (unit + 1, at + len(text))
            if piece == text and after not in seen:
                seen.add(after)
                waiting.append(after)
            elif len(piece) < len(text) and text.startswith(piece):
                return True
    return False
