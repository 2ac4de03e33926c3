"""Secrets in text: keys, tokens and passwords, by vendor shape, structure, or entropy beside a secret word.

Shapes alone are not enough: a match is dropped when it is a placeholder (`sk-your-key-here`), when a
token's parts do not decode (JWT), or when a value beside a secret word is a date, an expression or a
name. Only the standard library, and every pattern is linear: it starts at a boundary, its repetitions
are bounded or run to the end of one character class, and nothing that failed is tried again further on.
Left out: generic high entropy without a secret word, which is a hash or an identifier far more often.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern

MAX_VALUE_LENGTH: Final = 512


class Secret(msgspec.Struct, frozen=True):
    """One secret: text[start:end]."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """Every secret in the text, in order, without overlaps."""
    if not _may_hold_a_secret(text):
        return []
    return _without_overlaps(
        [*_vendor_keys(text), *_private_keys(text), *_url_passwords(text), *_named(text)]
    )


def mask(text: str) -> str:
    """The text with every secret replaced by its kind."""
    found = find_secrets(text)
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


def entropy(value: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(value)
    if not total:
        return 0.0
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


# The prefilter: a vendor key is a long run with a digit in it; everything else names itself.
_DIGIT = lazy_pattern("[0-9]")
_LONG_RUN = lazy_pattern(r"[A-Za-z0-9_+/=.:-]{16}")
_SECRET_WORDS: Final = ("pass", "pwd", "secret", "token", "key", "cred", "bearer", "pin")


def _may_hold_a_secret(text: str) -> bool:
    if _DIGIT.search(text) is None:
        return "-----BEGIN" in text or "://" in text
    if _LONG_RUN.search(text) is not None:
        return True
    lowered = text.lower()
    return any(word in lowered for word in _SECRET_WORDS) or "://" in text


def _is_lively(body: str) -> bool:
    """Random enough for a key: not a run of x, not a phrase such as `your-api-key-here`."""
    lowered = body.lower()
    if any(word in lowered for word in _PLACEHOLDER_WORDS):
        return False
    return _DIGIT.search(body) is not None and entropy(body[:64]) >= 2.5


_PLACEHOLDER_WORDS: Final = (
    "your",
    "xxxx",
    "placeholder",
    "redacted",
    "masked",
    "replace",
    "....",
    "insert",
    "goes-here",
)


def _always(body: str) -> bool:
    return True


def _is_jwt(token: str) -> bool:
    header = token.split(".", 1)[0]
    try:
        decoded = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(decoded, dict) and ("alg" in decoded or "typ" in decoded or "enc" in decoded)


def _is_aws_secret(body: str) -> bool:
    kinds = (
        any(c.isupper() for c in body) and any(c.islower() for c in body) and any(c.isdigit() for c in body)
    )
    return kinds and entropy(body) >= 4.0


def _is_basic_credentials(header: str) -> bool:
    encoded = header.partition(" ")[2]
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("utf-8")
    except (ValueError, binascii.Error):
        return False
    return ":" in decoded and decoded.isprintable()


_Check = Callable[[str], bool]


class _Vendor(msgspec.Struct, frozen=True):
    """`marker` must stand in the text for `pattern` to be tried; `accept` sees the matched key."""

    kind: str
    marker: str
    pattern: re.Pattern[str]
    accept: _Check


def _vendor(kind: str, marker: str, pattern: str, accept: _Check = _is_lively) -> _Vendor:
    # A pattern that begins with a literal is found by plain search; its boundary is looked at afterwards.
    boundary = "" if pattern[0].isalpha() else r"(?<![A-Za-z0-9])"
    return _Vendor(kind, marker, lazy_pattern(boundary + pattern), accept)


_VENDORS: Final = (
    _vendor("aws_access_key", "AKIA", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])", _always),
    _vendor("aws_access_key", "ASIA", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])", _always),
    _vendor("aws_secret_key", "aws", r"(?<![/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", _is_aws_secret),
    _vendor("aws_secret_key", "AWS", r"(?<![/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])", _is_aws_secret),
    _vendor("github_token", "gh", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _vendor("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _vendor("gitlab_token", "gl", r"gl(?:pat|ptt|rt|dt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{20,}"),
    _vendor("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _vendor("slack_token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    _vendor(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/-]{20,}",
        _always,
    ),
    _vendor("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/[\w-]{20,}"),
    _vendor("discord_token", ".", r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    _vendor("stripe_key", "k_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    _vendor("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
    _vendor("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _vendor("openai_key", "sk-", r"sk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{16,}"),
    _vendor("google_api_key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _vendor("google_oauth_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _vendor("google_oauth_secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _vendor("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _vendor("twilio_key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _vendor("mailgun_key", "key-", r"key-[0-9a-z]{32}(?![A-Za-z0-9])"),
    _vendor("mailchimp_key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])"),
    _vendor("npm_token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _vendor("pypi_token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
    _vendor("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{28,}"),
    _vendor("docker_token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    _vendor("digitalocean_token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _vendor("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _vendor("square_token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    _vendor("databricks_token", "dapi", r"dapi[0-9a-f]{32}"),
    _vendor("vault_token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _vendor("age_key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _vendor("telegram_token", ":", r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _vendor("azure_storage_key", "Key=", r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}={0,2}"),
    _vendor("azure_sas_token", "sig=", r"sig=[A-Za-z0-9%+/]{40,}(?:=|%3[dD])*"),
    _vendor("atlassian_token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    _vendor("linear_key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _vendor("notion_token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _vendor("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _vendor("newrelic_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _vendor("grafana_token", "gl", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    _vendor("doppler_token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.]{40,}"),
    _vendor("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _vendor("replicate_token", "r8_", r"r8_[A-Za-z0-9]{37,}"),
    _vendor("supabase_token", "sbp_", r"sbp_[0-9a-f]{40}"),
    _vendor("sentry_token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    _vendor("qwed_credential", "qwed_", r"qwed_(?:agent|live)_[A-Za-z0-9_-]{16,}", _always),
    _vendor("qwed_webhook_secret", "whsec_", r"whsec_[A-Za-z0-9_-]{24,}"),
    _vendor("basic_credentials", "asic ", r"[Bb]asic [A-Za-z0-9+/]{8,512}={0,2}", _is_basic_credentials),
    _vendor("jwt", "eyJ", r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", _is_jwt),
)


def _vendor_keys(text: str) -> Iterator[Secret]:
    for vendor in _VENDORS:
        if vendor.marker not in text:
            continue
        for match in vendor.pattern.finditer(text):
            starts_inside = match.start() > 0 and text[match.start() - 1].isalnum()
            if not starts_inside and vendor.accept(match.group()):
                yield Secret(vendor.kind, match.start(), match.end())


_PEM_BEGIN = lazy_pattern(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = lazy_pattern(r"(?:\\[nr]|[\s\"'+]){0,16}(?:[A-Za-z-]{4,20}: |[A-Za-z0-9+/=]{8})")


def _private_keys(text: str) -> Iterator[Secret]:
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
            yield Secret("private_key", begin.start(), end)
        position = end


_URL_PASSWORD = lazy_pattern(r"://[^\s:@/?#\"'<>]{0,128}:([^\s@/\"'<>]{1,256})@")


def _url_passwords(text: str) -> Iterator[Secret]:
    if "://" not in text or "@" not in text:
        return
    for match in _URL_PASSWORD.finditer(text):
        if not _is_stand_in(match.group(1)):
            yield Secret("url_password", match.start(1), match.end(1))


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
    "max",
    "min",
    "total",
    "design",
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
    r"(?i)(?:name|arn|_?id|ref|path|ur[li]|endpoint|file|type|version|manager|count|limit|length|usage|_at|expir\w*|"
    r"policy|ttl|field|label|hint|rotation|format|status|updated|changed|reset|required|min|max|budget|rate|s_used)s?$"
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


def _named(text: str) -> Iterator[Secret]:
    """Values given to a secret word: `password: hunter2`, `"api_key": "9f86…"`, `Bearer …`."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change length, and positions with it
        lowered = text
    for name in _NAMES:
        position = lowered.find(name)
        while position >= 0:
            end = position + len(name)
            if _is_name(name, lowered, position) and (given := _GIVEN_VALUE.match(text, end)):
                yield from _judged(name, given)
                end = given.end("value")
            position = lowered.find(name, end)


