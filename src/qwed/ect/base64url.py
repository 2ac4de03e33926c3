"""Unpadded base64url (RFC 7515, section 2), in its one canonical form."""

import binascii
import re
from typing import Final

_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_PADDING: Final = (b"", b"", b"==", b"=")


class NotBase64Url(ValueError):
    """The text is not the one base64url form of any bytes."""


def encode(data: bytes) -> str:
    return encode_bytes(data).decode("ascii")


def encode_bytes(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)


def decode(text: str) -> bytes:
    """Raises `NotBase64Url`: for padding, white space, foreign letters, and a second spelling."""
    if not _ALPHABET.fullmatch(text) or len(text) % 4 == 1:
        raise NotBase64Url("not unpadded base64url")
    standard = text.encode("ascii").translate(_TO_STANDARD)
    data = binascii.a2b_base64(standard + _PADDING[len(standard) % 4])
    # Several texts decode to the same bytes; only one of them is what was signed.
    if len(standard) % 4 and encode(data) != text:
        raise NotBase64Url("not canonical base64url")
    return data
