"""What it costs to prove arithmetic."""

import subprocess
import sys
import time
from collections.abc import Callable

from qwed.domain.actions import Action
from qwed.engines.math import MathEngine

Figure = tuple[str, float, str, float | None]

_TWENTY_TERMS = (
    "12.5 + 7.25 * 3 - 1/8 + 100.01 - 45 * 2.5 + 19.99 / 4 - 3 + 250 * (3 - 1) + 17.75 "
    "- 0.125 * 8 + 42 - 6.5 / 2"
)

# label: (text, target in microseconds)
_TEXTS: dict[str, tuple[str, float | None]] = {
    "calculate 2+2": ("2+2", 20.0),
    "a 20-term exact expression": (_TWENTY_TERMS, 120.0),
    "2+2=5, corrected": ("2+2=5", None),
    "15% of 200 is 30": ("15% of 200 is 30", None),
    "a worked answer with marks": ("Natalia sold 48/2 = <<48/2=24>>24 clips in May.", None),
    "(x+1)^2 = x^2+2x+1": ("(x+1)^2 = x^2+2x+1", None),
    "sin(1) = 0.84, warm": ("sin(1) = 0.84", None),
    "d/dx sin(x) = cos(x), warm": ("d/dx sin(x) = cos(x)", None),
}


def figures() -> list[Figure]:
    engine = MathEngine()
    measured: list[Figure] = []
    for label, (text, target) in _TEXTS.items():
        action = Action("calculate", text)
        engine.verify(action)
        measured.append(
            (f"math: {label}", _microseconds(lambda action=action: _answer(engine, action)), "µs", target)
        )
    measured.append(("math: import", _import_milliseconds(), "ms", None))
    return measured


def _answer(engine: MathEngine, action: Action) -> None:
    engine.is_quick(action)
    engine.verify(action)


def _microseconds(work: Callable[[], object]) -> float:
    """CPU time of one call: the best of several rounds, so that neighbours on the machine do not count."""
    started = time.process_time()
    work()
    count = max(1, min(2_000, int(0.02 / max(time.process_time() - started, 1e-6))))
    best = float("inf")
    for _ in range(7):
        started = time.process_time()
        for _ in range(count):
            work()
        best = min(best, time.process_time() - started)
    return best / count * 1e6


def _import_milliseconds() -> float:
    """What `qwed.engines.math` adds to an interpreter that has the domain already."""
    program = (
        "import time, qwed.domain.findings\n"
        "started = time.process_time()\n"
        "import qwed.engines.math\n"
        "print((time.process_time() - started) * 1000)\n"
    )
    runs = [
        float(
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        )
        for _ in range(5)
    ]
    return min(runs)
