"""The backends that the suite is bound to: those in this process, and servers, each of which has its own file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, cast

import attrs

from kedge.stores import FaultStore, MemoryServer, MemoryStore, MetadataStore
from kedge.stores.faults import DeliverLater, Fault, LoseReply, LoseRequest, Rule
from kedge.stores.suite import Backend, Hook
from tests.conformance.ensembles import EnsembleBackend
from tests.conformance.etcd_bindings import EtcdBackend
from tests.conformance.zookeeper import OldZooKeeperBackend, ZooKeeperBackend


class Clock:
    """A clock that advances only by a call."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class MemoryBackend(Backend):
    """The memory store, and the fault store over it, which can lose replies, too."""

    def __init__(self, name: str, versioning: str, fault: Fault | None = None) -> None:
        self.name = name
        self.hooks = frozenset({Hook.EXPIRE, Hook.DISCONNECT} | ({Hook.BLACKOUT} if fault else set()))
        self._fault = fault
        self._clock = Clock()
        self._server = MemoryServer(versioning=versioning, clock=self._clock)  # type: ignore[arg-type]
        self._stores: list[MetadataStore] = []

    def open(self) -> MetadataStore:
        """A client, behind a FaultStore without a plan where faults are wanted."""
        store: MetadataStore = MemoryStore(self._server)
        if self._fault is not None:
            store = FaultStore(store)
        self._stores.append(store)
        return store

    def close(self) -> None:
        """Close the clients and the server."""
        for store in self._stores:
            store.close()
        self._server.close()

    def expire(self, store: MetadataStore) -> None:
        """At once."""
        cast(MemoryStore, store).expire()

    def disconnect(self, store: MetadataStore) -> None:
        """At once."""
        cast(MemoryStore, store).disconnect()

    def reconnect(self, store: MetadataStore) -> None:
        """At once."""
        cast(MemoryStore, store).reconnect()

    def outlive(self, store: MetadataStore) -> None:
        """By the clock."""
        self._clock.now_s += store.session_timeout_s
        self._server.tick()

    @contextlib.contextmanager
    def blackout(self, store: MetadataStore) -> Iterator[None]:
        """Every commit meets the fault of this binding."""
        assert isinstance(store, FaultStore)
        assert self._fault is not None
        store.play([Rule(self._fault)])
        try:
            yield
        finally:
            store.play([])


@attrs.frozen
class Binding:
    """A backend, and which groups of the suite it runs."""

    name: str
    make: Callable[..., Backend]
    groups: tuple[str, ...]
    server: bool = False
    """Whether it needs a real server."""
    fixture: str = ""
    """The fixture that gives the server, which `make` takes."""


_ALL: Final = ("kv", "commit", "snapshot", "watch", "session", "faults", "election", "linearizability")
_UNKNOWN: Final = ("faults", "election", "linearizability")


def _memory(name: str, versioning: str, fault: Fault | None = None) -> Callable[[], Backend]:
    return lambda: MemoryBackend(name, versioning, fault)


SERVERS: Final = (
    Binding(ZooKeeperBackend.name, ZooKeeperBackend, _ALL, server=True, fixture="zookeeper_server"),
    Binding(
        OldZooKeeperBackend.name,
        OldZooKeeperBackend,
        ("commit", "snapshot", "watch"),
        server=True,
        fixture="zookeeper_server",
    ),
    Binding("etcd", EtcdBackend, _ALL, server=True, fixture="etcd_server"),
)

# What three servers do otherwise than one: a server that is behind may answer.
ENSEMBLES: Final = tuple(
    Binding(f"{kind}-ensemble", EnsembleBackend, ("linearizability",), server=True, fixture=f"{kind}_ensemble")
    for kind in ("zookeeper", "etcd")
)

LOCAL: Final = tuple(
    Binding(name, _memory(name, versioning, fault), groups)
    for name, versioning, fault, groups in (
        ("memory-global", "global", None, _ALL),
        ("memory-per-key", "per_key", None, _ALL),
        ("faults-reply-lost", "global", LoseReply(), _ALL),
        ("faults-request-lost", "per_key", LoseRequest(), _UNKNOWN),
        ("faults-delivered-late", "global", DeliverLater(before_commit=1), _UNKNOWN),
    )
)
BINDINGS: Final = LOCAL + SERVERS + ENSEMBLES
