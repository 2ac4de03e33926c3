"""Where a host name or address leads, without asking any resolver.

A host is read the way the most lenient client would read it: percent-decoded, compatibility forms and
ideographic dots folded, invisible characters dropped, numbers in every base. If any reading leads to a
place that is not public, that is the answer.
"""

import functools
import re
import unicodedata
from typing import Final
from urllib.parse import unquote

import msgspec

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk
from qwed.domain.skeleton import skeleton, without_invisible
from qwed.engines.tools import addresses
from qwed.engines.tools.addresses import LOOPBACK, METADATA, PRIVATE
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided

MAX_HOST: Final = 253


class Host(msgspec.Struct, frozen=True):
    """`name` is the normalised host; `place` says which kind of non-public place it is, if any."""

    name: str
    place: str | None = None
    problems: tuple[ArgumentProblem, ...] = ()
    address: int | None = None


_METADATA_NAMES: Final = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "metadata.platformequinix.com",
        "metadata.packet.net",
        "rancher-metadata",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
_LOOPBACK_NAMES: Final = frozenset(
    {
        "localhost",
        "localhost.localdomain",
        "localhost6",
        "localhost6.localdomain6",
        "ip6-localhost",
        "ip6-loopback",
        "loopback",
        "broadcasthost",
    }
)
# Public names whose owners point them at the loopback address.
_LOOPBACK_DOMAINS: Final = frozenset(
    {
        "localhost",
        "localtest.me",
        "lvh.me",
        "vcap.me",
        "lacolhost.com",
        "localh.st",
        "localho.st",
        "local.gd",
        "fuf.me",
        "ulh.us",
        "yoogle.com",
        "spoofed.burpcollaborator.net",
        "bugbounty.dod.network",
        "mail.ebc.apple.com",
        "n-pn.info",
    }
)
_INTERNAL_SUFFIXES: Final = frozenset(
    {
        "local",
        "internal",
        "intranet",
        "intra",
        "corp",
        "lan",
        "home",
        "private",
        "localdomain",
        "svc",
        "consul",
        "nomad",
        "mesh",
        "home.arpa",
    }
)
# Names under these resolve to the address spelled in the name.
_WILDCARD_DNS: Final = frozenset(
    {"nip.io", "sslip.io", "xip.io", "xip.name", "traefik.me", "plex.direct", "backname.io", "local-ip.co"}
)
# Names under these change their address between two look-ups; that is what they are for.
_REBINDING_DNS: Final = frozenset({"rbndr.us", "1u.ms", "rebind.network", "rebind.it"})

_PLAIN_NAME: Final = re.compile(
    r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)+\Z"
)
_IDEOGRAPHIC_DOTS: Final = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": ".", "\u2024": "."})
_DOTTED: Final = re.compile(r"(?:^|\.)(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?=\.)")
_DASHED: Final = re.compile(r"(?:^|[.-])(\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})(?=[.-])")
_HEX_LABEL: Final = re.compile(r"(?:^|[.-])([0-9a-f]{8})(?=\.)")
# Scripts whose letters pass for Latin ones: Greek, Cyrillic, Armenian, Cherokee.
_LOOK_ALIKE_SCRIPT: Final = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff]")
_LATIN: Final = re.compile("[a-z]")


@functools.lru_cache(maxsize=4_096)
def read_host(raw: str) -> Host:
    """Normalise a host as written in a URL, and say where it leads."""
    if len(raw) > 4 * MAX_HOST:
        return Host(raw[:80], None, (malformed("host", "the host is too long", raw),))
    host, problems = _decode(raw)
    if host.startswith("[") or ":" in host:
        return _ipv6_host(host, problems)
    bare = host.rstrip(".")
    if len(host) - len(bare) > 1:
        problems.append(malformed("host", "the host ends in more than one dot", host))
    if not bare:
        return Host("", None, (*problems, malformed("host", "the host is empty", raw)))
    if addresses.looks_numeric(bare):
        return _ipv4_host(bare, problems)
    return _read_named_host(bare, problems)


def _decode(raw: str) -> tuple[str, list[ArgumentProblem]]:
    problems: list[ArgumentProblem] = []
    host = raw
    if "%" in host and not host.startswith("["):
        host = unquote(host)
        problems.append(forbidden("encoded-host", "the host is percent-encoded", host))
    if not host.isascii():
        host = without_invisible(host.translate(_IDEOGRAPHIC_DOTS))
        host = unicodedata.normalize("NFKC", host).translate(_IDEOGRAPHIC_DOTS)
        host = "".join(map(_ascii_digit, host)).lower()
        if host.isascii():
            problems.append(forbidden("disguised-host", "the host is written in look-alike characters", host))
    return host.lower(), problems


def _ipv6_host(host: str, problems: list[ArgumentProblem]) -> Host:
    literal, bracket, rest = host.removeprefix("[").partition("]")
    if not host.startswith("[") or not bracket or rest:
        problems.append(malformed("host", "the host is not a name or an address", host))
    literal, zone_sign, _ = literal.partition("%")
    address = addresses.read_ipv6(literal)
    if address is None:
        return _read_bracketed_ipv4(host, literal, problems)
    name = f"[{addresses.show_ipv6(address)}]"
    if zone_sign:
        problems.append(forbidden("zone-id", "an address with a zone is link-local", host))
    return Host(name, addresses.place_of_ipv6(address), tuple(problems), address)


