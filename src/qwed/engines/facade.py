"""One door to all engines: which engine an action goes to, and where that engine runs."""

import atexit
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.json_text import describe_type
from qwed.domain.registry import TOOL_CONTROL
from qwed.domain.risk import Risk
from qwed.engines.catalogue import CATALOGUE, EngineRules, build_engine, risk_when_undecided, why_unavailable
from qwed.engines.fair_queue import Client
from qwed.engines.pool import WorkerPool, at_least
from qwed.engines.protocol import Engine

UNKNOWN_ENGINE: Final = "unknown"

_TEXT_FIELDS: Final = ("query", "code", "target")
_FIELDS: Final = frozenset({"type", "action_type", "parameters", *_TEXT_FIELDS})


class NotAnAction(ValueError):
    """The mapping has not the wire shape of an action; the message names the field."""


def read_action(wire: Mapping[str, Any]) -> Action:
    """An action from its wire shape: `type` or `action_type`, `query`, `code`, `target`, `parameters`.

    Raises `NotAnAction` only.
    """
    if not isinstance(wire, Mapping):
        raise NotAnAction(f"an action is an object, not {describe_type(wire)}")
    if not _FIELDS.issuperset(wire):
        unknown = next(field for field in wire if field not in _FIELDS)
        raise NotAnAction(f"an action has no field {str(unknown)[:80]!r}")
    kind = wire.get("type", wire.get("action_type"))
    if not isinstance(kind, str):
        raise NotAnAction(f"'type' is a string, not {describe_type(kind)}")
    if wire.get("action_type", kind) != kind:
        raise NotAnAction("'type' and 'action_type' differ")
    for field in _TEXT_FIELDS:
        if not isinstance(wire.get(field), str | None):
            raise NotAnAction(f"{field!r} is a string, not {describe_type(wire[field])}")
    parameters = wire.get("parameters")
    if not isinstance(parameters, Mapping | None):
        raise NotAnAction(f"'parameters' is an object, not {describe_type(parameters)}")
    return Action(kind, wire.get("query"), wire.get("code"), wire.get("target"), parameters or {})


class Engines:
    """All engines under one set of rules. Thread-safe; `close` ends its workers."""

    def __init__(self, rules: EngineRules | None = None, pool: WorkerPool | None = None) -> None:
        self.rules = rules or EngineRules()
        self._pool = pool or WorkerPool(self.rules)
        self._engines: dict[str, Engine] = {}

    def verify(
        self,
        action: Action | Mapping[str, Any],
        *,
        engine: str | None = None,
        client: Client | None = None,
    ) -> Finding:
        """As `submit`, waiting for the answer."""
        answer = self._look(action, engine, client)
        return answer if isinstance(answer, Finding) else answer.result()

    def submit(
        self,
        action: Action | Mapping[str, Any],
        *,
        engine: str | None = None,
        client: Client | None = None,
    ) -> "Future[Finding]":
        """What the engine of this action can prove. Never raises; the future gets a finding.

        Quick work is done before this returns; the rest in the pool, in turns between principals.
        `engine` names the engine to ask instead of the one the action's type is bound to.
        """
        answer = self._look(action, engine, client)
        if not isinstance(answer, Finding):
            return answer
        done: Future[Finding] = Future()
        done.set_result(answer)
        return done

    def start(
        self, action: Action, *, engine: str, client: Client | None = None
    ) -> "Finding | Future[Finding]":
        """As `submit`, without the future where the finding is there at once."""
        return self._look(action, engine, client)

    def engine_of(self, action_type: str) -> str | None:
        """The engine a type is bound to; None when it has no registered meaning."""
        name = self.rules.actions.get(action_type)
        if name is None and action_type in self.rules.tool_risks:
            return TOOL_CONTROL
        return name

    def warm(self) -> None:
        """Starts the workers and loads the heavy libraries, without waiting for it."""
        self._pool.warm(*(name for name, entry in CATALOGUE.items() if entry.libraries))

    def close(self) -> None:
        self._pool.close()

    def _look(
        self, action: Action | Mapping[str, Any], engine_name: str | None, client: Client | None
    ) -> "Finding | Future[Finding]":
        """The finding where it is quick; else where it will appear."""
        if not isinstance(action, Action):
            try:
                action = read_action(action)
            except NotAnAction as error:
                return _refuse_malformed(engine_name or UNKNOWN_ENGINE, str(error))
        name = engine_name or self.engine_of(action.type)
        if name is None:
            reason = f"action type {action.type[:80]!r} has no registered meaning"
            return _refuse_malformed(UNKNOWN_ENGINE, reason)
        tool_risk = self.rules.tool_risks.get(action.type, Risk.LOW)
        engine = self._engines.get(name) or self._engines.setdefault(name, build_engine(name, self.rules))
        finding = _verify_if_quick(engine, action)
        if finding is not None:
            return at_least(finding, tool_risk)
        return self._pool.submit(name, action, client=client, least_risk=tool_risk)


def _verify_if_quick(engine: Engine, action: Action) -> Finding | None:
    try:
        return engine.verify(action) if engine.is_quick(action) else None
    except ModuleNotFoundError as error:
        limit, reason = "unavailable", why_unavailable(engine.name, error)
    # The boundary of the engines: a defect in one of them must answer, and answer no.
    except Exception as error:  # noqa: BLE001
        limit, reason = "crash", f"the engine failed ({type(error).__name__})"
    return uncertain(engine.name, risk_when_undecided(engine.name), reason, limit=limit)


def _refuse_malformed(engine: str, reason: str) -> Finding:
    return Finding(
        Status.FAILED,
        Risk.CRITICAL,
        engine,
        reason,
        failure=Failure.MALFORMED,
        checks_failed=("well_formed",),
    )


class _Shared:
    """The engines behind `verify`, by rules: built on first use, one set per process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: list[Engines] = []
        self._pid = os.getpid()

    def under(self, rules: EngineRules) -> Engines:
        if self._pid == os.getpid():
            for engines in self._sets:
                if engines.rules is rules or engines.rules == rules:
                    return engines
        return self._add(rules)

    def _add(self, rules: EngineRules) -> Engines:
        with self._lock:
            if self._pid != os.getpid():
                # The workers are the parent's; after a fork this process has none yet.
                self._pid, self._sets = os.getpid(), []
            engines = Engines(rules)
            # Appended and cut in one assignment: readers do not take the lock.
            self._sets, evicted = [engines, *self._sets[: _MAX_SETS - 1]], self._sets[_MAX_SETS - 1 :]
        for old in evicted:
            old.close()
        return engines

    def close(self) -> None:
        if self._pid == os.getpid():
            for engines in self._sets:
                engines.close()
            self._sets = []


_MAX_SETS: Final = 4
_DEFAULT_RULES: Final = EngineRules()
_shared = _Shared()
atexit.register(_shared.close)


def verify(action: Action | Mapping[str, Any], *, rules: EngineRules | None = None) -> Finding:
    """What can be proven about one action, in this process and its workers. Never raises.

    An action that is not one (no such type, a field of the wrong kind) is FAILED and malformed.
    """
    return _shared.under(_DEFAULT_RULES if rules is None else rules).verify(action)
