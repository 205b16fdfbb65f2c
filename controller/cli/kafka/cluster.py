"""A cluster as commands see it: requests of operators, with values in and out.

Errors of a whole request are raised (`Refused`). Those of one partition, topic or resource are returned by name, so
that one bad entry hides no other.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ...model.values import TopicPartition
from ...wire.messages import NO_LOG_DIR
from .client import Client, checked, refused
from .errors import UNSUPPORTED, Failed, Refused
from .replicas import LogDirs, Private
from .topics import Configs, Offsets, Topics, by_topic, refusals
from .values import DEFAULT_TIMEOUT_MS, UNKNOWN_TOPIC, Broker, Move, PartitionState, TopicState

_PAGE: Final = 2000


class Cluster(Configs, LogDirs, Offsets, Private, Topics):
    def __init__(self, client: Client) -> None:
        self.client = client
        self._has_logs: dict[int, bool] = {}  # whether a node that was controller has log directories

    def offers(self, api: int) -> bool:
        return api in self.client.offered

    def brokers(self) -> dict[int, Broker]:
        """The live brokers, by id. A controller of Kedge that stock Kafka brokers follow is a node beside them, which
        has no log directory and is left out."""
        controller, nodes = self.client.nodes()
        brokers = {i: Broker(i, e.host, e.port, e.rack or None) for i, e in sorted(nodes.items())}
        if self._is_no_broker(controller, brokers):
            del brokers[controller]
        return brokers

    def _is_no_broker(self, controller: int, brokers: Collection[int]) -> bool:
        if controller not in brokers or len(brokers) == 1:
            return False
        if controller not in self._has_logs:
            try:
                answer = self.client.ask("DescribeLogDirs", controller, topics=[])
            except Failed:
                return False  # asked again next time
            self._has_logs[controller] = [row.log_dir for row in answer.results] != [NO_LOG_DIR]
        return not self._has_logs[controller]

    def topics(self, names: Collection[str] | None = None) -> dict[str, TopicState]:
        """The topics of these names, or all of them; those that are unknown are left out. Sorted by name."""
        wanted = None if names is None else [{"name": name} for name in sorted(names)]
        found = {}
        for topic in self.client.ask("Metadata", topics=wanted, allow_auto_topic_creation=False).topics:
            if topic.error_code == UNKNOWN_TOPIC:
                continue
            if topic.error_code and not topic.partitions:
                raise refused(topic.error_code)
            found[topic.name] = TopicState(
                topic.name, _base64(topic.topic_id), topic.is_internal, _in_order(map(_partition, topic.partitions))
            )
        return dict(sorted(found.items()))

    def with_eligible(self, topics: Mapping[str, TopicState]) -> dict[str, TopicState]:
        """The same topics with `elr` and `last_known_elr`, where the server knows them (KIP-966)."""
        found: dict[TopicPartition, Any] = {}
        cursor: Any = None
        while topics:
            wanted = [{"name": name} for name in sorted(topics)]
            try:
                answer = self.client.ask(
                    "DescribeTopicPartitions", topics=wanted, response_partition_limit=_PAGE, cursor=cursor
                )
            except Refused as error:
                if error.code == UNSUPPORTED:
                    return dict(topics)
                raise
            found |= {TopicPartition(t.name, p.partition_index): p for t in answer.topics for p in t.partitions}
            if answer.next_cursor is None:
                break
            last = answer.next_cursor
            cursor = {"topic_name": last.topic_name, "partition_index": last.partition_index}
        return {name: _with_eligible(topic, found) for name, topic in topics.items()}

    def reassignments(self, of: Iterable[TopicPartition] | None = None) -> dict[TopicPartition, Move]:
        """The reassignments that run, of these partitions or of all. Sorted."""
        wanted = None if of is None else [{"name": t, "partition_indexes": p} for t, p in by_topic(of).items()]
        answer = self.client.ask_controller("ListPartitionReassignments", repeatable=True, topics=wanted)
        return dict(
            sorted(
                (
                    TopicPartition(topic.name, p.partition_index),
                    Move(tuple(p.replicas), tuple(p.adding_replicas), tuple(p.removing_replicas)),
                )
                for topic in checked(answer).topics
                for p in topic.partitions
            )
        )

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int = DEFAULT_TIMEOUT_MS
    ) -> dict[TopicPartition, Refused]:
        """Starts or, with None, cancels them. Gives back those that were refused."""
        topics = []
        for name, indexes in by_topic(targets).items():
            rows = [(index, targets[TopicPartition(name, index)]) for index in indexes]
            partitions = [{"partition_index": i, "replicas": None if to is None else list(to)} for i, to in rows]
            topics.append({"name": name, "partitions": partitions})
        answer = self.client.ask_controller("AlterPartitionReassignments", timeout_ms=timeout_ms, topics=topics)
        return refusals((topic.name, topic.partitions) for topic in checked(answer).responses)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


def _partition(row: Any) -> PartitionState:
    return PartitionState(
        row.partition_index,
        None if row.leader_id < 0 else row.leader_id,
        tuple(row.replica_nodes),
        tuple(row.isr_nodes),
        tuple(row.offline_replicas or ()),
        status=row.status_code,
        leader_epoch=None if row.leader_epoch is None or row.leader_epoch < 0 else row.leader_epoch,
    )


def _with_eligible(topic: TopicState, found: Mapping[TopicPartition, Any]) -> TopicState:
    return attrs.evolve(
        topic,
        partitions=tuple(
            p
            if (row := found.get(TopicPartition(topic.name, p.index))) is None
            else attrs.evolve(p, elr=_maybe(row.eligible_leader_replicas), last_known_elr=_maybe(row.last_known_elr))
            for p in topic.partitions
        ),
    )


def _maybe(brokers: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if brokers is None else tuple(brokers)


def _in_order(partitions: Iterable[PartitionState]) -> tuple[PartitionState, ...]:
    return tuple(sorted(partitions, key=lambda partition: partition.index))


def _base64(topic_id: uuid.UUID | None) -> str:
    if topic_id is None or not topic_id.int:
        return ""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
