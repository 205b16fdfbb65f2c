"""`change`, by which every rule changes a partition. It takes the partition as the rule decided it, continues a running
move (KIP-455), and adds the delete intents.

R grows by members of T that joined the ISR. When all of T is in the ISR and a live member of T can lead, the move
completes in one Decision: R := T (if the leader is outside, one in T is elected; leader epoch +1), T is cleared,
replicas of R that are not in T get delete intents, ISR := ISR and T. So there is no state in between in which a crash
could happen.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from ..model.events import Event, KafkaMoveFound
from ..model.records import Record
from ..model.reductions import OFFLINE
from ..model.values import LEADER_DURING_DELETE, DeleteIntent, Partition, Replicas, Topic
from ..model.view import ClusterView, all_alive, is_alive
from ..records import DeleteIntended, IntentDropped, PartitionChanged


def change(
    view: ClusterView,
    before: Partition,
    decided: Partition,
    cause: str | None = None,
    *,
    is_found: bool = False,
    void: Iterable[Record] = (),
    dropped: Iterable[int] = (),
) -> tuple[tuple[Record, ...], Partition]:
    """The records of a partition that a rule changes from `before` to `decided`, and the partition after them: its move
    goes on as far as it can. Before that, ISR members outside R and T join R. No records if nothing changes. `void`:
    intents that the change makes void. `dropped`: brokers that are no longer members by the decision of the rule."""
    after = advance_move(view, decided)
    if after is before:
        return (), before
    first, joined = strays_join(view, before)
    if first:
        strays = tuple(b for b in joined.replicas if b not in (*before.replicas, *decided.replicas))
        epoch = decided.leader_epoch + joined.leader_epoch - before.leader_epoch
        move = decided.move
        if move is not None and before.move is None and move.origin == before.replicas:
            move = attrs.evolve(move, origin=joined.replicas)
        decided = decided.but(replicas=decided.replicas + strays, leader_epoch=epoch, move=move)
        void = [record for record in void if record not in first]
        records, after = change(view, joined, decided, cause, is_found=is_found, void=void, dropped=dropped)
        return (*first, *records), after
    via = None if after is decided else decided
    is_complete = via is not None and after.move is None
    gone = dict.fromkeys((*dropped, *(_removed(decided) if is_complete else ())))
    changed = PartitionChanged(before, after, cause, via, is_found)
    return (changed, *void, *intend_deletion(view, after, gone)), after


def strays_join(view: ClusterView, partition: Partition) -> tuple[tuple[Record, ...], Partition]:
    """ISR members outside R and T, as other programs may write them, join R. The leader epoch rises, as Kafka's brokers
    heed no LeaderAndIsr without a new one. It does not where the partition is offline: no broker leads it, and the
    members would refuse the older epoch of their delete intents. No records if there are none."""
    members = partition.members
    strays = () if partition.isr is members else tuple([b for b in partition.isr if b not in members])
    if not strays:
        return (), partition
    after = partition.but(replicas=partition.replicas + strays)
    if partition.is_offline:  # all its members delete their logs
        intents = intend_deletion(view, after, strays)
    else:
        after = after.but(leader_epoch=partition.leader_epoch + 1)
        intents = drop_intents(view, partition, strays, "member again")
    return (PartitionChanged(partition, after, "isr outside replicas"), *intents), after


def advance_move(view: ClusterView, partition: Partition) -> Partition:
    """The partition after its move went on as far as it can; the partition itself if it does not move, or must wait."""
    move, isr = partition.move, partition.isr
    if move is None or not isr:
        return partition
    target, replicas = move.target, partition.replicas
    joined = tuple([b for b in target if b in isr and b not in replicas])
    leader = _leader_within(view, partition, target) if set(target).issubset(isr) else None
    if leader is None:
        return partition.but(replicas=(*replicas, *joined)) if joined else partition
    left = tuple([b for b in isr if b in target])
    return partition.but(
        replicas=target,
        isr=isr if left == isr else left,
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        move=None,
    )


def _removed(partition: Partition) -> list[int]:
    """The brokers that no longer hold a replica once the move of this partition is complete."""
    move = partition.move
    assert move is not None
    # Also the origin: a store may already have R = T, so that the old replicas are named only there.
    return [b for b in dict.fromkeys(partition.replicas + move.origin) if b not in move.target]


def _leader_within(view: ClusterView, partition: Partition, target: Replicas) -> int | None:
    """The leader when the move completes, a member of T: the present leader if possible, otherwise the first live one
    in T's order."""
    leader = partition.leader
    if all_alive(view, target):
        return leader if leader in target else target[0]
    if leader in target and is_alive(view, partition, leader):
        return leader
    return next((b for b in target if is_alive(view, partition, b)), None)


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
