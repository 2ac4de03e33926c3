"""What the worst texts cost their readers. The tests count calls; what is within one only a clock sees."""

import time
from collections.abc import Callable, Iterable, Iterator

from tests.corpora import hostile

from qwed.domain import json_text
from qwed.domain.actions import Action
from qwed.domain.secrets import find_secrets
from qwed.engines.code import CodeEngine
from qwed.engines.math import MathEngine
from qwed.engines.protocol import Engine
from qwed.engines.sql import SqlEngine
from qwed.guards.agent_state import AgentStateGuard
from qwed.guards.workspace.ignore_rules import IgnoreRules

Figure = tuple[str, float, str, float | None]

_ROUNDS = 3
_LANGUAGES = ("python", "shell", "javascript")


def figures() -> Iterator[Figure]:
    code = [
        ("execute_code", text, {"language": name}) for text in hostile.CODE.values() for name in _LANGUAGES
    ]
    sql = [("execute_sql", text, {}) for text in hostile.SQL.values()]
    math = [("calculate", text, {}) for text in hostile.MATH.values()]
    yield _worst("code engine, 64 kB", _answers(CodeEngine(), code), 3_000)
    yield _worst("SQL engine, up to 1 MB", _answers(SqlEngine(), sql), 2_000)
    yield _worst("math engine, up to 1 MB", _answers(MathEngine(), math), 2_000)
    yield _worst("JSON, 1 MB", [lambda text=text: _read(text) for text in hostile.JSON.values()], 500)
    yield _worst("secrets, 200 kB", [lambda unit=unit: _search(unit) for unit in hostile.SECRETS], 1_000)
    yield _worst("ignore file, one path", [lambda case=case: _match(*case) for case in hostile.IGNORED], 100)
    yield _worst("agent state, 1 MB", [lambda text=text: _STATES(text) for text in hostile.STATES], 500)


def _worst(what: str, works: Iterable[Callable[[], object]], target_ms: float) -> Figure:
    return f"hostile: {what}, the slowest", max(map(_milliseconds, works)), "ms CPU", target_ms


def _milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1000


def _answers(engine: Engine, cases: list[tuple[str, str, dict[str, str]]]) -> Iterator[Callable[[], object]]:
    for kind, text, parameters in cases:
        told = {"code": text} if kind == "execute_code" else {"query": text}
        action = Action(kind, parameters=parameters, **told)
        yield lambda action=action: engine.verify(action)


def _read(text: bytes) -> None:
    try:
        json_text.loads(text)
    except json_text.JsonError:
        return


def _search(unit: str) -> None:
    find_secrets("1" + unit * (200_000 // len(unit)))


def _match(pattern: bytes, path: bytes) -> None:
    IgnoreRules(b"", pattern).verdict(path, path.rpartition(b"/")[2], False)


_STATES = AgentStateGuard(
    {"type": "object", "properties": {}, "additionalProperties": True}
).verify_state_payload
