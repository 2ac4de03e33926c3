"""Which question an answer is for.

Every request carries a key of its own, and the gateway's answer a hash over that key, its status and its
body. An answer that something on the way gave to the wrong asker, or put together from two, does not fit.
"""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Final

KEY: Final = "Idempotency-Key"
BOUND: Final = "QWED-Answer"


def new_key() -> str:
    return secrets.token_hex(16)


def answer_name(key: str, status: int, body: bytes) -> str:
    """What the gateway writes into `QWED-Answer`."""
    return hashlib.sha256(b"%b\n%d\n%b" % (key.encode("utf-8", "replace"), status, body)).hexdigest()


def is_named(headers: Mapping[str, str]) -> bool:
    return BOUND.lower() in headers


def is_for(key: str, status: int, body: bytes, headers: Mapping[str, str]) -> bool:
    return headers.get(BOUND.lower()) == answer_name(key, status, body)
