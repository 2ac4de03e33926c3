"""A connection is an open file: how many the system allows, and what that leaves for connections."""

import resource
from collections.abc import Callable
from typing import Final

import msgspec

from qwed.domain.bounds import Bounds

#: The store, the engines' workers, the log, and those who are told that there is no room.
RESERVED: Final = 256


def within_descriptors(bounds: Bounds, warn: Callable[[str], None]) -> Bounds:
    """The bounds with as many connections as there can be. The system's soft limit is raised for them."""
    wanted = bounds.max_connections + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return bounds
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed >= wanted:
        return bounds
    fewer = max(1, allowed - RESERVED)
    warn(
        f"the system allows {hard} open files, which is enough for {fewer} connections"
        f" instead of {bounds.max_connections}: raise it (ulimit -n, LimitNOFILE=)"
    )
    return msgspec.structs.replace(bounds, max_connections=fewer)
