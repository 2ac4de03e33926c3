"""Weak by construction, whatever the input: ciphers, hashes, randomness, TLS, XML, secrets, permissions."""

import ast
import re
from typing import Any, Final

from qwed.engines.code import places
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import Call, Rule
from qwed.engines.code.python.names import LOCAL, NETWORK, PARAMETER, REMOTE
from qwed.engines.code.python.rules.files import known_names
from qwed.engines.code.python.values import Const, Items, Origin, Ref, Table, Text, Unknown, Value

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
_HARMLESS_HASH: Final = re.compile(
    r"checksum|etag|cache|finger_?print|dedup|gravatar|content|file|chunk|bucket|shard|short|color|"
    r"path|block|cksum|memo",
    re.I,
)


def assigned(run: Interpreter, name: str, value: Value, line: int) -> None:
    """A name that says secret, given a constant."""
    if isinstance(value, Const) and isinstance(value.data, (str, bytes)) and not value.taint:
        if _SECRET_NAME.search(_CAMEL.sub("_", name)) and _is_secret(value.data, name):
            run.harm("hard-coded-secret", line)
    elif isinstance(value, (Ref, Unknown, Text)) and _SECRET_PURPOSE.search(name):
        _judge_random(run, value, line)


_URL_PASSWORD: Final = re.compile(r"^\w[\w+.-]*://[^:/@\s]+:([^@/\s]*)@")


def connection_string(run: Interpreter, name: str, value: Value, line: int) -> None:
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


def _judge_random(run: Interpreter, value: Value, line: int) -> None:
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


def compared(run: Interpreter, node: ast.Compare, values: list[Value]) -> None:
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


def show_secret(run: Interpreter, call: Call) -> Value | None:
    """Passwords in logs and on screens are read by those who read logs and screens."""
    for shown in call.everything:
        pieces = shown.parts if isinstance(shown, Text) else (shown,)
        for piece in pieces:
            taint = (
                tuple(o for o in piece.taint if _SHOWN_SECRET.search(o.text))
                if isinstance(piece, Value)
                else ()
            )
            if taint and not (isinstance(piece, Unknown) and piece.shape):
                run.harm("exposes-a-password", call.line, taint)
                return None
    return None


_SHOWN_SECRET: Final = re.compile(r"^parameter \W?(?:\w*_)?(?:password|passwd|pwd|passphrase)\W?$", re.I)


def wrap_socket(run: Interpreter, call: Call) -> Value | None:
    required = call.kwargs.get("cert_reqs")
    if not (isinstance(required, Ref) and required.path == "ssl.CERT_REQUIRED"):
        run.harm("tls-verification-off", call.line)
    return None


def unverified(run: Interpreter, call: Call) -> Value | None:
    run.harm("unverified-token", call.line)
    return None


def snmp_community(run: Interpreter, call: Call) -> Value | None:
    """Versions 1 and 2c send the community string in clear."""
    run.report.effects.add("network")
    run.harm("clear-text-protocol", call.line)
    return None


def configure_from_outside(run: Interpreter, call: Call) -> Value | None:
    """`logging.config.listen`: a configuration names functions to call."""
    run.harm("code-injection", call.line)
    return None


def record_keys(run: Interpreter, call: Call) -> Value | None:
    run.harm("records-keystrokes", call.line)
    return None


def weak_curve(run: Interpreter, path: str, line: int) -> None:
    run.harm("weak-key-size", line)


def weak_random(run: Interpreter, call: Call) -> Value | None:
    """`random` is predictable: harm where the name of what it makes says that it must not be."""
    from_function = next((name for name in reversed(run.function_names) if _SECRET_PURPOSE.search(name)), "")
    if from_function:
        run.harm("weak-randomness", call.line)
    return Unknown((Origin("random", call.line, call.path),))


def weak_hash(run: Interpreter, call: Call) -> Value | None:
    name = call.path.rpartition(".")[2]
    if name == "new":
        algorithm = call.argument(0, "name")
        if not (
            isinstance(algorithm, Const)
            and str(algorithm.data).lower() in ("md4", "md5", "sha", "sha1", "ripemd160")
        ):
            return None
    used = call.kwargs.get("usedforsecurity")
    if isinstance(used, Const) and used.data is False:
        return None
    if _is_harmless_hash(run, call):
        return None
    run.harm("weak-hash", call.line)
    return None


def _is_harmless_hash(run: Interpreter, call: Call) -> bool:
    around = f"{run.function_names[-1] if run.function_names else ''} {run.text(call.line)}"
    return _HARMLESS_HASH.search(around) is not None and not re.search(
        r"passw|secret|token|sign", around, re.I
    )


