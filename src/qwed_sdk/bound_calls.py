"""A call's arguments by their names, and the call with other values in their places."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import NamedTuple

from qwed_sdk.results import Json


class BoundCall(NamedTuple):
    """`owner` is the parameter that holds the object or class of a method: the tool's own affair, and no
    argument. `given` are the names that the caller gave; the others are defaults."""

    arguments: inspect.BoundArguments
    owner: str | None
    given: frozenset[str]

    def named(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name, value in self.arguments.arguments.items():
            if self.arguments.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                found |= value
            elif name != self.owner:
                found[name] = value
        return found

    def copy_call(self) -> "BoundCall":
        """With arguments that nobody else can change any more."""
        for name, value in self.arguments.arguments.items():
            if name != self.owner:
                self.arguments.arguments[name] = copy.deepcopy(value)
        return self

    def call(self, function: Callable[..., Json], allowed: Mapping[str, Json]) -> Json:
        left, given = dict(allowed), self.arguments
        for name, parameter in given.signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given.arguments[name] = left
            elif name in left and name != self.owner:
                given.arguments[name] = left.pop(name)
            elif name != self.owner:
                given.arguments.pop(name, None)
        kinds = {parameter.kind for parameter in given.signature.parameters.values()}
        if left and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise TypeError(f"the granted action has arguments that the function has not: {', '.join(left)}")
        return function(*given.args, **given.kwargs)


def bind_call(
    function: Callable[..., Json],
    signature: inspect.Signature,
    args: tuple[Json, ...],
    kwargs: Mapping[str, Json],
) -> BoundCall:
    arguments = signature.bind(*args, **kwargs)
    given = frozenset(arguments.arguments)
    arguments.apply_defaults()
    is_method = bool(args) and _is_owner(args[0], function)
    return BoundCall(arguments, next(iter(signature.parameters)) if is_method else None, given)


def _is_owner(first: object, function: Callable[..., Json]) -> bool:
    """Whether the function is a method of this object, or of this class. What a parameter is called does not
    tell: anybody may name an argument `self`."""
    holder = first if isinstance(first, type) else type(first)
    found = inspect.getattr_static(holder, function.__name__, None)
    found = getattr(found, "__func__", found)
    return callable(found) and inspect.unwrap(found) is inspect.unwrap(function)
