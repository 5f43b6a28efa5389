"""`LatestUsed`: keeps the values that were used last, as many as their sizes together allow."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LatestUsed(Generic[K, V]):
    """Safe from any thread."""

    def __init__(self, size_max: int, size: Callable[[V], int]) -> None:
        """`size`: of a value; one that is larger than `size_max` alone is not kept."""
        self._size_max: Final = size_max
        self._size: Final = size
        self._kept: OrderedDict[K, V] = OrderedDict()
        """In the order of last use, the oldest first."""
        self._sum = 0
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if (value := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> V:
        """Keeps the value unless there is one; returns the one that counts."""
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                return known
            if self._size(value) > self._size_max:
                return value
            self._kept[key] = value
            self._sum += self._size(value)
            while self._sum > self._size_max:
                self._sum -= self._size(self._kept.popitem(last=False)[1])
        return value
