"""A small classifier that an operator trains and names by its path: it may only add findings.

The file is JSON:

    {"format": "qwed-linear-1", "buckets": 65536, "bias": -1.5, "threshold": 0.0, "weights": {"17": 0.8, …}}

A text is read in windows of 2 000 characters. The words of a window, in small letters, and each two that are
neighbours, joined by a blank, are hashed (CRC-32 of their UTF-8, modulo `buckets`). The score is the sum of
the weights of the hashes over the square root of their number, plus the bias; a window above the threshold is
a finding.
"""

import itertools
import json
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json

MAX_BYTES: Final = 64_000_000
MAX_WINDOWS: Final = 50
_WINDOW: Final = 2_000
_FORMAT: Final = "qwed-linear-1"
_WORD: Final = re.compile(r"\w+")


class LocalModel(msgspec.Struct, frozen=True):
    buckets: int
    bias: float
    threshold: float
    weights: dict[int, float]

    def flags(self, text: str) -> bool:
        """Whether a window of the text scores above the threshold."""
        starts = range(0, len(text), _WINDOW)[:MAX_WINDOWS]
        return any(self.score(text[start : start + _WINDOW]) > self.threshold for start in starts)

    def score(self, window: str) -> float:
        hashes = [zlib.crc32(gram.encode("utf-8", "replace")) % self.buckets for gram in _grams(window)]
        if not hashes:
            return self.bias
        return sum(self.weights.get(bucket, 0.0) for bucket in hashes) / math.sqrt(len(hashes)) + self.bias


def _grams(window: str) -> Iterator[str]:
    words = _WORD.findall(window.lower())
    yield from words
    yield from map(" ".join, itertools.pairwise(words))


def load(path: str | Path) -> LocalModel:
    """Raises `ValueError` that says what is wrong: a model that can't be read must not pass as none."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: can't be read ({error.strerror})") from None
    if len(raw) > MAX_BYTES:
        raise ValueError(f"{path}: larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ValueError(f"{path}: is not a model of the format {_FORMAT}")
    buckets = document.get("buckets")
    if not isinstance(buckets, int) or isinstance(buckets, bool) or not 1 <= buckets <= 1 << 24:
        raise ValueError(f"{path}: buckets is a whole number from 1 to {1 << 24}, not {buckets!r}")
    bias, threshold = (_number(path, document, name) for name in ("bias", "threshold"))
    return LocalModel(buckets, bias, threshold, _weights(path, document.get("weights"), buckets))


def _number(path: str | Path, document: dict[str, Json], name: str) -> float:
    value = document.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{path}: {name} is a number, not {value!r}")
    return float(value)


def _weights(path: str | Path, given: Any, buckets: int) -> dict[int, float]:
    if not isinstance(given, dict) or not given:
        raise ValueError(f"{path}: weights is an object of bucket and weight")
    weights: dict[int, float] = {}
    for bucket, weight in given.items():
        if not bucket.isdecimal() or int(bucket) >= buckets:
            raise ValueError(f"{path}: {bucket!r} is no bucket below {buckets}")
        weights[int(bucket)] = _number(path, {"a weight": weight}, "a weight")
    return weights
