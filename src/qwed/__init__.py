"""QWED: a gateway between AI agents and the world.

An agent proposes; engines prove what can be proven; the gateway decides and records before it answers.
Names are imported when they are first used, so that `import qwed` costs next to nothing.
"""

import importlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwed.installation import describe_intrusion

if TYPE_CHECKING:
    from qwed.domain.registry import ACTION_ENGINES, TOOL_RISK_LEVELS
    from qwed.domain.tools import ToolApprovalSystem
    from qwed.embedded import Gateway
    from qwed.gateway.kernel.answers import RequestError
    from qwed.gateway.kernel.ports import StoreUnavailable

__version__ = "0.1.0"

__all__ = [
    "ACTION_ENGINES",
    "TOOL_RISK_LEVELS",
    "Gateway",
    "RequestError",
    "StoreUnavailable",
    "ToolApprovalSystem",
    "__version__",
]

_HOMES = {
    "ACTION_ENGINES": "qwed.domain.registry",
    "TOOL_RISK_LEVELS": "qwed.domain.registry",
    "Gateway": "qwed.embedded",
    "RequestError": "qwed.gateway.kernel.answers",
    "StoreUnavailable": "qwed.gateway.kernel.ports",
    "ToolApprovalSystem": "qwed.domain.tools",
}

if _intrusion := describe_intrusion(Path(__file__).parents[1]):
    warnings.warn(_intrusion, RuntimeWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        message = f"qwed.{name} needs {missing.name}: pip install 'qwed-gateway[server]'"
        raise ModuleNotFoundError(message, name=missing.name) from missing
    globals()[name] = value
    return value
