"""The only reader of the environment.

`SETTINGS` lists every variable once: its name, how its text is read, what it means. A name that begins
with `QWED_` and is not in the list stops start-up: a misspelled limit must not pass as no limit.
"""

import difflib
import hmac
import ipaddress
import os
import re
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from qwed.domain.bounds import Bounds, Network
from qwed.domain.times import parse_iso

Memory = Literal[":memory:"]
MEMORY: Final[Memory] = ":memory:"

MAX_WORKERS: Final = 64
MIN_KEY_LENGTH: Final = 8
# 22 characters of base64 are the 128 bits that a key made by the gateway has.
STRONG_KEY_LENGTH: Final = 22


class SettingsError(ValueError):
    """Start-up stops here; the message has one sentence per mistake and shows no secret."""


class Secret:
    """Text that no log, traceback or repr shows. `reveal` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        mine, theirs = (secret._text.encode("utf-8", "surrogatepass") for secret in (self, other))
        return hmac.compare_digest(mine, theirs)

    def __hash__(self) -> int:
        return hash((Secret, self._text))


class Smtp(msgspec.Struct, frozen=True):
    """A mail server. `scheme` is `smtps`, `smtp` (STARTTLS) or `smtp+plain`."""

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: Secret | None = None


class PostgresUrl(Secret):
    """A database server's address: it may hold a password, so only a part of it is ever shown."""

    __slots__ = ()

    def __str__(self) -> str:
        return re.sub(r"//[^/@]*@", "//…@", self._text.split("?", 1)[0])


class Settings(Bounds, frozen=True):
    """`warnings` are sentences for the operator about values that were accepted but are unwise."""

    host: str = "127.0.0.1"
    port: int = 8000
    database: Path | Memory | PostgresUrl = Path("qwed.db")
    redis: Secret | None = None
    workers: int = 1
    config: Path | None = None
    shadow: Path | None = None
    observe: bool = False
    until: int | None = None
    operator_key: Secret | None = None
    #: Where they are, not what they are.
    signing_key: str | None = None
    record_key: str | None = None
    public_log: bool = False
    base_url: str | None = None
    api_key: Secret | None = None
    broker_key: Secret | None = None
    log_level: str = "info"
    data_dir: Path = Path()
    startup_trust_file: Path = Path("startup-trust.json")
    agent_token: Secret | None = None
    mcp_pins_file: Path = Path("mcp-pins.json")
    mcp_listen_token: Secret | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    proxy_addresses: tuple[Network, ...] = ()
    node_name: str = "local"
    doom_loop_guard_required: bool = False
    ect_issuers: Path | None = None
    smtp: Smtp | None = None
    smtp_from: str | None = None
    public_url: str | None = None
    slack_signing_secret: Secret | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: Secret | None = None
    warnings: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True):
    """One variable. `default` is its wording for people; the value itself is in `Settings`."""

    variable: str
    field: str
    read: Callable[[str], Any]
    meaning: str
    default: str
    is_secret: bool = False


def parse_host(text: str) -> str:
    if not (_HOST_NAME.fullmatch(text) or _is_ip_address(text)):
        raise ValueError("expected a host name or an IP address without a port, such as 127.0.0.1 or ::1")
    return text


def _is_ip_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def parse_port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise ValueError("expected a port from 0 (any free one) to 65535")
    return int(text)


def parse_database(text: str) -> Path | Memory | PostgresUrl:
    """A file's path, `sqlite:///path`, `:memory:` or `postgresql://…`. Raises `ValueError`."""
    if "\0" in text or not text.strip():
        raise ValueError("expected a file path, a sqlite:/// or a postgresql:// address")
    scheme = _SCHEME.match(text)
    if scheme is None:
        return MEMORY if text == MEMORY else Path(text)
    name = scheme.group(1).lower()
    if name in ("postgresql", "postgres"):
        return _parse_postgres(text)
    if name != "sqlite":
        raise ValueError(f"cannot store in {name!r}; use a file path, sqlite:/// or postgresql://")
    return _parse_sqlite(text[scheme.end() :])


def _parse_postgres(text: str) -> PostgresUrl:
    try:
        parts = urllib.parse.urlsplit(text)
        has_database = bool(parts.path.strip("/")) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_database = False
    if not has_database:
        raise ValueError("expected postgresql://user@host:port/database")
    return PostgresUrl(text)


