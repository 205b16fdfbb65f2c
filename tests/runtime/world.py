"""A cluster for tests: the real controller over the real memory store, a clock moved by hand, a host that does what it
is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from kedge import (
    BrokerRegistration,
    Controller,
    HostResponse,
    Journal,
    LeaderAndIsrRequest,
    NewTopic,
    StopReplicaRequest,
    TopicPartition,
    UpdateMetadataRequest,
)
from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import keys
from kedge.controller.model.values import Partition
from kedge.stores import MemoryStore
from kedge.stores.base import ABSENT, Commit, Delete, MetadataStore, Op, Put, StoreError
from kedge.stores.faults import FaultStore
from kedge.stores.memory import MemoryServer

V = TypeVar("V")
Request = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class HandClock:
    """Both clocks, moved by hand; the wall clock may be set apart."""

    def __init__(self) -> None:
        self.elapsed_ms = 0
        self.wall_ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.wall_ms + self.elapsed_ms

    def monotonic_s(self) -> float:
        return self.elapsed_ms / 1000

    def advance(self, ms: float) -> None:
        self.elapsed_ms += round(ms)


class Brokers:
    """A host that records its calls. `answer` may be replaced by what it is to return, or raise."""

    def __init__(self) -> None:
        self.told: list[Request] = []
        self.answer: Callable[[Request], Any] = lambda _: HostResponse()

    def _take(self, request: Request) -> HostResponse:
        self.told.append(request)
        answer: HostResponse = self.answer(request)
        return answer

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return self._take(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self._take(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._take(request)

    def to(self, broker: int, kind: type[V]) -> list[V]:
        """The requests of a kind to one broker."""
        return [r for r in self.told if isinstance(r, kind) and r.broker_id == broker]


class Counting(FaultStore):
    """A store that counts by kind which errors its commits ended with."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.errors: Counter[str] = Counter()

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        try:
            return super().commit(ops, timeout_s=timeout_s)
        except StoreError as error:
            self.errors[type(error).__name__] += 1
            raise


