"""What a piece of an address spells: encoded once or several times, packed, turned around, or as numbers."""

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern

HEX = lazy_pattern(r"[0-9a-fA-F]{16,800}")
_BASE32 = lazy_pattern(r"[a-zA-Z2-7]{16,600}=*")
_BASE64 = lazy_pattern(r"[A-Za-z0-9_+/-]{16,900}={0,2}")
_CODES = lazy_pattern(r"[0-9]{2,3}(?:[-_+|:~][0-9]{2,3}){7,300}")
_CODE = lazy_pattern(r"[0-9]{2,3}")
_TEXT = lazy_pattern(r"[ -~]{8,}")
_WORD = lazy_pattern(r"[A-Za-z]{3}")
_PRINTABLE: Final = range(32, 127)
_DEPTH: Final = 3
_SHORTEST: Final = 16
_PACKED: Final = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_MOST_UNPACKED: Final = 4_096


def readings_of(piece: str, *, is_host: bool = False, depth: int = _DEPTH) -> Iterator[str]:
    """Each text that the piece decodes to, from both ends, down to what that decodes to in turn."""
    if len(piece) < _SHORTEST or depth == 0:
        return
    for decoded in _decode(piece, is_host=is_host):
        yield decoded
        if not is_host:
            yield decoded[::-1]
        yield from readings_of(decoded, is_host=is_host, depth=depth - 1)
    if depth == _DEPTH and not is_host and not HEX.fullmatch(piece):
        yield from readings_of(piece[::-1], depth=1)


def is_text(decoded: str) -> bool:
    return _TEXT.fullmatch(decoded) is not None and _WORD.search(decoded) is not None


def is_data(label: str) -> bool:
    bare = label.replace("-", "")
    digits = sum(map(str.isdigit, bare))
    return digits * 8 >= len(bare) and (HEX.fullmatch(bare) or _BASE32.fullmatch(bare)) is not None


def _decode(piece: str, *, is_host: bool) -> Iterator[str]:
    if _CODES.fullmatch(piece):
        codes = [int(code) for code in _CODE.findall(piece)]
        if all(code in _PRINTABLE for code in codes):
            yield "".join(map(chr, codes))
    for shape, decode in _decoders(piece, is_host=is_host):
        bare = piece.replace("-", "") if shape is HEX else piece
        if not shape.fullmatch(bare):
            continue
        try:
            yield _unpack(decode(bare)).decode("ascii")
        except (ValueError, binascii.Error, zlib.error):
            continue


def _decoders(piece: str, *, is_host: bool) -> tuple[tuple[Any, Any], ...]:
    """Base64 has letters of both cases, base32 of one; in a host name letters have no case."""
    has_one_case = piece.islower() or piece.isupper()
    return _OF_ONE_CASE if is_host or has_one_case else _OF_BOTH_CASES


def _unpack(data: bytes) -> bytes:
    """A packed text, no further than anybody would hide something."""
    if not data.startswith(_PACKED):
        return data
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(data, _MOST_UNPACKED)


def _from_base32(piece: str) -> bytes:
    bare = piece.rstrip("=").upper()
    return base64.b32decode(bare + "=" * (-len(bare) % 8))


def _from_base64(piece: str) -> bytes:
    bare = piece.rstrip("=").replace("+", "-").replace("/", "_")
    return base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))


_OF_ONE_CASE: Final = ((_BASE32, _from_base32), (HEX, bytes.fromhex))
_OF_BOTH_CASES: Final = ((_BASE64, _from_base64),)
