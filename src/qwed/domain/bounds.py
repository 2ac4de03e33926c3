"""What a peer may use of a server before anybody knows who it is."""

import ipaddress

import msgspec

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Of IPv6 addresses this many bits tell one network from the next: whoever has one has all of the rest.
_IPV6_BITS = 64


class Bounds(msgspec.Struct, frozen=True):
    """Of one process. Times are seconds, and hold for the whole of what they name, not for its next byte.

    `listeners` are event streams and long polls: connections on which nothing happens for long.
    """

    max_header_bytes: int = 65_536
    max_headers: int = 128
    header_seconds: int = 10
    request_seconds: int = 60
    answer_seconds: int = 60
    idle_seconds: int = 75
    max_requests_per_connection: int = 1_000
    max_connections: int = 1_024
    max_connections_per_address: int = 256
    max_listeners: int = 256

    @property
    def listeners(self) -> int:
        """However many may listen: half of the connections are left for those who ask."""
        return min(self.max_listeners, self.max_connections // 2)


class Proxies(msgspec.Struct, frozen=True):
    """Who stands in front of the server: nobody, anybody who connects, or these networks."""

    is_used: bool = False
    networks: tuple[Network, ...] = ()

    def include(self, host: str) -> bool:
        """Whether what connects from there is a proxy, and speaks for others."""
        if not self.is_used or not self.networks:
            return self.is_used
        address = _read_address(host)
        return address is not None and any(address in network for network in self.networks)


def neighbourhood(host: str) -> str:
    """What is counted as one address."""
    if ":" not in host:
        return host
    address = _read_address(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), _IPV6_BITS), strict=False))
    return host if address is None else str(address)


def _read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
