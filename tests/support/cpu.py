"""CPU time of a few lines, without what the collector spends on everything else this process holds."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Spent:
    seconds = float("inf")


@contextmanager
def cpu_time() -> Iterator[Spent]:
    """`seconds` is known after the block. Late in a long run one look through the heap takes a second."""
    spent = Spent()
    gc.freeze()
    started = time.process_time()
    try:
        yield spent
    finally:
        spent.seconds = time.process_time() - started
        gc.unfreeze()
