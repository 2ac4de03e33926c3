"""Settings that switch a protection off, wherever an object or a property gives them."""

import re
from typing import Final

from qwed.engines.code.javascript.evaluator import Evaluator, ScriptValue

_COOKIE: Final = r"\.cookie\(.*\b(?:httpOnly|secure)['\"]?\s*:\s*false"
_NO_IDENTITY: Final = (
    r"checkServerIdentity['\"]?\s*[:=]\s*(?:\([^)]*\)|\w+)\s*=>\s*"
    r"(?:undefined|null|true|void 0|\{\s*(?:return(?:\s+(?:undefined|null|true))?;?\s*)?\})"
)
_BINDS: Final = r"Binds['\"]?\s*:\s*\[[^\]]*['\"](?:/|/etc|/root|/var/run/docker\.sock):"
# The name of a setting, how it is written where it does harm, and what that is.
_LISTED: Final = (
    ("rejectUnauthorized", r"rejectUnauthorized['\"]?\s*[:=]\s*(?:false|0|!1)\b", "tls-verification-off"),
    ("strictSSL", r"strictSSL['\"]?\s*[:=]\s*false\b", "tls-verification-off"),
    ("checkServerIdentity", _NO_IDENTITY, "tls-verification-off"),
    ("httpOnly", _COOKIE, "insecure-cookie"),
    ("secure", _COOKIE, "insecure-cookie"),
    ("noent", r"\bnoent['\"]?\s*:\s*true", "xml-external-entities"),
    ("Privileged", r"Privileged['\"]?\s*:\s*true", "privilege"),
    ("privileged", r"privileged['\"]?\s*:\s*true", "privilege"),
    ("PidMode", r"PidMode['\"]?\s*:\s*['\"]host", "privilege"),
    ("Binds", _BINDS, "privilege"),
    ("ACL", r"ACL['\"]?\s*:\s*['\"](?:public-|authenticated-read)", "opens-to-everybody"),
    ("CidrIp", r"CidrIp['\"]?\s*:\s*['\"](?:0\.0\.0\.0/0|::/0)", "opens-to-everybody"),
)
_SETTINGS: Final = {name: (re.compile(pattern), rule) for name, pattern, rule in _LISTED}
_SECRET_MAKER: Final = re.compile(
    r"(?:function\s+|const\s+|let\s+|var\s+)\w*(?:token|secret|passw|session|nonce|otp|csrf|salt)\w*", re.I
)
# What is written may go on over a few lines.
_LINES: Final = 3


def judge(run: Evaluator, name: str, value: ScriptValue, line: int) -> None:
    """`name: value` in an object, or `x.name = value`."""
    listed = _SETTINGS.get(name)
    if listed is not None:
        text = " ".join(run.line_text(line + offset) for offset in range(_LINES))
        if listed[0].search(text):
            run.harm(listed[1], line)
    taint = tuple(origin for origin in value.taint if origin.kind == "remote")
    if name == "filter" and taint and value.prefix.startswith("("):
        run.harm("ldap-injection", line, taint)


def predict(run: Evaluator, args: list[ScriptValue], line: int) -> ScriptValue | None:
    """`Math.random()` in a function whose name says that it makes a secret."""
    if _SECRET_MAKER.search(run.line_text(line)):
        run.harm("weak-randomness", line)
    return None
