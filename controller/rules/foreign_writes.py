"""What is found in the store: Kafka's own running moves, ISR members outside the replicas, keys written by other
programs.

Of a state key that another program changed, only the ISR and leader_recovery_state are accepted (such writers drop
unknown fields). Of a topic key, only new partitions are accepted. The rest is reported and written back from the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ..model.events import (
    BrokerConfigRead,
    ConfigKeyRead,
    Decision,
    Event,
    IntentDue,
    IntentsDue,
    IntentsKeyDue,
    KafkaMoveFound,
    LogDirNotified,
    NotificationDone,
    PartitionDue,
    Reason,
    ReductionDue,
    ReplicaLeaves,
    StateKeyRead,
    TopicDeletionDue,
    TopicIdMissing,
    TopicKeyDue,
    TopicKeyRead,
)
from ..model.records import Record
from ..model.values import (
    ALL_BROKERS,
    BROKERS_WITHOUT_INTENT,
    NO_LEADER,
    TOPICS,
    ConfigEntity,
    Move,
    Partition,
    Topic,
    TopicPartition,
)
from ..model.view import ClusterView, is_alive, is_up
from ..records import (
    BadKey,
    BrokerAskedAgain,
    ConfigChanged,
    ForeignChange,
    IntentDropped,
    IntentsKeyEmptied,
    KeyAdopted,
    KeysRewritten,
    NotificationWorkedOff,
    PartitionChanged,
    PartitionsAdded,
    StateKeyAdopted,
    TopicChanged,
    TopicFound,
)
from . import deletion
from .completion import change, drop_intents, is_void, kafka_move_due, strays_join
from .isr import told_by_key
from .leader_election import UNCLEAN, allows_unclean, allows_unclean_by_default

_NOTES_MAX: Final = 20


def kafka_move_found(view: ClusterView, event: KafkaMoveFound) -> Decision:
    """Kafka's adding and removing become T = replicas without removing, and origin = replicas without adding; R begins
    as the origin and grows by added replicas in the ISR."""
    partition, topic = view.partition(event.topic, event.partition), view.topic(event.topic)
    if partition is None or topic is None or not partition.has_state or view.is_deleting(event.topic):
        return Decision()  # it stays in the topic's key until the partition's own key is readable, or exists
    taken = _taken_over(topic, event.partition)
    if partition.move is not None or partition.is_offline:
        return Decision(taken)
    origin = tuple(b for b in event.replicas if b not in event.adding)
    target = tuple(b for b in event.replicas if b not in event.removing)
    if not origin or not target or origin == target:
        return Decision(taken)
    after = partition.but(
        replicas=origin + tuple(b for b in event.adding if b in partition.isr and b in event.replicas),
        move=Move(target, origin, event.now_ms),
        leader_epoch=partition.leader_epoch + 1,
    )
    void = drop_intents(view, partition, target, "member again")
    more = (*(taken or (KeysRewritten(event.topic),)), *void)
    records, _ = change(view, partition, after, "adding_replicas, removing_replicas", void=more)
    return Decision(records)


def _taken_over(topic: Topic, partition: int) -> tuple[Record, ...]:
    """The topic's key no longer names Kafka's move of this partition."""
    if partition not in topic.kafka_moves:
        return ()
    left = {p: move for p, move in topic.kafka_moves.items() if p != partition}
    return (TopicChanged(attrs.evolve(topic, kafka_moves=left), "Kafka's move taken over", ours=True),)


def stray_isr_found(view: ClusterView, event: PartitionDue) -> Decision:
    """ISR members outside R and T join R."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or view.is_deleting(event.topic):
        return Decision()
    return Decision(strays_join(view, partition)[0])


def topic_id_missing(view: ClusterView, event: TopicIdMissing) -> Decision:
    topic = view.topic(event.topic)
    if topic is None or topic.topic_id:
        return Decision()
    given = TopicChanged(attrs.evolve(topic, topic_id=event.topic_id), "topic_id given", ours=True)
    if view.is_deleting(event.topic):
        return Decision((given,), expand=(TopicDeletionDue(event.now_ms, event.topic),))
    reduced = view.reduction(event.topic)
    return Decision((given,), expand=(ReductionDue(event.now_ms, event.topic),) if reduced else ())


def topic_key_due(view: ClusterView, event: TopicKeyDue) -> Decision:
    """The topic's key is written again with the R that has grown."""
    if view.topic(event.topic) is None or view.is_deleting(event.topic):
        return Decision()
    return Decision((KeysRewritten(event.topic),))


