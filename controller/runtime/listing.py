"""The results of queries: topics, replicas, and running moves.

A listing of moves is a copy of a dict of immutable rows; an entry is described when it is accessed, so that a listing
of 100,000 moves costs only the copy. While another thread runs the loop, the calling thread makes the copy itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from ..model.errors import NOT_HOSTED, ApiError, ReplicaNotAvailable, StorageError, UnknownTopicOrPartition
from ..model.requests import (
    PartitionDescription,
    PartitionReassignment,
    ReplicaLogDirInfo,
    TopicDescription,
    TopicPartitionReplica,
)
from ..model.values import Partition, TopicPartition
from ..model.view import ClusterView
from ..rules.reassignment import describe_move
from ..state import ClusterState
from .log_reports import LogReports


class _Alive:
    """The brokers that were alive when the listing was made: all that `describe_move` needs of a view."""

    def __init__(self, state: ClusterState) -> None:
        self.brokers = dict(state.brokers)
        self._gone = state.gone_copy()

    def disk_gone(self, partition: Partition, broker: int) -> bool:
        return (partition.topic, partition.partition, broker) in self._gone


class Listing(Mapping[TopicPartition, PartitionReassignment]):
    """The running moves at one moment, in the order in which they were accepted."""

    def __init__(self, rows: Mapping[TopicPartition, Partition], alive: _Alive) -> None:
        self._rows = rows
        self._alive = alive

    def __getitem__(self, tp: TopicPartition) -> PartitionReassignment:
        described = describe_move(cast(ClusterView, self._alive), self._rows[tp])
        assert described is not None
        return described

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Listing({dict(self)!r})"


def take_listing(
    view: ClusterView, partitions: Iterable[TopicPartition] | None, topics: frozenset[str] | None
) -> Listing:
    """The moves of `partitions`, of `topics`, or all. Idle and unknown partitions are left out."""
    state = cast(ClusterState, view)
    return Listing(_chosen(state.listing, partitions, topics), _Alive(state))


def _chosen(
    moves: Mapping[TopicPartition, Partition],
    partitions: Iterable[TopicPartition] | None,
    topics: frozenset[str] | None,
) -> Mapping[TopicPartition, Partition]:
    if partitions is not None:
        return {tp: row for tp in partitions if (row := moves.get(tp)) is not None}
    copied = dict(moves)  # in one step: another thread may change it
    return copied if topics is None else {tp: row for tp, row in copied.items() if tp.topic in topics}


class CommittedMoves:
    """The running moves as committed: the loop changes them after a commit, and any thread reads them."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._rows = state.listing.copy()
        self._alive: _Alive | None = None
        self.committed()

    def committed(self) -> None:
        """The whole state has just been committed."""
        state, rows = self._state, self._rows
        for tp in state.relisted():
            row = state.listing.get(tp)
            if row is None:
                rows.pop(tp, None)
            else:
                rows[tp] = row
        # A list of failed disks may be long, so callers wait for the loop while there is one.
        self._alive = None if state.has_gone_disks else _Alive(state)

    def take(self, partitions: Iterable[TopicPartition] | None, topics: frozenset[str] | None) -> Listing | None:
        """As `take_listing`, on any thread; None if only the loop can answer."""
        alive = self._alive
        return None if alive is None else Listing(_chosen(self._rows, partitions, topics), alive)


def take_topics(view: ClusterView) -> dict[str, str]:
    """All topics that are not being deleted, name -> id, sorted by name."""
    found = ((name, view.topic(name)) for name in sorted(view.topic_names()) if not view.is_deleting(name))
    return {name: topic.topic_id for name, topic in found if topic is not None}


def describe_topic(view: ClusterView, name: str) -> TopicDescription | UnknownTopicOrPartition:
    """The topic; an error if it does not exist or is being deleted."""
    topic = view.topic(name)
    if topic is None or view.is_deleting(name):
        return UnknownTopicOrPartition(NOT_HOSTED)
    return TopicDescription(name, topic.topic_id, tuple(_described(p) for p in view.partitions_of(name)))


def describe_log(
    view: ClusterView, reports: LogReports, replica: TopicPartitionReplica
) -> ReplicaLogDirInfo | ApiError:
    """The log of a replica from its latest report; an error if there is no such replica, or no report."""
    topic, number, broker = replica.topic, replica.partition, replica.broker_id
    partition = None if view.is_deleting(topic) else view.partition(topic, number)
    if partition is None:
        return UnknownTopicOrPartition(NOT_HOSTED)
    if broker not in partition.members:
        return ReplicaNotAvailable(f"broker {broker} has no replica of {partition.tp}")
    if view.disk_gone(partition, broker):
        return StorageError(f"broker {broker} reported that its disk with {partition.tp} failed")
    own = reports.of(topic, number, broker)
    if own is None:
        return ReplicaNotAvailable(f"no log of {partition.tp} on broker {broker} was reported to this controller")
    return ReplicaLogDirInfo(own.size_bytes, own.lag_behind(reports.of(topic, number, partition.leader)))


def _described(partition: Partition) -> PartitionDescription:
    leader = partition.leader if partition.leader >= 0 else None
    return PartitionDescription(
        partition.partition,
        leader,
        partition.leader_epoch,
        partition.replicas,
        partition.isr,
        partition.target_replicas,
        partition.status_code,
    )
