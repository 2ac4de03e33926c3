"""A state as bytes: keys sorted, no spaces, ASCII escapes, digits kept.

The same bytes as `json.dumps(state, sort_keys=True, separators=(",", ":"))`, which cannot write
a `Decimal`. Not RFC 8785: that would turn 1.50 into 1.5.
"""

import re
from decimal import Context, localcontext
from json.encoder import encode_basestring_ascii
from typing import Any, Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="sorted", decimal_format="number")
# The host's context decides how a Decimal is printed (1E+22 or 1e+22); ours must not vary.
_PRINTING: Final = Context(capitals=1)
_BEYOND_PRINTABLE_ASCII: Final = re.compile(r"[^\x00-~]+")


def canonical_bytes(state: Any) -> bytes:
    """`state` is what `reading.read_state` returned."""
    with localcontext(_PRINTING):
        encoded = _ENCODER.encode(state)
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _BEYOND_PRINTABLE_ASCII.sub(_escape, encoded.decode("utf-8")).encode("ascii")


def _escape(run: re.Match[str]) -> str:
    return encode_basestring_ascii(run.group())[1:-1]
