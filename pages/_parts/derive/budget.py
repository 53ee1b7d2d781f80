"""Derive within a budget: the stacks of kernels the whole server holds, bounded by a share of the memory it has.

The least recently used leave first and are built again when they are asked for.
"""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from mklcore.errors import KernelError
from pages._parts.jobs.job import Claims
from pages._parts.session import turns

SHARE = 0.4  # of the memory; the rest is for solving, tables, paths and the system
MOST = 60
T = TypeVar("T")


class BudgetError(KernelError):
    """What is asked for is more than the server holds of kernels in all."""


class Budget:
    """Large things by key, of so many bytes in all.

    One of ``owner`` goes with its session, and each session has one of its own.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self._held: OrderedDict[object, tuple[Any, float]] = OrderedDict()
        self._owners: weakref.WeakKeyDictionary[object, object] = weakref.WeakKeyDictionary()
        self._lock, self._claims = threading.Lock(), Claims()

    @property
    def held(self) -> float:
        """Return how many bytes are held now."""
        with self._lock:
            return sum(size for _, size in self._held.values())

    def made(self, key: object, size: float, make: Callable[[], T], owner: object = None) -> T:
        """Return what is under ``key``, making it first if need be. Raises ``BudgetError`` where it never fits."""
        if size > self.most:
            raise BudgetError(
                f"These kernels take {size / 1e6:,.0f} MB, and this server holds {self.most / 1e6:,.0f} MB of kernels "
                f"in all. "
                "Use fewer kernels or rows."
            )
        name = key if owner is None else (id(owner), key)
        with self._claims.held(name, turns.PAGES.give_back):
            with self._lock:
                if name in self._held:
                    self._held.move_to_end(name)
                    return self._held[name][0]
                self._make_room(size, self._owners.get(owner) if owner is not None else None)
                self._held[name] = None, size  # its room is taken while it is made
            try:
                value = make()
            except BaseException:
                self.forget(name)
                raise
            with self._lock:
                self._held[name] = value, size
                if owner is not None:
                    if owner not in self._owners:
                        weakref.finalize(owner, self._forget_all_of, id(owner))
                    self._owners[owner] = name
            return value

    def _make_room(self, size: float, earlier: object) -> None:
        if earlier is not None:
            self._held.pop(earlier, None)
        for name in [name for name, (value, _) in self._held.items() if value is not None]:
            if len(self._held) < MOST and sum(taken for _, taken in self._held.values()) + size <= self.most:
                return
            del self._held[name]

    def _forget_all_of(self, owner: int) -> None:
        with self._lock:
            for name in [name for name in self._held if isinstance(name, tuple) and name[0] == owner]:
                del self._held[name]

    def forget(self, name: object) -> None:
        """Let go of what is under a name."""
        with self._lock:
            self._held.pop(name, None)
