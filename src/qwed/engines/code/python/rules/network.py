"""Requests and sockets: whose address is chosen by a client, and what leaves through them."""

import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.names import ENVIRONMENT, OUTSIDE, REMOTE, SECRET
from qwed.engines.code.python.values import (
    Choice,
    Const,
    Items,
    PythonTable,
    PythonText,
    PythonValue,
    Ref,
    Taint,
)

_FIXED_HOST: Final = re.compile(r"^[a-z][a-z0-9+.-]*://[^/?#\s\ufffc]+[/?#]", re.I)
_BODY: Final = ("data", "json", "files", "content", "params", "body")
# Whole environments and these variables never belong in a request; an API key does.
_PRIVATE_VARIABLE: Final = re.compile(r"secret|passw|private|credential|^aws_|database_url|^ssh_", re.I)


def request(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`requests.get(url, …)` and its kin."""
    run.report.effects.add("network")
    by_method = call.path.rpartition(".")[2] in ("request", "stream")
    url = call.argument(1 if by_method else 0, "url")
    if url is None:
        url = call.kwargs.get("fullurl")
    _judge_address(run, call, url)
    bodies = [call.kwargs[name] for name in _BODY if name in call.kwargs]
    bodies.extend(call.args[2 if by_method else 1 :])
    for body in bodies:
        _judge_leak(run, call, body)
    if url is not None:
        _judge_leak(run, call, url)
    return None


def send(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`socket.send(data)`."""
    run.report.effects.add("network")
    for body in call.args:
        _judge_leak(run, call, body)
    return None


def connect(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    address = call.argument(0)
    host = address.items[0] if isinstance(address, Items) and address.items else address
    if host is not None and any(origin.kind == REMOTE for origin in host.taint):
        run.harm("server-side-request-forgery", call.line, host.taint)
    return None


def _judge_address(run: Interpreter, call: PythonCall, url: PythonValue | None) -> None:
    match url:
        case Choice():
            for option in url.options:
                _judge_address(run, call, option)
            return
        case None:
            return
        case Ref() if url.args and url.path.endswith("Request()"):
            _judge_address(run, call, url.args[0])
            return
    known = url.data if isinstance(url, Const) else url.known() if isinstance(url, PythonText) else ""
    if isinstance(known, str) and places.is_metadata_service(known):
        run.harm("metadata-service", call.line)
    if isinstance(known, str) and _FIXED_HOST.match(known):
        return
    remote = tuple(origin for origin in url.taint if origin.kind == REMOTE)
    if remote:
        run.harm("server-side-request-forgery", call.line, remote)


def _judge_leak(run: Interpreter, call: PythonCall, body: PythonValue) -> None:
    leaking = leaks(body)
    if leaking:
        run.harm("exfiltration", call.line, leaking)


def leaks(value: PythonValue, key: str = "") -> Taint:
    if isinstance(value, PythonTable):
        for name, entry in value.entries.items():
            found = leaks(entry, str(name))
            if found:
                return found
        return ()
    if isinstance(value, Items):
        for item in value.items:
            found = leaks(item, key)
            if found:
                return found
        return ()
    secrets = tuple(origin for origin in value.taint if origin.kind in (SECRET, OUTSIDE))
    if secrets:
        return secrets
    environment = tuple(origin for origin in value.taint if origin.kind == ENVIRONMENT)
    if environment and (_is_whole_environment(value) or (not key and _is_private_variable(value))):
        return environment
    return ()


def _is_whole_environment(value: PythonValue) -> bool:
    if isinstance(value, PythonText):
        return any(
            isinstance(part, PythonValue) and part.taint and _is_whole_environment(part)
            for part in value.parts
        )
    if isinstance(value, Ref) and value.path.startswith(("os.environ[]", "os.environ.get()", "os.getenv()")):
        return False
    return value.taint[0].text == "os.environ" and "one variable" not in value.taint[0].steps


def _is_private_variable(value: PythonValue) -> bool:
    if isinstance(value, PythonText):
        return any(isinstance(part, PythonValue) and _is_private_variable(part) for part in value.parts)
    if (
        isinstance(value, Ref)
        and value.path in ("os.environ[]", "os.environ.get()", "os.getenv()")
        and value.args
    ):
        name = value.args[0]
        return isinstance(name, Const) and _PRIVATE_VARIABLE.search(str(name.data)) is not None
    return False


_VERBS: Final = ("get", "post", "put", "patch", "delete", "head", "options", "request", "stream")
_CALLS: Final = (
    "urllib.request.urlopen",
    "urllib.request.urlretrieve",
    "urllib.request.Request",
    "urllib3.PoolManager().request",
    "urllib3.request",
    "pycurl.Curl().setopt",
    "wget.download",
    *(f"requests.{verb}" for verb in _VERBS),
    *(f"requests.{session}().{verb}" for session in ("Session", "Client", "AsyncClient") for verb in _VERBS),
    "http.client.HTTPSConnection().request",
    "http.client.HTTPConnection().request",
)


CALLS: dict[str, Rule] = {
    **dict.fromkeys(_CALLS, request),
    "socket.socket().connect": connect,
    "socket.socket().send": send,
    "socket.socket().sendall": send,
    "socket.socket().sendto": send,
    "socket.create_connection": connect,
    "http.client.HTTPConnection": connect,
    "http.client.HTTPSConnection": connect,
    "smtplib.SMTP().sendmail": send,
    "smtplib.SMTP().send_message": send,
    "smtplib.SMTP_SSL().sendmail": send,
    "ftplib.FTP().storbinary": send,
}
METHODS: dict[str, Rule] = {}
