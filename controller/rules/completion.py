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
from controller.model.reductions import OFFLINE
from controller.model.values import LEADER_DURING_DELETE, DeleteIntent, Partition, Replicas, Topic
from controller.model.view import ClusterView, all_alive, is_alive


def settle(view: ClusterView, partition: Partition) -> tuple[list[Record], Partition]:
    """The records by which the move of `partition` goes on, and what it is then. Nothing for one that does not
    move."""
    records: list[Record] = []
    move, isr = partition.move, partition.isr
    if move is None or not isr:
        return records, partition
    target, replicas = move.target, partition.replicas
    joined = [b for b in target if b in isr and b not in replicas]
    if joined:
        grown = partition.but(replicas=(*replicas, *joined))
        records.append(ReplicasGrown(partition, grown))
        partition = grown
    if not set(target).issubset(isr):
        return records, partition
    leader = _leader_within(view, partition, target)
    if leader is None:
        return records, partition
    completed, partition = _complete(view, partition, target, leader)
    return records + completed, partition


def _leader_within(view: ClusterView, partition: Partition, target: Replicas) -> int | None:
    """Who of T, which is in sync, leads when the move completes: the present leader if it can, else the first in T's
    order."""
    leader = partition.leader
    if all_alive(view, target):
        return leader if leader in target else target[0]
    if leader in target and is_alive(view, partition, leader):
        return leader
    return next((b for b in target if is_alive(view, partition, b)), None)


def _complete(view: ClusterView, before: Partition, target: Replicas, leader: int) -> tuple[list[Record], Partition]:
    name, number, isr, epoch = before.topic, before.partition, before.isr, before.leader_epoch + 1
    rest = (before.status_code, before.leader_recovery_state, before.extra)
    changed = Partition(name, number, target, isr, leader, epoch, before.move, *rest)
    cleared = Partition(name, number, target, isr, leader, epoch, None, *rest)
    # The origin as well: a store written in the seed's order may have R = T already, and the old replicas nowhere else.
    origin = () if before.move is None else before.move.origin
    removed = [b for b in dict.fromkeys(before.replicas + origin) if b not in target]
    records: list[Record] = [
        ReplicasChanged(before, changed, "completed"),
        TargetCleared(changed, cleared, "completed"),
        *intend_deletion(view, cleared, removed),
    ]
    left = tuple([b for b in isr if b in target])
    if left == isr:
        return records, cleared
    shrunk = Partition(name, number, target, left, leader, epoch, None, *rest)
    records.append(IsrShrunk(cleared, shrunk))
    return records, shrunk


def intend_deletion(view: ClusterView, partition: Partition, brokers: Iterable[int]) -> list[Record]:
    """Durable intents that `brokers` delete their replica. An older intent for the same replica makes way."""
    topic = view.topic(partition.topic)
    topic_id = "" if topic is None else topic.topic_id
    name, number, epoch = partition.topic, partition.partition, partition.leader_epoch
    records: list[Record] = []
    may_be_open = view.open_intents_of_partition(topic_id, number) > 0
    for broker in brokers:
        older = view.open_intent(broker, topic_id, number) if may_be_open else None
        if older is not None:
            records.append(IntentDropped(older, "superseded"))
        records.append(DeleteIntended(DeleteIntent(broker, name, topic_id, number, epoch)))
    return records


def is_void(view: ClusterView, intent: DeleteIntent) -> bool:
    """Whether nobody may act on an intent any more: its broker is a member of the partition again, which is not being
    deleted."""
    partition, topic = view.partition(intent.topic, intent.partition), view.topic(intent.topic)
    if partition is None or topic is None or topic.topic_id != intent.topic_id:
        return False
    if partition.leader == LEADER_DURING_DELETE and view.is_deleting(intent.topic):
        return False  # before it is stopped its move may run, and what it had to delete before is void
    move, broker = partition.move, intent.broker  # is it a member? without making the list of them
    is_member = broker in partition.replicas or (move is not None and broker in move.target)
    return is_member and partition.status_code != OFFLINE


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
