"""Guards declared in a policy file, under `guards:`.

```yaml
strict: true
guards:
  - tool: {extra_blocklist: [send_email]}
  - safety: {max_budget: 50.0}
  - math
```
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from qwed_open_responses.guards import (
    ArgumentGuard,
    BaseGuard,
    MathGuard,
    SafetyGuard,
    SchemaGuard,
    StateGuard,
    ToolGuard,
)
from qwed_open_responses.libraries import library

MAX_BYTES: Final = 1_000_000
GUARDS: Final[Mapping[str, type[BaseGuard]]] = {
    "schema": SchemaGuard,
    "tool": ToolGuard,
    "math": MathGuard,
    "state": StateGuard,
    "argument": ArgumentGuard,
    "safety": SafetyGuard,
}


class PolicyError(ValueError):
    """The policy can't be used; the message says which entry is wrong."""


def load(path: str | Path) -> tuple[list[BaseGuard], bool | None]:
    """The guards that a policy file declares, and whether it asks for strictness."""
    document = _read(Path(path))
    if not isinstance(document, Mapping):
        raise PolicyError(f"{path}: a policy is a mapping with the key guards")
    entries = document.get("guards")
    if not isinstance(entries, list | Mapping) or not entries:
        raise PolicyError(f"{path}: guards is missing or empty, so nothing would be checked")
    strict = document.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise PolicyError(f"{path}: strict is true or false, not {strict!r}")
    return [_guard(path, name, options) for name, options in _read_declared(path, entries)], strict


def _read(path: Path) -> Any:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path}: can't be read ({error.strerror})") from None
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"{path}: larger than {MAX_BYTES} bytes")
    try:
        if path.suffix == ".json":
            return json.loads(raw)
        yaml: Any = library("ruamel.yaml")
        return yaml.YAML(typ="safe", pure=True).load(raw.decode("utf-8"))
    except ModuleNotFoundError:
        raise PolicyError(f"{path}: reading YAML needs the package ruamel.yaml; JSON does not") from None
    except Exception as error:  # noqa: BLE001 - the boundary to two parsers: whatever they raise, it is not a policy
        raise PolicyError(f"{path}: {error}") from None


def _read_declared(path: str | Path, entries: Any) -> list[tuple[str, Any]]:
    if isinstance(entries, Mapping):
        return list(entries.items())
    declared: list[tuple[str, Any]] = []
    for entry in entries:
        if isinstance(entry, str):
            declared.append((entry, None))
        elif isinstance(entry, Mapping) and len(entry) == 1:
            declared.extend(entry.items())
        else:
            raise PolicyError(f"{path}: each guard is a name, or a name with its options, not {entry!r}")
    return declared


def _guard(path: str | Path, name: Any, options: Any) -> BaseGuard:
    kind = GUARDS.get(str(name).removesuffix("Guard").lower())
    if kind is None:
        raise PolicyError(f"{path}: unknown guard {name!r}, expected one of {', '.join(GUARDS)}")
    if options is not None and not isinstance(options, Mapping):
        raise PolicyError(f"{path}: the options of {name} are a mapping, not {options!r}")
    try:
        return kind(**(options or {}))
    except (TypeError, ValueError) as error:
        raise PolicyError(f"{path}: {name}: {error}") from None
