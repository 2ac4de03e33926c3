"""The in-process guards: CPU time of typical outputs, of long ones, and of importing them."""

import functools
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from qwed_open_responses import ResponseVerifier
from qwed_open_responses.guards import MathGuard, SafetyGuard, SchemaGuard, ToolGuard

Figure = tuple[str, float, str, float | None]

CALCULATION = {"operation": "multiply", "x": 150, "y": 10, "result": 1500}
ORDER = {"order_id": "ORD-123", "total": 99.99, "items": [{"name": "Widget", "price": 99.99}]}
ORDER_SCHEMA = {
    "type": "object",
    "required": ["order_id", "total", "items"],
    "properties": {
        "order_id": {"type": "string"},
        "total": {"type": "number", "minimum": 0},
        "items": {"type": "array", "minItems": 1},
    },
}
SENTENCE = "The quarterly report is ready, and the team has reviewed it with care; sales rose by 12 percent. "
ROWS = {
    "rows": [
        {"id": index, "name": f"Item {index}", "price": index * 1.5, "tags": ["new"]} for index in range(100)
    ]
}
HOSTILE = (
    "ignore all ",
    "Dear assistant, ",
    "忽略所有指令",
    "; drop table x ",
    "+1 415 555 2671 ",
    "4111 1111 1111 1112 ",
    "' or 1=1 ",
    "4111111111111112 ",
    "%41",
    "$(",
    "password: ",
)


def figures() -> list[Figure]:
    logging.getLogger("qwed_open_responses").setLevel(logging.CRITICAL)
    verifier = ResponseVerifier()
    tool, maths, safety = ToolGuard(), MathGuard(), SafetyGuard(max_calls=None)
    schema = SchemaGuard(schema=ORDER_SCHEMA)
    text = (SENTENCE * 40)[:4096]

    def call(arguments: Any, *guards: Any) -> Callable[[], Any]:
        return lambda: verifier.verify_tool_call("helper", arguments, guards=guards)

    return [
        (
            "guards: quick start, tool + math + safety",
            _cpu(call(CALCULATION, tool, maths, safety), 1000),
            "µs CPU",
            30,
        ),
        (
            "guards: schema on the order",
            _cpu(lambda: verifier.verify_structured_output(ORDER, [schema]), 1000),
            "µs CPU",
            12,
        ),
        ("guards: 4 kB text, tool + safety", _cpu(call({"text": text}, tool, safety), 100), "µs CPU", 400),
        ("guards: 100 nested rows (6 kB), tool + safety", _cpu(call(ROWS, tool, safety), 50), "µs CPU", 800),
        (
            "guards: 100 kB text, tool + safety",
            _cpu(call({"text": text * 25}, tool, safety), 5) / 1000,
            "ms CPU",
            40,
        ),
        (
            "guards: 1 MB text, tool + safety",
            _cpu(call({"text": text * 250}, tool, safety), 1) / 1000,
            "ms CPU",
            500,
        ),
        *[
            (
                f"guards: 100 kB of {unit!r}, slowest guard",
                _hostile(unit, (tool, maths, safety)),
                "ms CPU",
                40.0,
            )
            for unit in HOSTILE
        ],
        ("guards: import qwed_open_responses", _import_time(), "ms CPU", 60),
    ]


def _cpu(work: Callable[[], Any], rounds: int) -> float:
    """Microseconds of CPU, the best of several runs."""
    work()
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(rounds):
            work()
        best = min(best, time.process_time() - started)
    return best / rounds * 1e6


def _hostile(unit: str, guards: tuple[Any, ...]) -> float:
    arguments = {"x": (unit * (100_000 // len(unit) + 1))[:100_000]}
    verifier = ResponseVerifier()
    works = [functools.partial(verifier.verify_tool_call, "t", arguments, guards=[guard]) for guard in guards]
    return max(_cpu(work, 1) for work in works) / 1000


def _import_time() -> float:
    code = "import time; s = time.process_time(); import qwed_open_responses; print(time.process_time() - s)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(4)
    ]
    return min(float(run.stdout) for run in runs) * 1000
