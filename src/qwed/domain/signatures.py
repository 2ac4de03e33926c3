"""What proves to a receiver that a webhook's words are ours, whole and fresh."""

import hashlib
import hmac
from typing import Final

SIGNATURE_HEADER: Final = "QWED-Signature"
EVENT_ID_HEADER: Final = "QWED-Event-Id"


def signature(secret: str, at_seconds: int, event_id: str, body: bytes) -> str:
    """`t=…,v1=…`: the time, and the HMAC-SHA256 of time, event id and body in hexadecimal."""
    signed = b"%d.%s.%s" % (at_seconds, event_id.encode(), body)
    return f"t={at_seconds},v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def is_signed(
    secret: str, header: str, event_id: str, body: bytes, *, now_seconds: float, tolerance_seconds: float
) -> bool:
    """Whether the header is this secret's, for exactly this, and not too old. Never raises."""
    time_part, comma, _ = header.partition(",")
    digits = time_part.removeprefix("t=")
    if not comma or time_part == digits or not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        return False
    if abs(now_seconds - int(digits)) > tolerance_seconds:
        return False
    expected = signature(secret, int(digits), event_id, body)
    return hmac.compare_digest(expected.encode(), header.encode("utf-8", "surrogatepass"))
