"""Which engines there are, what each is told, and how one is built.

Engines are imported on first use: their libraries are heavy, and an installation may lack some.
"""

import importlib
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, uncertain
from qwed.domain.registry import (
    ACTION_ENGINES,
    CODE,
    FACT,
    LOGIC,
    MATH,
    SQL,
    TOOL_CONTROL,
    TOOL_RISK_LEVELS,
    WORKSPACE,
)
from qwed.domain.risk import Risk
from qwed.engines.protocol import Engine


class EngineRules(msgspec.Struct, frozen=True):
    """What the operator's policy tells the engines; `None` leaves an engine at its own defaults.

    `sql` is a `qwed.engines.sql.SqlRules`, `code` a `qwed.engines.code.CodeRules`, `tools` a
    `qwed.engines.tools.ToolRules`. They are not named in the types, so that reading a policy does not
    load the engines.
    """

    actions: Mapping[str, str] = ACTION_ENGINES
    tool_risks: Mapping[str, Risk] = TOOL_RISK_LEVELS
    sql: Any = None
    code: Any = None
    tools: Any = None


class EngineEntry(msgspec.Struct, frozen=True):
    """`libraries` are loaded in a worker before its first job, outside of the job's deadline."""

    module: str
    engine_class: str
    rules_field: str | None = None
    rules_class: str = ""
    libraries: tuple[str, ...] = ()
    risk_when_undecided: Risk = Risk.LOW


CATALOGUE: Final[Mapping[str, EngineEntry]] = {
    MATH: EngineEntry("qwed.engines.math", "MathEngine", libraries=("flint", "sympy")),
    LOGIC: EngineEntry("qwed.engines.logic", "LogicEngine", libraries=("z3",)),
    FACT: EngineEntry("qwed.engines.fact", "FactEngine"),
    SQL: EngineEntry(
        "qwed.engines.sql",
        "SqlEngine",
        "sql",
        "SqlRules",
        libraries=("sqlglot", "qwed.engines.sql.sql_answer"),
        risk_when_undecided=Risk.CRITICAL,
    ),
    CODE: EngineEntry(
        "qwed.engines.code",
        "CodeEngine",
        "code",
        "CodeRules",
        libraries=(
            "qwed.engines.code.python.inspector",
            "qwed.engines.code.shell.inspector",
            "qwed.engines.code.javascript.inspector",
        ),
        risk_when_undecided=Risk.CRITICAL,
    ),
    WORKSPACE: EngineEntry(
        "qwed.engines.workspace",
        "WorkspaceEngine",
        libraries=("qwed.engines.code.shell.inspector",),
        risk_when_undecided=Risk.HIGH,
    ),
    TOOL_CONTROL: EngineEntry(
        "qwed.engines.tools",
        "ToolControlEngine",
        "tools",
        "ToolRules",
        libraries=("qwed.engines.sql.sql_answer",),
        risk_when_undecided=Risk.CRITICAL,
    ),
}


class UnavailableEngine:
    """Stands in for an engine that can't be loaded here: it proves nothing, and says what to do."""

    def __init__(self, name: str, reason: str, risk: Risk = Risk.CRITICAL) -> None:
        self.name = name
        self._reason = reason
        self._risk = risk

    def is_quick(self, action: Action) -> bool:
        return True

    def verify(self, action: Action) -> Finding:
        return uncertain(self.name, self._risk, self._reason, limit="unavailable")


def build_engine(name: str, rules: EngineRules) -> Engine:
    """The engine of that name, or one that answers UNCERTAIN and says what is missing."""
    entry = CATALOGUE.get(name)
    if entry is None:
        return UnavailableEngine(name, f"there is no engine {name!r}")
    own_rules = None if entry.rules_field is None else getattr(rules, entry.rules_field)
    return build_from_entry(name, entry, own_rules)


def build_from_entry(name: str, entry: EngineEntry, own_rules: Any) -> Engine:
    try:
        engine_class = getattr(importlib.import_module(entry.module), entry.engine_class)
        return cast(Engine, engine_class() if own_rules is None else engine_class(own_rules))
    # An engine that can't be had must not stop the others: whatever went wrong is its answer.
    except Exception as error:  # noqa: BLE001
        return UnavailableEngine(name, why_unavailable(name, error), entry.risk_when_undecided)


def build_from_bytes(name: str, entry: EngineEntry, encoded_rules: bytes | None) -> Engine:
    """As `build_from_entry`, with the rules as `encode_rules` wrote them, libraries loaded."""
    _load_libraries(entry)
    if encoded_rules is None:
        return build_from_entry(name, entry, None)
    try:
        rules_class = getattr(importlib.import_module(entry.module), entry.rules_class)
        own_rules = msgspec.msgpack.decode(encoded_rules, type=rules_class)
    # Rules that don't fit their engine: it must not run without them.
    except Exception as error:  # noqa: BLE001
        return UnavailableEngine(name, why_unavailable(name, error), entry.risk_when_undecided)
    return build_from_entry(name, entry, own_rules)


def why_unavailable(name: str, error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("qwed"):
        package = error.name.partition(".")[0]
        return f"the {name} engine needs {package!r}, not installed here: pip install 'qwed-gateway[engines]'"
    return f"the {name} engine could not be loaded: {type(error).__name__}: {str(error)[:200]}"


def risk_when_undecided(name: str) -> Risk:
    """The risk to assume of an action that its engine could not look at to the end."""
    entry = CATALOGUE.get(name)
    return Risk.CRITICAL if entry is None else entry.risk_when_undecided


def _load_libraries(entry: EngineEntry) -> None:
    for library in entry.libraries:
        try:
            importlib.import_module(library)
        # The engine itself answers for what is missing, once a job needs it.
        except Exception:  # noqa: BLE001, S112
            continue


def encode_rules(rules: EngineRules, catalogue: Mapping[str, EngineEntry]) -> dict[str, bytes]:
    """The rules of each engine that was given some."""
    given = {
        name: getattr(rules, entry.rules_field)
        for name, entry in catalogue.items()
        if entry.rules_field is not None
    }
    return {name: msgspec.msgpack.encode(own) for name, own in given.items() if own is not None}
