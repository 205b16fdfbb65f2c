"""A memory server that remembers every commit and who sent it: what the invariants are checked against.

It is also the seam at which a rig stands on another store: whoever is a client asks for `client` or `connection`, and
`controller.rig.served` gives clients of a real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import attrs

from controller.rig.client import StoreClient
from stores.base import ABSENT, Commit, Delete, Op, Put
from stores.memory import MemoryServer, MemoryStore
from stores.memory.stream import Link

FOREIGN: Final = "somebody else"


@attrs.frozen
class Committed:
    """A commit that was applied: `sender` is who was speaking, `revision` what the server counted it as."""

    revision: int
    sender: str
    ops: tuple[Op, ...]


class Connection(MemoryStore):
    """A client that remembers the sessions it opened, so that they can be cut."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.opened: list[MemoryStore] = []

    def another_session(self) -> MemoryStore:
        """As MemoryStore."""
        store = super().another_session()
        self.opened.append(store)
        return store


Client: TypeAlias = MemoryStore | StoreClient


class RecordingServer(MemoryServer):
    """A MemoryServer with a history. `take()` hands it over, oldest first."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._speaking = FOREIGN
        self._history: list[Committed] = []

    @contextmanager
    def speaking(self, who: str) -> Iterator[None]:
        """Whatever is committed meanwhile is sent by `who`."""
        before, self._speaking = self._speaking, who
        try:
            yield
        finally:
            self._speaking = before

    def client(self) -> Client:
        """One more client."""
        return MemoryStore(self)

    def connection(self) -> Connection | StoreClient:
        """One more client, which remembers the sessions that are opened from it."""
        return Connection(self)

    def rest(self) -> None:
        """Nothing happened in a step. What is in this process has told everything at once: nothing to wait for."""

    def commit(self, link: Link, ops: Sequence[Op]) -> Commit:
        """As MemoryServer, and recorded."""
        commit = super().commit(link, ops)
        if ops:
            self._history.append(Committed(self.revision, self._speaking, tuple(ops)))
        return commit

    def take(self) -> list[Committed]:
        """What was committed since the last call."""
        history, self._history = self._history, []
        return history


def write(server: RecordingServer, key: str, value: bytes | None) -> None:
    """Somebody else makes the key hold `value`, whatever stood there; None: it is gone."""
    other = server.client()
    entry = other.get(key, timeout_s=1)
    if value is not None:
        other.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1)
    elif entry is not None:
        other.commit([Delete(key, entry.version)], timeout_s=1)
    other.close()
