"""URLs as an attacker reads them: every client's reading must lead to an allowed, public place.

Where clients disagree about a URL (backslashes, missing slashes, userinfo, control characters, numbers in
odd bases), the URL is refused rather than interpreted. No name is resolved.
"""

import re
from typing import Final
from urllib.parse import unquote

from qwed.domain.risk import Risk
from qwed.engines.tools.compiled_rules import CompiledRules, compile_rules
from qwed.engines.tools.hosts import Host, place_problem, read_host
from qwed.engines.tools.nested_urls import redirect_problems
from qwed.engines.tools.patterns import as_ascii, look_alike
from qwed.engines.tools.ports import FOREIGN_PORTS, SPECIAL_PORTS
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed
from qwed.engines.tools.rules import UrlRules
from qwed.engines.tools.url_parts import AUTHORITY_END, Url, split_url

MAX_URL: Final = 8_192
DEFAULT_RULES: Final = UrlRules()


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SPLIT_HEADER: Final = re.compile(
    r"%0d%0a(?:%20|\+)*(?:set-cookie|host|location|content-[a-z]+|transfer-encoding|x-[a-z-]+|user-agent|get|post)\b",
    re.I,
)


def check_rules(rules: UrlRules) -> None:
    """Raises `BadPattern` for a list entry that has no meaning."""
    compile_rules(rules)


def inspect_url(
    text: str, *, rules: UrlRules = DEFAULT_RULES, as_host: bool = False
) -> list[ArgumentProblem]:
    """What is wrong with a URL, a relative reference or a bare host; nothing when the list is empty.

    `as_host`: the text names a host, so a single word is a host and not a relative path.
    """
    stripped = text.strip(" \t\r\n\f\v")
    if not stripped:
        return [malformed("url", "the URL is empty", text)]
    if len(stripped) > MAX_URL:
        return [malformed("url", f"the URL is longer than {MAX_URL} characters", stripped)]
    problems: list[ArgumentProblem] = []
    if _CONTROL.search(stripped):
        problems.append(forbidden("control-character", "the URL holds a control character", stripped))
        stripped = _CONTROL.sub("", stripped)
    url = split_url(stripped, problems, as_host)
    if not url.scheme and url.authority is None:
        return problems + _relative_problems(stripped)
    compiled = compile_rules(rules)
    if url.scheme and url.scheme not in compiled.schemes:
        problems.append(forbidden("scheme", f"the scheme {url.scheme!r} is not allowed", stripped))
    if url.authority is not None:
        problems += _authority_problems(url, compiled)
    return problems + _rest_problems(url, compiled)


def _relative_problems(text: str) -> list[ArgumentProblem]:
    """A relative reference stays on the host the tool was built for, as long as it does not climb."""
    if ":" in AUTHORITY_END.split(text, maxsplit=1)[0]:
        return [malformed("url", "a colon before the first slash makes this neither a URL nor a path", text)]
    depth = 0
    for segment in unquote(unquote(text.partition("?")[0])).split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(segment, 1)
        if depth < 0:
            return [forbidden("traversal", "the reference climbs out of its base", text)]
    return []


def _authority_problems(url: Url, compiled: CompiledRules) -> list[ArgumentProblem]:
    assert url.authority is not None
    problems: list[ArgumentProblem] = []
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
    host_port: str, scheme: str, compiled: CompiledRules, problems: list[ArgumentProblem]
) -> tuple[str, int | None]:
    bracket = host_port.rfind("]")
    raw_host, colon, digits = host_port[bracket + 1 :].partition(":")
    raw_host = host_port[: bracket + 1] + raw_host
    default = SPECIAL_PORTS.get(scheme, 443)
    if not colon or not digits:
        return raw_host, default
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 8 or int(digits) > 65_535:
        problems.append(malformed("port", "the port is not a number up to 65535", host_port))
        return raw_host, None
    port = int(digits)
    if compiled.rules.ports and port not in compiled.rules.ports:
        problems.append(forbidden("port", f"port {port} is not among the allowed ports", host_port))
    elif not compiled.rules.ports and port in FOREIGN_PORTS and scheme != "ftp":
        problems.append(forbidden("port", f"port {port} belongs to a service that is not HTTP", host_port))
    return raw_host, port


def _host_problems(url: Url, host: Host, port: int | None, compiled: CompiledRules) -> list[ArgumentProblem]:
    problems: list[ArgumentProblem] = []
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


def _other_host_problems(url: Url, compiled: CompiledRules) -> list[ArgumentProblem]:
    """`http://good.example#@10.0.0.1/`: an older client looks for the host behind the @."""
    if url.path or "@" not in url.rest:
        return []
    before, _, after = url.rest.partition("@")
    if before == "?" or (before.startswith("#") and "/" not in before):
        return [forbidden("userinfo", "clients disagree about where the host begins", url.rest)]
    other = AUTHORITY_END.split(after, maxsplit=1)[0]
    host = read_host(other.rpartition("@")[2].partition(":")[0])
    place = place_problem(host)
    if place is None or (host.place == "private" and "." not in host.name) or compiled.private.allow(host):
        return []
    return [place]


def _rest_problems(url: Url, compiled: CompiledRules) -> list[ArgumentProblem]:
    problems: list[ArgumentProblem] = []
    if "%0" in url.path and re.search("%0d%0a|%00", url.path, re.I):
        problems.append(forbidden("header-injection", "the path holds an encoded line break", url.path))
    elif "%0" in url.rest and _SPLIT_HEADER.search(url.rest):
        problems.append(forbidden("header-injection", "the query smuggles a header", url.rest))
    if compiled.rules.redirects != "allow":
        problems += redirect_problems(url, compiled)
    return problems
