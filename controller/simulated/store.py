"""The store of a simulated cluster, and its clients, which can be cut like those of a process that dies.

* Controllers and brokers open clients through `ClusterStore` and do not know which store is behind it: the memory
  server that it is, or a real store (`StoreClient`).
* `StoreClient.disconnect` is permanent: nothing is sent to the server, which ends the session by its own clock. So
  `reconnect` is an error.
* A commit with an unknown outcome stays unknown for its sender; the watcher finds the outcome itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeAlias

from ...stores.base import Commit, Invalid, MetadataStore, Op, OutcomeUnknown
from ...stores.faults import FaultStore
from ...stores.memory import MemoryServer, MemoryStore


class Connection(MemoryStore):
    """A client that remembers the sessions it opened, so that they can be cut."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.opened: list[MemoryStore] = []

    def another_session(self) -> MemoryStore:
        store = super().another_session()
        self.opened.append(store)
        return store


class ClusterStore(MemoryServer):
    """A memory server, and the one place where processes of a simulated cluster open clients of their store."""

    def speaking(self, who: str) -> AbstractContextManager[None]:  # noqa: ARG002 - for those that record it
        """Commits in this block are attributed to `who`."""
        return nullcontext()

    def client(self) -> Client:
        return MemoryStore(self)

    def connection(self) -> Connection | StoreClient:
        """A new client, which remembers the sessions that are opened from it."""
        return Connection(self)


class Watcher(Protocol):
    """Is notified of the commits of a `StoreClient`."""

    def committed(self, client: StoreClient, ops: Sequence[Op]) -> None:
        """The ops were applied."""

    def doubted(self, ops: Sequence[Op]) -> None:
        """The ops may have been applied."""

    def opened(self, client: StoreClient) -> None:
        """The client has its own session."""


class StoreClient(FaultStore):
    """A client of the store that `opens` opens; or one with the session of `borrowed`, which it must not end. `opened`:
    the clients that were opened from it. `is_over`: closed or cut."""

    def __init__(
        self,
        opens: Callable[[], MetadataStore],
        borrowed: MetadataStore | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        super().__init__(opens() if borrowed is None else borrowed)
        self.opened: list[StoreClient] = []
        self.is_over = False
        self._watcher = watcher
        self._opens = opens
        self._is_own = borrowed is None
        if self._is_own and watcher is not None:
            watcher.opened(self)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """As the store; the watcher is notified."""
        try:
            commit = super().commit(ops, timeout_s=timeout_s)
        except OutcomeUnknown:
            if self._watcher is not None:
                self._watcher.doubted(ops)
            raise
        if self._watcher is not None:
            self._watcher.committed(self, ops)
        return commit

    def another_session(self) -> StoreClient:
        """A client with a new session, of which the watcher is notified, too."""
        store = StoreClient(self._opens, watcher=self._watcher)
        self.opened.append(store)
        return store

    def close(self) -> None:
        """End the session, unless it was cut before."""
        self.is_over = True
        if self._is_own:
            super().close()

    def disconnect(self) -> None:
        """As by the death of the process: nothing is sent to the server."""
        self.is_over = True
        if not self._is_own:
            return
        die = getattr(self.inner, "abandon", None) or getattr(self.inner, "disconnect", None)
        if die is None:
            raise Invalid(f"{self.inner.capabilities.name}: its client cannot be cut from the server")
        die()

    def reconnect(self) -> None:
        """Raises Invalid if it was cut."""
        if self.is_over:
            raise Invalid("a client of a real store cannot reconnect after it was cut")


Client: TypeAlias = MemoryStore | StoreClient