class Cluster:
    """One server, one controller (more with `another`), brokers that register themselves."""

    def __init__(self, *, options: Mapping[str, Any] | None = None, start: bool = True, **controller: Any) -> None:
        self.clock = HandClock()
        self.server = MemoryServer(clock=self.clock.monotonic_s, **(options or {}))
        self.other = MemoryStore(self.server)  # another client
        self.sessions: dict[int, MemoryStore] = {}
        self.host = Brokers()
        self.store = Counting(MemoryStore(self.server), sleep=lambda s: self.clock.advance(s * 1000))
        self.arguments = controller
        self.controllers: list[Controller] = []
        if start:
            self.controller = self.another(1, self.store)

    def another(self, node_id: int, store: MetadataStore | None = None, **more: Any) -> Controller:
        store = store or MemoryStore(self.server)
        arguments = {"clock": self.clock, "seed": node_id, "journal": Journal(), **self.arguments, **more}
        self.controller = Controller(store, node_id, arguments.pop("host", self.host), **arguments)
        self.controllers.append(self.controller)
        return self.controller

    def succeed(self, **more: Any) -> None:
        """Another controller takes over from all that there are."""
        while self.controllers:
            self.controllers.pop().close()
        self.another(2, **more)
        self.run()

    # --- time

    def run(self, *controllers: Controller) -> None:
        """Everything that can be done now is done."""
        for _ in range(2000):
            worked = [controller.poll_once() for controller in controllers or self.controllers]
            if not any(worked):
                return
        raise AssertionError("the controllers never come to rest")

    def wait(self, ms: int, step_ms: int = 50) -> None:
        """Time goes by, and what comes due is done."""
        for _ in range(0, ms, step_ms):
            self.clock.advance(step_ms)
            self.run()

    def done(self, future: Future[V]) -> Any:
        self.run()
        return future.result(0)

    def error(self, future: Future[Any]) -> BaseException | None:
        self.run()
        return future.exception(0)

    # --- brokers

    def join(self, *broker_ids: int, **said: Any) -> None:
        """Brokers register themselves, each in a session of its own."""
        for broker_id in broker_ids:
            self.sessions[broker_id] = MemoryStore(self.server)
            registration = BrokerRegistration(broker_id, **{"rack": "abc"[broker_id % 3], **said})
            value = broker_codec.encode(registration, 5, self.clock.now_ms())
            self.sessions[broker_id].commit([Put(keys.broker(broker_id), value, ABSENT, ephemeral=True)], timeout_s=1)
        if self.controllers:
            self.run()

    def leave(self, *broker_ids: int, run: bool = True) -> None:
        for broker_id in broker_ids:
            self.sessions.pop(broker_id).close()
        if run and self.controllers:
            self.run()

    def epoch(self, broker_id: int) -> int:
        entry = self.other.get(keys.broker(broker_id), timeout_s=1)
        assert entry is not None
        return entry.created

    # --- the store

    def put(self, key: str, value: object) -> None:
        """Another client writes a key, whatever stands there; a living session's own goes first."""
        entry = self.other.get(key, timeout_s=1)
        if entry is not None and entry.owner is not None:
            self.delete(key)
            entry = None
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.other.commit([Put(key, data, ABSENT if entry is None else entry.version)], timeout_s=1)

    def delete(self, key: str) -> None:
        entry = self.other.get(key, timeout_s=1)
        assert entry is not None
        self.other.commit([Delete(key, entry.version)], timeout_s=1)

    def get(self, key: str) -> Any:
        """The JSON of a key, None where there is none."""
        entry = self.other.get(key, timeout_s=1)
        return None if entry is None else json.loads(entry.value)

    def state(self, topic: str = "t", partition: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.get(keys.state(topic, partition))
        return found

    def has(self, key: str) -> bool:
        return self.other.get(key, timeout_s=1) is not None

    def keys(self, prefix: str = "/") -> dict[str, bytes]:
        return {e.key: e.value for e in self.other.snapshot(prefix, timeout_s=1).entries}

    # --- topics

    def create(self, name: str = "t", *assignments: Sequence[int], **configs: str) -> None:
        new = NewTopic(replica_assignments=assignments or ((1, 2, 3),), configs=configs)
        self.done(self.controller.admin.create_topics({name: new}).all())
        self.run()

    def partition(self, topic: str = "t", partition: int = 0) -> Partition:
        found = self.done(self.controller.query(lambda view: view.partition(topic, partition)))
        assert isinstance(found, Partition)
        return found

    def isr(self, isr: Sequence[int], topic: str = "t", partition: int = 0) -> Future[Any]:
        """The leader says who is in sync, by what stands in the store."""
        key = keys.state(topic, partition)
        state, entry = self.get(key), self.other.get(key, timeout_s=1)
        assert entry is not None
        tp, leader = TopicPartition(topic, partition), state["leader"]
        epochs = (leader, state["leader_epoch"], entry.generation, list(isr), self.epoch(leader))
        return self.controller.alter_isr(tp, *epochs)

    def move(self, target: Sequence[int] | None, topic: str = "t", partition: int = 0) -> Future[Any]:
        tp = TopicPartition(topic, partition)
        return self.controller.admin.alter_partition_reassignments({tp: target})[tp]

    def findings(self) -> Mapping[str, str]:
        return self.controller.describe().findings


def cluster_of_three(**more: Any) -> Cluster:
    """Brokers 1 to 6, and topic t with one partition on 1, 2, 3."""
    cluster = Cluster(**more)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create()
    return cluster


def failing(broker: int, kind: type = object) -> Callable[[Any], HostResponse]:
    """An answer for `Brokers`: this broker raises, for requests of this kind."""

    def answer(request: Any) -> HostResponse:
        if request.broker_id == broker and isinstance(request, kind):
            raise RuntimeError("no such luck")
        return HostResponse()

    return answer


def actives(cluster: Cluster) -> list[int]:
    """Who leads, by its own word."""
    return [c.describe().controller_id for c in cluster.controllers if c.is_active]
