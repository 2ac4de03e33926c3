"""What can be proven about an action: one engine per kind of content, one protocol for all.

Names are imported when they are first used: `import qwed.engines` alone costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qwed.domain.actions import Action
    from qwed.domain.findings import Failure, Finding, Status
    from qwed.domain.risk import Risk
    from qwed.engines.catalogue import EngineRules, build_engine
    from qwed.engines.facade import Engines, verify
    from qwed.engines.pool import WorkerPool
    from qwed.engines.protocol import Engine

__all__ = [
    "Action",
    "Engine",
    "EngineRules",
    "Engines",
    "Failure",
    "Finding",
    "Risk",
    "Status",
    "WorkerPool",
    "build_engine",
    "verify",
]

_HOMES = {
    "Action": "qwed.domain.actions",
    "Engine": "qwed.engines.protocol",
    "EngineRules": "qwed.engines.catalogue",
    "Engines": "qwed.engines.facade",
    "Failure": "qwed.domain.findings",
    "Finding": "qwed.domain.findings",
    "Risk": "qwed.domain.risk",
    "Status": "qwed.domain.findings",
    "WorkerPool": "qwed.engines.pool",
    "build_engine": "qwed.engines.catalogue",
    "verify": "qwed.engines.facade",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
