"""What a program behind the broker gets: the way to it, whom to trust, and nothing that is worth stealing."""

import contextlib
import ctypes
import resource
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from qwed.broker.callers import RunCaller

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_BUNDLES: Final = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
)
#: Names that would lead around the broker, or bring another trust.
_REMOVED: Final = ("ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_DIR")
_PR_SET_DUMPABLE: Final = 4


def ways_of(caller: RunCaller, address: str, bundle: Path) -> dict[str, str]:
    """The variables that lead to the broker."""
    return {
        **dict.fromkeys(_PROXIES, caller.proxy_url(address)),
        **dict.fromkeys(_BUNDLES, str(bundle)),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "NODE_USE_ENV_PROXY": "1",
        "QWED_BROKER_URL": caller.base_url(address),
    }


def without_credentials(
    environment: Mapping[str, str], names: Collection[str], values: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """What is left for the program, and the names of what was taken out: by name, and by what it holds."""
    taken = sorted(
        name
        for name, value in environment.items()
        if name in names or any(secret in value for secret in values)
    )
    kept = {name: value for name, value in environment.items() if name not in taken and name not in _REMOVED}
    return kept, taken


def hide_memory() -> bool:
    """No other process of this user may read this one's memory or environment, and it leaves no core. Whether
    the system can do that."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
