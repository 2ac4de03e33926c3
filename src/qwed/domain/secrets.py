"""Secrets in text: keys, tokens and passwords, by vendor shape, structure, or entropy beside a secret word.

Shapes alone are not enough: a match is dropped when it is a placeholder (`sk-your-key-here`), when a
token's parts do not decode (JWT), or when a value beside a secret word is a date, an expression or a
name. Only the standard library, and every pattern is linear: it starts at a boundary, its repetitions
are bounded or run to the end of one character class, and nothing that failed is tried again further on.
Left out: generic high entropy without a secret word, which is a hash or an identifier far more often.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from qwed.domain.credential_places import find_placed, is_respelled
from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.plain_texts import is_plain
from qwed.domain.vendor_keys import entropy, holds_a_placeholder, is_credential_pair, vendor_keys

MAX_VALUE_LENGTH: Final = 512


class FoundSecret(msgspec.Struct, frozen=True):
    """One secret: text[start:end]."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[FoundSecret]:
    """Every secret in the text, in order, without overlaps."""
    if not _may_hold_a_secret(text):
        return []
    return _without_overlaps(
        [
            *(FoundSecret(*key) for key in vendor_keys(text)),
            *_private_keys(text),
            *_url_passwords(text),
            *_find_placed(text),
            *_find_named(text),
        ]
    )


def mask(text: str) -> str:
    """The text with every secret replaced by its kind."""
    return _replace(text, find_secrets(text))


def mask_for_record(text: str) -> str:
    """As `mask`, and also what only stands where a credential stands: a placeholder there is no loss."""
    if is_plain(text):
        return text
    found = find_secrets(text)
    if _has_a_place(text) or is_respelled(text):
        found = _join([*found, *(FoundSecret(*span) for span in find_placed(text))])
    return _replace(text, found)


def _replace(text: str, found: list[FoundSecret]) -> str:
    if not found:
        return text
    parts: list[str] = []
    position = 0
    for secret in found:
        parts += (text[position : secret.start], f"[masked {secret.kind}]")
        position = secret.end
    return "".join(parts) + text[position:]


def preview(value: str) -> str:
    """Enough of a secret to recognise it by, never enough to use it."""
    shown = min(4, len(value) // 5)
    return f"{value[:shown]}…({len(value)} characters)"


# The prefilter: a vendor key is a long run, of which only few have no digit; everything else names itself.
_DIGIT = lazy_pattern("[0-9]")
_LONG_RUN = lazy_pattern(r"[A-Za-z0-9_+/=.:~$-]{16}")
_SECRET_WORDS: Final = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "bearer",
    "pin",
    "phrase",
    " -u ",
    " --user ",
)


def _may_hold_a_secret(text: str) -> bool:
    if _LONG_RUN.search(text) is not None:
        return True
    lowered = text.lower()
    if _DIGIT.search(text) is None:
        return "://" in text or "phrase" in lowered or "-----BEGIN" in text
    return any(word in lowered for word in _SECRET_WORDS) or "://" in text


