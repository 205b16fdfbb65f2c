"""Requests about replicas: log directories, and the APIs that only Kedge has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...model.values import Replicas, TopicPartition
from .client import Client, checked
from .errors import Refused
from .topics import by_topic, refusals
from .values import Description, Disk, LogDir

Rates: TypeAlias = Mapping[int, tuple[int, int]]
"""By broker, bytes a second out of it and into it."""
_REPLICATION: Final = 0
_REASSIGNMENT: Final = 1  # the family of KIP-542
_INVALID_REQUEST: Final = 42


class Private:
    """The part of `Cluster` that other servers than Kedge do not offer."""

    client: Client

    def throttle_moves(
        self, rates: Rates, replicas: Mapping[TopicPartition, tuple[Replicas, Replicas]], *, stays: bool = False
    ) -> None:
        """Moves copy at most so many bytes/s out of each of these brokers (the first number) and into it. Rates of
        other brokers that were set this way are removed. The controller removes them when the last reassignment ends,
        unless `stays`.

        Kedge's brokers have rates for reassignments alone (KIP-542). Kafka's, which a controller of Kedge may have too,
        do not: there the rates of all replication are set, and `replicas` are throttled, per partition the ones that
        send and the ones that are added (KIP-73). Raises Refused.
        """
        try:
            self._set_rates(rates, _REASSIGNMENT, stays=stays)
        except Refused as error:
            if error.code != _INVALID_REQUEST:
                raise
            self._set_replicas(replicas, stays=stays)
            self._set_rates(rates, _REPLICATION, stays=stays)

    def end_throttle(self) -> None:
        """The controller removes what was set by `throttle_moves`. Raises Refused."""
        self._set_rates({}, _REASSIGNMENT)
        self._set_replicas({})

    def _set_rates(self, rates: Rates, family: int, *, stays: bool = False) -> None:
        brokers = [
            {"broker_id": b, "leader_rate": out, "follower_rate": in_} for b, (out, in_) in sorted(rates.items())
        ]
        answer = self.client.ask_controller(
            "AlterInterbrokerThrottledRates",
            lambda a: _first(a.brokers),
            lowest=1,
            brokers=brokers,
            remove_throttle=not stays,
            family=family,
        )
        _check_each(answer.brokers)

    def _set_replicas(
        self, replicas: Mapping[TopicPartition, tuple[Replicas, Replicas]], *, stays: bool = False
    ) -> None:
        topics = []
        for topic, indexes in by_topic(replicas).items():
            rows = [(index, replicas[TopicPartition(topic, index)]) for index in indexes]
            partitions = [{"partition_id": i, "leaders": [*out], "followers": [*into]} for i, (out, into) in rows]
            topics.append({"topic": topic, "partitions": partitions})
        answer = self.client.ask_controller(
            "AlterInterbrokerThrottledReplicas",
            lambda a: _first(_rows(a.topics)),
            topics=topics,
            remove_throttle=not stays,
        )
        _check_each(_rows(answer.topics))

    def delete_partitions(self, topic: str, partitions: Sequence[int], *, immediate: bool) -> None:
        """They become read-only, and go when their retention is over; or go at once (KIP-694). Raises Refused."""
        topics = [{"name": topic, "partitions": list(partitions)}]
        answer = self.client.ask_controller("DeletePartitions", immediate_delete=immediate, topics=topics)
        _check_each(_rows(checked(answer).responses))


def _rows(topics: Sequence[Any]) -> list[Any]:
    return [row for topic in topics for row in topic.partitions]


def _first(rows: Sequence[Any]) -> int:
    return next((int(row.error_code) for row in rows if row.error_code), 0)


def _check_each(rows: Sequence[Any]) -> None:
    for row in rows:
        checked(row)


def _disk(row: Any) -> Disk:
    total, usable = (None if value < 0 else value for value in (row.total_bytes, row.usable_bytes))
    return Disk(row.error_code, total, usable, bool(row.is_cordoned))


class LogDirs:
    """The part of `Cluster` that is about directories."""

    client: Client

    def log_dirs(self, broker: int, of: Iterable[TopicPartition] | None = None) -> Description:
        """What the broker holds of these partitions, or of all. Raises Refused."""
        wanted = None if of is None else [{"topic": t, "partitions": p} for t, p in by_topic(of).items()]
        answer = checked(self.client.ask("DescribeLogDirs", broker, topics=wanted))
        replicas: dict[TopicPartition, tuple[LogDir, ...]] = {}
        for each in answer.results:
            for topic in each.topics:
                for p in topic.partitions:
                    tp = TopicPartition(topic.name, p.partition_index)
                    found = LogDir(each.log_dir, p.partition_size, p.offset_lag, p.is_future_key)
                    replicas[tp] = (*replicas.get(tp, ()), found)
        return Description({each.log_dir: _disk(each) for each in answer.results}, replicas)

    def alter_log_dirs(self, broker: int, paths: Mapping[TopicPartition, str]) -> dict[TopicPartition, Refused]:
        """The broker begins to move its replicas there. Gives back those that were refused."""
        by_path: dict[str, list[TopicPartition]] = {}
        for tp, path in sorted(paths.items()):
            by_path.setdefault(path, []).append(tp)
        dirs = [
            {"path": path, "topics": [{"name": t, "partitions": p} for t, p in by_topic(moved).items()]}
            for path, moved in by_path.items()
        ]
        answer = self.client.ask("AlterReplicaLogDirs", broker, repeatable=False, dirs=dirs)
        return refusals((topic.topic_name, topic.partitions) for topic in answer.results)