def intents_due(view: ClusterView, event: IntentsDue) -> Decision:
    """Each intent and each key of a broker is checked by itself: all together may exceed a commit."""
    intents = (IntentDue(event.now_ms, intent) for intent in view.open_intents(event.broker))
    emptied = (IntentsKeyDue(event.now_ms, event.broker, seq) for seq in view.empty_intent_keys(event.broker))
    return Decision(expand=(*intents, *emptied))


def intent_due(view: ClusterView, event: IntentDue) -> Decision:
    """Drop an intent that became void, because its broker is a member of the partition again. While the state cannot be
    read, this is unknown: the partition may be offline."""
    intent = event.intent
    if not is_void(view, intent) or view.unreadable(intent.topic, intent.partition):
        return Decision()
    if view.open_intent(intent.broker, intent.topic_id, intent.partition) != intent:
        return Decision()
    return Decision((IntentDropped(intent, "member again"),))


def intents_key_due(view: ClusterView, event: IntentsKeyDue) -> Decision:
    """Delete a key without open intents, since a later key names the same replicas."""
    if event.seq not in view.empty_intent_keys(event.broker):
        return Decision()
    return Decision((IntentsKeyEmptied(event.broker, event.seq),))


def config_key_read(view: ClusterView, event: ConfigKeyRead) -> Decision:
    """The topic's configs are those of its key. If they allow unclean election, partitions without a leader are due."""
    if view.topic(event.topic) is None or view.is_known(event.at):
        return Decision()
    changed = ConfigChanged(ConfigEntity(TOPICS, event.topic), view.topic_config(event.topic), event.configs)
    due = due_by_topic(view, event.topic, event.configs, event.now_ms)
    return Decision((KeyAdopted(event.at), changed), expand=due)


def due_by_topic(view: ClusterView, topic: str, configs: Mapping[str, str], now_ms: int) -> tuple[PartitionDue, ...]:
    """The partitions that may get a leader, given the topic's new configs."""
    if not allows_unclean(view, configs):
        return ()
    leaderless = (p for p in view.partitions_of(topic) if p.leader == NO_LEADER)
    return tuple(PartitionDue(now_ms, p.topic, p.partition) for p in leaderless)


def broker_config_read(view: ClusterView, event: BrokerConfigRead) -> Decision:
    """The own configs of a broker, the defaults of all, or those of a user or client id are those of the key."""
    if view.is_known(event.at):
        return Decision()
    changed = ConfigChanged(event.entity, view.entity_config(event.entity), event.configs)
    due = due_by_brokers(view, event.name, event.configs, event.now_ms)
    return Decision((KeyAdopted(event.at), changed), expand=due)


def due_by_brokers(view: ClusterView, name: str, configs: Mapping[str, str], now_ms: int) -> tuple[PartitionDue, ...]:
    """The partitions that may get a leader, given the new configs of `name`: if the defaults turn unclean election on,
    those of topics without an own value. They are decided by the state, so it does no harm if `name` is a client's."""
    if name != ALL_BROKERS:
        return ()
    if allows_unclean_by_default(view, view.broker_defaults) or not allows_unclean_by_default(view, configs):
        return ()
    leaderless = (p for p in view.partitions() if p.leader == NO_LEADER and UNCLEAN not in view.topic_config(p.topic))
    return tuple(PartitionDue(now_ms, p.topic, p.partition) for p in leaderless)


def passed_over(unknown: Sequence[TopicPartition]) -> tuple[str, ...]:
    """The reasons why named partitions are skipped; only the first of many."""
    notes = [f"there is no partition {tp.topic:.80}-{tp.partition}" for tp in unknown[:_NOTES_MAX]]
    return (*notes, f"and {len(unknown) - _NOTES_MAX} more") if len(unknown) > _NOTES_MAX else tuple(notes)


def notification_done(view: ClusterView, event: NotificationDone) -> Decision:
    """A notification is deleted after all its requests were decided."""
    done = NotificationWorkedOff(event.at.path, event.notes, event.problem)
    return Decision((KeyAdopted(event.at), done))


def log_dir_notified(view: ClusterView, event: LogDirNotified) -> Decision:
    """The broker is sent all its partitions, and its answer names those with a failed disk. A broker that is not live
    gets everything when it registers."""
    done = NotificationDone(event.now_ms, event.at)
    asked = (BrokerAskedAgain(event.broker),) if event.broker in view.brokers else ()
    return Decision(asked, expand=(done,))


