"""The section `broker`: hosts that an agent reaches without having their credentials."""

import re
from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.broker_rules import BASE64_MARK, PLAIN_MARK, BrokerHost, BrokerRules, HeaderInjection
from qwed.policy import readers
from qwed.policy.readers import PolicyReading, Reader
from qwed.policy.yaml_text import YamlNode

_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME: Final = rf"{_LABEL}(?:\.{_LABEL}){{0,20}}"
_HOST: Final = re.compile(_NAME)
_ROUTE: Final = re.compile(r"[A-Z]{1,16} /[^\s?#]{0,500}")
_HEADER_NAME: Final = r"[A-Za-z][A-Za-z0-9-]{0,63}"
#: They say how a message ends or where it goes: nobody may choose them.
_RESERVED: Final = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "upgrade",
        "te",
        "trailer",
        "accept-encoding",
    }
)
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SOURCE: Final = readers.matching(
    r"env:[A-Za-z_][A-Za-z0-9_]{0,127}|file:/[^\x00-\x1f]{1,500}|exec:/[^\x00-\x1f]{1,500}",
    "env:NAME, file:/absolute/path or exec:/absolute/path with its arguments",
)
_TUNNEL: Final = readers.matching(rf"{_NAME}(?::[0-9]{{1,5}})?", "a host, or host:port")
_ADDRESS: Final = readers.matching(
    rf"https://{_NAME}(?::[0-9]{{1,5}})?|http://(?:127\.0\.0\.1|localhost)(?::[0-9]{{1,5}})?",
    "an https address, or an http one of this machine",
)


def _header(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    found = readers.matching(_HEADER_NAME, "the name of a header")(reading, node, path)
    if isinstance(found, str) and found.lower() in _RESERVED:
        return reading.fail(node.line, path, f"{found} belongs to the connection, and can't be chosen")
    return found


def _format(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    found = readers.text(reading, node, path)
    if not isinstance(found, str):
        return found
    marks = found.count(PLAIN_MARK) + found.count(BASE64_MARK)
    if marks != 1 or not found.isascii() or not found.isprintable():
        return reading.fail(node.line, path, "is ASCII with one {} or {base64}, where the credential stands")
    return found


def _host_name(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if _HOST.fullmatch(key) and len(key) <= 253:
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a host: its name in lower case, without a port")
    return False


def _route(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if _ROUTE.fullmatch(key) and key.partition(" ")[0] in _METHODS:
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not a route such as 'POST /v1/payments/{{account}}'")
    return False


def _field(reading: PolicyReading, line: int, path: str, key: str) -> bool:
    if key.isprintable() and 0 < len(key) <= readers.MAX_TEXT:
        return True
    reading.fail(line, path, f"{readers.shown(key)} is not the name of a field")
    return False


_INJECT: Final[Mapping[str, Reader]] = {"header": _header, "from": _SOURCE, "format": _format}
_ENTRY: Final[Mapping[str, Reader]] = {
    "inject": readers.fields(_INJECT),
    "actions": readers.list_of(readers.text, 64),
    "methods": readers.list_of(readers.one_of("method", _METHODS), len(_METHODS)),
    "routes": readers.mapping_of(_route, readers.text),
    "fields": readers.mapping_of(_field, readers.one_of("kind", ("text", "integer", "number", "boolean"))),
    "headers": readers.list_of(_header, 64),
    "audience": readers.optional(readers.text),
    "address": readers.optional(_ADDRESS),
    "body": readers.map_reader(
        readers.one_of("way to name a body", ("fields", "hash")), lambda way: way == "hash"
    ),
}


def _entry(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = dict(readers.fields(_ENTRY)(reading, node, path))
    inject = dict(given.pop("inject", {}))
    if "header" not in inject or "from" not in inject:
        return reading.fail(
            node.line, f"{path}.inject", "needs a header, and from: where its value comes from"
        )
    if not given.get("routes") and not (given.get("actions") and given.get("methods")):
        return reading.fail(
            node.line, path, "needs routes, or actions and methods: which requests are which action"
        )
    return BrokerHost(
        HeaderInjection(inject["header"], inject["from"], inject.get("format", PLAIN_MARK)),
        is_hashed=given.pop("body", False),
        **given,
    )


BROKER: Final[Mapping[str, Reader]] = {
    "pass": readers.list_of(_TUNNEL, 1_000),
    "hosts": readers.mapping_of(_host_name, _entry),
}


def broker(reading: PolicyReading, node: YamlNode, path: str) -> Any:
    given = readers.fields(BROKER)(reading, node, path)
    tunnels = tuple(name if ":" in name else f"{name}:443" for name in given.get("pass", ()))
    hosts = given.get("hosts", {})
    for name in tunnels:
        if name.partition(":")[0] in hosts:
            reading.fail(node.line, path, f"{name} is under hosts as well: it is opened, or it is not")
    return BrokerRules(tunnels, hosts)
