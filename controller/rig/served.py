"""A rig on a real store: its keys and sessions are the server's; brokers and their clock are simulated.

* The rig knows of the store what it read there: after each commit its keys, and the ephemeral keys of an ended session
  until they are gone. It writes only what `plant` gets. Writes of others are not seen, so the root must be the rig's
  own.
* Virtual time advances as fast as there is work. It keeps step with real time where the server has to act: in a step in
  which nothing happened (a hint may be in transit), and while the session of a dead process runs out.
* Sessions are ended by the server's own clock; at once (`expire`) only where the rig was made with `ends`. Faults of
  the store are its own, and the planned ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from ...stores import transfer
from ...stores.base import Delete, Entry, Invalid, MetadataStore, Op, Put, StoreError
from ...stores.recipes import TOKEN_KEY, Token
from ...stores.tree import TreeEntry, kept
from ..simulated.store import StoreClient
from .server import Committed, RecordingServer

READ_S: Final = 10.0
_LOOK_S: Final = 0.1  # the interval of looking for the keys of an ended session
_DOUBT_S: Final = 20.0


class StoreServer(RecordingServer):
    """For `Rig(server=...)`. `opens`: opens a client of the store, whose root is empty and used by no other program,
    with its own session. `tick_ms`: the real time of a step without work. `ends`: has the server end the session of
    such a client, at once. It is closed after the rig."""

    def __init__(
        self,
        opens: Callable[[], MetadataStore],
        *,
        tick_ms: int = 10,
        ends: Callable[[MetadataStore], None] | None = None,
    ) -> None:
        self._opens = opens
        self._ends = ends
        self._tick_s = tick_ms / 1000
        self._looked_s = 0.0
        self._clients: list[StoreClient] = []
        self.observer: Final = opens()
        super().__init__(session_timeout_s=self.observer.session_timeout_s)

    # Called by a rig

    def client(self) -> StoreClient:
        return StoreClient(self._opens, watcher=self)

    def connection(self) -> StoreClient:
        """A client that opens sessions for others and needs none itself: it reads as the observer does."""
        return StoreClient(self._opens, self.observer, self)

    def plant(self, entries: Iterable[TreeEntry]) -> int:
        """Write the entries to the store, which gives them generations; ephemeral keys and empty parents are left
        out. Raises NotEmpty, BrokenOff."""
        values = {key: value for key, value, _ in kept(entries)}
        count = transfer.load(self.observer, values, timeout_s=READ_S)
        self.table.revision += 1
        self._learn(list(values), self.observer.get_many(list(values), timeout_s=READ_S))
        return count

    def tick(self) -> None:
        """Keep step with the server while the session of a dead process runs out."""
        orphans = self._orphans()
        if not orphans:
            return
        time.sleep(self._tick_s)
        if time.monotonic() - self._looked_s >= _LOOK_S:
            self._look(orphans)

    def rest(self) -> None:
        """Nothing happened in a step: wait for events of the server."""
        time.sleep(self._tick_s)

    def expire(self, session_id: int) -> bool:
        """Have the server end the session. Raises Invalid without `ends`; False if there is no such session."""
        if self._ends is None:
            raise Invalid(f"session {session_id}: a real server ends sessions by its own clock")
        for client in self._clients:
            if client.session.session_id == session_id:
                self._ends(client.inner)
                self._looked_s = 0.0  # its keys are looked for at the next tick
                return True
        return False

    def close(self) -> None:
        """Close all clients. Idempotent."""
        for client in self._clients:
            client.close()
        self.observer.close()

    # Called by clients

    def opened(self, client: StoreClient) -> None:
        self._clients.append(client)

    def committed(self, client: StoreClient, ops: Sequence[Op]) -> None:
        """Record the commit, and read the keys that it wrote."""
        written = [op.key for op in ops if isinstance(op, Put | Delete)]
        if not written:
            return
        self.table.revision += 1
        self._learn(written, self._read(client.inner, written))
        self._history.append(Committed(self.revision, self._speaking, tuple(ops)))

    def doubted(self, ops: Sequence[Op]) -> None:
        """Find out whether it was applied; if so, record it as well."""
        written = [op.key for op in ops if isinstance(op, Put | Delete)]
        found = self._read(self.observer, written)
        if _shows(found, {op.key: op for op in ops}):
            self.table.revision += 1
            self._learn(written, found)
            self._history.append(Committed(self.revision, self._speaking, tuple(ops)))

    # Inside

    def _read(self, store: MetadataStore, keys: Sequence[str]) -> list[Entry | None]:
        """Read by the client that wrote; if it cannot be reached, by the observer, which waits for the store."""
        with suppress(StoreError):
            store.get(keys[0], sync=True, timeout_s=READ_S)
            return store.get_many(keys, timeout_s=READ_S)
        deadline_s = time.monotonic() + _DOUBT_S
        while True:
            try:
                self.observer.get(keys[0], sync=True, timeout_s=READ_S)
                return self.observer.get_many(keys, timeout_s=READ_S)
            except StoreError:
                if time.monotonic() >= deadline_s:
                    raise
            time.sleep(_LOOK_S)

    def _learn(self, keys: Sequence[str], entries: Sequence[Entry | None]) -> None:
        for key, e in zip(keys, entries, strict=True):
            if e is None:
                self.table.rows.pop(key, None)
            else:
                self.table.rows[key] = (e.value, int(e.version), e.generation, e.created, e.owner)

    def _orphans(self) -> list[str]:
        """Ephemeral keys of sessions without a live client."""
        live = {client.session.session_id for client in self._clients if not client.is_over}
        return [key for key, row in self.table.rows.items() if row[4] is not None and row[4] not in live]

    def _look(self, orphans: list[str]) -> None:
        self._looked_s = time.monotonic()
        with suppress(StoreError):  # it is tried again
            self._learn(orphans, self.observer.get_many(orphans, timeout_s=READ_S))


def _shows(found: Sequence[Entry | None], ops: dict[str, Op]) -> bool:
    """Whether the keys show that the commit was applied: by its token, if it has one, else by every value."""
    entries = {entry.key: entry for entry in found if entry is not None}
    token = ops.get(TOKEN_KEY)
    if isinstance(token, Put):
        entry = entries.get(TOKEN_KEY)
        return entry is not None and Token.decode(entry.value) == Token.decode(token.value)
    return all(
        (entries[key].value == op.value if key in entries else False) if isinstance(op, Put) else key not in entries
        for key, op in ops.items()
        if isinstance(op, Put | Delete)
    )
