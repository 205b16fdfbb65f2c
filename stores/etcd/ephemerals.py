"""The ephemeral keys that a client may hold: a Put of one of them as an ordinary key needs a compare more."""

from __future__ import annotations

import threading
from collections.abc import Set as AbstractSet
from typing import Final


class Ephemerals:
    """The keys of the latest lease; thread-safe. A key may be gone, which only causes an additional compare."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._lease_id = 0
        self._mine: frozenset[str] = frozenset()

    def of(self, lease_id: int) -> frozenset[str]:
        """The keys that this lease may hold. A lease that is new replaces the former one."""
        with self._lock:
            if self._lease_id != lease_id:
                self._lease_id, self._mine = lease_id, frozenset()
            return self._mine

    def change(self, lease_id: int, put: AbstractSet[str], deleted: AbstractSet[str]) -> None:
        """Record keys that the client may hold from now on, and those that it does not hold."""
        with self._lock:
            if lease_id == self._lease_id and (put or deleted & self._mine):
                self._mine = (self._mine - deleted) | put
