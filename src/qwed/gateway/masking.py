"""What the audit trail shows of an action: all of it but its secrets, and no more than fits."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.json_text import Unrepresentable
from qwed.domain.secrets import mask
from qwed.gateway.wire import encode_json

MAX_SHOWN: Final = 16_384
MAX_SHOWN_DEPTH: Final = 70
MAX_INTEGER_BITS: Final = 4_096
#: How much a refusal that no engine looked at keeps of an action, and of its context.
MAX_REFUSED: Final = 2_048
#: Masked beyond the cut, so that no secret is cut in two: longer than any of them.
_OVERLAP: Final = 4_096

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_-])(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth(?:orization)?|bearer|credentials?|session[_-]?token|access[_-]?token|refresh[_-]?token|token)$",
    re.IGNORECASE,
)


#: Bytes without any of these hold no secret: the usual action is not walked at all.
#: Runs of these characters are found by the byte, before the expression looks at what stands around one.
_IN_RUNS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.:-"
_RUNS: Final = bytes(ord("x") if byte in _IN_RUNS else ord(" ") for byte in range(256))
_LONG: Final = b"x" * 16
#: A UUID is the one long run that conversations are usually named by.
_LONG_RUN: Final = re.compile(
    rb"(?<![A-Za-z0-9_+/=.:-])(?![0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[^A-Za-z0-9_+/=.:-])"
    rb"[A-Za-z0-9_+/=.:-]{16}"
)
_SECRET_WORD: Final = re.compile(rb"pass|pwd|secret|token|key|cred|bearer|auth|pin|://|-----begin")


def is_harmless(said: Any) -> bool:
    """Whether what an agent said may be recorded as it is: nothing to mask, nothing to cut."""
    try:
        text = encode_json(said)
    except (UnicodeEncodeError, RecursionError, ValueError, TypeError):
        return False
    if len(text) > MAX_SHOWN or b"NaN" in text or b"Infinity" in text:
        # A Decimal that is no number is written by its name, which is no JSON.
        return False
    if _LONG in text.translate(_RUNS) and _LONG_RUN.search(text) is not None:
        return False
    return _SECRET_WORD.search(text.lower()) is None


def shown(value: Any, depth: int = 0) -> Any:
    """The value with secrets masked, long texts cut, and odd literals named."""
    if type(value) is str:
        return _text(value)
    if isinstance(value, Mapping):
        if depth > MAX_SHOWN_DEPTH:
            return "[nested too deeply]"
        return {_key(key): _member(key, item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return (
            "[nested too deeply]" if depth > MAX_SHOWN_DEPTH else [shown(item, depth + 1) for item in value]
        )
    if isinstance(value, Unrepresentable):
        return str(value)
    if isinstance(value, str):
        # A member of a closed set, such as a status: its value is a text.
        return _text(str(value))
    if isinstance(value, msgspec.Struct):
        return shown(msgspec.structs.asdict(value), depth)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Longer ones take quadratic time to write, and Python refuses to.
        return value if value.bit_length() <= MAX_INTEGER_BITS else "[an integer of too many digits]"
    return _number(value)


def shorten(shown_value: Any) -> Any:
    """What such a refusal keeps: all of it where it is short, else how it begins, and its hash."""
    text = encode_json(shown_value)
    if len(text) <= MAX_REFUSED:
        return shown_value
    named = (
        {"type": shown_value["type"]} if isinstance(shown_value, Mapping) and "type" in shown_value else {}
    )
    kept = {**named, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "cut": ""}
    beginning = text[:MAX_REFUSED].decode("utf-8", "ignore")
    while beginning and len(encode_json({**kept, "cut": beginning})) > MAX_REFUSED:
        # Quotation marks within it are escaped once more, so how much fits is found by trying.
        beginning = beginning[: len(beginning) * 7 // 8]
    return {**kept, "cut": beginning}


def _member(key: Any, item: Any, depth: int) -> Any:
    """What is named a secret is one, whatever it looks like; a number or a flag is too short to be."""
    is_text = isinstance(item, str | list | tuple | Mapping) and bool(item)
    if is_text and isinstance(key, str) and _SECRET_NAME.search(_CAMEL.sub("_", key)):
        return "[masked]"
    return shown(item, depth + 1)


def _key(key: Any) -> str:
    return _text(key) if isinstance(key, str) else f"[{type(key).__name__}]"


def _text(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        return mask(text) if text.isascii() else _encodable(mask(text))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    cut = _encodable(mask(text[: MAX_SHOWN + _OVERLAP]))[:MAX_SHOWN]
    return f"{cut}…[{len(text)} characters, sha256:{digest}]"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> Any:
    """Only finite numbers go into JSON; anything else is named by what it is."""
    text = str(value)[:40]
    return value if text.lstrip("-")[:1].isdigit() else f"[{text}]"