def salted_hash(run: Interpreter, call: Call) -> Value | None:
    """A fast hash is no way to keep a password, however strong the hash."""
    data = call.argument(0)
    if data is not None and any(re.search(r"passw|pwd", origin.text, re.I) for origin in data.taint):
        run.harm("fast-password-hash", call.line, data.taint)
    return None


def key_derivation(run: Interpreter, call: Call) -> Value | None:
    rounds = call.argument(3, "iterations")
    salt = call.argument(2, "salt")
    if isinstance(rounds, Const) and isinstance(rounds.data, int) and rounds.data < 1000:
        run.harm("weak-key-derivation", call.line)
    if isinstance(salt, Const):
        run.harm("constant-salt", call.line)
    return None


def weak_cipher(run: Interpreter, call: Call) -> Value | None:
    run.harm("weak-cipher", call.line)
    return None


def cipher_mode(run: Interpreter, call: Call) -> Value | None:
    """`AES.new(key, mode, iv)`."""
    mode = call.argument(1, "mode")
    if isinstance(mode, Ref) and mode.path.endswith("MODE_ECB"):
        run.harm("weak-cipher", call.line)
    _judge_key(run, call, call.argument(0, "key"))
    iv = call.argument(2, "iv") or call.kwargs.get("nonce")
    if isinstance(iv, Const):
        run.harm("constant-iv", call.line)
    return None


def constant_iv(run: Interpreter, call: Call) -> Value | None:
    if isinstance(call.argument(0), Const):
        run.harm("constant-iv", call.line)
    return None


def constant_key(run: Interpreter, call: Call) -> Value | None:
    _judge_key(run, call, call.argument(0, "key"))
    return None


def _judge_key(run: Interpreter, call: Call, key: Value | None) -> None:
    if isinstance(key, Const) and isinstance(key.data, (str, bytes)) and key.data:
        run.harm("hard-coded-secret", call.line)


def key_size(run: Interpreter, call: Call) -> Value | None:
    sizes = [
        value.data for value in call.everything if isinstance(value, Const) and isinstance(value.data, int)
    ]
    sizes = [size for size in sizes if size != 65537 and size >= 256]
    if sizes and max(sizes) < 2048:
        run.harm("weak-key-size", call.line)
    return None


def jwt_decode(run: Interpreter, call: Call) -> Value | None:
    options = call.kwargs.get("options")
    verify = call.kwargs.get("verify")
    if isinstance(options, Table):
        verify = options.entries.get("verify_signature", verify)
    if isinstance(verify, Const) and verify.data is False:
        run.harm("unverified-token", call.line)
    algorithms = call.argument(2, "algorithms")
    named = algorithms.items if isinstance(algorithms, Items) else [algorithms]
    if any(isinstance(name, Const) and str(name.data).lower() == "none" for name in named):
        run.harm("unverified-token", call.line)
    return None


def jwt_encode(run: Interpreter, call: Call) -> Value | None:
    key = call.argument(1, "key")
    algorithm = call.argument(2, "algorithm")
    if isinstance(algorithm, Const) and str(algorithm.data).lower() == "none":
        run.harm("unverified-token", call.line)
    _judge_key(run, call, key)
    return None


def insecure_tls(run: Interpreter, path: str, line: int) -> None:
    run.harm("tls-verification-off", line)


def old_protocol(run: Interpreter, path: str, line: int) -> None:
    run.harm("old-protocol", line)


def keyword_checked(run: Interpreter, name: str, value: Value, line: int) -> None:
    """`verify=False`, `ssl=False`, `check_hostname=False`, wherever they are given."""
    if name in ("cert_reqs", "verify_mode") and isinstance(value, Ref) and value.path == "ssl.CERT_NONE":
        run.harm("tls-verification-off", line)
    if not isinstance(value, Const) or value.data is not False:
        return
    if name in ("verify", "verify_ssl", "check_hostname", "verify_certs", "ssl_verify", "tls_verify"):
        run.harm("tls-verification-off", line)


def temporary_name(run: Interpreter, call: Call) -> Value | None:
    run.harm("racy-temporary-file", call.line)
    return None


