"""How a reassignment goes on and ends (KIP-455): called with a partition after any change to it.

R grows by what entered I. When every member of T is in I and a live one of them can lead, the move completes, in one
Decision: R := T (and the leader moves into T if it was outside, leader epoch +1), T is cleared and those of R that are
not in T are to be deleted, I := I and T. Nothing is left in between to crash into.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.model.events import Event, KafkaMoveFound
from controller.model.records import (
    DeleteIntended,
    IntentDropped,
    IsrShrunk,
    Record,
    ReplicasChanged,
    ReplicasGrown,
    TargetCleared,
)
from controller.model.values import LEADER_DURING_DELETE, DeleteIntent, Partition, Replicas, Topic
from controller.model.view import ClusterView, is_alive


def settle(view: ClusterView, partition: Partition) -> tuple[list[Record], Partition]:
    """The records by which the move of `partition` goes on, and what it is then. Nothing for one that does not
    move."""
    records: list[Record] = []
    if partition.move is None or not partition.has_state:
        return records, partition
    target = partition.move.target
    joined = [b for b in target if b in partition.isr and b not in partition.replicas]
    if joined:
        grown = partition.but(replicas=(*partition.replicas, *joined))
        records.append(ReplicasGrown(partition, grown))
        partition = grown
    if not set(target).issubset(partition.isr):
        return records, partition
    leader = _leader_within(view, partition, target)
    if leader is None:
        return records, partition
    completed, partition = _complete(view, partition, target, leader)
    return records + completed, partition


def _leader_within(view: ClusterView, partition: Partition, target: Replicas) -> int | None:
    """Who of T, which is in sync, leads when the move completes: the present leader if it can, else the first in T's
    order."""
    if partition.leader in target and is_alive(view, partition, partition.leader):
        return partition.leader
    return next((b for b in target if is_alive(view, partition, b)), None)


def _complete(view: ClusterView, partition: Partition, target: Replicas, leader: int) -> tuple[list[Record], Partition]:
    changed = partition.but(replicas=target, leader=leader, leader_epoch=partition.leader_epoch + 1)
    cleared = changed.but(move=None)
    # The origin as well: a store written in the seed's order may have R = T already, and the old replicas nowhere else.
    origin = () if partition.move is None else partition.move.origin
    removed = [b for b in dict.fromkeys(partition.replicas + origin) if b not in target]
    records: list[Record] = [
        ReplicasChanged(partition, changed, "completed"),
        TargetCleared(changed, cleared, "completed"),
        *intend_deletion(view, cleared, removed),
    ]
    isr = tuple(b for b in cleared.isr if b in target)
    if isr == cleared.isr:
        return records, cleared
    shrunk = cleared.but(isr=isr)
    return [*records, IsrShrunk(cleared, shrunk)], shrunk


def intend_deletion(view: ClusterView, partition: Partition, brokers: Iterable[int]) -> list[Record]:
    """Durable intents that `brokers` delete their replica. An older intent for the same replica makes way."""
    topic = view.topic(partition.topic)
    topic_id = "" if topic is None else topic.topic_id
    records: list[Record] = []
    may_be_open = view.open_intents_of_partition(topic_id, partition.partition) > 0
    for broker in brokers:
        older = view.open_intent(broker, topic_id, partition.partition) if may_be_open else None
        if older is not None:
            records.append(IntentDropped(older, "superseded"))
        intent = DeleteIntent(broker, partition.topic, topic_id, partition.partition, partition.leader_epoch)
        records.append(DeleteIntended(intent))
    return records


def is_void(view: ClusterView, intent: DeleteIntent) -> bool:
    """Whether nobody may act on an intent any more: its broker is a member of the partition again, which is not being
    deleted."""
    partition, topic = view.partition(intent.topic, intent.partition), view.topic(intent.topic)
    if partition is None or topic is None or topic.topic_id != intent.topic_id:
        return False
    if partition.leader == LEADER_DURING_DELETE and view.is_deleting(intent.topic):
        return False  # before it is stopped its move may run, and what it had to delete before is void
    return intent.broker in partition.members and not partition.is_offline


def drop_intents(view: ClusterView, partition: Partition, brokers: Iterable[int], cause: str) -> list[Record]:
    """Intents of `brokers` for this partition that are void now: they are members of it again, or a newer one
    stands."""
    topic = view.topic(partition.topic)
    if topic is None or not view.open_intents_of_partition(topic.topic_id, partition.partition):
        return []
    open_ones = (view.open_intent(broker, topic.topic_id, partition.partition) for broker in brokers)
    return [IntentDropped(intent, cause) for intent in open_ones if intent is not None]


def kafka_moves(topic: Topic, now_ms: int) -> tuple[KafkaMoveFound, ...]:
    """Kafka's own moves that the topic's key tells of and that are not taken over yet."""
    return tuple(
        KafkaMoveFound(now_ms, topic.name, partition, move.replicas, move.adding, move.removing)
        for partition, move in topic.kafka_moves.items()
    )


def kafka_move_due(view: ClusterView, topic_name: str, partition: int, now_ms: int) -> tuple[Event, ...]:
    """Kafka's move of a partition that could not be taken over before, now that its state is there."""
    topic = view.topic(topic_name)
    return () if topic is None else tuple(m for m in kafka_moves(topic, now_ms) if m.partition == partition)
