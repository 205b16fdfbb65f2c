"""A memory server that records every commit with its sender: the invariants are checked against this history.

It is also the place where a rig can use another store: `kedge.controller.rig.served` opens clients of a real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

from ...stores.base import Commit, Delete, Op, Put, as_read
from ...stores.memory.stream import Link
from ..simulated.store import ClusterStore

FOREIGN: Final = "somebody else"


@attrs.frozen
class Committed:
    """A commit that was applied: `sender` is the speaker at that time, `revision` its number at the server."""

    revision: int
    sender: str
    ops: tuple[Op, ...]


class RecordingServer(ClusterStore):
    """A memory server with a history. `take()` returns it, oldest first."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._speaking = FOREIGN
        self._history: list[Committed] = []

    @contextmanager
    def speaking(self, who: str) -> Iterator[None]:
        """Commits in this block are recorded as sent by `who`."""
        before, self._speaking = self._speaking, who
        try:
            yield
        finally:
            self._speaking = before

    def rest(self) -> None:
        """Nothing happened in a step: a store in this process has delivered every event by now."""

    def commit(self, link: Link, ops: Sequence[Op]) -> Commit:
        commit = super().commit(link, ops)
        if ops:
            self._history.append(Committed(self.revision, self._speaking, tuple(ops)))
        return commit

    def take(self) -> list[Committed]:
        """The commits since the last call."""
        history, self._history = self._history, []
        return history


def write(server: ClusterStore, key: str, value: bytes | None) -> None:
    """Write `value` to the key as another program, whatever its value was; None: delete it."""
    other = server.client()
    entry = other.get(key, timeout_s=1)
    if value is not None:
        other.commit([Put(key, value, as_read(entry))], timeout_s=1)
    elif entry is not None:
        other.commit([Delete(key, entry.version)], timeout_s=1)
    other.close()
