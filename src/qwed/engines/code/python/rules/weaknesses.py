"""Weak by construction, whatever the input: ciphers, hashes, randomness, TLS, XML, secrets, permissions."""

import re
from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import PythonCall, Rule
from qwed.engines.code.python.rules.files import find_known_names
from qwed.engines.code.python.values import Const, Items, PythonValue, Ref


def wrap_socket(run: Interpreter, call: PythonCall) -> PythonValue | None:
    required = call.kwargs.get("cert_reqs")
    if not (isinstance(required, Ref) and required.path == "ssl.CERT_REQUIRED"):
        run.harm("tls-verification-off", call.line)
    return None


def snmp_community(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """Versions 1 and 2c send the community string in clear."""
    run.report.effects.add("network")
    run.harm("clear-text-protocol", call.line)
    return None


def configure_from_outside(run: Interpreter, call: PythonCall) -> PythonValue | None:
    """`logging.config.listen`: a configuration names functions to call."""
    run.harm("code-injection", call.line)
    return None


def record_keys(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.harm("records-keystrokes", call.line)
    return None


def insecure_tls(run: Interpreter, path: str, line: int) -> None:
    run.harm("tls-verification-off", line)


def old_protocol(run: Interpreter, path: str, line: int) -> None:
    run.harm("old-protocol", line)


def keyword_checked(run: Interpreter, name: str, value: PythonValue, line: int) -> None:
    """`verify=False`, `ssl=False`, `check_hostname=False`, wherever they are given."""
    if name in _CERTIFICATES and _asks_for_none(value):
        run.harm("tls-verification-off", line)
    if not isinstance(value, Const) or not isinstance(value.data, bool):
        return
    is_off = name in (_TRUST if value.data else _CHECKS)
    # No encryption at all is another choice; to HTTP clients `ssl=False` means unchecked.
    if is_off or (name == "ssl" and not value.data and _HTTP_CALL.search(run.text(line))):
        run.harm("tls-verification-off", line)


_CERTIFICATES: Final = frozenset({"cert_reqs", "verify_mode", "ssl_cert_reqs", "tls_cert_reqs"})
_CHECKS: Final = frozenset(
    {"verify", "verify_ssl", "check_hostname", "verify_certs", "ssl_verify", "tls_verify", "validate_certs"}
)
_TRUST: Final = frozenset(
    {"tlsAllowInvalidCertificates", "tlsInsecure", "tlsAllowInvalidHostnames", "insecure_skip_verify"}
    | {"disable_ssl_certificate_validation", "ssl_no_verify", "tls_insecure", "trust_all_certificates"}
)
_HTTP_CALL: Final = re.compile(r"\b(?:get|post|put|patch|delete|head|request|ws_connect|TCPConnector)\(")


def _asks_for_none(value: PythonValue) -> bool:
    if isinstance(value, Ref):
        return value.path == "ssl.CERT_NONE"
    return isinstance(value, Const) and str(value.data).upper() in ("CERT_NONE", "NONE")


def set_curl_option(run: Interpreter, call: PythonCall) -> PythonValue | None:
    option, value = call.argument(0), call.argument(1)
    checks = isinstance(option, Ref) and option.path.endswith(("SSL_VERIFYPEER", "SSL_VERIFYHOST"))
    if checks and isinstance(value, Const) and not value.data:
        run.harm("tls-verification-off", call.line)
    return None


def temporary_name(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.harm("racy-temporary-file", call.line)
    return None


def change_mode(run: Interpreter, call: PythonCall) -> PythonValue | None:
    mode = call.argument(1, "mode")
    run.report.effects.add("file-write")
    if (isinstance(mode, Const) and isinstance(mode.data, int) and mode.data & 0o002) or (
        isinstance(mode, Ref) and mode.path in ("stat.S_IRWXO", "stat.S_IWOTH")
    ):
        run.harm("world-writable", call.line)
    special = isinstance(mode, Const) and isinstance(mode.data, int) and mode.data & 0o6000
    if special or any(places.is_system(name) for name in find_known_names(call.argument(0, "path"))):
        run.harm("permissions", call.line)
    return None


def mask_mode(run: Interpreter, call: PythonCall) -> PythonValue | None:
    mode = call.argument(0)
    if isinstance(mode, Const) and mode.data == 0:
        run.harm("world-writable", call.line)
    return None


def host_keys(run: Interpreter, call: PythonCall) -> PythonValue | None:
    policy = call.argument(0)
    path = policy.path if isinstance(policy, Ref) else ""
    if "AutoAddPolicy" in path or "WarningPolicy" in path:
        run.harm("unverified-host-key", call.line)
    return None


def bind_everywhere(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    address = call.argument(0)
    host = address.items[0] if isinstance(address, Items) and address.items else None
    everywhere = ("0.0.0.0", "::") if "erver" in call.path else ("0.0.0.0", "", "::")  # noqa: S104 - compared
    if isinstance(host, Const) and host.data in everywhere:
        run.harm("binds-every-interface", call.line)
    return None


def clear_text(run: Interpreter, call: PythonCall) -> PythonValue | None:
    run.report.effects.add("network")
    run.harm("clear-text-protocol", call.line)
    return None


def imported(run: Interpreter, name: str, line: int) -> None:
    if name.partition(".")[0] in ("telnetlib",):
        run.report.effects.add("network")


def attribute_set(run: Interpreter, path: str, value: PythonValue, line: int) -> None:
    if path.endswith((".check_hostname", ".verify")):
        if isinstance(value, Const) and value.data is False:
            run.harm("tls-verification-off", line)
    elif (path.endswith(".verify_mode") and _asks_for_none(value)) or (
        path in _TLS_VARIABLES and isinstance(value, Const) and value.data in ("", "0", "false")
    ):
        run.harm("tls-verification-off", line)
    elif path.endswith((".debug", "config[]")) and isinstance(value, Const) and value.data is True:
        if path.endswith(".debug"):
            run.harm("debug-mode", line)
    elif path.startswith("os.environ.") and path.rpartition(".")[2] in _RUN_BY_OTHERS:
        run.harm("injects-into-programs", line)
    elif path.startswith("sys.modules[]") or (
        path.startswith("builtins.") and path.isascii() and path.replace(".", "").replace("_", "").isalnum()
    ):
        run.doubt("rewrites-an-object", line)


_RUN_BY_OTHERS: Final = frozenset({"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONSTARTUP", "BASH_ENV"})
_TLS_VARIABLES: Final = frozenset(
    f"os.environ.{name}"
    for name in ("PYTHONHTTPSVERIFY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
)
_KEY_LOGGERS: Final = (
    "pynput.keyboard.Listener",
    "keyboard.hook",
    "keyboard.on_press",
    "keyboard.on_release",
    "keyboard.record",
    "pyxhook.HookManager",
    "pyHook.HookManager",
)
_SERVERS: Final = (
    "xmlrpc.server.SimpleXMLRPCServer",
    "http.server.HTTPServer",
    "http.server.ThreadingHTTPServer",
    "socketserver.TCPServer",
    "socketserver.UDPServer",
    "socketserver.ThreadingTCPServer",
)
METHODS: dict[str, Rule] = {
    "setopt": set_curl_option,
    "set_missing_host_key_policy": host_keys,
}
CALLS: dict[str, Rule] = {
    "tempfile.mktemp": temporary_name,
    "os.tempnam": temporary_name,
    "os.tmpnam": temporary_name,
    "os.chmod": change_mode,
    "os.fchmod": change_mode,
    "os.umask": mask_mode,
    "telnetlib.Telnet": clear_text,
    "ssl.wrap_socket": wrap_socket,
    "pysnmp.hlapi.CommunityData": snmp_community,
    "logging.config.listen": configure_from_outside,
    **dict.fromkeys(_KEY_LOGGERS, record_keys),
    **dict.fromkeys(_SERVERS, bind_everywhere),
    "ftplib.FTP": clear_text,
    "socket.socket().bind": bind_everywhere,
}
MENTIONS: dict[str, Any] = {
    "ssl._create_unverified_context": insecure_tls,
    "ssl._create_stdlib_context": insecure_tls,
    "ssl.PROTOCOL_SSLv2": old_protocol,
    "ssl.PROTOCOL_SSLv3": old_protocol,
    "ssl.PROTOCOL_SSLv23": old_protocol,
    "ssl.PROTOCOL_TLSv1": old_protocol,
    "ssl.PROTOCOL_TLSv1_1": old_protocol,
    "OpenSSL.SSL.SSLv2_METHOD": old_protocol,
    "OpenSSL.SSL.SSLv3_METHOD": old_protocol,
    "OpenSSL.SSL.SSLv23_METHOD": old_protocol,
    "OpenSSL.SSL.TLSv1_METHOD": old_protocol,
}
