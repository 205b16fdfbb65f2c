"""A cluster in threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from ..controller.admin import Admin
from ..controller.groups.requests import GroupSettings
from ..controller.model.requests import NewTopic, PartitionDescription
from ..controller.model.values import TopicPartition
from ..controller.model.view import ClusterView
from ..controller.server import LiveCluster, LiveServer
from ..controller.wire import Gateway
from ..controller.wire.faults import Fault, Faults
from ..controller.wire.records import with_records
from .basis import RACKS, TIMEOUT_S, ForTests, until


class Cluster(ForTests):
    """`with Cluster() as cluster:` a controller, brokers that keep records in memory, and their addresses.

    `brokers`: how many, with ids from 1. `racks`: given to the brokers in turn; empty for none. `creates_topics`: those
    that clients only name. `copy_rate_bytes_s`: into each broker, None = unlimited. `group_settings`: of consumer
    groups. `seed`: makes topic ids and placements repeatable.
    """

    def __init__(
        self,
        brokers: int = 3,
        racks: Sequence[str] = RACKS,
        *,
        creates_topics: bool = True,
        copy_rate_bytes_s: int | None = None,
        group_settings: GroupSettings | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(brokers, racks)
        self._live = LiveCluster(LiveServer(), self.racks, copy_rate_bytes_s=copy_rate_bytes_s, seed=seed)
        kept = (self._live.logs, self._live.groups)
        self._faults = Faults(with_records(*kept, creates_topics=creates_topics, settings=group_settings))

    def _begin(self, stack: ExitStack) -> str:
        stack.enter_context(self._live).until_ready(TIMEOUT_S)
        served = Gateway(self._live.controller, cluster_id="kedge-testing", apis=self._faults.apis)
        at = stack.enter_context(served).address
        return f"{at.host}:{at.port}"

    @property
    def admin(self) -> Admin:
        """The admin API of the controller, for everything else. Its futures do not wait until clients can see it."""
        return self._live.controller.admin

    def _create(self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]) -> None:
        new = NewTopic(partitions, replication_factor, configs=configs)
        self._until(lambda view: not view.is_deleting(name), f"the deletion of the former {name} is complete")
        self.admin.create_topics({name: new}).all().result(TIMEOUT_S)
        tps, logs = [TopicPartition(name, partition) for partition in range(partitions)], self._live.logs
        until(lambda: not any(logs.bounds(None, tp).result(TIMEOUT_S).error for tp in tps), f"{name} has leaders")

    def leader(self, topic: str, partition: int = 0) -> int | None:
        return self._described(topic, partition).leader

    def replicas(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        return tuple(self._described(topic, partition).replicas)

    def move(self, topic: str, partition: int, replicas: Sequence[int], *, waits: bool = True) -> None:
        if waits:
            self._require_up(topic, partition, replicas)
        self.admin.alter_partition_reassignments({TopicPartition(topic, partition): replicas}).all().result(TIMEOUT_S)
        if waits:
            what = f"{topic}-{partition} is on {[*replicas]}"
            until(lambda: self._described(topic, partition).target_replicas is None, what)

    def kill_broker(self, broker: int) -> None:
        self._require(broker)
        self._live.kill_broker(broker)
        self._until(lambda view: not _is_used(view, broker), f"broker {broker} is gone")

    def start_broker(self, broker: int) -> None:
        self._require(broker)
        if not self._live.brokers[broker].is_up:
            self._live.restart_broker(broker)
        self._until(lambda view: broker in view.brokers, f"broker {broker} is back")

    def fail_next(self, api: str, error: str | int, count: int = 1, broker: int | None = None) -> Fault:
        self._require(broker)
        return self._faults.fail_next(api, error, count, broker)

    def slow(self, broker: int, milliseconds: float) -> None:
        self._require(broker)
        self._faults.slow(broker, milliseconds)

    def _described(self, topic: str, partition: int) -> PartitionDescription:
        return self.admin.describe_topics([topic])[topic].result(TIMEOUT_S).partitions[partition]

    def _require_up(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Raises RuntimeError for a move that would not end: to a killed broker, or of a partition without a leader."""
        there = self._described(topic, partition)
        needed = [*replicas, *(there.replicas if there.leader is None else ())]
        down = sorted({b for b in needed if b in self.racks and not self._live.brokers[b].is_up})
        if down:
            some = f"broker {down[0]} is down" if len(down) == 1 else f"brokers {', '.join(map(str, down))} are down"
            raise RuntimeError(f"{topic}-{partition} cannot be moved to {[*replicas]}: {some}")

    def _require(self, broker: int | None) -> None:
        if broker is not None and broker not in self.racks:
            raise ValueError(f"there is no broker {broker}, only {', '.join(map(str, self.racks))}")

    def _until(self, holds: Callable[[ClusterView], bool], what: str) -> None:
        until(lambda: self._live.controller.query(holds).result(TIMEOUT_S), what)


def _is_used(view: ClusterView, broker: int) -> bool:
    """Whether the broker is registered, or leads."""
    return broker in view.brokers or any(p.leader == broker for p in view.partitions_on(broker))
