"""The client of the memory store: the contract of `kedge.stores.base`, and methods that disconnect it."""

# ruff: noqa: ARG002 - answers are immediate and linearizable, so `timeout_s` and `sync` have no effect

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

from ..base import Capabilities, Closed, Columns, Commit, Depth, Entry, Invalid, MetadataStore, Op, Session, Snapshot
from ..checks import check_key, check_prefix
from .server import MemoryServer
from .subscription import MemorySubscription
from .table import NO_ROW, entry


class MemoryStore(MetadataStore):
    """A client of a memory server with one session. Thread-safe; answers are immediate, so timeouts never pass.

    `MemoryStore()` creates a server with `options` (see `MemoryServer`); one with a `file` is closed with its last
    client. `MemoryStore(server)` is another client of that server. Reads are always linearizable. While the client is
    disconnected, calls raise Unavailable.
    """

    def __init__(self, server: MemoryServer | None = None, **options: Any) -> None:
        if server is not None and options:
            raise Invalid(f"options are for a new memory server, not for an existing one: {sorted(options)}")
        self.server: Final = MemoryServer(**options) if server is None else server
        if server is None:
            self.server.closes_with_clients = True
        self._rows: Final = self.server.table.rows
        self._link: Final = self.server.connect()

    # The contract

    @property
    def capabilities(self) -> Capabilities:
        """The limits that the server was configured with."""
        return self.server.capabilities

    @property
    def session(self) -> Session:
        """The session as this client knows it. While it is disconnected, the server may have ended the session."""
        with self.server.lock:
            return Session(self._link.session_id, self._link.connected and not self._link.closed)

    @property
    def session_timeout_s(self) -> float:
        """After which time, by the server's clock, a disconnected client loses its session."""
        return self.server.session_timeout_s

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        with self.server.lock:
            self.server.contact(self._link)
            row = self._rows.get(key)
        if row is None:
            check_key(key)
            return None
        return entry(key, row)

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        """One result per key, all of one instant."""
        with self.server.lock:
            self.server.contact(self._link)
            rows = [self._rows.get(key) for key in keys]
        for key, row in zip(keys, rows, strict=True):
            if row is None:
                check_key(key)
        return [None if row is None else entry(key, row) for key, row in zip(keys, rows, strict=True)]

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        """`get_many` as columns, at about 0.3 us per key."""
        with self.server.lock:
            self.server.contact(self._link)
            get = self._rows.get
            rows = [get(key, NO_ROW) for key in keys]
        values = [row[0] for row in rows]
        if None in values:
            for key, value in zip(keys, values, strict=True):
                if value is None:
                    check_key(key)
        return Columns(values, array("q", [row[1] for row in rows]), array("q", [row[2] for row in rows]))

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        """The names directly below `key`, sorted; the cost depends only on their number."""
        check_prefix(key)
        with self.server.lock:
            self.server.contact(self._link)
            return self.server.table.children(key)

    def created_below(self, key: str, *, timeout_s: float) -> int:
        """0: the memory store does not count keys."""
        check_prefix(key)
        with self.server.lock:
            self.server.contact(self._link)
        return 0

    def snapshot(self, prefix: str, *, timeout_s: float) -> Snapshot:
        """All keys below `prefix`, as one instant. The cursor is the revision."""
        check_prefix(prefix)
        with self.server.lock:
            self.server.contact(self._link)
            cursor = self.server.table.revision
            rows = [(key, self._rows[key]) for key in self.server.table.keys_below(prefix)]
        return Snapshot(tuple(entry(key, row) for key, row in rows), cursor, consistent=True)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        """Apply all ops or none. The outcome is always known; `kedge.stores.faults` can make it unknown."""
        return self.server.commit(self._link, ops)

    def subscribe(self, prefix: str, depth: Depth, cursor: int | None = None) -> MemorySubscription:
        """Open a stream, also while the client is disconnected."""
        check_prefix(prefix)
        stream = MemorySubscription(self.server, self._link)
        with self.server.lock:
            if self._link.closed:
                raise Closed("the store was closed")
            stream.add(prefix, depth, cursor)
            self._link.streams.append(stream)
        return stream

    def another_session(self) -> MemoryStore:
        """A second client of the same server. Raises Unavailable while this one is disconnected, Closed once closed."""
        with self.server.lock:
            self.server.contact(self._link)
            return MemoryStore(self.server)

    def close(self) -> None:
        """End the session. If the client is disconnected, the server ends it after the session timeout."""
        self.server.end(self._link)

    # Hooks

    def disconnect(self) -> None:
        """Disconnect this client: calls raise Unavailable, and streams get Suspended and no hints. After
        `session_timeout_s` the server ends the session, which this client learns on `reconnect`. Other clients are not
        affected, including those of `another_session`."""
        self.server.cut(self._link)

    def reconnect(self) -> None:
        """Reconnect the client. Streams get Resumed and Resync "reconnected", or, if the server ended the session
        meanwhile, Lost, Started and Resync "session"."""
        self.server.heal(self._link)

    def expire(self) -> None:
        """Make the server end this client's session now, connected or not."""
        self.server.expire(self.session.session_id)
