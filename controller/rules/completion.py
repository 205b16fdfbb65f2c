"""How a reassignment continues and ends (KIP-455). Called with a partition after each change of it.

R grows by members of T that joined the ISR. When all of T is in the ISR and a live member of T can lead, the move
completes in one Decision: R := T (if the leader is outside, one in T is elected; leader epoch +1), T is cleared,
replicas of R that are not in T get delete intents, ISR := ISR and T. So there is no state in between in which a crash
could happen.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.events import Event, KafkaMoveFound
from ..model.records import (
    DeleteIntended,
    IntentDropped,
    IsrShrunk,
    Record,
    ReplicasChanged,
    ReplicasGrown,
    TargetCleared,
)
from ..model.reductions import OFFLINE
from ..model.values import LEADER_DURING_DELETE, DeleteIntent, Partition, Replicas, Topic
from ..model.view import ClusterView, all_alive, is_alive


def settle(view: ClusterView, partition: Partition) -> tuple[list[Record], Partition]:
    """The records by which the move of `partition` continues, and the partition after them. No records if it does not
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
    """The leader when the move completes, a member of T: the present leader if possible, otherwise the first live one
    in T's order."""
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
    # Also the origin: a store may already have R = T, so that the old replicas are named only there.
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
    """Durable intents for `brokers` to delete their replica. They replace older intents for the same replica."""
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
    """Whether an intent must not be carried out any more: its broker is a member of the partition again, and the
    partition is not being deleted."""
    partition, topic = view.partition(intent.topic, intent.partition), view.topic(intent.topic)
    if partition is None or topic is None or topic.topic_id != intent.topic_id:
        return False
    if partition.leader == LEADER_DURING_DELETE and view.is_deleting(intent.topic):
        return False  # before it is stopped, its move may run, and earlier intents may be void
    move, broker = partition.move, intent.broker  # checks membership without building the list of members
    is_member = broker in partition.replicas or (move is not None and broker in move.target)
    return is_member and partition.status_code != OFFLINE


def drop_intents(view: ClusterView, partition: Partition, brokers: Iterable[int], cause: str) -> list[Record]:
    """The intents of `brokers` for this partition that are void now: they are members again, or there is a newer
    one."""
    topic = view.topic(partition.topic)
    if topic is None or not view.open_intents_of_partition(topic.topic_id, partition.partition):
        return []
    open_ones = (view.open_intent(broker, topic.topic_id, partition.partition) for broker in brokers)
    return [IntentDropped(intent, cause) for intent in open_ones if intent is not None]


def kafka_moves(topic: Topic, now_ms: int) -> tuple[KafkaMoveFound, ...]:
    """Kafka's own moves in the topic's key that are not taken over yet."""
    return tuple(
        KafkaMoveFound(now_ms, topic.name, partition, move.replicas, move.adding, move.removing)
        for partition, move in topic.kafka_moves.items()
    )


def kafka_move_due(view: ClusterView, topic_name: str, partition: int, now_ms: int) -> tuple[Event, ...]:
    """Kafka's move of a partition that could not be taken over before its state was readable."""
    topic = view.topic(topic_name)
    return () if topic is None else tuple(m for m in kafka_moves(topic, now_ms) if m.partition == partition)