def state_key_read(view: ClusterView, event: StateKeyRead) -> Decision:
    """Accept what may be accepted, and write back the rest."""
    partition = view.partition(event.topic, event.partition)
    if partition is None:
        return Decision()
    if view.is_deleting(event.topic):
        return deletion.state_key_read(view, event)
    was_unreadable = view.unreadable(event.topic, event.partition)
    known = view.key_version(event.topic, event.partition)
    records: list[Record] = []
    if known != event.at:
        records.append(StateKeyAdopted(event.topic, event.partition, event.at))
    if was_unreadable:
        return _readable_again(view, partition, event, records, was_unreadable)
    if not partition.has_state and event.found is not None and view.is_new(event.topic):
        detail = "left of a former topic of this name; written over"
        records.append(ForeignChange(event.topic, event.partition, detail, is_rewritten=False))
        return Decision(tuple(records), expand=(PartitionDue(event.now_ms, event.topic, event.partition),))
    if not partition.has_state and event.found is not None:
        return _take_whole(view, partition, event, records, "found")
    if known == event.at or (event.found is None and event.problem is None and not partition.has_state):
        return Decision(tuple(records))
    if event.found is None:
        return _write_again(partition, event.problem or "deleted by another program", records)
    return _take_over(view, partition, event.found, records)


def _write_again(partition: Partition, problem: str, records: list[Record]) -> Decision:
    """The key says nothing any more. Before, its leader may have reduced the ISR in it without a request, as leaders of
    old versions do, and acknowledged records since: only the leader surely has them all."""
    records.append(ForeignChange(partition.topic, partition.partition, f"{problem}; written again"))
    if partition.leader in partition.isr and len(partition.isr) > 1:
        alone = partition.but(isr=(partition.leader,))
        records.append(
            PartitionChanged(partition, alone, "isr is the leader alone, until others join again", is_found=True)
        )
    return Decision(tuple(records))


def _take_over(view: ClusterView, partition: Partition, found: Partition, records: list[Record]) -> Decision:
    told = {name: value for name, value in (found.extra or {}).items() if name != BROKERS_WITHOUT_INTENT}  # ours alone
    kept = partition.but(extra={**(partition.extra or {}), **told} or None)
    after = told_by_key(view, kept, found)
    detail = "nothing taken over, written again" if after is kept else f"isr {list(after.isr)} taken over"
    changed, _ = change(view, partition, after, detail, is_found=True)
    return Decision((*records, *changed))


def _readable_again(
    view: ClusterView, partition: Partition, event: StateKeyRead, records: list[Record], was: str
) -> Decision:
    mended = BadKey(event.topic, event.partition, None, was)
    if view.is_new(event.topic):  # left of a former topic of this name; written over
        return Decision((*records, mended), expand=(PartitionDue(event.now_ms, event.topic, event.partition),))
    if event.problem is not None or event.found is None:
        return Decision()  # a deleted unreadable key says nothing about the logs: still no broker may lead
    records.append(mended)
    return _take_whole(view, partition, event, records, "readable again")


def _take_whole(
    view: ClusterView, partition: Partition, event: StateKeyRead, records: list[Record], cause: str
) -> Decision:
    """Only R of the partition is known; above all, its epochs must not begin again."""
    found = event.found
    assert found is not None
    follow = [PartitionDue(event.now_ms, event.topic, event.partition), *missed(view, found, event.now_ms)]
    follow += kafka_move_due(view, event.topic, event.partition, event.now_ms)
    topic = view.topic(event.topic)
    follow += () if topic is None else _intents_of_members(view, topic, found, event.now_ms)
    if found.status_code or event.partition in view.reduction(event.topic):
        follow.append(ReductionDue(event.now_ms, event.topic))
    taken = (PartitionChanged(partition, found, cause, is_found=True), *strays_join(view, found)[0])
    return Decision((*records, *taken), expand=tuple(follow))


def _intents_of_members(view: ClusterView, topic: Topic, partition: Partition, now_ms: int) -> list[Event]:
    """Check the members' intents: whether they are void is known now."""
    found = (view.open_intent(broker, topic.topic_id, partition.partition) for broker in partition.members)
    return [IntentDue(now_ms, intent) for intent in found if intent is not None]