def _read_bracketed_ipv4(host: str, literal: str, problems: list[ArgumentProblem]) -> Host:
    problems.append(malformed("host", "the brackets hold no IPv6 address", host))
    readings = addresses.read_ipv4(literal) if addresses.looks_numeric(literal) else []
    return Host(host, _first_place(readings), tuple(problems))


def _ipv4_host(host: str, problems: list[ArgumentProblem]) -> Host:
    readings = addresses.read_ipv4(host)
    if not readings:
        problems.append(malformed("host", "the host ends in a number but is no IPv4 address", host))
        return Host(host, None, tuple(problems))
    name = addresses.show_ipv4(readings[0])
    if not addresses.is_canonical_ipv4(host) or len(readings) > 1:
        problems.append(forbidden("obscure-address", f"the host is another spelling of {name}", host))
    return Host(name, _first_place(readings), tuple(problems), readings[0])


def _first_place(readings: list[int]) -> str | None:
    return next(filter(None, map(addresses.place_of_ipv4, readings)), None)


def _read_named_host(host: str, problems: list[ArgumentProblem]) -> Host:
    if len(host) > MAX_HOST or any(len(label) > 63 for label in host.split(".")):
        problems.append(malformed("host", "a host has at most 253 characters, a label 63", host))
    elif not _PLAIN_NAME.match(host) and "." in host:
        problems += _odd_name(host)
    elif "xn--" in host:
        problems += _homograph(host, _from_punycode(host))
    if "." not in host and not host.replace("-", "").replace("_", "").isalnum():
        problems.append(malformed("host", "the host holds a character that no host has", host))
    return Host(host, _place_of_name(host), tuple(problems))


def _odd_name(host: str) -> list[ArgumentProblem]:
    for label in host.split("."):
        plain = label.replace("-", "").replace("_", "")
        if not plain or not all(character.isalnum() or _is_mark_or_symbol(character) for character in plain):
            return [malformed("host", "the host holds a character that no host has", host)]
    return _homograph(host, _from_punycode(host)) if not host.isascii() or "xn--" in host else []


def _ascii_digit(character: str) -> str:
    """Digits of every script count as digits: some clients hand them to a function that takes them all."""
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def _is_mark_or_symbol(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Mc", "So")


def _homograph(host: str, decoded: str | None) -> list[ArgumentProblem]:
    """Names that pass for others: Latin mixed with a look-alike script, or look-alikes alone."""
    if decoded is None:
        return [malformed("host", "a label is not valid punycode", host)]
    *labels, top = decoded.split(".")
    for label in labels:
        if not _LOOK_ALIKE_SCRIPT.search(label):
            continue
        if _LATIN.search(label):
            return [forbidden("homograph", "a label mixes Latin with look-alike letters", decoded)]
        if top.isascii() and skeleton(label).isascii():
            return [undecided("homograph", f"{label!r} looks like {skeleton(label)!r}", decoded)]
    return []


def _from_punycode(host: str) -> str | None:
    try:
        return ".".join(
            label[4:].encode("ascii").decode("punycode") if label.startswith("xn--") else label
            for label in host.split(".")
        )
    except (UnicodeError, OverflowError, ValueError):
        return None


def _place_of_name(host: str) -> str | None:
    if host in _METADATA_NAMES:
        return METADATA
    if host in _LOOPBACK_NAMES:
        return LOOPBACK
    if not host.isascii():
        folded = ".".join(skeleton(label).replace("_", "-") for label in host.split("."))
        if folded != host and folded.isascii():
            return _place_of_name(folded)
    domain, _, top = host.rpartition(".")
    if not domain or top in _INTERNAL_SUFFIXES:
        return PRIVATE
    parent = f"{domain.rpartition('.')[2]}.{top}"
    if top == "localhost" or _is_under(host, _LOOPBACK_DOMAINS):
        return LOOPBACK
    if parent in _INTERNAL_SUFFIXES or parent in _REBINDING_DNS:
        return PRIVATE
    return _place_spelled_in(host, parent)


def _is_under(host: str, domains: frozenset[str]) -> bool:
    while host:
        if host in domains:
            return True
        host = host.partition(".")[2]
    return False


def _place_spelled_in(host: str, parent: str) -> str | None:
    """An address inside a name: `169.254.169.254.nip.io`, and `127.0.0.1.example.com` too."""
    readings = [reading for match in _DOTTED.finditer(host) for reading in addresses.read_ipv4(match[1])]
    if parent in _WILDCARD_DNS:
        for match in _DASHED.finditer(host):
            readings += addresses.read_ipv4(match[1].replace("-", "."))
        # Such a service knows more spellings than these: what is not plainly public is not.
        if not readings or _HEX_LABEL.search(host):
            return PRIVATE
    return _first_place(readings) if readings else None


_PLACE_RISK: Final = {METADATA: Risk.CRITICAL}


def place_problem(host: Host) -> ArgumentProblem | None:
    """The refusal for a host that leads to a place that is not public."""
    if host.place is None:
        return None
    message = f"the host leads to a {host.place} place"
    return ArgumentProblem(
        f"{host.place}-address", message, host.name, Failure.FORBIDDEN, _PLACE_RISK.get(host.place, Risk.HIGH)
    )
