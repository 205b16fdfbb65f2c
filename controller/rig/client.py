"""A client of a real store in a rig: what it commits is told to the rig, and it can be cut as a process that dies.

Rules
* `disconnect` is for good: nothing is said to the server, which ends the session by its own clock. There is no way
  back, so `reconnect` is an error; a rig on a real store kills, and does not cut off.
* A commit whose outcome is unknown stays so for whoever sent it; the rig finds out for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from stores.base import Commit, Invalid, MetadataStore, Op, OutcomeUnknown
from stores.faults import FaultStore


class Watcher(Protocol):
    """Who is told of commits: the rig's side of the store."""

    def committed(self, client: StoreClient, ops: Sequence[Op]) -> None:
        """The ops were applied."""

    def doubted(self, ops: Sequence[Op]) -> None:
        """The ops may have been applied."""

    def opened(self, client: StoreClient) -> None:
        """The client has a session of its own."""


class StoreClient(FaultStore):
    """A client of the store that `opens` opens; or one that uses the session of `borrowed`, which is not its to end.
    `opened`: those that were opened from it. `is_over`: closed or cut."""

    def __init__(
        self, watcher: Watcher, opens: Callable[[], MetadataStore], borrowed: MetadataStore | None = None
    ) -> None:
        super().__init__(opens() if borrowed is None else borrowed)
        self.opened: list[StoreClient] = []
        self.is_over = False
        self._watcher = watcher
        self._opens = opens
        self._is_own = borrowed is None
        if self._is_own:
            watcher.opened(self)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """As the store, and the rig is told."""
        try:
            commit = super().commit(ops, timeout_s=timeout_s)
        except OutcomeUnknown:
            self._watcher.doubted(ops)
            raise
        self._watcher.committed(self, ops)
        return commit

    def another_session(self) -> StoreClient:
        """One more, with a session of its own, that the rig watches, too."""
        store = StoreClient(self._watcher, self._opens)
        self.opened.append(store)
        return store

    def close(self) -> None:
        """The session ends, unless it was cut before."""
        self.is_over = True
        if self._is_own:
            super().close()

    def disconnect(self) -> None:
        """As the death of the process would: the server is told nothing."""
        self.is_over = True
        if not self._is_own:
            return
        die = getattr(self.inner, "abandon", None) or getattr(self.inner, "disconnect", None)
        if die is None:
            raise Invalid(f"{self.inner.capabilities.name}: a client of it cannot die without a word")
        die()

    def reconnect(self) -> None:
        """Invalid, if it was cut."""
        if self.is_over:
            raise Invalid("a client of a real store that was cut does not come back")
