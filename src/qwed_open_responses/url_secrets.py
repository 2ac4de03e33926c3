"""Secrets that hide in the parts of an address: in the labels of a host name, where letters lose their case,
and in the segments of a path or a query, encoded, cut in pieces or turned around.

Only what reads as a secret counts, or, in a host name, what decodes to text at all: a name is no place for
text. Left out: encrypted data of ordinary length, which looks like any identifier.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final
from urllib.parse import unquote

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.secrets import find_secrets
from qwed_open_responses.example_secrets import is_example
from qwed_open_responses.spelled_pieces import HEX, is_data, is_text, readings_of

SIGNAL: Final = "secret:address"
# With a scheme, or a name with a long label, or a name with a long path.
SIGNALS: Final = {
    SIGNAL: r"(?i)\b(?:https?|wss?|ftp)://[^\s\"'<>]{20}|[a-z0-9_-]{12}\.[a-z0-9_-]+\.[a-z]"
    r"|\.[a-z][a-z0-9-]+(?::[0-9]+)?/[^\s\"'<>]{16}"
}
_ADDRESS = lazy_pattern(
    r"(?i)\b(?:https?|wss?|ftp)://([^\s\"'<>/?#]{1,300})([^\s\"'<>]{0,900})"
    r"|(?<![\w.@/-])((?:[a-z0-9_-]{1,63}+\.(?=[a-z0-9])){1,30}+[a-z][a-z0-9-]{1,24}+)"
    r"(?=[/\s\"').,:]|$)(/[^\s\"'<>]{0,900})?"
)
_SHORTEST: Final = 16
_SEPARATORS = lazy_pattern(r"[/;=,.&?#]")
# A label that long is a number or a piece of data; three of them in one name are no name.
_LONG_LABEL: Final = 24
_DATA_LABELS: Final = 72
# Keys of capitals alone, which a name writes small.
_CAPITALS: Final = frozenset({"AKIA", "ASIA", "LTAI", "AIZA"})
_BETWEEN: Final = "\n\n"
# What stands before the pieces of a path, or before those of a name, and what stands behind them.
_FIRST_PIECES: Final = 3
_MOST_PIECES: Final = 64
_SHORT_PIECE: Final = 3
_MANY_PIECES: Final = 8
_DIGIT = lazy_pattern(r"[0-9]")
_COUNTER = lazy_pattern(r"^[0-9]{1,3}[-_]")
# The labels at the end that somebody owns.
_REGISTERED: Final = 2


def find_hidden_secrets(text: str) -> Iterator[tuple[str, int]]:
    """What hides in each address of the text: its kind, and where the address begins."""
    readings: dict[str, int] = {}
    of_one_site: dict[str, list[tuple[list[str], str, int]]] = {}
    seen: set[str] = set()
    for match in _ADDRESS.finditer(text):
        if match.group() in seen:
            continue
        seen.add(match.group())
        host, path = match.group(1) or match.group(3), match.group(2) or match.group(4) or ""
        user, _, name = host.rpartition("@")
        labels = name.partition(":")[0].split(".")
        if "%" in user:
            readings.setdefault(unquote(user), match.start())
        if _has_data(labels):
            yield "data_in_host", match.start()
        for reading in (*_readings_of_host(labels), *_readings_of_path(path)):
            readings.setdefault(reading, match.start())
        of_one_site.setdefault(".".join(labels[-2:]), []).append((labels, path, match.start()))
    for addresses in of_one_site.values():
        if len(addresses) > 1:
            pieces = dict.fromkeys(_piece(labels, path) for labels, path, _ in addresses[:_MOST_PIECES])
            for reading in readings_of("".join(pieces)):
                readings.setdefault(reading, addresses[0][2])
    yield from _secrets_among(readings)


def _secrets_among(readings: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """All are searched at once: one search of a long text costs less than many of short ones."""
    ends = list(accumulate(len(reading) + len(_BETWEEN) for reading in readings))
    starts = list(readings.values())
    readings_in_order = list(readings)
    joined = _BETWEEN.join(readings)
    for secret in find_secrets(joined):
        index = bisect_right(ends, secret.start)
        is_whole = secret.end <= ends[index]
        # Forty characters are a key only where its vendor is named: not by another address.
        if secret.kind == "aws_secret_key" and "aws" not in readings_in_order[index].lower():
            continue
        if is_whole and not is_example(secret.kind, joined[secret.start : secret.end]):
            yield secret.kind, starts[index]


def _has_data(labels: list[str]) -> bool:
    long = [label for label in labels if len(label) >= _SHORTEST]
    data = [label for label in long if len(label) >= _LONG_LABEL and is_data(label)]
    if sum(map(len, data)) >= _DATA_LABELS and len(data) > 1:
        return True
    return any(is_text(decoded) for label in long for decoded in readings_of(label, is_host=True))


def _readings_of_host(labels: list[str]) -> Iterator[str]:
    """Names have no capitals and no underscores."""
    names = labels[:-2]
    for joined in dict.fromkeys(("".join(names), "".join(names[:-1]))):
        if joined not in names:
            yield from readings_of(joined, is_host=True)
        for name in (*names, joined):
            for part in (name, *_behind_dashes(name)):
                if len(part) < _SHORTEST:
                    continue
                if part[:4].upper() in _CAPITALS:
                    yield part.upper()
                if "-" in part:
                    yield part.replace("-", "_")


def _behind_dashes(name: str) -> Iterator[str]:
    if "-" in name:
        yield name.partition("-")[2]


def _readings_of_path(path: str) -> Iterator[str]:
    # Keys have a digit, and so has encoded text of some length.
    if len(path) < _SHORTEST or not _DIGIT.search(path):
        return
    written = [segment for segment in path.split("/") if segment]
    for segment in written:
        if len(segment) >= _SHORTEST and "%" in segment:
            yield unquote(segment)[::-1]
    segments = [segment for segment in _SEPARATORS.split(path) if segment]
    for segment in segments:
        if len(segment) >= _SHORTEST:
            # Hexadecimal is no key of a vendor, from either end.
            if not HEX.fullmatch(segment):
                yield segment[::-1]
            yield from readings_of(segment)
    if len(segments) > 1:
        yield from _joined(segments)
    if len(written) >= _MANY_PIECES and all(len(segment) <= _SHORT_PIECE for segment in written):
        yield "".join(written)


def _joined(segments: list[str]) -> Iterator[str]:
    if not any(map(HEX.fullmatch, segments)):
        yield "".join(segments)
    for first in range(min(_FIRST_PIECES, len(segments) - 1)):
        yield from readings_of("".join(segments[first:]))


def _piece(labels: list[str], path: str) -> str:
    """The part of an address that may be one of several: a label before the name, or the longest segment."""
    if len(labels) > _REGISTERED and (counter := _COUNTER.match(labels[0])) is not None:
        return labels[0][counter.end() :]
    longest = max(_SEPARATORS.split(path), key=len)
    label = labels[0] if len(labels) > _REGISTERED else ""
    piece = max((label, longest), key=len)
    return piece if len(piece) >= _SHORTEST // 2 else ""
