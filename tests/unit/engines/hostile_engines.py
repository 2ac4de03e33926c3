"""Engines that misbehave on demand: `action.query` says how. Loaded by real workers."""

import ctypes
import os
import time
from decimal import Decimal
from pathlib import Path

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk


class HostileEngine:
    name = "hostile"

    def is_quick(self, action: Action) -> bool:
        return False

    def verify(self, action: Action) -> Finding:
        misdeed = getattr(self, f"_{action.query}")
        evidence = misdeed(action)
        return Finding(Status.VERIFIED, Risk.LOW, self.name, "done", evidence)

    def _behave(self, action: Action) -> dict[str, object]:
        return {"pid": os.getpid(), "parameters": action.parameters}

    def _types(self, action: Action) -> dict[str, object]:
        return {"types": [type(value).__name__ for value in action.parameters["values"]]}

    def _sleep(self, action: Action) -> dict[str, object]:
        time.sleep(float(action.parameters["seconds"]))
        return {}

    def _wait(self, action: Action) -> dict[str, object]:
        while not Path(str(action.parameters["path"])).exists():
            time.sleep(0.01)
        return {}

    def _spin(self, action: Action) -> dict[str, object]:
        while True:
            pass

    def _allocate(self, action: Action) -> dict[str, object]:
        hoard = []
        while True:
            hoard.append(bytes(16 * 1024 * 1024))

    def _segfault(self, action: Action) -> dict[str, object]:
        return {"unreachable": ctypes.string_at(0)}

    def _exit(self, action: Action) -> dict[str, object]:
        os._exit(3)

    def _recurse(self, action: Action) -> dict[str, object]:
        return self._recurse(action)

    def _raise(self, action: Action) -> dict[str, object]:
        raise RuntimeError("a defect")

    def _import_missing(self, action: Action) -> dict[str, object]:
        import no_such_library_at_all  # type: ignore[import-not-found]

        return {"unreachable": no_such_library_at_all}

    def _unreportable(self, action: Action) -> dict[str, object]:
        return {"value": object()}

    def _environment(self, action: Action) -> dict[str, object]:
        return {"environment": dict(os.environ)}

    def _write_file(self, action: Action) -> dict[str, object]:
        Path(str(action.parameters["path"])).write_text("escaped")
        return {}

    def _decimal(self, action: Action) -> dict[str, object]:
        return {"value": Decimal("0.10"), "large": 3**200}


class BrokenEngine:
    def __init__(self) -> None:
        raise ImportError("libz.so.4: cannot open shared object file")
