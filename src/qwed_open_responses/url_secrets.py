"""Secrets that hide in the parts of an address: in the labels of a host name, where letters lose their case,
and in the segments of a path, encoded, cut in pieces or turned around.

Only what decodes to a secret counts, or, in a host name, what decodes to text at all: a name is no place for
text. Left out: encrypted data of ordinary length, which looks like any identifier.
"""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.secrets import find_secrets
from qwed_open_responses.example_secrets import is_example

SIGNAL: Final = "secret:address"
SIGNALS: Final = {SIGNAL: r"(?i)\b(?:https?|wss?|ftp)://[^\s\"'<>]{20}"}

_ADDRESS = lazy_pattern(r"(?i)\b(?:https?|wss?|ftp)://([^\s\"'<>/?#]{1,300})([^\s\"'<>?#]{0,600})")
_BASE32 = lazy_pattern(r"[a-zA-Z2-7]{16,63}=*")
_BASE64 = lazy_pattern(r"[A-Za-z0-9_-]{16,400}={0,2}")
_HEX = lazy_pattern(r"(?:[0-9a-fA-F]{2}){8,200}")
# A label that long is a number or a piece of data; three of them in one name are no name.
_LONG_LABEL: Final = 24
_DATA_LABELS: Final = 72
_SHORTEST: Final = 16
_SEPARATORS = lazy_pattern(r"[/;=,.]")
# Keys of capitals alone, which a name writes small.
_CAPITALS: Final = frozenset({"AKIA", "ASIA", "LTAI", "AIZA"})
_BETWEEN: Final = "\n\n"
_TEXT = lazy_pattern(r"[ -~]{8,}")
_WORD = lazy_pattern(r"[A-Za-z]{3}")


def find_hidden_secrets(text: str) -> Iterator[tuple[str, int]]:
    """What hides in each address of the text: its kind, and where the address begins."""
    readings: dict[str, int] = {}
    for match in _ADDRESS.finditer(text):
        labels = match.group(1).rpartition("@")[2].partition(":")[0].split(".")
        if _has_data(labels):
            yield "data_in_host", match.start()
        for reading in (*_readings_of_host(labels), *_readings_of_path(match.group(2))):
            readings.setdefault(reading, match.start())
    yield from _secrets_among(readings)


def _secrets_among(readings: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """All are searched at once: one search of a long text costs less than many of short ones."""
    ends = list(accumulate(len(reading) + len(_BETWEEN) for reading in readings))
    starts = list(readings.values())
    joined = _BETWEEN.join(readings)
    for secret in find_secrets(joined):
        index = bisect_right(ends, secret.start)
        is_whole = secret.end <= ends[index]
        if is_whole and not is_example(secret.kind, joined[secret.start : secret.end]):
            yield secret.kind, starts[index]


def _has_data(labels: list[str]) -> bool:
    long = [label for label in labels if len(label) >= _SHORTEST]
    data = [label for label in long if len(label) >= _LONG_LABEL and _is_data(label)]
    if sum(map(len, data)) >= _DATA_LABELS and len(data) > 1:
        return True
    return any(_is_text(decoded) for label in long for decoded in _decode(label, is_host=True))


def _readings_of_host(labels: list[str]) -> Iterator[str]:
    """Names have no capitals and no underscores."""
    for label in (*labels, "".join(labels[:-2])):
        if len(label) < _SHORTEST:
            continue
        if label[:4].upper() in _CAPITALS:
            yield label.upper()
        if "-" in label:
            yield label.replace("-", "_")


def _readings_of_path(path: str) -> Iterator[str]:
    segments = [segment for segment in _SEPARATORS.split(path) if segment]
    for segment in segments:
        if len(segment) >= _SHORTEST:
            # Hexadecimal is no key of a vendor, from either end.
            if not _HEX.fullmatch(segment):
                yield segment[::-1]
            yield from _decode(segment, is_host=False)
    if len(segments) > 1 and not any(map(_HEX.fullmatch, segments)):
        yield "".join(segments)


def _is_text(decoded: str) -> bool:
    return _TEXT.fullmatch(decoded) is not None and _WORD.search(decoded) is not None


def _is_data(label: str) -> bool:
    bare = label.replace("-", "")
    digits = sum(map(str.isdigit, bare))
    return digits * 8 >= len(bare) and (_HEX.fullmatch(bare) or _BASE32.fullmatch(bare)) is not None


def _decode(part: str, *, is_host: bool) -> Iterator[str]:
    for shape, decode in _DECODERS[is_host:]:
        if shape.fullmatch(part):
            if decode is _from_base64 and (part.islower() or part.isupper()):
                continue
            try:
                yield decode(part).decode("ascii")
            except (ValueError, binascii.Error):
                continue


def _from_base32(part: str) -> bytes:
    bare = part.rstrip("=").upper()
    return base64.b32decode(bare + "=" * (-len(bare) % 8))


def _from_base64(part: str) -> bytes:
    bare = part.rstrip("=")
    return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))


# In a host name letters have no case, so that base64 cannot stand there.
_DECODERS: Final[tuple[tuple[Any, Any], ...]] = (
    (_BASE64, _from_base64),
    (_BASE32, _from_base32),
    (_HEX, bytes.fromhex),
)
