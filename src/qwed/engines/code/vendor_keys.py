"""Keys that vendors hand out, recognised by the form that each gives its own."""

import re
from typing import Final

_KEY: Final = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[\w-]{35}(?![\w-])"
    r"|\bya29\.[\w-]{20,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bgithub_pat_\w{22,}"
    r"|\bglpat-[\w-]{20}"
    r"|\b[sr]k_live_[A-Za-z0-9]{16,}"
    r"|\bxox[abposr]-\d[\w-]{20,}"
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}"
    r"|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgEI[\w-]{20,}"
    r"|\bsk-(?:ant-|proj-)[\w-]{20,}|\bhf_[A-Za-z]{30,}\b"
    r"|\bdop_v1_[a-f0-9]{64}\b|\bshp(?:at|ss|ca)_[a-fA-F0-9]{32}\b"
    r"|-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY-----\s*[\w+/=\\]{16}"
)
_EXAMPLE: Final = re.compile(
    r"example|sample|dummy|placeholder|redacted|your|test|fake|xxxx|0000|1234567|abcdef", re.I
)
_MIN_DIFFERENT: Final = 8


def find_vendor_keys(text: str) -> list[int]:
    """The lines that hold one; published examples and placeholders are none."""
    lines = []
    for found in _KEY.finditer(text):
        key = found[0]
        is_made_up = len(set(key)) < _MIN_DIFFERENT or _EXAMPLE.search(key) is not None
        if key.startswith("-----") or not is_made_up:
            lines.append(text.count("\n", 0, found.start()) + 1)
    return lines
