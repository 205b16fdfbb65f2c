"""A cluster to move: on a memory server, with a controller that leads, one on the new store that awaits it, brokers
that are registered in both, a move that runs, an intent that is open, a broker that is dead."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kedge.controller.codec import keys
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.runtime.clock import Chance
from kedge.controller.runtime.migration import Migration
from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.base import ABSENT, Commit, Entry, MetadataStore, Op, Put
from kedge.stores.faults import FailBefore, Fault, FaultStore
from kedge.stores.faults.plan import Call
from kedge.stores.recipes import LEADER_KEY
from tests.runtime.world import Cluster

LEFT = 6  # a broker of FROM that is dead, and named by partitions
STATE = keys.state("t", 0)


class Moved(Cluster):
    """`server` is FROM, `to` is TO; `next` is a controller over TO."""

    def __init__(self, *, to: MemoryServer | None = None, brokers: Iterable[int] = range(1, 6), **more: Any) -> None:
        super().__init__(**more)
        self.to = to or MemoryServer(clock=self.clock.monotonic_s, commit_ops_max=9)
        self.there = MemoryStore(self.to)
        self.said: list[str] = []
        self.on_pause: Callable[[], object] = lambda: None
        self.join(1, 2, 3, 4, 5, LEFT)
        self.create("t", (1, 2, 3), (2, 3, 1), (3, LEFT, 1), **{"retention.ms": "9"})
        self.create("u", (4, 5), (LEFT, 4))
        self.leave(LEFT)
        self.done(self.move((4, 5, 1), "t", 0))
        self.put(keys.BROKER_SEQUENCE, b"")
        self.put(f"{keys.DELETE_TOPICS}/none", b"")
        self.controllers[0].poll_once()
        first = self.controller
        self.next = self.another(1, MemoryStore(self.to), awaits_cluster=True)
        self.controller = first
        self.register_all(brokers)
        self.run()
        assert not self.next.is_active
        self.host.told.clear()

    def migration(
        self, source: MetadataStore | None = None, target: MetadataStore | None = None, *, in_flight: int = 1
    ) -> Migration:
        """A process that moves it."""

        def pause(seconds: float) -> None:
            self.on_pause()
            self.wait(round(seconds * 1000), 100)

        return Migration(
            source or MemoryStore(self.server),
            target or MemoryStore(self.to),
            ("memory:from", "memory:to"),
            clock=self.clock,
            chance=Chance(5),
            pause=pause,
            say=self.said.append,
            in_flight=in_flight,
        )

    def take_over(self) -> None:
        """The controller over TO leads, and nothing is left to do."""
        self.run()
        assert self.next.is_active, self.next.describe()
        assert not self.controllers[0].is_active

    def register_all(self, brokers: Iterable[int] = range(1, 6)) -> None:
        """Brokers are registered in TO, too."""
        for broker_id in brokers:
            self.next.register_broker(BrokerRegistration(broker_id, rack="abc"[broker_id % 3]))

    def join_unseen(self, broker_id: int) -> None:
        """A broker registers in FROM, and no controller has looked since."""
        controllers, self.controllers = self.controllers, []
        self.join(broker_id)
        self.controllers = controllers

    def delete_topic(self, name: str) -> None:
        """A topic is deleted in FROM."""
        self.done(self.controller.admin.delete_topics([name]).all())
        self.run()

    # --- what stands

    def of(self, server: MemoryServer, *, ephemeral: bool = False) -> dict[str, Entry]:
        entries = MemoryStore(server).snapshot("/", timeout_s=1).entries
        return {e.key: e for e in entries if ephemeral or e.owner is None}

    def values(self, server: MemoryServer) -> dict[str, bytes]:
        return {key: entry.value for key, entry in self.of(server).items()}

    def told(self, key: str) -> Any:
        """The JSON of a key of TO."""
        entry = self.there.get(key, timeout_s=1)
        return None if entry is None else json.loads(entry.value)

    def leader_epochs(self, server: MemoryServer) -> dict[str, int]:
        found = self.values(server)
        return {key: json.loads(value)["leader_epoch"] for key, value in found.items() if key.endswith("/state")}


def cluster_of(server: MemoryServer) -> dict[str, Any]:
    """What a cluster is, without what only says who wrote it and when."""
    found: dict[str, Any] = {}
    for entry in MemoryStore(server).snapshot("/", timeout_s=1).entries:
        if entry.owner is not None or entry.key in {"/controller_epoch", "/kedge/commit", keys.ORIGIN}:
            continue
        try:
            value = json.loads(entry.value)
        except ValueError:
            value = entry.value
        if entry.key.endswith("/state"):
            del value["controller_epoch"]
        found[entry.key] = value
    return found


class Death:
    """The end of a process at its nth commit, over all its stores: from then on nothing of it reaches any store."""

    def __init__(self, at: int, fault: Fault) -> None:
        self._at = at
        self._fault = fault
        self.commits = 0

    @property
    def is_over(self) -> bool:
        return self.commits >= self._at

    def __call__(self, call: Call, _: random.Random) -> list[Fault]:
        if self.is_over:
            return [FailBefore()]
        if call.name == "commit":
            self.commits += 1
            return [self._fault] if self.is_over else []
        return []

    def store(self, server: MemoryServer) -> FaultStore:
        return FaultStore(MemoryStore(server), self)


class Late(MemoryStore):
    """A store in which another client writes a key just before it is held for good."""

    late: tuple[str, bytes] | None = None

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if self.late is not None and any(isinstance(op, Put) and op.key == LEADER_KEY for op in ops):
            (key, value), self.late = self.late, None
            entry = self.get(key, timeout_s=1)
            super().commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1)
        return super().commit(ops, timeout_s=timeout_s)
