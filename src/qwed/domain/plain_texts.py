"""Whether a text can be recorded as it is: a quick look, taken before anything is masked.

It may take an ordinary text for a suspicious one, which then is read with care, but never the other way
round: of a text that is plain here, `mask_for_record` changes nothing. So every rule that masks has its part
here: a vendor's key by its own pattern, everything else by the word or sign that its rule starts from. Add a
rule there and the laws in `tests/property/test_masking_laws.py` ask for it here.
"""

from typing import Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.vendor_keys import INTRODUCTIONS, may_hold_a_key

# Every vendor's key that no word introduces is, or begins with, a run of so many of these; what is not ASCII
# counts as one of them.
_IN_KEYS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.:~$,@%-"
_RUNS: Final = bytes(ord("x") if byte in _IN_KEYS or byte > 127 else ord(" ") for byte in range(256))
_LONG: Final = b"x" * 16
#: The one long run that conversations are usually named by; no key looks so.
_UUID = lazy_pattern("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: AWS' secret keys have no beginning of their own: only a text that speaks of AWS is searched for them.
_AWS_SECRET: Final = 40

# Most texts hold none of these, which is soon known; of the others it is asked what stands around them.
_HINTS: Final = (
    *("pass", "pwd", "pin", "secret", "token", "credential", "bearer", "cookie", "curl", " phrase"),
    *("--user", "-----begin", "auth", "key", "mysql", "mariadb", "sqlplus"),
    *INTRODUCTIONS,
)
_SECRET_WORD = lazy_pattern(
    r"passw|passphrase|passcode|(?<![a-z0-9])(?:pass|pwd|pin)(?![\w-])"
    r"|sshpass|sqlplus\s|(?:mysql|mariadb)[^\n|;]{0,220}?\s-p"
    r"|secret|token|credential|bearer|cookie|curl| phrase|--user|-----begin"
    r"|auth(?:ori[sz]ation|(?![a-z]))|[_-]key"
    r"|(?:api|access|auth|private|encryption|signing|master|license|shared|account)[ _-]{0,16}key"
    rf"|{'|'.join(INTRODUCTIONS)}"
)
_USERINFO = lazy_pattern(r":[^\s:@/\"'`]{6,128}@|\b[Tt][Hh][Ii][Nn]:[^\s/@:]{1,64}/")
# A letter that is written as something else, within a word: `%43ookie`, and signs that nobody sees.
_DISGUISE = lazy_pattern(
    r"%[4-7][0-9A-Fa-f](?<!%40)|[\uff01-\uff5e\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
#: Letters that patterns without regard to case take for others, and that `str.lower` leaves.
_FOLDED: Final = str.maketrans({"ı": "i", "İ": "i", "ſ": "s", "\u212a": "k"})


def is_plain(text: str) -> bool:
    """Whether there is nothing to mask in the text for certain."""
    if len(text) >= len(_LONG):
        encoded = text.encode("utf-8", "surrogatepass")
        runs = encoded.translate(_RUNS)
        if _LONG in runs and _may_hold_a_key(text, encoded, runs):
            return False
    if _may_hold_a_word(text) or ((not text.isascii() or "%" in text) and _DISGUISE.search(text)):
        return False
    return not ("@" in text or "%40" in text) or not _may_hold_userinfo(text)


def _may_hold_a_key(text: str, encoded: bytes, runs: bytes) -> bool:
    speaks_of_aws = "aws" in text or "AWS" in text
    start = runs.find(_LONG)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(runs) if end < 0 else end
        if speaks_of_aws and end - start >= _AWS_SECRET:
            return True
        run = encoded[start:end].decode("utf-8", "surrogatepass")
        if _UUID.fullmatch(run) is None and may_hold_a_key(run):
            return True
        start = runs.find(_LONG, end)
    return False


def _may_hold_a_word(text: str) -> bool:
    lowered = (text if text.isascii() else text.translate(_FOLDED)).lower()
    for hint in _HINTS:
        if hint in lowered:
            return _SECRET_WORD.search(lowered) is not None
    return False


def _may_hold_userinfo(text: str) -> bool:
    """`//name:password@host`, also percent-encoded, or without the slashes."""
    if "@" not in text:
        return "%40" in text and ("//" in text or "%2f" in text.lower())
    return "//" in text or _USERINFO.search(text) is not None
