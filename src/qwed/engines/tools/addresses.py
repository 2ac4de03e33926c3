"""IP addresses in every spelling that some resolver accepts, and which of them are not public.

Only arithmetic: nothing is resolved, nothing is looked up.
"""

import ipaddress
import re
from typing import Final

METADATA: Final = "metadata"
LOOPBACK: Final = "loopback"
LINK_LOCAL: Final = "link-local"
PRIVATE: Final = "private"
RESERVED: Final = "reserved"

# First match wins, so the single metadata addresses stand before the ranges that hold them.
_IPV4_PLACES: Final = (
    ("169.254.169.254/32", METADATA),
    ("169.254.170.2/32", METADATA),
    ("169.254.170.23/32", METADATA),
    ("169.254.169.253/32", METADATA),
    ("169.254.0.23/32", METADATA),
    ("100.100.100.200/32", METADATA),
    ("192.0.0.192/32", METADATA),
    ("168.63.129.16/32", METADATA),
    ("127.0.0.0/8", LOOPBACK),
    ("0.0.0.0/8", LOOPBACK),
    ("169.254.0.0/16", LINK_LOCAL),
    ("10.0.0.0/8", PRIVATE),
    ("172.16.0.0/12", PRIVATE),
    ("192.168.0.0/16", PRIVATE),
    ("100.64.0.0/10", PRIVATE),
    ("192.0.0.0/24", RESERVED),
    ("192.0.2.0/24", RESERVED),
    ("192.88.99.0/24", RESERVED),
    ("198.18.0.0/15", RESERVED),
    ("198.51.100.0/24", RESERVED),
    ("203.0.113.0/24", RESERVED),
    ("224.0.0.0/4", RESERVED),
    ("240.0.0.0/4", RESERVED),
)
_IPV6_PLACES: Final = (
    ("fd00:ec2::254/128", METADATA),
    ("fd20:ce::254/128", METADATA),
    ("::1/128", LOOPBACK),
    ("::/128", LOOPBACK),
    ("fe80::/10", LINK_LOCAL),
    ("fec0::/10", PRIVATE),
    ("fc00::/7", PRIVATE),
    ("64:ff9b:1::/48", PRIVATE),
    ("100::/64", RESERVED),
    ("2001:db8::/32", RESERVED),
    ("2001:2::/48", RESERVED),
    ("2001:10::/28", RESERVED),
    ("3fff::/20", RESERVED),
    ("5f00::/16", RESERVED),
    ("ff00::/8", RESERVED),
)


def _as_ranges(places: tuple[tuple[str, str], ...]) -> tuple[tuple[int, int, str], ...]:
    networks = ((ipaddress.ip_network(text), place) for text, place in places)
    return tuple(
        (int(network.network_address), int(network.broadcast_address), place) for network, place in networks
    )


_IPV4_RANGES: Final = _as_ranges(_IPV4_PLACES)
_IPV6_RANGES: Final = _as_ranges(_IPV6_PLACES)
_GLOBAL_UNICAST: Final = (0x2000 << 112, (0x4000 << 112) - 1)
_NUMERIC_LABEL: Final = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_CANONICAL: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}\Z")


def place_of_ipv4(address: int) -> str | None:
    """The kind of non-public place an IPv4 address is in, or None if it is public."""
    for first, last, place in _IPV4_RANGES:
        if first <= address <= last:
            return place
    return None


def place_of_ipv6(address: int) -> str | None:
    for first, last, place in _IPV6_RANGES:
        if first <= address <= last:
            return place
    embedded = _find_embedded_ipv4(address)
    if embedded:
        return next(filter(None, map(place_of_ipv4, embedded)), None)
    if not _GLOBAL_UNICAST[0] <= address <= _GLOBAL_UNICAST[1]:
        return RESERVED
    return None


def _find_embedded_ipv4(address: int) -> list[int]:
    """The IPv4 addresses that a translator or tunnel would reach for this IPv6 address."""
    low = address & 0xFFFFFFFF
    # Compatible ::/96, mapped ::ffff:0:0/96, translated ::ffff:0:0:0/96, NAT64 64:ff9b::/96.
    if address >> 32 in (0, 0xFFFF, 0xFFFF << 16, 0x64FF9B << 64):
        return [low]
    if address >> 112 == 0x2002:
        return [(address >> 80) & 0xFFFFFFFF]
    if address >> 96 == 0x20010000:
        return [(address >> 64) & 0xFFFFFFFF, low ^ 0xFFFFFFFF]
    # ISATAP: the interface identifier is 0000:5efe or 0200:5efe, then the IPv4 address.
    if (address >> 32) & 0xFCFFFFFF == 0x5EFE:
        return [low]
    return []


def looks_numeric(host: str) -> bool:
    """Whether some resolver would read the host as a number: its last label is one."""
    return _NUMERIC_LABEL.match(host.rpartition(".")[2]) is not None


def is_canonical_ipv4(host: str) -> bool:
    return _CANONICAL.match(host) is not None


def read_ipv4(host: str) -> list[int]:
    """Every address that resolvers disagree about for this numeric host; none if nobody accepts it.

    `0127.0.0.1` is octal to one and decimal to another; parts may be hex, short (`127.1`) or one number.
    """
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMERIC_LABEL.match(part) for part in parts) or len(host) > 64:
        return []
    readings = [_combine([_standard_number(part) for part in parts])]
    if any(len(part) > 1 and part[0] == "0" and part.isdigit() for part in parts):
        readings.append(_combine([int(part, 0) if part[:2] in _HEX else int(part) for part in parts]))
    # A resolver that wraps around reads each part modulo its width.
    wrapped = [_standard_number(part) or 0 for part in parts]
    if len(parts) == 4:
        readings.append(_combine([number % 256 for number in wrapped]))
    if len(parts) == 1:
        readings.append(wrapped[0] % 2**32)
    return sorted({reading for reading in readings if reading is not None})


_HEX: Final = ("0x", "0X")


def _standard_number(part: str) -> int | None:
    """A number as the URL standard reads it: 0x is hex, a leading 0 is octal, an empty 0x is zero."""
    if part[:2] in _HEX:
        return int(part[2:] or "0", 16)
    if len(part) > 1 and part[0] == "0":
        return int(part, 8) if all(digit < "8" for digit in part) else None
    return int(part)


def _combine(numbers: list[int | None]) -> int | None:
    *heads, tail = numbers
    if tail is None or tail >= 256 ** (5 - len(numbers)):
        return None
    address = tail
    for index, head in enumerate(heads):
        if head is None or head > 255:
            return None
        address += head << (8 * (3 - index))
    return address


def read_ipv6(text: str) -> int | None:
    """The number of an IPv6 literal without brackets and zone."""
    try:
        return int(ipaddress.IPv6Address(text))
    except ValueError:
        return None


def show_ipv4(address: int) -> str:
    return str(ipaddress.IPv4Address(address))


def show_ipv6(address: int) -> str:
    return str(ipaddress.IPv6Address(address))
