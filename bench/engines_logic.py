"""What a logic question costs: with our own procedure, and with the solver, warm."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.corpora import logic

from qwed.domain.actions import Action
from qwed.engines.logic import LogicEngine

Figure = tuple[str, float, str, float | None]

_QUESTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "x > 1, without the solver": ("x > 1", {}),
    "modus ponens, without the solver": ("q", {"premises": ["p -> q", "p"]}),
    "two linear equations": ("x + y = 10 and x - y = 4", {}),
    "a small SMT-LIB script": (
        "(set-logic QF_LIA)(declare-const x Int)(declare-const y Int)"
        "(assert (> x 5))(assert (< y 10))(assert (= (+ x y) 12))(check-sat)",
        {},
    ),
    "bit vectors of 8 bits": (
        "(declare-const a (_ BitVec 8))(declare-const b (_ BitVec 8))"
        "(assert (= (bvadd a b) #x10))(assert (bvult a b))(check-sat)",
        {},
    ),
    "a syllogism": ("Mortal(socrates)", {"premises": ["∀x (Human(x) → Mortal(x))", "Human(socrates)"]}),
}
_TARGETS = {"a small SMT-LIB script": 5.0, "two linear equations": 5.0}


def figures() -> list[Figure]:
    engine = LogicEngine()
    measured: list[Figure] = []
    for label, (query, parameters) in _QUESTIONS.items():
        action = Action("verify_logic", query=query, parameters=parameters)
        figure = _milliseconds(lambda action=action: engine.verify(action))  # type: ignore[misc]
        measured.append((f"logic: {label}", figure, "ms", _TARGETS.get(label)))
    return [*measured, _accuracy(engine)]


def _milliseconds(work: Callable[[], object]) -> float:
    """Processor time, best of several rounds."""
    best = float("inf")
    for _ in range(30):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1e3


def _accuracy(engine: LogicEngine, count: int = 1_000) -> Figure:
    right = 0
    for case in logic.cases(count, seed=2026):
        finding = engine.verify(Action("verify_logic", query=case.query, parameters=case.parameters))
        right += (finding.status.value, finding.evidence.get("answer")) == (case.status, case.answer)
    return (f"logic: right answers of {count} generated cases", 100 * right / count, "%", 100.0)
