"""Agents that are tools of others, and whose own tools an adapter does not reach."""

import functools
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

#: A tool's function may be wrapped several times; whatever is deeper, nobody looks for.
MAX_LOOKED_AT: Final = 200


class UnprotectedAgent(UserWarning):
    """The tools of this agent do not ask the gateway."""


def warn_unprotected(name: str, remedy: str) -> None:
    """Said where the program runs, once per place: a page is not read by who starts it."""
    message = f"the agent {name!r} is a tool here, and its own tools do not ask the gateway: {remedy}"
    warnings.warn(message, UnprotectedAgent, stacklevel=3)


def look_behind(
    function: object, kinds: type | tuple[type, ...], is_protected: Callable[[Any], bool], remedy: str
) -> None:
    """Before a tool runs: whether an agent behind it has tools that do not ask."""
    for agent in agents_behind(function, kinds):
        if not is_protected(agent):
            warn_unprotected(str(getattr(agent, "name", None) or type(agent).__name__), remedy)


def agents_behind(function: object, kinds: type | tuple[type, ...]) -> list[Any]:
    """The agents that a tool's function would run: those that it holds, or mentions by a name of its module.
    One that it makes or looks up while it runs is not found."""
    found: list[Any] = []
    waiting, seen = [function], {id(function)}
    while waiting and len(seen) <= MAX_LOOKED_AT:
        current = waiting.pop()
        if isinstance(current, kinds):
            found.append(current)
            continue
        news = [held for held in _look_into(current) if id(held) not in seen]
        seen.update(map(id, news))
        waiting += news
    return found


def _look_into(holder: object) -> Iterator[object]:
    if isinstance(holder, functools.partial):
        yield from (holder.func, *holder.args, *holder.keywords.values())
    elif isinstance(holder, types.MethodType):
        yield from (holder.__func__, holder.__self__)
        yield from _pick(holder.__func__, holder.__self__)
    elif isinstance(holder, types.FunctionType):
        yield from _cells(holder)
        known = holder.__globals__
        mentioned = (known.get(name) for name in _names(holder.__code__))
        # Functions of other modules are theirs.
        yield from (held for held in mentioned if getattr(held, "__globals__", known) is known)
        yield getattr(holder, "__wrapped__", None)
    elif callable(holder) and not isinstance(holder, type):
        yield from _pick(vars(type(holder)).get("__call__"), holder)


def _pick(method: object, owner: object) -> Iterator[object]:
    """Of an object's own values, those that its method names."""
    code = getattr(method, "__code__", None)
    names = frozenset(_names(code)) if isinstance(code, types.CodeType) else ()
    yield from (value for name, value in getattr(owner, "__dict__", {}).items() if name in names)


def _cells(function: types.FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            # The name has no value yet.
            continue


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