def _is_name(name: str, lowered: str, position: int) -> bool:
    if name in ("pass", "pwd", "pin"):
        return position == 0 or not lowered[position - 1].isalnum()
    owner = lowered[max(0, position - 16) : position].rstrip(" _-")
    if name == "key":
        return owner.endswith(_KEY_OWNERS)
    return not owner.endswith(_HARMLESS_OWNERS)


def _judged(name: str, given: re.Match[str]) -> Iterator[Secret]:
    tail = given["tail"]
    if _HARMLESS_TAILS.search(tail) or (name in ("pass", "pwd", "pin") and tail):
        return
    value = given["value"].rstrip(",;)}]&.!?")
    span = (given.start("value"), given.start("value") + len(value))
    if name.startswith(_PASSWORD_WORDS):
        if _is_password(value, bare=tail in ("", "ord", "d")):
            yield Secret("password", *span)
    elif _is_token(value):
        yield Secret("token", *span)


def is_secret_value(name: str, value: str) -> bool:
    """Whether `value`, stored under `name`, is a secret: the structured form of `name: value`."""
    return any(secret.start > len(name) for secret in _named(f"{name}: {value}"))


def _is_stand_in(value: str) -> bool:
    return _STAND_IN.match(value) is not None or any(word in value.lower() for word in _PLACEHOLDER_WORDS)


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


def _without_overlaps(found: list[Secret]) -> list[Secret]:
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept
