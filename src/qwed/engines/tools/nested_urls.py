"""URLs inside a URL: a fetching or redirecting server would follow them."""

import re
from typing import Final
from urllib.parse import unquote

from qwed.domain.risk import Risk
from qwed.engines.tools.addresses import METADATA
from qwed.engines.tools.compiled_rules import CompiledRules
from qwed.engines.tools.hosts import Host, place_problem, read_host
from qwed.engines.tools.problems import ArgumentProblem, forbidden
from qwed.engines.tools.url_parts import Url, is_address, split_url
from qwed.engines.words import words

# Schemes that make a fetching server read files or speak other protocols.
_SERVER_SIDE_SCHEMES: Final = words("file gopher dict ldap ldaps tftp jar netdoc phar php expect zip sftp")
# Parameters that hold a place to go to; what is written there without a scheme may still be an address.
_REDIRECT_NAMES: Final = words(
    """
    url uri redirect redirect_uri redirect_url redirecturl redirecturi next target dest destination
    return return_to returnto returnurl return_url goto continue callback callback_url forward out
    link src source site proxy page feed image img fetch load rurl u to webhook
    """
)
# Those of them that hold nothing else: there a whole number is an address too.
_URL_NAMES: Final = re.compile(
    r"(?:.*[_-])?(?:url|uri|proxy|webhook|redirect)|r?url|u|(?:redirect|return)ur[il]"
)
_NESTED_START: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*:[/\\]|[/\\]{2}")
_PAIR_END: Final = re.compile(r"[&;#]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_MAX_NESTED: Final = 40
_MAX_ADDRESS: Final = 300


def redirect_problems(url: Url, compiled: CompiledRules) -> list[ArgumentProblem]:
    problems: list[ArgumentProblem] = []
    if "169.254." in url.path and any(read_host(part).place == METADATA for part in url.path.split("/")):
        problems.append(forbidden("redirect", "the path names a metadata address", url.path, Risk.CRITICAL))
    if ":/" in url.path:
        inner = _NESTED_START.search(url.path.lstrip("/"))
        if inner:
            problems += _find_nested_problems("", url.path.lstrip("/")[inner.start() :], url, compiled)
    if "=" not in url.rest:
        return problems
    for pair in _PAIR_END.split(url.rest[1:], maxsplit=_MAX_NESTED):
        name, _, value = pair.partition("=")
        if value:
            problems += _find_nested_problems(name.lower(), unquote(unquote(value)), url, compiled)
    return problems


def _find_nested_problems(
    name: str, value: str, outer: Url, compiled: CompiledRules
) -> list[ArgumentProblem]:
    if not _NESTED_START.match(value) and not _is_address_in(name, value):
        return []
    inner = split_url(_CONTROL.sub("", value), [], as_host=True)
    if inner.scheme in _SERVER_SIDE_SCHEMES:
        return [forbidden("redirect", f"the URL carries a {inner.scheme} URL", value)]
    if inner.authority is None:
        return []
    host = read_host(_host_of(inner.authority))
    place = place_problem(host)
    if place is not None and not compiled.private.allow(host) and not _is_native_callback(name, host):
        message = f"the URL carries one that leads to a {host.place} place"
        return [forbidden("redirect", message, value, place.risk)]
    if compiled.rules.redirects == "deny" and host.name != read_host(_host_of(outer.authority or "")).name:
        return [forbidden("redirect", "the URL carries a URL of another host", value, Risk.MEDIUM)]
    return []


def _is_address_in(name: str, value: str) -> bool:
    """Whether a value without a scheme is an address; a number is one only where nothing but a URL stands."""
    if name not in _REDIRECT_NAMES and _URL_NAMES.fullmatch(name) is None:
        return False
    if len(value) >= _MAX_ADDRESS or not is_address(value):
        return False
    return not value.isdigit() or _URL_NAMES.fullmatch(name) is not None


def _host_of(authority: str) -> str:
    host_port = authority.rpartition("@")[2]
    bracket = host_port.rfind("]")
    return host_port[: bracket + 1] + host_port[bracket + 1 :].partition(":")[0]


def _is_native_callback(name: str, host: Host) -> bool:
    # RFC 8252 section 7.3: native applications register a loopback address for the answer.
    return name == "redirect_uri" and host.place == "loopback"
