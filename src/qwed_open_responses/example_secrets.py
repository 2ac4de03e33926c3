"""Keys that are no secrets: those that vendors and standards print in their documents, and stand-ins."""

import base64
import binascii
import hashlib
import json
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern

# Published examples, by the beginning of their SHA-256: a list of keys would set off other scanners.
_PUBLISHED: Final = frozenset(
    {
        "2cafc0970149a84f",
        "f2d6ca16515033e5",
        "b1471f544ceeea31",
        "ac9265e56c79b234",
        "0011cc25eb432071",
        "3f2cd8e57b096fe7",
        "986c0dc956dc822b",
        "cbe6beb26479b568",
        "8a265319c7c0649d",
        "a3a9e1ed9732cab2",
        "f215faf9d88b7f0a",
        "b8e148545b13c78b",
        "00cf4c781dc37003",
        "6c96130f130ab0d6",
        "ad71fb4165536675",
    }
)
# Words that no generator of keys writes.
_STAND_IN = lazy_pattern(
    r"(?i)example|sample|dummy|fake|changeme|change[-_]me|notreal|not[-_]a[-_]real|foobar|placeholder|insecure|your[-_]"
    r"|(?:^|[-_])(?:test|demo|mock|todo|some|secret)[-_](?:api|key|token|secret|value|password)|lorem|deadbeef"
)
_STAND_IN_PASSWORDS: Final = frozenset(
    """
    pass mypass mypassword passwd password123 secret postgres root admin guest user test changeme123 password1
    """.split()  # noqa: SIM905 - a word list
)


def is_example(kind: str, value: str) -> bool:
    """Whether a value that has the shape of a secret is known not to be one."""
    if hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16] in _PUBLISHED:
        return True
    if kind == "private_key":
        return "..." in value or "…" in value
    if kind == "jwt":
        return _is_example_token(value)
    if kind == "basic_credentials":
        return _is_example_pair(value)
    if kind in ("password", "url_password"):
        return value.lower() in _STAND_IN_PASSWORDS or _STAND_IN.search(value) is not None
    return _STAND_IN.search(value) is not None


def _is_example_token(token: str) -> bool:
    parts = token.split(".")
    claims = _decode(parts[1]) if len(parts) > 1 else None
    if isinstance(claims, dict) and (claims.get("sub") == "1234567890" or claims.get("name") == "John Doe"):
        return True
    return len(parts) > 2 and _STAND_IN.search(parts[2]) is not None


def _decode(part: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return None


def _is_example_pair(value: str) -> bool:
    encoded = value.rpartition(" ")[2]
    try:
        pair = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8", "replace").lower()
    except (ValueError, binascii.Error):
        return False
    user, _, password = pair.partition(":")
    return pair == "aladdin:open sesame" or password in _STAND_IN_PASSWORDS | {"password"} or user == password
