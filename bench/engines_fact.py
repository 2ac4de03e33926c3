"""What a claim costs to check, and how often the generated claims are answered rightly."""

import time
from collections.abc import Callable, Iterable

from tests.corpora import fact_tables, fact_texts

from qwed.domain.actions import Action
from qwed.engines.fact import FactEngine

Figure = tuple[str, float, str, float | None]

_SENTENCE = "The North Bridge is 330 m long. "
_FILLER = "The council of the town met twice that week and nothing else is known about it. "
_CLAIM = "The length of the North Bridge is 330 metres."


def figures() -> list[Figure]:
    engine = FactEngine()

    def check(sources: object, claim: str = _CLAIM) -> Callable[[], object]:
        action = Action("verify_fact", query=claim, parameters={"sources": sources})
        return lambda: engine.verify(action)

    table = [["item", "score"], *[[f"item {index}", index] for index in range(1_000)]]
    return [
        ("fact: one sentence", _milliseconds(check(_SENTENCE)), "ms", 1.0),
        ("fact: a page of 4 kB", _milliseconds(check(_FILLER * 50 + _SENTENCE)), "ms", 10.0),
        (
            "fact: sources of 250 kB",
            _milliseconds(check(_FILLER * 3_000 + _SENTENCE), rounds=3),
            "ms",
            1_000.0,
        ),
        (
            "fact: a total over 1000 rows",
            _milliseconds(check(table, "The total score is 499500."), rounds=3),
            "ms",
            None,
        ),
        ("fact: right answers, generated texts", _share(engine, fact_texts.text_cases(20)), "%", None),
        ("fact: right answers, generated tables", _share(engine, fact_tables.table_cases(20)), "%", None),
    ]


def _milliseconds(work: Callable[[], object], rounds: int = 7) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best * 1e3


def _share(engine: FactEngine, cases: Iterable[tuple[object, str, str]]) -> float:
    answered = [
        engine.verify(Action("verify_fact", query=claim, parameters={"sources": sources})).status == expected
        for sources, claim, expected in cases
    ]
    return 100 * sum(answered) / len(answered)


if __name__ == "__main__":
    for label, value, unit, target in figures():
        print(f"{label:45} {value:8.2f} {unit}" + (f"  ({target:g})" if target else ""))
