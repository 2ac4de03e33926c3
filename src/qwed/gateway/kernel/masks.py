"""What the audit trail shows of an action: all of it but its secrets, and no more than fits."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from qwed.domain.json_text import Unrepresentable
from qwed.domain.plain_texts import is_plain
from qwed.domain.policy import Policy
from qwed.domain.secrets import mask_for_record
from qwed.domain.skeleton import without_invisible
from qwed.gateway.kernel.wire import encode_json

MAX_SHOWN: Final = 16_384
MAX_SHOWN_DEPTH: Final = 70
MAX_INTEGER_BITS: Final = 4_096
#: How much a refusal that no engine looked at keeps of an action, and of its context.
MAX_REFUSED: Final = 2_048
#: Masked beyond the cut, so that no secret is cut in two: longer than any of them.
_OVERLAP: Final = 4_096
_MAX_NAME: Final = 256
#: No longer than the names of members that come with every record.
_USUAL_KEY: Final = 32
#: How long a name is where a message quotes it.
_QUOTED: Final = (100, 80)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_-])(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|auth(?:ori[sz]ation)?|bearer|credentials?|session[_-]?token|access[_-]?token|refresh[_-]?token|token"
    r"|(?:set[_-]?)?cookies?2?)$",
    re.IGNORECASE,
)
#: Members that name a header, and those that hold its value, in a list of headers.
_NAMING: Final = frozenset({"name", "key", "header", "field"})
_HOLDING: Final = frozenset({"value", "val", "content", "data"})
#: Beside a secret's name in a list, these are names themselves.
_HEADER_NAME: Final = re.compile(
    r"(?:[A-Z][a-z0-9]*|[a-z0-9]+)(?:-[A-Za-z0-9]+)+|[Aa]ccept|[Oo]rigin|[Cc]ookie|\*"
)


#: In JSON's text, what is escaped as blank, and what as a sign that no blank is.
_ESCAPED_BLANK: Final = re.compile(rb"\\[nrtf\"]")
_ESCAPED_SIGN: Final = re.compile(rb"\\(?:u[0-9A-Fa-f]{4}|b)")
#: Fewer digits than the longest integer that is shown.
_DIGITS: Final = bytes(ord("0") if byte in b"0123456789" else ord(" ") for byte in range(256))
_MANY_DIGITS: Final = b"0" * 1_000


def is_harmless(said: Any) -> bool:
    """Whether what an agent said may be recorded as it is: nothing to mask, nothing to cut."""
    try:
        text = encode_json(said)
    except (UnicodeEncodeError, RecursionError, ValueError, TypeError):
        return False
    if len(text) > MAX_SHOWN or b"NaN" in text or b"Infinity" in text:
        # A Decimal that is no number is written by its name, which is no JSON.
        return False
    if len(text) > len(_MANY_DIGITS) and _MANY_DIGITS in text.translate(_DIGITS):
        return False
    said = _without_escapes(text) if b"\\" in text else text
    said_plainly = said.decode("utf-8", "surrogatepass")
    if not is_plain(said_plainly):
        return False
    # Names are compared as a reader sees them.
    return text.isascii() or is_plain(without_invisible(unicodedata.normalize("NFKC", said_plainly)))


def _without_escapes(text: bytes) -> bytes:
    """JSON's text with one sign for each that is escaped: a secret may follow a line's end, which is written
    as a letter."""
    text = _ESCAPED_BLANK.sub(b" ", text.replace(b"\\\\", b"\x01"))
    return _ESCAPED_SIGN.sub(b"\x01", text)


def shown(value: Any, depth: int = 0) -> Any:
    """The value with secrets masked, long texts cut, and odd literals named."""
    if type(value) is str:
        return _text(value)
    if isinstance(value, Mapping):
        if depth > MAX_SHOWN_DEPTH:
            return "[nested too deeply]"
        return _object(value, depth)
    if isinstance(value, list | tuple):
        return "[nested too deeply]" if depth > MAX_SHOWN_DEPTH else _array(value, depth)
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


def is_long(value: Any) -> bool:
    """Whether a refusal that no engine looked at would keep less than all of it."""
    return len(encode_json(value)) > MAX_REFUSED


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


def conceal_name(name: str) -> str:
    """A name that an agent chose, as it is stored and shown. One that looks like a secret is replaced by what
    kind it is and a mark by which the same name is known again: lookups conceal what they look for."""
    if len(name) > _MAX_NAME or _UUID.fullmatch(name):
        return name
    return _conceal(name)


@lru_cache(maxsize=4096)
def _conceal(name: str) -> str:
    masked = _text(name)
    if masked == name:
        return name
    mark = hashlib.sha256(b"qwed-name\0" + name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept = f"{masked} #{mark}"
    return kept if len(kept) <= _MAX_NAME else f"[masked name] #{mark}"


def keep_type(policy: Policy, name: str) -> str:
    """An action type or a tool's name, as it is stored and shown; those of the policy are no secrets."""
    return name if policy.is_registered(name) else conceal_name(name)


