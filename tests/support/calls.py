"""How much work some lines do, counted and never timed: the calls of Python functions and of built-ins.

What a busy machine makes of a time says nothing about the code. What a built-in does within one call is not
seen here: for a regular expression or a parser written in C, `make bench` has the figure.
"""

import cProfile
import gc
from collections.abc import Iterator
from contextlib import contextmanager


class Work:
    calls = 0


@contextmanager
def counted_calls() -> Iterator[Work]:
    """`calls` is known after the block. What other tests left behind is not tidied up within it."""
    work, profile = Work(), cProfile.Profile()
    was_collecting = gc.isenabled()
    gc.disable()
    profile.enable()
    try:
        yield work
    finally:
        profile.disable()
        if was_collecting:
            gc.enable()
        work.calls = sum(entry.callcount for entry in profile.getstats())