def _read_redis(text: str) -> Secret:
    try:
        parts = urllib.parse.urlsplit(text)
        is_valid = parts.scheme in ("redis", "rediss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError("expected redis://host:port/number, or rediss:// for TLS")
    return Secret(text)


def _read_workers(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_WORKERS:
        raise ValueError(f"expected a number of processes from 1 to {MAX_WORKERS}")
    return int(text)


def _reader_between(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}")
        return int(text)

    return read


def _bound(field: str, least: int, most: int, meaning: str) -> "Setting":
    default = getattr(Bounds(), field)
    return Setting(f"QWED_{field.upper()}", field, _reader_between(least, most), meaning, str(default))


def _read_networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(","))
    except ValueError:
        raise ValueError("expected addresses or networks with commas, such as 10.0.0.7,10.1.0.0/16") from None


def _parse_sqlite(rest: str) -> Path | Memory:
    if rest in ("//", "///", f"///{MEMORY}"):
        return MEMORY
    if not rest.startswith("///"):
        raise ValueError(
            "a sqlite address has no host: write sqlite:///relative.db or sqlite:////absolute.db"
        )
    if "?" in rest or "#" in rest:
        raise ValueError("a sqlite address takes no options; encode ? as %3F and # as %23 in file names")
    path = urllib.parse.unquote(rest[3:], errors="strict")
    if "\0" in path:
        raise ValueError("a file path cannot hold a NUL")
    return Path(path)


def _read_path(text: str) -> Path:
    if "\0" in text:
        raise ValueError("a file path cannot hold a NUL")
    return Path(text)


def _read_flag(text: str) -> bool:
    flag = _FLAGS.get(text.strip().lower())
    if flag is None:
        raise ValueError("expected true or false")
    return flag


def _read_time(text: str) -> int:
    try:
        return parse_iso(text.strip())
    except ValueError:
        raise ValueError("expected a day or a time such as 2026-03-01 or 2026-03-01T18:00+01:00") from None


def _read_log_level(text: str) -> str:
    level = text.strip().lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"expected one of {', '.join(LOG_LEVELS)}")
    return level


def _read_base_url(text: str) -> str:
    try:
        parts = urllib.parse.urlsplit(text)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid = False
    if not port_is_valid or not _BASE_URL.fullmatch(text):
        raise ValueError("expected an address such as https://qwed.example.com or http://127.0.0.1:8000")
    return text.rstrip("/")


def _read_issuer(text: str) -> str:
    """As it is written: an issuer is compared letter by letter, a slash at its end included."""
    address = _read_base_url(text)
    is_here = urllib.parse.urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    if not (address.startswith("https://") or is_here):
        raise ValueError("an identity provider needs https")
    return text


def _read_text(text: str) -> str:
    if not text.isprintable() or len(text) > 512:
        raise ValueError("expected up to 512 printable characters")
    return text


def _read_key(text: str) -> Secret:
    if not _KEY.fullmatch(text):
        raise ValueError(f"expected at least {MIN_KEY_LENGTH} visible ASCII characters without spaces")
    return Secret(text)


