"""Clusters to measure on: a tree in a store, and hosts that answer at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from time import perf_counter
from typing import Final

from benchmarks.content import CONTROLLER_EPOCHS, Made, topics_of
from kedge import BrokerRegistration, Controller, HostResponse
from kedge.controller.codec import keys, partition_state, small, topic
from kedge.controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge.stores import ABSENT, Commit, Delete, MetadataStore, Op, Put
from kedge.stores.recipes import EPOCH_KEY

_IN_FLIGHT: Final = 4
_COMMIT_BYTES: Final = 500_000


class QuietHost:
    """Answers at once and keeps nothing."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return HostResponse()

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return HostResponse()


def plant(store: MetadataStore, topics: int, partitions: int, brokers: int, content: str = "planted") -> None:
    """`topics` x `partitions` in Kafka's layout, RF 3, with all replicas in sync."""
    plant_topics(store, topics_of(content, topics, partitions, brokers), is_realistic=content == "realistic")


def plant_topics(store: MetadataStore, topics: Iterable[Made], *, is_realistic: bool = True) -> None:
    """These topics in Kafka's layout; several commits under way. `is_realistic`: they are of `content.realistic`."""
    ops = _tree(topics, is_realistic=is_realistic)
    with ThreadPoolExecutor(_IN_FLIGHT) as pool:
        for _ in pool.map(lambda batch: store.commit(batch, timeout_s=60), _batches(store, ops)):
            pass


def _tree(topics: Iterable[Made], *, is_realistic: bool) -> Iterator[Op]:
    if is_realistic:  # a state key with a later epoch than the last controller's would be damage
        yield Put(EPOCH_KEY, b"%d" % CONTROLLER_EPOCHS, ABSENT)
    for made in topics:
        name = made.topic.name
        yield Put(keys.topic_config(name), small.encode_config({}), ABSENT)
        yield Put(keys.topic(name), topic.encode(made.topic, [p.replicas for p in made.partitions]), ABSENT)
        for partition, controller_epoch in zip(made.partitions, made.controller_epochs, strict=True):
            value = partition_state.encode(partition, controller_epoch)
            yield Put(keys.state(name, partition.partition), value, ABSENT)


def _batches(store: MetadataStore, ops: Iterable[Op]) -> Iterator[list[Op]]:
    most = min(store.capabilities.commit_ops_max, _COMMIT_BYTES // 500)
    left = iter(ops)
    while batch := list(islice(left, most)):
        yield batch


def register(controller: Controller, brokers: Iterable[int]) -> dict[int, int]:
    """Brokers of these ids, in three racks; their epochs."""
    return {b: controller.register_broker(BrokerRegistration(b, rack=f"r{b % 3}")) for b in brokers}


def named(store: MetadataStore) -> list[int]:
    """The brokers that hold replicas in a tree, as far as some of its topics tell."""
    names = store.children(keys.TOPICS, timeout_s=60)[:1000]
    found = set[int]()
    for name, entry in zip(names, store.get_many([keys.topic(name) for name in names], timeout_s=60), strict=True):
        if entry is not None:
            found.update(b for replicas in topic.decode(entry.value, name).assignments for b in replicas)
    return sorted(found)


def settle(controller: Controller) -> None:
    """Poll until there is nothing to do."""
    while controller.poll_once():
        pass


class Written:
    """Counts commits, and the keys and bytes of values that they wrote; `seconds`: how long the store took for each."""

    def __init__(self) -> None:
        self.commits = self.keys = self.value_bytes = 0
        self.seconds: list[float] = []
        self._is_closed = False

    def close(self) -> None:
        """What is committed from now on does not count."""
        self._is_closed = True

    def note(self, ops: Sequence[Op], seconds: float) -> None:
        """A commit was made."""
        if self._is_closed:
            return
        self.commits += 1
        self.keys += sum(1 for op in ops if isinstance(op, Put | Delete))
        self.value_bytes += sum(len(op.value) for op in ops if isinstance(op, Put))
        self.seconds.append(seconds)


def observe(store: MetadataStore, note: Callable[[Sequence[Op], float], None]) -> MetadataStore:
    """The store, which calls `note` with the ops of every commit that was made, and the seconds that it took."""
    kind = type(store)

    class Observed(kind):  # type: ignore[misc, valid-type]
        def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
            began = perf_counter()
            done: Commit = super().commit(ops, timeout_s=timeout_s)
            note(ops, perf_counter() - began)
            return done

    store.__class__ = Observed
    return store
