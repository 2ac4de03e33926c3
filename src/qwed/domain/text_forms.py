"""The readings of a text: as written, as it looks, and as what its encodings hide.

`canonical` undoes disguises that keep the text a text: compatibility forms, invisible characters, digits of
other scripts. `decodings` adds what a later decoder would see: percent and HTML escapes, `\\x`, `\\u` and
octal escapes, base64 and hexadecimal runs, two levels deep. All linear: a level decodes each character once.
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import without_invisible

MAX_LEVELS: Final = 2
# What has to stand in a text for one of the decoders to change it. RE2 syntax, for the common scan.
SIGNALS: Final = {
    "folding:percent": r"%[0-9A-Fa-f]{2}",
    "folding:entity": r"&(?:#[xX]?[0-9A-Fa-f]{1,7}|[A-Za-z]{2,8});?",
    "folding:escape": r"\\(?:x[0-9A-Fa-f]{2}|u\{?[0-9A-Fa-f]{2,6}|[0-3]?[0-7]{2})",
    "folding:run": r"[A-Za-z0-9+/_-]{12,}|[A-Za-z0-9+/]{6,}=",
    "folding:control": r"[\x00-\x08\x0e-\x1f\x7f]",
}

_NON_ASCII_DIGIT = lazy_pattern(r"(?![0-9])\d")
_ESCAPE = lazy_pattern(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|([0-3]?[0-7]{2}))")
_ESCAPED = lazy_pattern(
    r"%[0-9A-Fa-f]{2}|&(?:#[xX]?[0-9A-Fa-f]|[A-Za-z]{2})|\\(?:x[0-9A-Fa-f]|u[{0-9A-Fa-f]|[0-7]{2})"
)
_BASE64_RUN = lazy_pattern(r"[A-Za-z0-9+/_-]{12,}={0,2}|[A-Za-z0-9+/]{6,}={1,2}")
_HEX_RUN = lazy_pattern(r"[0-9A-Fa-f]{12,}+")
_PRINTABLE = lazy_pattern(r"[\t\n\r\x20-\x7e\u00a1-\uffff]*")


def canonical(text: str) -> str:
    """The text as a reader sees it."""
    if text.isascii():
        return _CONTROLS.sub("", text) if _has_controls(text) else text
    text = text.encode("utf-8", "replace").decode("utf-8")
    folded = without_invisible(unicodedata.normalize("NFKC", text))
    if _NON_ASCII_DIGIT.search(folded):
        folded = _NON_ASCII_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), folded)
    return folded


def decodings(text: str) -> Iterator[str]:
    """What the encodings in a canonical text hide, each once."""
    seen = {text}
    level = [text]
    for _ in range(MAX_LEVELS):
        deeper: list[str] = []
        for reading in level:
            for decode in _DECODERS:
                decoded = canonical(decode(reading))
                if decoded and decoded not in seen:
                    seen.add(decoded)
                    deeper.append(decoded)
                    yield decoded
        level = deeper


def is_disguised(text: str) -> bool:
    """Whether reading the text again, decoded, could show anything else."""
    has_signs = "%" in text or "&" in text or "\\" in text
    if (has_signs and _ESCAPED.search(text) is not None) or _has_controls(text):
        return True
    return any(map(may_be_encoded, _BASE64_RUN.findall(text)))


def may_be_encoded(run: str) -> bool:
    """Base64 of a text mixes capitals and small letters, hexadecimal mixes letters and digits."""
    run = run.rstrip("=")
    if run.lower() == run.upper():
        return False
    if run.islower() or run.isupper():
        return not run.isalpha() and _HEX_RUN.search(run) is not None
    return not run.isdigit()


def _has_controls(text: str) -> bool:
    return not text.isprintable() and _CONTROLS.search(text) is not None


_CONTROLS = lazy_pattern(r"[\x00-\x08\x0e-\x1f\x7f]")


def _unescape(text: str) -> str:
    """All escape families at once: an attacker may mix them, a decoder applies its own."""
    if "%" in text:
        text = unquote_to_bytes(text).decode("utf-8", "replace")
    if "&" in text:
        text = html.unescape(text)
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _unescape_form(text: str) -> str:
    """As in a web form, where a plus is a blank."""
    return _unescape(text.replace("+", " ")) if "+" in text and "%" in text and " " not in text else ""


def _character(match: re.Match[str]) -> str:
    byte, short, long, octal = match.groups()
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    return chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else "\ufffd"


def _base64_runs(text: str) -> str:
    if len(text) < 7:
        return ""
    runs = (match.group().rstrip("=") for match in _BASE64_RUN.finditer(text))
    return "\n".join(filter(None, (_readable(_base64_bytes(run)) for run in runs if may_be_encoded(run))))


def _base64_bytes(run: str) -> bytes:
    standard = run.replace("-", "+").replace("_", "/")
    if len(standard) % 4 == 1:
        standard = standard[:-1]
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4))
    except binascii.Error:
        return b""


def _hex_runs(text: str) -> str:
    runs = (match.group() for match in _HEX_RUN.finditer(text))
    whole = (run[: len(run) // 2 * 2] for run in runs if not run.isdigit())
    return "\n".join(filter(None, (_readable(bytes.fromhex(run)) for run in whole)))


def _readable(raw: bytes) -> str | None:
    """Decoded bytes as text, if that is what they are: random bytes are hardly ever printable."""
    if len(raw) < 5:
        return None
    # UTF-16, as PowerShell's encoded commands are.
    encoding = "utf-16-le" if len(raw) >= 8 and not any(raw[1:16:2]) else "utf-8"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return None
    return text if _PRINTABLE.fullmatch(text) else None


_DECODERS: Final[tuple[Callable[[str], str], ...]] = (_unescape, _unescape_form, _base64_runs, _hex_runs)
