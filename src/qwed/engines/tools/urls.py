"""URLs as an attacker reads them: every client's reading must lead to an allowed, public place.

Where clients disagree about a URL (backslashes, missing slashes, userinfo, control characters, numbers in
odd bases), the URL is refused rather than interpreted. No name is resolved.
"""

import functools
import re
from typing import Final
from urllib.parse import unquote

import msgspec

from qwed.domain.risk import Risk
from qwed.engines.tools.addresses import METADATA
from qwed.engines.tools.hosts import Host, place_problem, read_host
from qwed.engines.tools.patterns import PrivatePlaces, UrlPattern, as_ascii, look_alike
from qwed.engines.tools.problems import Problem, forbidden, malformed
from qwed.engines.tools.rules import UrlRules
from qwed.engines.words import words

MAX_URL: Final = 8_192
DEFAULT_RULES: Final = UrlRules()


class Url(msgspec.Struct, frozen=True):
    """The parts of a URL; `authority` is None for a relative reference."""

    scheme: str
    authority: str | None
    path: str
    rest: str


_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
_BARE_PORT: Final = re.compile(r"[^/?#@:]+:\d{1,5}(?:[/?#]|\Z)")
_BARE_HOST: Final = re.compile(r"[^/?#@\s]+\.[^/?#@\s.]*[^/?#@\s.\d][^/?#@\s.]*\.?(?::\d+)?(?:[/?#]|\Z)")
_BARE_ADDRESS: Final = re.compile(
    r"(?:\[[0-9a-fA-F:.%]+\]|[0-9xXa-fA-F.]*\d[0-9xXa-fA-F.]*)(?::\d+)?(?:[/?#]|\Z)"
)
_AUTHORITY_END: Final = re.compile(r"[/?#]")
_PATH_END: Final = re.compile(r"[?#]")
_PAIR_END: Final = re.compile(r"[&;#]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SPLIT_HEADER: Final = re.compile(
    r"%0d%0a(?:%20|\+)*(?:set-cookie|host|location|content-[a-z]+|transfer-encoding|x-[a-z-]+|user-agent|get|post)\b",
    re.I,
)
_SPECIAL_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
# Ports of services that are not HTTP: a request to one is an attempt to speak to it.
_FOREIGN_PORTS: Final = frozenset(
    {
        *(
            0,
            1,
            7,
            9,
            11,
            13,
            15,
            17,
            19,
            20,
            21,
            22,
            23,
            25,
            37,
            42,
            43,
            53,
            69,
            77,
            79,
            87,
            95,
            101,
            102,
            103,
        ),
        *(
            104,
            109,
            110,
            111,
            113,
            115,
            117,
            119,
            123,
            135,
            137,
            139,
            143,
            161,
            179,
            389,
            427,
            445,
            465,
            512,
            513,
        ),
        *(
            514,
            515,
            526,
            530,
            531,
            532,
            540,
            548,
            554,
            556,
            563,
            587,
            601,
            636,
            873,
            989,
            990,
            993,
            995,
            1433,
        ),
        *(
            1521,
            1719,
            1720,
            1723,
            2049,
            2181,
            3306,
            3389,
            3659,
            4045,
            4190,
            5060,
            5061,
            5432,
            5672,
            5900,
            6000,
        ),
        *(6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 10080, 11211, 27017),
    }
)
# Schemes that make a fetching server read files or speak other protocols.
_SERVER_SIDE_SCHEMES: Final = frozenset(
    {
        "file",
        "gopher",
        "dict",
        "ldap",
        "ldaps",
        "tftp",
        "jar",
        "netdoc",
        "phar",
        "php",
        "expect",
        "zip",
        "sftp",
    }
)
_REDIRECT_NAMES: Final = words(
    """
    url uri redirect redirect_uri redirect_url redirecturl redirecturi next target dest destination
    return return_to returnto returnurl return_url goto continue callback callback_url forward out
    link src source site proxy page feed image img fetch load rurl u to webhook
    """
)
_NESTED_START: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:[/\\]|[/\\]{2}")
_MAX_NESTED: Final = 40


class _Compiled:
    """Rules with their patterns compiled once."""

    def __init__(self, rules: UrlRules) -> None:
        self.rules = rules
        self.schemes = frozenset(scheme.lower() for scheme in rules.schemes)
        self.allow = [UrlPattern(text) for text in rules.allow]
        self.deny = [UrlPattern(text, with_apex=True) for text in rules.deny]
        self.private = PrivatePlaces(rules.private)


@functools.lru_cache(maxsize=64)
def _compiled(rules: UrlRules) -> _Compiled:
    return _Compiled(rules)


def check_rules(rules: UrlRules) -> None:
    """Raises `BadPattern` for a list entry that has no meaning."""
    _compiled(rules)


