"""What it costs to look at every text, and how often that asks without need.

An undeclared program is read in every language it could be; it is compared with the same program declared.
A candidate is a text in a slot that nobody registered.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

from tests.corpora import ordinary_actions

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.engines.candidates import _find
from qwed.engines.code import CodeEngine
from qwed.engines.tools import ToolControlEngine

Figure = tuple[str, float, str, float | None]

_PROGRAMS: Final = {
    "python": "def mean(values):\n    return sum(values) / len(values)\n\nprint(mean([1, 2, 3, {n}]))\n",
    "shell": "ls -la docs{n} && grep -n total src/report{n}.py",
    "javascript": "const totals = [1, 2, {n}].map(v => v * 2);\nconsole.log(totals);\n",
}
_CALLS: Final = 3_000


def figures() -> Iterator[Figure]:
    engine = CodeEngine()
    for language, text in _PROGRAMS.items():
        declared = _program(engine, text, {"language": language})
        yield f"texts: {language}, declared", declared, "µs CPU", None
        yield f"texts: {language}, undeclared", _program(engine, text, {}) / declared, "times declared", 2.0
    texts = [text for name, pool in ordinary_actions.POOLS.items() if name != "table" for text in pool]
    yield "texts: a candidate, median", _median(texts), "µs CPU", 60.0
    yield "texts: alarms on ordinary tool calls", _alarm_rate(), "%", 0.5


def _program(engine: CodeEngine, text: str, parameters: dict[str, str]) -> float:
    numbers = iter(range(10_000, 90_000))

    def verify() -> object:
        code = text.replace("{n}", str(next(numbers)))
        return engine.verify(Action("execute_code", code=code, parameters=parameters))

    return _microseconds(verify)


def _microseconds(work: Callable[[], object], rounds: int = 7, count: int = 40) -> float:
    work()
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(count):
            work()
        best = min(best, (time.process_time() - started) / count)
    return best * 1e6


def _median(texts: list[str]) -> float:
    return statistics.median(_microseconds(lambda text=text: _find(text), 3, 5) for text in texts)


def _alarm_rate() -> float:
    engine = ToolControlEngine()
    found = [engine.verify(action) for action in ordinary_actions.ordinary_tool_calls(_CALLS)]
    alarms = [each for each in found if each.status is not Status.VERIFIED or each.risk >= Risk.HIGH]
    return 100 * len(alarms) / _CALLS
