"""What a test does to a cluster for tests: topics, moves, and failures on order.

In: a cluster of this process, and what its gateway serves. Out: methods that return when clients can see what was done.
`kedge.testing` calls them here, or in a process of `kedge serve` over a pipe; so arguments and results can be pickled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from .model.requests import NewTopic, PartitionDescription
from .model.values import TopicPartition
from .model.view import ClusterView
from .server import LiveCluster
from .wire.calls import Api
from .wire.faults import Fault, Faults
from .wire.gateway import Gateway
from .wire.request_log import RequestLog, Requests

TIMEOUT_S: Final = 30.0
_LOOK_S: Final = 0.002


class Control:
    """`apis`: those of the cluster. The gateway serves `Control.apis` instead, and is passed to `begin`.

    TimeoutError if something takes more than `TIMEOUT_S`, ValueError for an unknown broker.
    """

    def __init__(self, live: LiveCluster, apis: Mapping[int, Api]) -> None:
        self._live = live
        self._faults = Faults(apis)
        self._log = RequestLog(self._faults.apis)
        self.apis: Final = self._log.apis
        self._ordered: list[Fault] = []

    def begin(self, gateway: Gateway) -> None:
        """Called once the gateway runs, before anything else."""
        self._gateway = gateway

    # --- topics

    def create_topic(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None:
        new = NewTopic(partitions, replication_factor, configs=configs)
        self._until(lambda view: not view.is_deleting(name), f"the deletion of the former {name} is complete")
        self._live.controller.admin.create_topics({name: new}).all().result(TIMEOUT_S)
        tps, logs = [TopicPartition(name, partition) for partition in range(partitions)], self._live.logs
        until(lambda: not any(logs.bounds(None, tp).result(TIMEOUT_S).error for tp in tps), f"{name} has leaders")

    def leader(self, topic: str, partition: int) -> int | None:
        return self._described(topic, partition).leader

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        return tuple(self._described(topic, partition).replicas)

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        return tuple(self._described(topic, partition).isr)

    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool) -> None:
        if waits:
            self._require_up(topic, partition, replicas)
        admin = self._live.controller.admin
        admin.alter_partition_reassignments({TopicPartition(topic, partition): replicas}).all().result(TIMEOUT_S)
        if waits:
            what = f"{topic}-{partition} is on {[*replicas]}"
            until(lambda: self._described(topic, partition).target_replicas is None, what)

    # --- brokers

    def down(self) -> tuple[int, ...]:
        """The brokers that are killed or paused."""
        return tuple(broker for broker, found in self._live.brokers.items() if not found.is_up)

    def address(self, broker: int) -> str:
        self._require(broker)
        at = self._gateway.addresses([broker])[broker]
        return f"{at.host}:{at.port}"

    def kill_broker(self, broker: int) -> None:
        self._require(broker)
        self._gateway.refuse(broker)
        self._live.kill_broker(broker)
        self._gateway.resume(broker)  # a paused process that is killed does not wake up paused
        self._until(lambda view: not _is_used(view, broker), f"broker {broker} is gone")

    def start_broker(self, broker: int) -> None:
        self._require(broker)
        if not self._live.brokers[broker].is_up:
            self._gateway.refuse(broker)  # a paused process ends before another one starts
            self._live.restart_broker(broker)
        self._gateway.accept(broker)
        self._gateway.resume(broker)
        self._until(lambda view: broker in view.brokers, f"broker {broker} is back")

    def pause_broker(self, broker: int) -> None:
        self._require(broker)
        self._gateway.pause(broker)
        self._live.pause_broker(broker)

    def resume_broker(self, broker: int) -> None:
        self._require(broker)
        self._live.resume_broker(broker)
        self._gateway.resume(broker)

    # --- requests

    def fail_next(self, api: str, error: str | int | None, count: int, broker: int | None, *, disconnect: bool) -> int:
        """The number of the order, for `left`."""
        if broker is not None:
            self._require(broker)
        fault = self._faults.fail_next(api, error, count, broker, disconnect=disconnect)
        self._ordered.append(fault)
        return len(self._ordered) - 1

    def left(self, order: int) -> int:
        """How many requests an order will still answer."""
        return self._ordered[order].left

    def slow(self, broker: int, milliseconds: float) -> None:
        self._require(broker)
        self._faults.slow(broker, milliseconds)

    def requests(self, api: str) -> Requests:
        return self._log.of(api)

    # --- common

    def _described(self, topic: str, partition: int) -> PartitionDescription:
        found = self._live.controller.admin.describe_topics([topic])[topic].result(TIMEOUT_S).partitions
        if partition not in range(len(found)):
            raise ValueError(f"there is no partition {partition!r} of {topic}, only 0 to {len(found) - 1}")
        return found[partition]

    def _require_up(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Raises RuntimeError for a move that would not end: to a broker that is down, or of a partition without a
        leader."""
        there = self._described(topic, partition)
        needed = {*replicas, *(there.replicas if there.leader is None else ())}
        if said := are_down(sorted(needed.intersection(self.down()))):
            raise RuntimeError(f"{topic}-{partition} cannot be moved to {[*replicas]}: {said}")

    def _require(self, broker: int) -> None:
        if type(broker) is not int or broker not in self._live.brokers:
            raise ValueError(f"there is no broker {broker!r}, only {', '.join(map(str, self._live.brokers))}")

    def _until(self, holds: Callable[[ClusterView], bool], what: str) -> None:
        until(lambda: self._live.controller.query(holds).result(TIMEOUT_S), what)


def are_down(brokers: Sequence[int]) -> str:
    """`broker 2 is down`; empty for none."""
    if not brokers:
        return ""
    return f"broker {brokers[0]} is down" if len(brokers) == 1 else f"brokers {', '.join(map(str, brokers))} are down"


def until(holds: Callable[[], object], what: str, timeout_s: float = TIMEOUT_S) -> None:
    """Return once `holds()` is true. TimeoutError after `timeout_s`."""
    end_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() >= end_s:
            raise TimeoutError(f"not within {timeout_s:g} s: {what}")
        time.sleep(_LOOK_S)


def _is_used(view: ClusterView, broker: int) -> bool:
    """Whether the broker is registered, or leads."""
    return broker in view.brokers or any(p.leader == broker for p in view.partitions_on(broker))