def _read_operator_key(text: str) -> Secret:
    """An example that nobody replaced is a key that everybody knows."""
    key = _read_key(text)
    plain = re.sub(r"[^a-z]", "", text.lower())
    if any(word in plain for word in _PLACEHOLDERS) or len(set(text)) < MIN_KEY_LENGTH // 2:
        raise ValueError(
            "this is an example, not a key: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return key


def _read_smtp(text: str) -> Smtp:
    """Raises `ValueError`, in which nothing of the text is repeated."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in _SMTP_PORTS or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("expected an address such as smtps://user:password@mail.example.com:465")
    if (parts.username is None) != (parts.password is None):
        raise ValueError("a user and a password belong together")
    port = parts.port or _SMTP_PORTS[parts.scheme]
    if parts.username is None or parts.password is None:
        return Smtp(parts.scheme, parts.hostname, port)
    user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password)
    return Smtp(parts.scheme, parts.hostname, port, user, Secret(password))


def _read_key_place(text: str) -> str:
    scheme, _, rest = text.partition(":")
    if scheme not in ("file", "env") or not rest:
        # It may be the key itself, put there by mistake: it is not quoted.
        raise ValueError("expected file:PATH or env:NAME")
    return text


def _read_signing_key(text: str) -> str:
    """What follows the scheme is read by what opens the key."""
    if text.partition(":")[0] in ("pkcs11", "awskms", "gcpkms") and len(text) <= 1024 and text.isprintable():
        return text
    try:
        return _read_key_place(text)
    except ValueError as mistake:
        raise ValueError(f"{mistake}, pkcs11:…, awskms:… or gcpkms:…") from None


def _read_sender(text: str) -> str:
    if not _SENDER.fullmatch(text):
        raise ValueError("expected a plain address such as qwed@example.com")
    return text


def _read_node_name(text: str) -> str:
    if not _NODE_NAME.fullmatch(text):
        raise ValueError("expected up to 64 letters, digits, dots, dashes or underscores")
    return text


LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
_FLAGS: Final = {"true": True, "1": True, "yes": True, "on": True} | {
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
# Two letters at least: C:\\ is a drive. SQLite itself would take file: for an address.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+(?=://)|[Ff][Ii][Ll][Ee](?=:)):")
_BASE_URL: Final = re.compile(r"https?://[^\s/?#@\\]+(?:/[^\s?#\\]*)?")
_KEY: Final = re.compile(rf"[!-~]{{{MIN_KEY_LENGTH},512}}")
_PLACEHOLDERS: Final = (
    "changeme",
    "replaceme",
    "placeholder",
    "yourkey",
    "youroperatorkey",
    "operatorkeyhere",
    "insertkey",
)
_SMTP_PORTS: Final = {"smtps": 465, "smtp": 587, "smtp+plain": 25}
_SENDER: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")
_NODE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

SETTINGS: Final = (
    Setting("QWED_HOST", "host", parse_host, "address the gateway listens on", "127.0.0.1"),
    Setting("QWED_PORT", "port", parse_port, "port the gateway listens on; 0 takes any free one", "8000"),
    Setting(
        "QWED_DATABASE",
        "database",
        parse_database,
        "store: a path, sqlite:///…, postgresql://… or :memory:",
        "qwed.db",
        False,
    ),
    Setting("QWED_REDIS", "redis", _read_redis, "what several gateways share their limits by", "none", True),
    Setting("QWED_WORKERS", "workers", _read_workers, "processes; more than one need PostgreSQL", "1"),
    Setting("QWED_CONFIG", "config", _read_path, "policy file", "the built-in policy"),
    Setting("QWED_SHADOW", "shadow", _read_path, "policy file that only watches", "none"),
    Setting(
        "QWED_OBSERVE", "observe", _read_flag, "record every decision, and let none stop an action", "false"
    ),
    Setting("QWED_OBSERVE_UNTIL", "until", _read_time, "when decisions are enforced again", "never"),
    Setting(
        "QWED_OPERATOR_KEY",
        "operator_key",
        _read_operator_key,
        "first operator key",
        "made at first start",
        True,
    ),
    Setting(
        "QWED_SIGNING_KEY",
        "signing_key",
        _read_signing_key,
        "signing key: file:PATH, env:NAME, pkcs11:…, awskms:…, gcpkms:…",
        "a file beside the store",
        True,
    ),
    Setting(
        "QWED_RECORD_KEY",
        "record_key",
        _read_key_place,
        "key that seals records on PostgreSQL: file:PATH or env:NAME",
        "follows from the signing key",
        True,
    ),
    Setting(
        "QWED_PUBLIC_LOG",
        "public_log",
        _read_flag,
        "let anybody read the ledger's tree (hashes alone)",
        "false",
    ),
    Setting("QWED_BASE_URL", "base_url", _read_base_url, "gateway the command line speaks to", "none"),
    Setting("QWED_API_KEY", "api_key", _read_key, "key the command line sends to it", "none", True),
    Setting(
        "QWED_BROKER_KEY",
        "broker_key",
        _read_key,
        "key of the broker",
        "none",
        True,
    ),
    Setting("QWED_LOG_LEVEL", "log_level", _read_log_level, "least severe log line to write", "info"),
    Setting(
        "QWED_DATA_DIR",
        "data_dir",
        _read_path,
        "where signing keys and the security log are kept",
        "the store's directory",
    ),
    Setting(
        "QWED_STARTUP_TRUST_FILE",
        "startup_trust_file",
        _read_path,
        "start-up hooks a person has accepted",
        "~/.config/qwed/startup-trust.json",
    ),
    Setting(
        "QWED_AGENT_TOKEN", "agent_token", _read_key, "token of the agent behind an MCP proxy", "none", True
    ),
    Setting(
        "QWED_MCP_PINS_FILE",
        "mcp_pins_file",
        _read_path,
        "tool definitions of MCP servers that were pinned",
        "~/.config/qwed/mcp-pins.json",
    ),
    Setting(
        "QWED_MCP_LISTEN_TOKEN",
        "mcp_listen_token",
        _read_key,
        "token that clients of an MCP proxy or server over HTTP must send",
        "none",
        True,
    ),
    Setting("QWED_TLS_CERT", "tls_cert", _read_path, "certificate chain, PEM", "none"),
    Setting("QWED_TLS_KEY", "tls_key", _read_path, "private key of the certificate, PEM", "none"),
    Setting("QWED_BEHIND_PROXY", "behind_proxy", _read_flag, "a proxy in front ends TLS", "false"),
    Setting(
        "QWED_PROXY_ADDRESSES",
        "proxy_addresses",
        _read_networks,
        "where that proxy connects from, with commas",
        "anywhere",
    ),
    _bound("max_connections", 16, 100_000, "connections open at once"),
    _bound("max_connections_per_address", 1, 100_000, "of these, from one address; a proxy may have all"),
    _bound("max_listeners", 1, 100_000, "of these, event streams and long polls; half at most"),
    _bound("max_requests_per_connection", 1, 10**9, "requests on one connection"),
    _bound("max_header_bytes", 1_024, 1_048_576, "bytes of a request before its body"),
    _bound("max_headers", 8, 10_000, "headers of a request"),
    _bound("header_seconds", 1, 3_600, "time to send all of them, from the connection on"),
    _bound("request_seconds", 1, 3_600, "time to send the whole request"),
    _bound("answer_seconds", 1, 3_600, "time to read an answer"),
    _bound("idle_seconds", 1, 3_600, "time between two requests on one connection"),
    Setting("QWED_NODE_NAME", "node_name", _read_node_name, "this node's name as an issuer", "local"),
    Setting(
        "QWED_ECT_ISSUERS",
        "ect_issuers",
        _read_path,
        "JSON file: whose execution context tokens are accepted",
        "the registered agents'",
    ),
    Setting(
        "QWED_SMTP_URL",
        "smtp",
        _read_smtp,
        "mail server for notices: smtps://user:password@host, or smtp:// with STARTTLS",
        "none",
        True,
    ),
    Setting(
        "QWED_SMTP_FROM", "smtp_from", _read_sender, "sender of notices by mail", "qwed@ the mail server"
    ),
    Setting(
        "QWED_PUBLIC_URL",
        "public_url",
        _read_base_url,
        "address at which people reach the dashboard",
        "none",
    ),
    Setting(
        "QWED_SLACK_SIGNING_SECRET",
        "slack_signing_secret",
        lambda text: Secret(_read_text(text)),
        "signing secret of your Slack app: its messages get buttons to approve and deny",
        "none: no buttons",
        True,
    ),
    Setting(
        "QWED_OIDC_ISSUER",
        "oidc_issuer",
        _read_issuer,
        "identity provider with which people sign in (OpenID Connect)",
        "none",
    ),
    Setting(
        "QWED_OIDC_CLIENT_ID", "oidc_client_id", _read_text, "what that provider calls this gateway", "none"
    ),
    Setting(
        "QWED_OIDC_CLIENT_SECRET",
        "oidc_client_secret",
        lambda text: Secret(_read_text(text)),
        "the secret that goes with it",
        "none: PKCE alone",
        True,
    ),
    Setting(
        "DOOM_LOOP_GUARD_REQUIRED",
        "doom_loop_guard_required",
        _read_flag,
        "every action must carry a state hash",
        "false",
    ),
)

_BY_VARIABLE: Final = {setting.variable: setting for setting in SETTINGS}
# Read by the Open Responses guards and by the tests, not by the gateway.
_FOREIGN_PREFIX: Final = "QWED_OR_"
_FOREIGN: Final = frozenset({"QWED_VECTORS", "QWED_TIER", "QWED_SANDBOX", "QWED_HOOK_SOCKET"})


def environment() -> Mapping[str, str]:
    """All of it, for who is told the name of a variable that is none of our settings (`env:NAME`)."""
    return os.environ


def read_settings(
    environ: Mapping[str, str] | None = None, options: Mapping[str, str | None] | None = None
) -> Settings:
    """All settings, every mistake reported at once. An empty variable counts as not set.

    `options` are the texts of the command line by field name (None: not given); they win.
    """
    environ = os.environ if environ is None else environ
    mistakes = [_unknown(name) for name in sorted(environ) if _is_unknown(name)]
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        source, text = _find_given(setting, environ, options or {})
        if text is None:
            continue
        try:
            values[setting.field] = setting.read(text)
        except ValueError as error:
            mistakes.append(_invalid(source, setting, text, error))
    if "until" in values and not values.get("observe"):
        mistakes.append("--until ends what --observe starts: say --observe (QWED_OBSERVE=true), too")
    if ("tls_cert" in values) != ("tls_key" in values):
        mistakes.append("QWED_TLS_CERT and QWED_TLS_KEY belong together: set both or neither")
    if values.get("workers", 1) > 1 and not isinstance(values.get("database"), PostgresUrl):
        mistakes.append("--workers above 1 need --database postgresql://…: a SQLite file has one owner")
    if "oidc_issuer" in values and not {"oidc_client_id", "public_url"} <= values.keys():
        mistakes.append("QWED_OIDC_ISSUER needs QWED_OIDC_CLIENT_ID and QWED_PUBLIC_URL, too")
    if values.get("proxy_addresses") and not values.get("behind_proxy"):
        mistakes.append("QWED_PROXY_ADDRESSES names a proxy: say QWED_BEHIND_PROXY=true, too")
    if mistakes:
        raise SettingsError("\n".join(mistakes))
    values.setdefault("data_dir", _directory_of(values.get("database", Settings().database)))
    values.setdefault("startup_trust_file", _own_file(environ, values["data_dir"], "startup-trust.json"))
    values.setdefault("mcp_pins_file", _own_file(environ, values["data_dir"], "mcp-pins.json"))
    return Settings(**values, warnings=_warnings(values))


def _find_given(
    setting: Setting, environ: Mapping[str, str], options: Mapping[str, str | None]
) -> tuple[str, str | None]:
    option = options.get(setting.field)
    if option is not None:
        return f"--{setting.field.replace('_', '-')}", option
    return setting.variable, environ.get(setting.variable) or None


def _is_unknown(name: str) -> bool:
    if not name.startswith("QWED_") or name in _BY_VARIABLE or name in _FOREIGN:
        return False
    return not name.startswith(_FOREIGN_PREFIX)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _BY_VARIABLE, n=1, cutoff=0.75)
    hint = f"; did you mean {near[0]}?" if near else "; see the settings reference for the names there are"
    return f"{name[:80]} is not a setting{hint}"


def _invalid(source: str, setting: Setting, text: str, error: ValueError) -> str:
    given = "its value" if setting.is_secret else _quote(text)
    why = "not UTF-8" if isinstance(error, UnicodeError) else str(error)
    return f"{source}: {given} is not acceptable: {why}"


def _quote(text: str) -> str:
    # An address may hold a password.
    shown = re.sub(r"//[^/@]*@", "//…@", text)
    return ascii(shown if len(shown) <= 80 else shown[:80] + "…")


def _directory_of(database: Path | Memory | PostgresUrl) -> Path:
    return database.parent if isinstance(database, Path) else Path()


def _own_file(environ: Mapping[str, str], data_dir: Path, name: str) -> Path:
    """In the person's own configuration directory: what lies beside the store may come with a project."""
    if environ.get("XDG_CONFIG_HOME", "").startswith("/"):
        return Path(environ["XDG_CONFIG_HOME"]) / "qwed" / name
    if environ.get("HOME", "").startswith("/"):
        return Path(environ["HOME"]) / ".config" / "qwed" / name
    return data_dir / name


def _warnings(values: Mapping[str, Any]) -> tuple[str, ...]:
    key = values.get("operator_key")
    if not isinstance(key, Secret) or len(key.reveal()) >= STRONG_KEY_LENGTH:
        return ()
    return (f"QWED_OPERATOR_KEY has fewer than {STRONG_KEY_LENGTH} characters: use it in tests only",)
