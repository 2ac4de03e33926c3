"""How much work some lines do, counted and never timed: the calls of Python functions and of built-ins.

What a busy machine makes of a time says nothing about the code. What a built-in does within one call is not
seen here: for a regular expression or a parser written in C, `make bench` has the figure.
"""

import cProfile
from collections.abc import Iterator
from contextlib import contextmanager


class Work:
    calls = 0


@contextmanager
def counted_calls() -> Iterator[Work]:
    """`calls` is known after the block."""
    work, profile = Work(), cProfile.Profile()
    profile.enable()
    try:
        yield work
    finally:
        profile.disable()
        work.calls = sum(entry.callcount for entry in profile.getstats())