def inspect_url(text: str, *, rules: UrlRules = DEFAULT_RULES, as_host: bool = False) -> list[Problem]:
    """What is wrong with a URL, a relative reference or a bare host; nothing when the list is empty.

    `as_host`: the text names a host, so a single word is a host and not a relative path.
    """
    stripped = text.strip(" \t\r\n\f\v")
    if not stripped:
        return [malformed("url", "the URL is empty", text)]
    if len(stripped) > MAX_URL:
        return [malformed("url", f"the URL is longer than {MAX_URL} characters", stripped)]
    problems: list[Problem] = []
    if _CONTROL.search(stripped):
        problems.append(forbidden("control-character", "the URL holds a control character", stripped))
        stripped = _CONTROL.sub("", stripped)
    url = _split(stripped, problems, as_host)
    if not url.scheme and url.authority is None:
        return problems + _relative_problems(stripped)
    compiled = _compiled(rules)
    if url.scheme and url.scheme not in compiled.schemes:
        problems.append(forbidden("scheme", f"the scheme {url.scheme!r} is not allowed", stripped))
    if url.authority is not None:
        problems += _authority_problems(url, compiled)
    return problems + _rest_problems(url, compiled)


def _split(text: str, problems: list[Problem], as_host: bool) -> Url:
    """The parts as a browser finds them; what other clients would split otherwise becomes a problem."""
    scheme_match = None if _BARE_PORT.match(text) else _SCHEME.match(text)
    scheme = scheme_match[1].lower() if scheme_match else ""
    after = text[scheme_match.end() :] if scheme_match else text
    if "\\" in after.partition("?")[0]:
        problems.append(forbidden("backslash", "clients disagree about a backslash in a URL", text))
        after = after.replace("\\", "/")
    if scheme:
        return _split_absolute(scheme, after, text, problems)
    if after.startswith("//"):
        return _with_authority("", after.lstrip("/"))
    if as_host or _is_bare_host(after):
        return _with_authority("", after)
    return Url("", None, after, "")


def _split_absolute(scheme: str, after: str, text: str, problems: list[Problem]) -> Url:
    slashes = len(after) - len(after.lstrip("/"))
    if scheme in _SPECIAL_PORTS:
        if slashes != 2:
            problems.append(
                forbidden("slashes", f"{scheme}: is followed by {slashes} slashes instead of 2", text)
            )
        return _with_authority(scheme, after.lstrip("/"))
    if slashes >= 2:
        return _with_authority(scheme, after[2:])
    return Url(scheme, None, after, "")


def _with_authority(scheme: str, after: str) -> Url:
    end = _AUTHORITY_END.search(after)
    if end is None:
        return Url(scheme, after, "", "")
    authority, remainder = after[: end.start()], after[end.start() :]
    cut = _PATH_END.search(remainder)
    if cut is None:
        return Url(scheme, authority, remainder, "")
    return Url(scheme, authority, remainder[: cut.start()], remainder[cut.start() :])


def _is_bare_host(text: str) -> bool:
    first = _AUTHORITY_END.split(text, maxsplit=1)[0]
    if not first or first.startswith("."):
        return False
    return bool(
        _BARE_PORT.match(text)
        or _BARE_HOST.match(text)
        or _BARE_ADDRESS.match(text)
        or "@" in first
        or read_host(first).place not in (None, "private")
    )


def _relative_problems(text: str) -> list[Problem]:
    """A relative reference stays on the host the tool was built for, as long as it does not climb."""
    if ":" in _AUTHORITY_END.split(text, maxsplit=1)[0]:
        return [malformed("url", "a colon before the first slash makes this neither a URL nor a path", text)]
    depth = 0
    for segment in unquote(unquote(text.partition("?")[0])).split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(segment, 1)
        if depth < 0:
            return [forbidden("traversal", "the reference climbs out of its base", text)]
    return []


def _authority_problems(url: Url, compiled: _Compiled) -> list[Problem]:
    assert url.authority is not None
    problems: list[Problem] = []
    userinfo, at, host_port = url.authority.rpartition("@")
    if at and not compiled.rules.credentials:
        problems.append(forbidden("userinfo", "what stands before the @ is not the host", url.authority))
    if at and ("@" in userinfo or "%" in userinfo or " " in userinfo):
        problems.append(forbidden("userinfo", "clients disagree about where the host begins", url.authority))
    raw_host, port = _split_port(host_port, url.scheme, compiled, problems)
    host = read_host(raw_host)
    problems += host.problems
    problems += _host_problems(url, host, port, compiled)
    problems += _other_host_problems(url, compiled)
    return problems


def _split_port(
    host_port: str, scheme: str, compiled: _Compiled, problems: list[Problem]
) -> tuple[str, int | None]:
    bracket = host_port.rfind("]")
    raw_host, colon, digits = host_port[bracket + 1 :].partition(":")
    raw_host = host_port[: bracket + 1] + raw_host
    default = _SPECIAL_PORTS.get(scheme, 443)
    if not colon or not digits:
        return raw_host, default
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 8 or int(digits) > 65_535:
        problems.append(malformed("port", "the port is not a number up to 65535", host_port))
        return raw_host, None
    port = int(digits)
    if compiled.rules.ports and port not in compiled.rules.ports:
        problems.append(forbidden("port", f"port {port} is not among the allowed ports", host_port))
    elif not compiled.rules.ports and port in _FOREIGN_PORTS and scheme != "ftp":
        problems.append(forbidden("port", f"port {port} belongs to a service that is not HTTP", host_port))
    return raw_host, port