def missed(view: ClusterView, partition: Partition, now_ms: int) -> tuple[Event, ...]:
    """The events for deaths and shutdowns of ISR members that were missed while the partition was unknown; the leader's
    first."""
    named = sorted(partition.isr, key=lambda b: b != partition.leader)
    gone = [b for b in named if not is_alive(view, partition, b) and b not in view.unread]
    topic, number = partition.topic, partition.partition
    return tuple(
        ReplicaLeaves(now_ms, topic, number, b)
        if is_up(view, partition, b)
        else PartitionDue(now_ms, topic, number, Reason.DIED)
        for b in gone
    )


def topic_key_read(view: ClusterView, event: TopicKeyRead) -> Decision:
    """An unknown topic is taken over as a whole. Of a known one, new partitions and unknown fields are accepted;
    everything else is written back."""
    was_unreadable = view.unreadable(event.name)
    known = view.topic(event.name)
    if view.is_deleting(event.name):
        return deletion.topic_key_read(view, event)
    if known is None:
        return _unknown_topic(view, event, was_unreadable)
    if view.is_known(event.at):
        return Decision()
    records: list[Record] = [KeyAdopted(event.at)]
    if event.found is None:
        detail = event.problem or "deleted by another program"
        records.append(ForeignChange(event.name, None, f"{detail}; written again"))
        return Decision(tuple(records))
    return _known_topic(view, event, records)


def _unknown_topic(view: ClusterView, event: TopicKeyRead, was_unreadable: str | None) -> Decision:
    if event.problem is not None:
        known = event.problem == was_unreadable
        return Decision(() if known else (BadKey(event.name, None, event.problem, was_unreadable),))
    mended = (BadKey(event.name, None, None, was_unreadable),) if was_unreadable else ()
    if event.found is None:
        return Decision(mended)
    topic = event.found
    follow = [*follow_up(event.now_ms, topic, event.partitions)]
    follow += [lost for partition in event.partitions for lost in missed(view, partition, event.now_ms)]
    for partition in event.partitions:
        follow += _intents_of_members(view, topic, partition, event.now_ms)
    found = TopicFound(topic, event.partitions, event.configs, event.states)
    adopted = (KeyAdopted(event.at), KeyAdopted(event.config_at))
    # The id that the runtime gave to a topic of an older Kafka is written at once, since intents need it.
    rewritten = (KeysRewritten(event.name),) if event.id_is_new else ()
    broken = (BadKey(event.name, partition, problem) for partition, problem in event.state_problems.items())
    return Decision((*mended, *adopted, found, *rewritten, *broken), expand=(*event.kafka_moves, *follow))


def follow_up(now_ms: int, topic: Topic, partitions: Sequence[Partition]) -> tuple[Event, ...]:
    """The events for a topic that was read as a whole: ISR members outside R, partitions without a leader, running
    moves."""
    events: list[Event] = []
    not_online = 0
    for p in partitions:
        if p.isr is not p.replicas and not set(p.isr) <= set(p.members):
            events.append(PartitionDue(now_ms, p.topic, p.partition, Reason.STRAY))
        if p.leader not in p.isr or p.move is not None:
            events.append(PartitionDue(now_ms, p.topic, p.partition))
        not_online |= p.status_code
    if not_online:
        events.append(ReductionDue(now_ms, topic.name))
    return tuple(events)


def _known_topic(view: ClusterView, event: TopicKeyRead, records: list[Record]) -> Decision:
    topic = view.topic(event.name)
    assert topic is not None and event.found is not None
    count = view.partition_count(event.name)
    added = tuple(p.replicas for p in event.partitions[count:])
    merged = attrs.evolve(
        topic,
        extra={**(topic.extra or {}), **(event.found.extra or {})} or None,
        kafka_moves={**topic.kafka_moves, **event.found.kafka_moves},
    )
    if merged != topic:
        records.append(TopicChanged(merged, "fields of another program"))
        topic = merged
    ours = tuple(p.replicas for p in view.partitions_of(event.name))
    if tuple(p.replicas for p in event.partitions[:count]) != ours:
        records.append(ForeignChange(event.name, None, "replicas changed by another program; written again"))
    elif topic != event.found:
        records.append(ForeignChange(event.name, None, "fields of ours dropped by another program; written again"))
    if added:
        records.append(PartitionsAdded(topic, count, added))
    due = tuple(PartitionDue(event.now_ms, event.name, count + i) for i in range(len(added)))
    return Decision(tuple(records), expand=(*event.kafka_moves, *due))