_PEM_BEGIN = lazy_pattern(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = lazy_pattern(r"(?:\\[nr]|[\s\"'+]){0,16}(?:[A-Za-z-]{4,20}: |[A-Za-z0-9+/=]{8})")


def _private_keys(text: str) -> Iterator[FoundSecret]:
    if "-----BEGIN" not in text:
        return
    position = 0
    beginning = len(text) - len(text.lstrip())
    while begin := _PEM_BEGIN.search(text, position):
        end = text.find("-----END", begin.end())
        if end < 0:
            end = len(text)
        else:
            close = text.find("-----", end + len("-----END"), end + 80)
            end = close + len("-----") if close >= 0 else end + len("-----END")
        # In a sentence about key files the header stands alone.
        if _PEM_BODY.match(text, begin.end()) or begin.start() == beginning:
            yield FoundSecret("private_key", begin.start(), end)
        position = end


_URL_PASSWORD = lazy_pattern(r"://[^\s:@/?#\"'<>]{0,128}:([^\s@/\"'<>]{1,256})@")


def _url_passwords(text: str) -> Iterator[FoundSecret]:
    if "://" not in text or "@" not in text:
        return
    for match in _URL_PASSWORD.finditer(text):
        if not _is_stand_in(match.group(1)):
            yield FoundSecret("url_password", match.start(1), match.end(1))


# Places that hold a password without a sign between it and its name.
_PLACES: Final = (
    (
        "password",
        " -u",
        lazy_pattern(r"\bcurl\b[^\n|;]{0,200}?\s-u[\s=]{0,2}['\"]?[^\s:'\"]{1,64}:([^\s'\"]{4,128})"),
    ),
    (
        "password",
        "--user",
        lazy_pattern(r"--(?:proxy-)?user[\s=]['\"]?[^\s:'\"]{1,64}:([^\s'\"]{4,128})"),
    ),
    (
        "password",
        "password ",
        lazy_pattern(r"\blogin\s{1,4}\S{1,64}\s{1,4}password\s{1,4}(\S{4,128})"),
    ),
    (
        "registry_credentials",
        "auth",
        lazy_pattern(r"(?<![A-Za-z])_?auth\"?\s{0,4}[:=]\s{0,4}\"?([A-Za-z0-9+/]{8,512}={0,2})(?![\w.-])"),
    ),
    (
        "recovery_phrase",
        "phrase",
        lazy_pattern(
            r"(?i)(?:seed|recovery|mnemonic|wallet) phrase\W{1,8}(?:is\W{1,4})?"
            r"((?:[a-z]{3,8}\s{1,2}){11,23}[a-z]{3,8})\b"
        ),
    ),
)


def _find_placed(text: str) -> Iterator[FoundSecret]:
    for kind, marker, pattern in _PLACES:
        if marker not in text:
            continue
        for match in pattern.finditer(text):
            if _is_placed_secret(kind, match.group(1)):
                yield FoundSecret(kind, match.start(1), match.end(1))


def _is_placed_secret(kind: str, value: str) -> bool:
    if kind == "password":
        return _is_password(value, bare=True)
    return kind == "recovery_phrase" or is_credential_pair(value)


# A word is first found by plain search; these two then read, at that place, what stands around it.
_NAMES: Final = (
    "passw",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "pin",
    "secret",
    "token",
    "credential",
    "bearer",
    "key",
)
_KEY_OWNERS: Final = (
    "api",
    "access",
    "auth",
    "private",
    "encryption",
    "signing",
    "master",
    "license",
    "shared",
    "account",
    "secret",
)
_HARMLESS_OWNERS: Final = (
    "page",
    "next",
    "cursor",
    "continuation",
    "sync",
    "csrf",
    "total",
    "design",
)
_HARMLESS_OWNER = lazy_pattern(rf"(?:{'|'.join(_HARMLESS_OWNERS)}|\b(?:max|min))$")
# `STRIPE_KEY` names a secret as `primary_key` does not; only what looks random is believed of the others.
_ORDINARY_KEY = lazy_pattern(
    r"(?:public|primary|foreign|partition|sort|cache|idempotency|object|storage|row|hash|dedup\w*|registry"
    r"|map|index|lookup"
    r"|group|routing|bucket|s3|host|etag|translation|message|session|event|trace|unique|natural|surrogate"
    r"|composite|"
    r"ssh|deploy|site|publishable|content|image|file|asset|build|artifact|layer|digest)$"
)
_RANDOM_VALUE = lazy_pattern(
    r"[0-9a-f]{32,128}|(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[A-Za-z0-9+/_-]{24,128}={0,2}|[a-z0-9]{32,128}"
)
_GIVEN_VALUE = lazy_pattern(
    r"""(?ix)
    (?P<tail> [\w-]{0,32}+ )
    (?: ["'`\\\]]{0,4}+ \s{0,4}+ (?: => | := | == | [:=] | \bis\b \s? :? | \bwas\b ) | (?<=bearer) (?=\s) )
    [\s"'`\\]{0,8}+
    (?P<value> [^\s"'`<>\\]{4,512} )
    """
)
_PASSWORD_WORDS: Final = ("pass", "pwd", "pin")
_HARMLESS_TAILS = lazy_pattern(
    r"(?i)(?:name|arn|_?id|ref|path|ur[li]|endpoint|file|type|version|manager|count|limit|length|usage|_at"
    r"|expir\w*|"
    r"policy|ttl|field|label|hint|rotation|format|status|updated|changed|reset|required|min|max|budget"
    r"|rate|s_used)s?$"
)
_STAND_IN = lazy_pattern(
    r"""(?ix) ^(?: [*•x.#_-]+ | \$\{?\w.* | \{+.* | %\w+%? | \[.* | <.* | \(.*
      | (?:pass(?:word|wd)?|pwd|secret|token|changeme|example|redacted
          |hidden|none|null|true|false|required|string|pw) )$"""
)
_DATE_OR_NUMBER = lazy_pattern(
    r"^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}.*|v?[0-9]+(?:\.[0-9]+)+|[0-9]+(?:ms|s|m|h|d|px|k|kb|mb)?)$", re.I
)
_EXPRESSION = lazy_pattern(r"^[A-Za-z_]\w{0,24}(?:\.[A-Za-z_]\w{0,24})+(?:[(\[].*)?$|^[A-Za-z_][\w.]*[(\[]")


def _find_named(text: str) -> Iterator[FoundSecret]:
    """Values given to a secret word: `password: hunter2`, `"api_key": "9f86…"`, `Bearer …`."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length, and positions with it
        lowered = text
    for name in _NAMES:
        position = lowered.find(name)
        while position >= 0:
            end = position + len(name)
            said = _what_is_said_by(name, lowered, position)
            if said and (given := _GIVEN_VALUE.match(text, end)):
                yield from _judge(said, given)
                end = given.end("value")
            position = lowered.find(name, end)


def _what_is_said_by(name: str, lowered: str, position: int) -> str:
    """What the word names here: itself, `owned` for the key of something, or nothing."""
    if name in ("pass", "pwd", "pin"):
        return "" if position and lowered[position - 1].isalnum() else name
    before = lowered[max(0, position - 16) : position]
    owner = before.rstrip(" _-")
    if name != "key":
        return "" if _HARMLESS_OWNER.search(owner) else name
    if owner.endswith(_KEY_OWNERS):
        return name
    is_joined = before[-1:] in ("_", "-") and owner[-1:].isalnum()
    return "owned" if is_joined and not _ORDINARY_KEY.search(owner) else ""


def _judge(name: str, given: re.Match[str]) -> Iterator[FoundSecret]:
    tail = given["tail"]
    if _HARMLESS_TAILS.search(tail) or (name in ("pass", "pwd", "pin") and tail):
        return
    value = given["value"].rstrip(",;)}]&.!?")
    span = (given.start("value"), given.start("value") + len(value))
    if name.startswith(_PASSWORD_WORDS):
        if _is_password(value, bare=tail in ("", "ord", "d")):
            yield FoundSecret("password", *span)
    elif _is_token(value) and (name != "owned" or _is_random(value)):
        yield FoundSecret("token", *span)


def is_secret_value(name: str, value: str) -> bool:
    """Whether `value`, stored under `name`, is a secret: the structured form of `name: value`."""
    return any(secret.start > len(name) for secret in _find_named(f"{name}: {value}"))


def _is_stand_in(value: str) -> bool:
    return _STAND_IN.match(value) is not None or holds_a_placeholder(value)


def _is_password(value: str, *, bare: bool) -> bool:
    if len(value) < 4 or _is_stand_in(value) or _EXPRESSION.match(value):
        return False
    if value.isdigit():
        return bare and len(value) >= 4
    if len(value) < 6 or _DATE_OR_NUMBER.match(value):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_token(value: str) -> bool:
    if len(value) < 16 or "://" in value or value.startswith(("arn:", "/", "./", "projects/")):
        return False
    if _is_stand_in(value) or _EXPRESSION.match(value) or _DATE_OR_NUMBER.match(value):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and entropy(value[:64]) >= 3.0


def _is_random(value: str) -> bool:
    return _RANDOM_VALUE.fullmatch(value) is not None and entropy(value[:64]) >= 3.3


_PLACE_WORDS: Final = ("cookie", "authori", "curl", "sshpass", "mysql", "mariadb", "sqlplus")


def _has_a_place(text: str) -> bool:
    lowered = text.lower()
    return "@" in text or "%40" in text or any(word in lowered for word in _PLACE_WORDS)


def _join(found: list[FoundSecret]) -> list[FoundSecret]:
    """In order; what overlaps becomes one."""
    kept: list[FoundSecret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if kept and secret.start < kept[-1].end:
            kept[-1] = FoundSecret(kept[-1].kind, kept[-1].start, max(kept[-1].end, secret.end))
        else:
            kept.append(secret)
    return kept


def _without_overlaps(found: list[FoundSecret]) -> list[FoundSecret]:
    kept: list[FoundSecret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept
