"""Unpadded base64url (RFC 7515, section 2), in its one canonical form."""

import binascii
from typing import Final

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# What belongs to the other alphabet, and padding, become letters of neither.
_TO_STANDARD: Final = bytes.maketrans(b"-_+/=", b"+/!!!")
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_PADDING: Final = (b"", b"", b"==", b"=")
# The last letter of an incomplete group has bits to spare; only with those at zero is it canonical.
_LAST: Final = (_LETTERS, "", _LETTERS[::16], _LETTERS[::4])


class NotBase64Url(ValueError):
    """The text is not the one base64url form of any bytes."""


def encode(data: bytes) -> str:
    return encode_bytes(data).decode("ascii")


def encode_bytes(data: bytes) -> bytes:
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)


def decode(text: str) -> bytes:
    """Raises `NotBase64Url`: for padding, white space, foreign letters, and a second spelling."""
    if not text:
        return b""
    over = len(text) % 4
    if text[-1] not in _LAST[over]:
        raise NotBase64Url("not canonical base64url")
    try:
        standard = text.encode("ascii").translate(_TO_STANDARD)
        return binascii.a2b_base64(standard + _PADDING[over] if over else standard, strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        raise NotBase64Url("not unpadded base64url") from None
