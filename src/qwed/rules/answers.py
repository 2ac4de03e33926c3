"""What expressions answered to the same few values: they are nothing but functions of what they name."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from qwed.domain.actions import Action

T = TypeVar("T")

#: Answers that are remembered, and how many new ones come before it has to be of use.
MAX_KNOWN: Final = 2_048
_TRIAL: Final = 4_096
_LONGEST: Final = 64
_SIMPLE: Final = frozenset({str, int, float, bool, type(None)})
_MEMBERS: Final = frozenset({"type", "query", "code", "target"})
#: Stands for what is not there.
ABSENT: Final = object()
Path = tuple[str, tuple[str, ...]]


class KnownAnswers(Generic[T]):
    """By the values that are named. What names longer texts, lists or maps is asked every time; where the
    same values hardly come again, nothing is remembered any more."""

    def __init__(self, paths: Sequence[Path], *, is_on: bool) -> None:
        self._paths = paths
        self._is_on = is_on
        self._answers: dict[tuple[Any, ...], T] = {}
        self._misses = self._hits = 0

    def key_of(self, view: Any) -> tuple[Any, ...] | None:
        """The values that are named, each with its type: one and true are equal, and not the same."""
        if not self._is_on:
            return None
        key: list[Any] = []
        for root, path in self._paths:
            value: Any = getattr(view, root)
            for name in path:
                if isinstance(value, Action):
                    value = _member(value, name)
                elif isinstance(value, Mapping):
                    value = value.get(name, ABSENT)
                elif value is not ABSENT:
                    return None
            kind = type(value)
            if value is not ABSENT and (kind not in _SIMPLE or (kind is str and len(value) > _LONGEST)):
                return None
            # Zero has two signs, which are equal.
            key += (kind, repr(value) if kind is float else value)
        return tuple(key)

    def get(self, key: tuple[Any, ...]) -> T | None:
        found = self._answers.get(key)
        if found is None:
            self._misses += 1
        else:
            self._hits += 1
        return found

    def put(self, key: tuple[Any, ...], answer: T) -> None:
        if self._misses >= _TRIAL:
            self._is_on = self._hits > self._misses
            self._misses = self._hits = 0
            if not self._is_on:
                self._answers = {}
                return
        if len(self._answers) >= MAX_KNOWN:
            self._answers = {}
        self._answers[key] = answer


def _member(action: Action, name: str) -> Any:
    if name == "parameters":
        return action.parameters
    value = getattr(action, name) if name in _MEMBERS else None
    return ABSENT if value is None else value