def sought_name(name: str | None) -> str | None:
    """What somebody looks for, as it is stored."""
    return None if name is None else conceal_name(name)


def sought_type(policy: Policy, name: str | None) -> str | None:
    return None if name is None else keep_type(policy, name)


def rename(value: Any, name: str, kept: str) -> Any:
    """Everything, with a name exchanged wherever it is quoted; messages quote it cut, and half a secret is
    not recognised as one."""
    if isinstance(value, str):
        for length in (len(name), *_QUOTED):
            if length <= len(name):
                value = value.replace(name[:length], kept)
        return value
    if isinstance(value, Mapping):
        return {rename(key, name, kept): rename(item, name, kept) for key, item in value.items()}
    return [rename(item, name, kept) for item in value] if isinstance(value, list | tuple) else value


def conceal_conversation(context: Any) -> Any:
    """A request's context, its conversation named as it is stored."""
    is_object = type(context) is dict or isinstance(context, Mapping)
    given = context.get("conversation_id") if is_object else None
    if not isinstance(given, str) or (kept := conceal_name(given)) == given:
        return context
    return {**context, "conversation_id": kept}


def _object(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    names = {item for key, item in value.items() if isinstance(item, str) and _fold(key) in _NAMING}
    is_header = any(map(_names_a_secret, names))
    return {
        _key(key): "[masked]" if is_header and _fold(key) in _HOLDING else _member(key, item, depth)
        for key, item in value.items()
    }


def _array(value: Sequence[Any], depth: int) -> list[Any]:
    """`["Cookie", "sid=1"]`: what follows a secret's name is the secret, in pairs and in lists of them."""
    listed = [shown(item, depth + 1) for item in value]
    if len(value) % 2 == 0:
        for at in range(0, len(value), 2):
            name, item = value[at], value[at + 1]
            if isinstance(name, str) and isinstance(item, str) and _names_a_secret(name):
                listed[at + 1] = listed[at + 1] if _HEADER_NAME.fullmatch(item) else "[masked]"
    return listed


def _member(key: Any, item: Any, depth: int) -> Any:
    """What is named a secret is one, whatever it looks like; a number or a flag is too short to be."""
    is_text = isinstance(item, str | list | tuple | Mapping) and bool(item)
    if is_text and isinstance(key, str) and _names_a_secret(key):
        return "[masked]"
    return shown(item, depth + 1)


def _names_a_secret(name: str) -> bool:
    return len(name) <= _MAX_NAME and _is_secret_name(name)


@lru_cache(maxsize=1024)
def _is_secret_name(name: str) -> bool:
    """Names are few and come again with every record."""
    if not name.isascii():
        name = without_invisible(unicodedata.normalize("NFKC", name))
    return _SECRET_NAME.search(_CAMEL.sub("_", name.strip(" :\"'"))) is not None


def _fold(key: Any) -> str:
    return key.lower() if isinstance(key, str) else ""


def _key(key: Any) -> str:
    if not isinstance(key, str):
        return f"[{type(key).__name__}]"
    return _usual_key(key) if len(key) <= _USUAL_KEY else _text(key)


@lru_cache(maxsize=1024)
def _usual_key(key: str) -> str:
    return _text(key)


def _text(text: str) -> str:
    if len(text) <= MAX_SHOWN:
        masked = mask_for_record(text)
        return masked if text.isascii() else _encodable(masked)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    cut = _encodable(mask_for_record(text[: MAX_SHOWN + _OVERLAP]))[:MAX_SHOWN]
    return f"{cut}…[{len(text)} characters, sha256:{digest}]"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> Any:
    """Only finite numbers go into JSON; anything else is named by what it is."""
    text = str(value)[:40]
    return value if text.lstrip("-")[:1].isdigit() else f"[{text}]"
