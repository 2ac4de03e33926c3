"""A bounded cache for state that may be forgotten, unless it is in use."""

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class GenerationCache(Generic[K, V]):
    """Bounded, in two generations: a look costs one lookup and changes nothing, so it needs no lock.

    When the young generation is full it becomes the old one, and what was old and has not been used
    since is forgotten, but for what `is_busy` protects. All but `get` are called under the store's lock.
    """

    def __init__(self, limit: int, is_busy: Callable[[V], bool]) -> None:
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._half = max(1, limit // 2)
        self._is_busy = is_busy

    def get(self, key: K) -> V | None:
        item = self._young.get(key)
        return self._old.get(key) if item is None else item

    def use(self, key: K) -> V | None:
        """As `get`, and keeps the item for another generation."""
        item = self._young.get(key)
        if item is None and (item := self._old.get(key)) is not None:
            self.put(key, item)
        return item

    def put(self, key: K, item: V) -> None:
        if len(self._young) >= self._half:
            self._age()
        self._young[key] = item

    def _age(self) -> None:
        busy = {key: item for key, item in self._old.items() if self._is_busy(item)}
        # Assigned in this order, a look from another thread finds an item in one of the two.
        self._old = {**busy, **self._young}
        self._young = {}

    def drop(self, key: K) -> None:
        self._young.pop(key, None)
        self._old.pop(key, None)
