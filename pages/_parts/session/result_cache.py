"""Session and server: a bounded store of finished results, so that nothing is computed twice."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class ResultCache:
    """A bounded store of finished results that threads may share; the least recently used leaves first."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._items: OrderedDict[object, Any] = OrderedDict()

    def get(self, key: object) -> Any:
        """Return what is under ``key``, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: object, value: Any) -> None:
        """Lay ``value`` under ``key``."""
        with self._lock:
            self._items[key] = value
            self._items.move_to_end(key)
            while len(self._items) > self._size:
                self._items.popitem(last=False)

    def drop(self, key: object) -> None:
        """Take away what is under ``key``, if anything is."""
        with self._lock:
            self._items.pop(key, None)

    def made(self, key: object, make: Callable[[], T]) -> T:
        """Return what is under ``key``, making it first if need be."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value