def change_mode(run: Interpreter, call: Call) -> Value | None:
    mode = call.argument(1, "mode")
    run.report.effects.add("file-write")
    if (isinstance(mode, Const) and isinstance(mode.data, int) and mode.data & 0o002) or (
        isinstance(mode, Ref) and mode.path in ("stat.S_IRWXO", "stat.S_IWOTH")
    ):
        run.harm("world-writable", call.line)
    special = isinstance(mode, Const) and isinstance(mode.data, int) and mode.data & 0o6000
    if special or any(places.is_system(name) for name in known_names(call.argument(0, "path"))):
        run.harm("permissions", call.line)
    return None


def mask_mode(run: Interpreter, call: Call) -> Value | None:
    mode = call.argument(0)
    if isinstance(mode, Const) and mode.data == 0:
        run.harm("world-writable", call.line)
    return None


def parse_xml(run: Interpreter, call: Call) -> Value | None:
    """Parsers that expand entities, given what others wrote."""
    source = call.argument(0)
    if call.path.startswith("lxml.") and _has_safe_parser(call):
        return None
    taint = (
        tuple(o for o in source.taint if o.kind in (REMOTE, LOCAL, NETWORK, PARAMETER))
        if source is not None
        else ()
    )
    if taint:
        run.harm("xml-external-entities", call.line, taint)
    return None


def _has_safe_parser(call: Call) -> bool:
    parser = call.argument(1, "parser")
    return isinstance(parser, Ref) and parser.path == "lxml.etree.XMLParser()[safe]"


def lxml_parser(run: Interpreter, call: Call) -> Value | None:
    resolve = call.kwargs.get("resolve_entities")
    if isinstance(resolve, Const) and resolve.data is False:
        return Ref("lxml.etree.XMLParser()[safe]")
    if isinstance(resolve, Const) or isinstance(call.kwargs.get("no_network"), Const):
        run.harm("xml-external-entities", call.line)
    return None


def sax_feature(run: Interpreter, call: Call) -> Value | None:
    feature, value = call.argument(0), call.argument(1)
    named = isinstance(feature, Ref) and feature.path.endswith("feature_external_ges")
    external = named or "feature_external_ges" in run.text(call.line)
    if external and isinstance(value, Const) and value.data:
        run.harm("xml-external-entities", call.line)
    return None


def host_keys(run: Interpreter, call: Call) -> Value | None:
    policy = call.argument(0)
    path = policy.path if isinstance(policy, Ref) else ""
    if "AutoAddPolicy" in path or "WarningPolicy" in path:
        run.harm("unverified-host-key", call.line)
    return None


def bind_everywhere(run: Interpreter, call: Call) -> Value | None:
    run.report.effects.add("network")
    address = call.argument(0)
    host = address.items[0] if isinstance(address, Items) and address.items else None
    everywhere = ("0.0.0.0", "::") if "erver" in call.path else ("0.0.0.0", "", "::")  # noqa: S104 - compared
    if isinstance(host, Const) and host.data in everywhere:
        run.harm("binds-every-interface", call.line)
    return None


def clear_text(run: Interpreter, call: Call) -> Value | None:
    run.report.effects.add("network")
    run.harm("clear-text-protocol", call.line)
    return None


def imported(run: Interpreter, name: str, line: int) -> None:
    if name.partition(".")[0] in ("telnetlib",):
        run.report.effects.add("network")


