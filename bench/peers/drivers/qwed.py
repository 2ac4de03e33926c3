"""The `qwed` package of the index. In-process it judges commands, paths and statements, not tools."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from qwed_sdk.guards import SystemGuard


def works():
    guard = SystemGuard(allowed_paths=[str(Path.cwd())])
    inside = str(Path.cwd() / "orders")

    def decide(number):
        assert guard.verify_file_access(f"{inside}/{number}.txt")["verified"]

    assert not guard.verify_file_access("/etc/shadow")["verified"]
    return {"decision": decide}