def _host_problems(url: Url, host: Host, port: int | None, compiled: _Compiled) -> list[Problem]:
    problems: list[Problem] = []
    place = place_problem(host)
    if place is not None and not compiled.private.allow(host):
        problems.append(place)
    if not compiled.allow and not compiled.deny:
        return problems
    scheme = url.scheme or "https"
    name, path = as_ascii(host.name), unquote(url.path) or "/"
    if compiled.allow and not any(entry.matches(scheme, name, port, path) for entry in compiled.allow):
        problems.append(forbidden("allow-list", "the URL is not on the allow list", name, Risk.MEDIUM))
    elif compiled.allow and ".." in unquote(path):
        problems.append(forbidden("traversal", "the path climbs, so the allow list can't hold it", path))
    names = {name, look_alike(host.name)}
    if any(entry.matches(scheme, seen, port, path) for entry in compiled.deny for seen in names):
        problems.append(forbidden("deny-list", "the URL is on the deny list", name))
    return problems


def _other_host_problems(url: Url, compiled: _Compiled) -> list[Problem]:
    """`http://good.example#@10.0.0.1/`: an older client looks for the host behind the @."""
    if url.path or "@" not in url.rest:
        return []
    before, _, after = url.rest.partition("@")
    if before == "?" or (before.startswith("#") and "/" not in before):
        return [forbidden("userinfo", "clients disagree about where the host begins", url.rest)]
    other = _AUTHORITY_END.split(after, maxsplit=1)[0]
    host = read_host(other.rpartition("@")[2].partition(":")[0])
    place = place_problem(host)
    if place is None or (host.place == "private" and "." not in host.name) or compiled.private.allow(host):
        return []
    return [place]


def _rest_problems(url: Url, compiled: _Compiled) -> list[Problem]:
    problems: list[Problem] = []
    if "%0" in url.path and re.search("%0d%0a|%00", url.path, re.I):
        problems.append(forbidden("header-injection", "the path holds an encoded line break", url.path))
    elif "%0" in url.rest and _SPLIT_HEADER.search(url.rest):
        problems.append(forbidden("header-injection", "the query smuggles a header", url.rest))
    if compiled.rules.redirects != "allow":
        problems += _redirect_problems(url, compiled)
    return problems


def _redirect_problems(url: Url, compiled: _Compiled) -> list[Problem]:
    """URLs inside the URL: a fetching or redirecting server would follow them."""
    problems: list[Problem] = []
    if "169.254." in url.path and any(read_host(part).place == METADATA for part in url.path.split("/")):
        problems.append(forbidden("redirect", "the path names a metadata address", url.path, Risk.CRITICAL))
    if ":/" in url.path:
        inner = _NESTED_START.search(url.path.lstrip("/"))
        if inner:
            problems += _nested_problems("", url.path.lstrip("/")[inner.start() :], url, compiled)
    if "=" not in url.rest:
        return problems
    for pair in _PAIR_END.split(url.rest[1:], maxsplit=_MAX_NESTED):
        name, _, value = pair.partition("=")
        if value:
            problems += _nested_problems(name.lower(), unquote(unquote(value)), url, compiled)
    return problems


def _nested_problems(name: str, value: str, outer: Url, compiled: _Compiled) -> list[Problem]:
    is_url = _NESTED_START.match(value) is not None
    if not is_url and not (name in _REDIRECT_NAMES and len(value) < 300 and _BARE_ADDRESS.match(value)):
        return []
    inner = _split(_CONTROL.sub("", value), [], as_host=True)
    if inner.scheme in _SERVER_SIDE_SCHEMES:
        return [forbidden("redirect", f"the URL carries a {inner.scheme} URL", value)]
    if inner.authority is None:
        return []
    host = read_host(_split_port(inner.authority.rpartition("@")[2], inner.scheme, compiled, [])[0])
    place = place_problem(host)
    if place is not None and not compiled.private.allow(host) and not _is_native_callback(name, host):
        return [
            forbidden(
                "redirect", f"the URL carries one that leads to a {host.place} place", value, place.risk
            )
        ]
    if compiled.rules.redirects == "deny" and host.name != _host_name(outer):
        return [forbidden("redirect", "the URL carries a URL of another host", value, Risk.MEDIUM)]
    return []


def _is_native_callback(name: str, host: Host) -> bool:
    # RFC 8252 section 7.3: native applications register a loopback address for the answer.
    return name == "redirect_uri" and host.place == "loopback"


def _host_name(url: Url) -> str:
    return read_host((url.authority or "").rpartition("@")[2].partition(":")[0]).name