def attribute_set(run: Interpreter, path: str, value: Value, line: int) -> None:
    if path.endswith((".check_hostname", ".verify")):
        if isinstance(value, Const) and value.data is False:
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
_WEAK_CIPHERS: Final = (
    "Crypto.Cipher.DES.new",
    "Crypto.Cipher.DES3.new",
    "Crypto.Cipher.ARC4.new",
    "Crypto.Cipher.ARC2.new",
    "Crypto.Cipher.Blowfish.new",
    "Crypto.Cipher.XOR.new",
    "Crypto.Cipher.CAST.new",
    "cryptography.hazmat.primitives.ciphers.algorithms.ARC4",
    "cryptography.hazmat.primitives.ciphers.algorithms.Blowfish",
    "cryptography.hazmat.primitives.ciphers.algorithms.IDEA",
    "cryptography.hazmat.primitives.ciphers.algorithms.TripleDES",
    "cryptography.hazmat.primitives.ciphers.algorithms.CAST5",
    "cryptography.hazmat.primitives.ciphers.algorithms.SEED",
    "cryptography.hazmat.primitives.ciphers.modes.ECB",
    "pyDes.des",
    "crypt.crypt",
)
_WEAK_HASHES: Final = (
    "hashlib.md5",
    "hashlib.md4",
    "hashlib.sha1",
    "hashlib.new",
    "Crypto.Hash.MD5.new",
    "Crypto.Hash.MD4.new",
    "Crypto.Hash.MD2.new",
    "Crypto.Hash.SHA.new",
    "Crypto.Hash.SHA1.new",
    "cryptography.hazmat.primitives.hashes.MD5",
    "cryptography.hazmat.primitives.hashes.SHA1",
    "md5.new",
    "sha.new",
)
_XML_PARSERS: Final = (
    "xml.etree.ElementTree.fromstring",
    "xml.etree.ElementTree.parse",
    "xml.etree.ElementTree.iterparse",
    "xml.etree.ElementTree.XML",
    "xml.etree.cElementTree.fromstring",
    "xml.etree.cElementTree.parse",
    "xml.dom.minidom.parseString",
    "xml.dom.minidom.parse",
    "xml.dom.pulldom.parseString",
    "xml.dom.pulldom.parse",
    "xml.sax.parse",
    "xml.sax.parseString",
    "lxml.etree.fromstring",
    "lxml.etree.parse",
    "lxml.etree.XML",
    "xmltodict.parse",
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
_LOGS: Final = (
    "builtins.print",
    *(f"logging.{level}" for level in ("debug", "info", "warning", "error", "critical")),
)
_SERVERS: Final = (
    "xmlrpc.server.SimpleXMLRPCServer",
    "http.server.HTTPServer",
    "http.server.ThreadingHTTPServer",
    "socketserver.TCPServer",
    "socketserver.UDPServer",
    "socketserver.ThreadingTCPServer",
)
_WEAK_CURVES: Final = ("SECT163K1", "SECT163R2", "SECP192R1", "SECT233K1", "SECT233R1")
CALLS: dict[str, Rule] = {
    **{f"random.{name}": weak_random for name in _RANDOM},
    **{f"random.Random().{name}": weak_random for name in _RANDOM},
    **dict.fromkeys(_WEAK_CIPHERS, weak_cipher),
    **dict.fromkeys(_WEAK_HASHES, weak_hash),
    **dict.fromkeys(_XML_PARSERS, parse_xml),
    "hashlib.sha256": salted_hash,
    "hashlib.sha512": salted_hash,
    "hashlib.sha224": salted_hash,
    "hashlib.pbkdf2_hmac": key_derivation,
    "Crypto.Cipher.AES.new": cipher_mode,
    "cryptography.hazmat.primitives.ciphers.modes.CBC": constant_iv,
    "cryptography.hazmat.primitives.ciphers.modes.CTR": constant_iv,
    "cryptography.hazmat.primitives.ciphers.modes.GCM": constant_iv,
    "cryptography.hazmat.primitives.ciphers.algorithms.AES": constant_key,
    "cryptography.fernet.Fernet": constant_key,
    "hmac.new": constant_key,
    "cryptography.hazmat.primitives.asymmetric.rsa.generate_private_key": key_size,
    "cryptography.hazmat.primitives.asymmetric.dsa.generate_private_key": key_size,
    "Crypto.PublicKey.RSA.generate": key_size,
    "Crypto.PublicKey.DSA.generate": key_size,
    "jwt.decode": jwt_decode,
    "jwt.encode": jwt_encode,
    "tempfile.mktemp": temporary_name,
    "os.tempnam": temporary_name,
    "os.tmpnam": temporary_name,
    "os.chmod": change_mode,
    "os.fchmod": change_mode,
    "os.umask": mask_mode,
    "lxml.etree.XMLParser": lxml_parser,
    "telnetlib.Telnet": clear_text,
    "ssl.wrap_socket": wrap_socket,
    "python_jwt.process_jwt": unverified,
    "jwt.get_unverified_claims": unverified,
    "jose.jwt.get_unverified_claims": unverified,
    "pysnmp.hlapi.CommunityData": snmp_community,
    "logging.config.listen": configure_from_outside,
    **dict.fromkeys(_KEY_LOGGERS, record_keys),
    **dict.fromkeys(_LOGS, show_secret),
    **dict.fromkeys(_SERVERS, bind_everywhere),
    "ftplib.FTP": clear_text,
    "socket.socket().bind": bind_everywhere,
    "ssl._create_unverified_context": lambda run, call: None,
}
METHODS: dict[str, Rule] = {
    "setFeature": sax_feature,
    "set_missing_host_key_policy": host_keys,
}
MENTIONS: dict[str, Any] = {
    "ssl._create_unverified_context": insecure_tls,
    "ssl._create_stdlib_context": insecure_tls,
    **{f"cryptography.hazmat.primitives.asymmetric.ec.{curve}": weak_curve for curve in _WEAK_CURVES},
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
