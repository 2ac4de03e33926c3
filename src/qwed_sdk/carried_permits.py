"""The permit that travels with a tool call: in a context variable, until the tool asks for it."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

_carried: contextvars.ContextVar[str | None] = contextvars.ContextVar("qwed_permit", default=None)


def current_permit() -> str | None:
    """The permit for the call that runs here, to be sent on to whoever runs the tool."""
    return _carried.get()


def carry(token: str | None) -> None:
    """Code in this context has this permit from now on."""
    _carried.set(token)


def drop(token: str | None) -> None:
    """The call is over: its permit is no use to what follows."""
    if token is not None and _carried.get() == token:
        _carried.set(None)


@contextmanager
def carrying(token: str | None) -> Iterator[None]:
    before = _carried.set(token)
    try:
        yield
    finally:
        _carried.reset(before)
