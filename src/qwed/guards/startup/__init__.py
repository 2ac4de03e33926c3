"""What Python ran before the gateway: `.pth` files, `sitecustomize`, `usercustomize`, `PYTHONPATH`.

The guard explains each by its content, reads it without running any of it, and stops the start for
what it cannot explain. It runs in the interpreter that it judges: it finds the hook that someone
left behind, not the attacker who has already replaced Python itself or an installed module.
"""

from qwed.guards.startup.findings import StartupFinding
from qwed.guards.startup.guard import StartupHookGuard
from qwed.guards.startup.trust_file import accept, load_accepted

__all__ = ["StartupFinding", "StartupHookGuard", "accept", "load_accepted"]
