"""A rig on a real store: every key stands there, sessions are the server's; brokers and their clock are simulated.

Rules
* What the rig knows of the store is what it read there: after each commit its keys, and the ephemeral keys of a session
  that is over, until they are gone. It writes nothing but what `plant` is given; who else writes there is not seen, so
  the root must be the rig's own.
* Virtual time goes on as fast as there is work. It keeps step with real time where the server has to act: in a step in
  which nothing happened (a hint may be under way), and while the session of somebody who died runs out.
* Sessions are ended by the server's own clock; at once (`expire`) only where whoever made the rig says how. Faults of
  the store are those that it has, and those that are planned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from controller.rig.server import Committed, RecordingServer
from controller.simulated.store import StoreClient
from stores import transfer
from stores.base import Delete, Entry, Invalid, MetadataStore, Op, Put, StoreError
from stores.recipes import TOKEN_KEY, Token
from stores.tree import TreeEntry, kept

READ_S: Final = 10.0
_LOOK_S: Final = 0.1  # how often it is looked for the keys of a session that is over
_DOUBT_S: Final = 20.0


class StoreServer(RecordingServer):
    """What `Rig(server=...)` takes. `opens`: opens a client of the store, whose root is empty and nobody else's, with a
    session of its own. `tick_ms`: how long a step without work takes in real time. `ends`: has the server end the
    session of such a client, at once. To be closed after the rig."""

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

    # What a rig calls

    def client(self) -> StoreClient:
        """One more client of the store."""
        return StoreClient(self._opens, watcher=self)

    def connection(self) -> StoreClient:
        """One that opens sessions for others and needs none itself: it reads as the observer does."""
        return StoreClient(self._opens, self.observer, self)

    def plant(self, entries: Iterable[TreeEntry]) -> int:
        """The store holds the entries, with the generations that it gives them; ephemeral ones and mere parents
        are left out. Raises NotEmpty, BrokenOff."""
        values = {key: value for key, value, _ in kept(entries)}
        count = transfer.load(self.observer, values, timeout_s=READ_S)
        self.table.revision += 1
        self._learn(list(values), self.observer.get_many(list(values), timeout_s=READ_S))
        return count

    def tick(self) -> None:
        """Keep step with the server while the session of somebody who is gone runs out."""
        orphans = self._orphans()
        if not orphans:
            return
        time.sleep(self._tick_s)
        if time.monotonic() - self._looked_s >= _LOOK_S:
            self._look(orphans)

    def rest(self) -> None:
        """Nothing happened: what the server has to tell may be on its way."""
        time.sleep(self._tick_s)

    def expire(self, session_id: int) -> bool:
        """The server was told to end the session. Invalid, if nobody said how; False if there is no such session."""
        if self._ends is None:
            raise Invalid(f"session {session_id}: a real server ends sessions by its own clock")
        for client in self._clients:
            if client.session.session_id == session_id:
                self._ends(client.inner)
                self._looked_s = 0.0  # its keys are looked for at the next tick
                return True
        return False

    def close(self) -> None:
        """All clients are closed. Idempotent."""
        for client in self._clients:
            client.close()
        self.observer.close()

    # What clients tell

    def opened(self, client: StoreClient) -> None:
        """One more session."""
        self._clients.append(client)

    def committed(self, client: StoreClient, ops: Sequence[Op]) -> None:
        """Remember the commit, and read what it left."""
        written = [op.key for op in ops if isinstance(op, Put | Delete)]
        if not written:
            return
        self.table.revision += 1
        self._learn(written, self._read(client.inner, written))
        self._history.append(Committed(self.revision, self._speaking, tuple(ops)))

    def doubted(self, ops: Sequence[Op]) -> None:
        """Find out whether it was applied; if so, remember it as well."""
        written = [op.key for op in ops if isinstance(op, Put | Delete)]
        found = self._read(self.observer, written)
        if _shows(found, {op.key: op for op in ops}):
            self.table.revision += 1
            self._learn(written, found)
            self._history.append(Committed(self.revision, self._speaking, tuple(ops)))

    # Inside

    def _read(self, store: MetadataStore, keys: Sequence[str]) -> list[Entry | None]:
        """By the client that wrote; if that cannot be reached, by the observer, which waits for the store."""
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
        """Ephemeral keys of sessions that are nobody's any more."""
        live = {client.session.session_id for client in self._clients if not client.is_over}
        return [key for key, row in self.table.rows.items() if row[4] is not None and row[4] not in live]

    def _look(self, orphans: list[str]) -> None:
        self._looked_s = time.monotonic()
        with suppress(StoreError):  # looked at again
            self._learn(orphans, self.observer.get_many(orphans, timeout_s=READ_S))


def _shows(found: Sequence[Entry | None], ops: dict[str, Op]) -> bool:
    """Whether the keys say that the commit was applied: by its token, if it has one, else by every value."""
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
