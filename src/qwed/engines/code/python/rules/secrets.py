"""Secrets in the source, in logs, and made by what can be predicted."""

import ast
import re
from typing import Final

from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.values import Const, DataOrigin, PythonText, PythonUnknown, PythonValue, Ref

_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:password|passwd|pwd|pass|passphrase|secret|secret_?key|access_?key|api_?key|auth_?token|access_?token"
    r"|token|"
    r"private_?key|credentials?|encryption_?key|signing_?key|jwt_?secret|client_?secret|db_?pass)$",
    re.I,
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_SECRET: Final = re.compile(
    r"^(?:|none|null|true|false|x+|\*+|\.+|<.*>|\$\{.*\}|\{.*\}|%.*%|your[-_ ].*|change[-_ ]?me|example.*|"
    r"placeholder|redacted|todo|test|passw(?:or)?d|passwd|pwd|pass|secret|token|api[-_]?key|access[-_]?token|"
    r"auth[-_]?token|bearer|basic|private[-_]?key|credentials?)$"
    r"|^https?://[^:@]*$|^/|\s|[:=]$|^\[|^--?\w"
    r"|^[a-z]+(?:[_.-][a-z]+)*[_.-](?:password|token|key|secret)$",
    re.I,
)
_MAY_BE_A_WORD: Final = re.compile(r"(?:^|[_a-z])(?:token|pass|credentials?)$", re.I)
_CASE_SENSITIVE_CONSTANT: Final = re.compile(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_SECRET_PURPOSE: Final = re.compile(
    r"passw|secret|token|otp|(?:^|_)key|session|salt|nonce|csrf|verification|reset|auth|credential|(?:^"
    r"|_)pin(?:$|_)|captcha|"
    r"cookie|iv$|coupon|voucher|invite",
    re.I,
)


def assigned(run: Interpreter, name: str, value: PythonValue, line: int) -> None:
    """A name that says secret, given a constant."""
    if isinstance(value, Const) and isinstance(value.data, (str, bytes)) and not value.taint:
        if _SECRET_NAME.search(_CAMEL.sub("_", name)) and _is_secret(value.data, name):
            run.harm("hard-coded-secret", line)
    elif isinstance(value, (Ref, PythonUnknown, PythonText)) and _SECRET_PURPOSE.search(name):
        _judge_random(run, value, line)


_URL_PASSWORD: Final = re.compile(r"^\w[\w+.-]*://[^:/@\s]+:([^@/\s]*)@")


def connection_string(run: Interpreter, name: str, value: PythonValue, line: int) -> None:
    """`postgres://user:password@host`, with a password or, in a setting, with an empty one."""
    if not (isinstance(value, Const) and isinstance(value.data, str)):
        return
    found = _URL_PASSWORD.match(value.data)
    if found is None:
        return
    password = found.group(1)
    is_setting = re.search(r"ur[il]|dsn|database|connection", name, re.I) is not None
    if (not password and is_setting) or (password and _NOT_A_SECRET.search(password) is None):
        run.harm("hard-coded-secret", line)


def _judge_random(run: Interpreter, value: PythonValue, line: int) -> None:
    if any(origin.kind == "random" for origin in value.taint):
        run.harm("weak-randomness", line, tuple(o for o in value.taint if o.kind == "random"))


def _is_secret(data: str | bytes, name: str) -> bool:
    text = data if isinstance(data, str) else data.decode("latin-1")
    # A token is also what a scanner reads: only what looks made up at random is a secret then.
    if _MAY_BE_A_WORD.search(name) and not (len(text) >= 8 and re.search(r"\d", text)):
        return False
    if len(text) < 3 or _CASE_SENSITIVE_CONSTANT.match(text):
        return False
    return _NOT_A_SECRET.search(text) is None


def compared(run: Interpreter, node: ast.Compare, values: list[PythonValue]) -> None:
    """`password == "letmein"`."""
    if not isinstance(node.ops[0], (ast.Eq, ast.NotEq)) or len(values) != 2:
        return
    for side, other in ((node.left, values[1]), (node.comparators[0], values[0])):
        name = _name_of(side)
        if not (name and isinstance(other, Const) and isinstance(other.data, str)):
            continue
        # Whatever a password is compared with is the password.
        is_password = _PASSWORD_NAME.search(name) is not None and len(other.data) >= 3
        if _SECRET_NAME.search(name) and (is_password or _is_secret(other.data, name)):
            run.harm("hard-coded-secret", node.lineno)


_PASSWORD_NAME: Final = re.compile(r"(?:^|_)(?:password|passwd|pwd)$", re.I)


def _name_of(side: ast.expr) -> str:
    """`password`, `user.password`, `form["password"]`, `form.get("password")`, as one spelling."""
    match side:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _CAMEL.sub("_", name)
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return _CAMEL.sub("_", name).replace("-", "_")
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return _CAMEL.sub("_", name).replace("-", "_")
    return ""


def show_secret(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Passwords in logs and on screens are read by those who read logs and screens."""
    for shown in call.everything:
        pieces = shown.parts if isinstance(shown, PythonText) else (shown,)
        for piece in pieces:
            taint = (
                tuple(o for o in piece.taint if _SHOWN_SECRET.search(o.text))
                if isinstance(piece, PythonValue)
                else ()
            )
            if taint and not (isinstance(piece, PythonUnknown) and piece.shape):
                run.harm("exposes-a-password", call.line, taint)
                return None
    return None


_SHOWN_SECRET: Final = re.compile(r"^parameter \W?(?:\w*_)?(?:password|passwd|pwd|passphrase)\W?$", re.I)


def weak_random(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`random` is predictable: harm where the name of what it makes says that it must not be."""
    from_function = next((name for name in reversed(run.function_names) if _SECRET_PURPOSE.search(name)), "")
    if from_function:
        run.harm("weak-randomness", call.line)
    return PythonUnknown((DataOrigin("random", call.line, call.path),))


_RANDOM: Final = (
    "random",
    "randint",
    "randrange",
    "choice",
    "choices",
    "sample",
    "uniform",
    "getrandbits",
    "shuffle",
    "triangular",
    "randbytes",
)
_LOGS: Final = (
    "builtins.print",
    *(f"logging.{level}" for level in ("debug", "info", "warning", "error", "critical")),
)
CALLS: dict[str, Rule] = {
    **{f"random.{name}": weak_random for name in _RANDOM},
    **{f"random.Random().{name}": weak_random for name in _RANDOM},
    **{f"numpy.random.{name}": weak_random for name in (*_RANDOM, "randn", "rand", "bytes")},
    "uuid.uuid1": weak_random,
    **dict.fromkeys(_LOGS, show_secret),
}
