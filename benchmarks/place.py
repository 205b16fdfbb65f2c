"""Where a benchmark has its cluster: a memory server, a local ZooKeeper or etcd of its own, or a store that is there.

A store that is given by its url (`--connect`) is not filled: it holds Kafka's layout already, with whatever topics and
brokers, so that the very tree can be measured that another controller was measured on. The local servers write to the
disk as they do by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryDirectory
from typing import Final

import attrs

from benchmarks.cluster import plant
from benchmarks.conditions import Conditions
from benchmarks.driven import Driven
from benchmarks.hosts import MeasuredHost
from kedge import Controller
from kedge.controller.model.host import Host
from kedge.controller.runtime.journal import FolderSink, Journal
from kedge.stores import MemoryServer, MemoryStore, MetadataStore, open_store, public_url
from servers import LocalZooKeeper
from servers.etcd import LocalEtcd

STORES: Final = ("memory", "zookeeper", "etcd")
_SESSION_S: Final = 60  # nothing is measured here that a session's end decides
_ETCD_BYTES_MAX: Final = 8_000_000_000


@attrs.frozen
class Place:
    """A store for one benchmark, and the conditions of the controllers on it."""

    name: str
    version: str
    filled: bool
    """Whether it holds a cluster of another program."""
    conditions: Conditions
    _first: MetadataStore
    _stack: ExitStack

    def open(self) -> MetadataStore:
        """One more session."""
        return self._first.another_session()

    def fill(self, topics: int, partitions: int, brokers: int) -> None:
        """Plant a cluster, unless there is one."""
        if not self.filled:
            plant(self._first, topics, partitions, brokers, self.conditions.content)

    def driven(self, store: MetadataStore, host: Host, *, metrics: bool = True) -> Driven:
        """A controller with the journal, host and driver of this run. It is closed after the run."""
        measured = MeasuredHost(host, self.conditions.host)
        journal = None
        if self.conditions.journal == "on":
            journal = Journal(FolderSink(self._stack.enter_context(TemporaryDirectory(prefix="kedge-benchmark-"))))
        controller = Controller(store, 1, measured, journal=journal, metrics=metrics, tune_gc=True)
        self._stack.callback(controller.close)
        return Driven(controller, measured, threads=self.conditions.driver == "threads")

    @property
    def figure(self) -> dict[str, object]:
        """What figures say of it."""
        return {"store": self.name, "server": self.version}


@contextmanager
def place(store: str, connect: str | None, conditions: Conditions) -> Iterator[Place]:
    """The store of this name, empty, or the one that `connect` names."""
    with ExitStack() as stack:
        if connect is not None:
            first, name, version = open_store(connect), public_url(connect), "not asked"
        elif store == "zookeeper":
            zookeeper = stack.enter_context(LocalZooKeeper(tick_ms=2000, heap_mb=1024))
            url = f"zookeeper://{zookeeper.address}/bench?session_timeout={_SESSION_S}"
            first, name, version = open_store(url), store, zookeeper.version
        elif store == "etcd":
            flags = [f"--quota-backend-bytes={_ETCD_BYTES_MAX}"]
            etcd = stack.enter_context(LocalEtcd(sound=False, flags=flags))  # as in the runs that are committed
            first, name, version = open_store(etcd.url("/bench", session_timeout=_SESSION_S)), store, etcd.version
        else:
            first, name, version = MemoryStore(MemoryServer()), store, "in this process"
        stack.callback(first.close)
        yield Place(name, version, connect is not None, conditions, first, stack)
