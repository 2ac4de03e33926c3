"""Is a recorded concurrent history one that a single caller could have seen? (After Wing and Gong.)

Operations overlap; an order is looked for that keeps every operation after those that ended before it began,
and in which a small sequential model gives every operation the answer it got.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple


class Operation(NamedTuple):
    began: float
    ended: float
    what: Any
    answer: Any


def is_linearisable(
    history: Sequence[Operation], start: Hashable, step: Callable[[Any, Any], tuple[Hashable, Any]]
) -> bool:
    """`step(state, what)` gives the next state and the answer. States that were tried are not tried again."""
    operations = sorted(history)
    everything = (1 << len(operations)) - 1
    tried: set[tuple[int, Hashable]] = set()
    waiting: list[tuple[int, Hashable]] = [(0, start)]
    while waiting:
        done, state = waiting.pop()
        if done == everything:
            return True
        if (done, state) in tried:
            continue
        tried.add((done, state))
        left = [n for n in range(len(operations)) if not done >> n & 1]
        horizon = min(operations[n].ended for n in left)
        for n in left:
            operation = operations[n]
            if operation.began > horizon:
                break
            following, answer = step(state, operation.what)
            if answer == operation.answer:
                waiting.append((done | 1 << n, following))
    return False
