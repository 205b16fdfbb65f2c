"""A store that forbids keys, as access lists do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedge.controller.codec import keys
from kedge.stores import ABSENT, Columns, Commit, Entry, MemoryStore, Op, Put, Unauthorized
from kedge.stores.memory import MemoryServer
from tests.runtime.world import Cluster


class Guarded(MemoryStore):
    """It refuses each read of one of its `forbidden` keys (with a slash at the end: of the names below it), and each
    commit that writes one of the `unwritable` ones, which it names if `names_keys`; it counts the reads."""

    names_keys = True

    def __init__(self, server: MemoryServer | None = None, *forbidden: str) -> None:
        super().__init__(server)
        self.forbidden = set(forbidden)
        self.unwritable: set[str] = set()
        self.reads = 0

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        self._check([key])
        return super().get(key, sync=sync, timeout_s=timeout_s)

    def get_many(self, keys: Sequence[str], *, timeout_s: float) -> list[Entry | None]:
        self._check(keys)
        return super().get_many(keys, timeout_s=timeout_s)

    def get_columns(self, keys: Sequence[str], *, timeout_s: float) -> Columns:
        self._check(keys)
        return super().get_columns(keys, timeout_s=timeout_s)

    def children(self, key: str, *, timeout_s: float) -> list[str]:
        self._check([f"{key}/"])
        return super().children(key, timeout_s=timeout_s)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        for op in ops:
            if op.key in self.unwritable:
                raise Unauthorized("not yours to write", key=op.key if self.names_keys else None)
        return super().commit(ops, timeout_s=timeout_s)

    def _check(self, keys: Sequence[str]) -> None:
        self.reads += 1
        if not self.forbidden.isdisjoint(keys):
            raise Unauthorized("not yours to read")


class GuardedCluster(Cluster):
    """A cluster whose controller's store forbids keys."""

    def __init__(self, *brokers: int, **controller: Any) -> None:
        super().__init__(start=False, **controller)
        self.guarded = Guarded(self.server)
        self.another(1, self.guarded)
        self.join(*brokers)

    def succeed(self, **more: Any) -> None:
        """Another controller takes over, over a store that forbids the same."""
        self.guarded = Guarded(self.server, *self.guarded.forbidden)
        super().succeed(store=self.guarded, **more)

    def join_broken(self, broker_id: int, *, run: bool = True) -> None:
        """A broker registers itself with an unreadable value."""
        store = self.sessions[broker_id] = MemoryStore(self.server)
        store.commit([Put(keys.broker(broker_id), b"{broken", ABSENT, ephemeral=True)], timeout_s=1)
        if run:
            self.run()

    def rewrite(self, key: str, value: bytes) -> None:
        """Another client writes the key in the session that it is of, so that its `created` stays."""
        entry = self.other.get(key, timeout_s=1)
        owners = [store for store in self.sessions.values() if entry and store.session.session_id == entry.owner]
        store, expect = (owners or [self.other])[0], ABSENT if entry is None else entry.version
        store.commit([Put(key, value, expect, ephemeral=bool(owners))], timeout_s=1)

    def value(self, key: str) -> bytes:
        """What the key holds."""
        return self.keys()[key]

    def forbid(self, *paths: str) -> None:
        self.guarded.forbidden |= set(paths)

    def allow(self, *paths: str) -> None:
        """They can be read again, and that was noticed."""
        self.guarded.forbidden -= set(paths)
        self.wait(6_000, 500)


def broken(cluster: GuardedCluster, key: str) -> None:
    """Another client writes what is not of its kind, in the session that the key is of."""
    cluster.rewrite(key, b"{broken")
