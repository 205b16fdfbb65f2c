"""Topics are deleted in many Decisions, while the key /admin/delete_topics/<t> exists: it is written first and removed
last.

1. The key exists, by `delete_topics` or by another tool. From then on nothing of the topic is elected, moved or
expanded, and requests of leaders are refused. 2. Partition by partition: its move is cancelled, it has no leader any
more (-2, durably), and all brokers that may hold a log of it get an intent to delete it. Its leader epoch rises above
all epochs that brokers were sent. If they are too many for a small commit, the others are kept in the state key
(`brokers_without_intent`), and follow in several parts. 3. When no partition is left to stop and no intent of the topic
is open, state keys are removed, partition by partition. 4. When none is left, the topic's key, its configs and the key
of step 1 are removed in one commit.

A takeover begins with step 2 for the partitions whose state key does not say that they were stopped. A partition
without a state key was never sent to a broker, or has passed step 3 already: of its replicas only brokers that were
admitted and not forgotten get an intent (again). A deletion that has begun completes even if topics may no longer be
deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..model.errors import NOT_HOSTED, StorageError, TopicDeletionDisabled, UnknownTopicOrPartition
from ..model.events import (
    Decision,
    DeleteTopic,
    DeletionKeyRead,
    Event,
    PartitionDue,
    Reason,
    StateKeyRead,
    TopicDeletionDue,
    TopicGoneDue,
    TopicKeyRead,
    TopicLogsDue,
    refuse,
)
from ..model.records import Record
from ..model.values import (
    BROKERS_WITHOUT_INTENT,
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    DeleteIntent,
    Extra,
    Partition,
    Replicas,
    without_state,
)
from ..model.view import ClusterView
from ..records import (
    BadKey,
    DeletionKeyLost,
    DeletionRefused,
    ForeignChange,
    KeyAdopted,
    PartitionChanged,
    StateKeyAdopted,
    TopicDeleted,
    TopicDeletionStarted,
)
from .completion import intend_deletion
from .isr import told_by_key
from .throttling.marks import unmarked

INTENT_KEYS_MAX: Final = 4  # that one Decision writes or removes, besides the state key, the topic's and a parent
UNKNOWN = "there is no such topic"
DISABLED = "delete_topic_enable is off"


def delete_topic(view: ClusterView, event: DeleteTopic) -> Decision:
    """Reply None: the deletion is recorded, or was before. Otherwise the error."""
    name = event.topic
    if not view.settings.delete_topic_enable:
        return refuse(TopicDeletionDisabled("Topic deletion is disabled."))
    if view.is_deleting(name):
        return Decision()
    if problem := view.unreadable(name):
        return refuse(StorageError(problem))
    topic = view.topic(name)
    if topic is None:
        return refuse(UnknownTopicOrPartition(NOT_HOSTED))
    return Decision((TopicDeletionStarted(topic),), expand=(TopicDeletionDue(event.now_ms, name),))


def deletion_key_read(view: ClusterView, event: DeletionKeyRead) -> Decision:
    """Another tool requests a deletion, or wrote or removed a key of ours."""
    name = event.topic
    if view.is_deleting(name):
        return _known_key(view, event)
    if not event.at.version or view.unreadable(name) is not None:
        return Decision()  # a topic that cannot be read names no replicas
    topic, adopted = view.topic(name), KeyAdopted(event.at)
    if not view.settings.delete_topic_enable and not has_stopped(view, name):
        return Decision((adopted, DeletionRefused(name, DISABLED)))
    if topic is None:
        return Decision((adopted, DeletionRefused(name, UNKNOWN)))
    return Decision((adopted, TopicDeletionStarted(topic)), expand=(TopicDeletionDue(event.now_ms, name),))


def has_stopped(view: ClusterView, name: str) -> bool:
    """Whether a partition of the topic was stopped, so that its logs may be deleted."""
    return any(p.leader == LEADER_DURING_DELETE for p in view.partitions_of(name))


def is_begun(view: ClusterView, name: str) -> bool:
    """Whether a deletion that a takeover finds cannot be undone: a partition was stopped, or no state key is left. A
    topic none of whose partitions was ever led looks the same, and loses nothing."""
    left = (p.has_state or view.unreadable(name, p.partition) for p in view.partitions_of(name))
    return has_stopped(view, name) or not any(left)


def _known_key(view: ClusterView, event: DeletionKeyRead) -> Decision:
    if view.is_known(event.at) or view.topic(event.topic) is None:
        return Decision()
    adopted = KeyAdopted(event.at)
    if event.at.version:
        return Decision((adopted,))
    detail = "/admin/delete_topics: removed by another program; written again, the deletion goes on"
    foreign = ForeignChange(event.topic, None, detail, is_rewritten=False)
    return Decision((adopted, DeletionKeyLost(event.topic), foreign))


# --- partition by partition


def topic_deletion_due(view: ClusterView, event: TopicDeletionDue) -> Decision:
    """An event for each partition that is not stopped. A topic of an older Kafka waits for its id, which intents
    need."""
    topic = view.topic(event.topic)
    if topic is None or not view.is_deleting(event.topic) or not topic.topic_id:
        return Decision()
    due: list[Event] = [
        PartitionDue(event.now_ms, p.topic, p.partition, Reason.STOP)
        for p in view.partitions_of(event.topic)
        if not p.is_stopped
    ]
    return Decision(expand=(*due, TopicLogsDue(event.now_ms, event.topic)))


def partition_deletion_due(view: ClusterView, event: PartitionDue) -> Decision:
    """The move is cancelled, whatever remains in sync. Then all brokers that may hold a log get an intent to delete it,
    the first few at once, the others in later Decisions."""
    partition, topic = view.partition(event.topic, event.partition), view.topic(event.topic)
    if partition is None or topic is None or not topic.topic_id:
        return Decision()
    if partition.is_stopped or not view.is_deleting(event.topic):
        return Decision()
    records: list[Record] = []
    if partition.leader == LEADER_DURING_DELETE:
        cancelled = stopped = partition
        holders = _still_waited_for(view, partition)
    else:
        cancelled, stopped, holders = _stop(view, partition, records)
    told, left = split_holders(view, topic.topic_id, cancelled, holders)
    after = stopped.but(extra=_with_holders(stopped, left))
    via = None if cancelled is partition else cancelled
    records += [PartitionChanged(partition, after, via=via), *intend_deletion(view, after, told)]
    if left:
        return Decision(tuple(records), expand=(event,))
    is_last = view.left_to_stop(event.topic) == 1
    return Decision(tuple(records), expand=(TopicLogsDue(event.now_ms, event.topic),) if is_last else ())


def _stop(view: ClusterView, partition: Partition, records: list[Record]) -> tuple[Partition, Partition, Replicas]:
    """The partition without its move, the stopped partition, and the brokers that may hold a log of it."""
    problem = view.unreadable(partition.topic, partition.partition)
    if problem:
        records.append(BadKey(partition.topic, partition.partition, None, problem))
    holders = _holders(view, partition, is_known=not problem)
    if partition.move is not None:
        cleared = partition = partition.but(move=None, leader_epoch=partition.leader_epoch + 1)
        # A broker that was only a target is not a member now: its intent goes first.
        holders = tuple(sorted(holders, key=lambda b: b in cleared.members))
    stopped = partition.but(
        isr=partition.replicas if problem else partition.isr,
        leader=LEADER_DURING_DELETE,
        leader_epoch=max(partition.leader_epoch + 1, EPOCH_DURING_DELETE),
    )
    return partition, stopped, holders


def _still_waited_for(view: ClusterView, partition: Partition) -> Replicas:
    """The holders without an intent, except those that were included only because they were admitted, and were
    forgotten meanwhile."""
    known = {*partition.members, *partition.isr}
    return tuple(b for b in partition.brokers_without_intent if b in known or view.admitted_epoch(b) is not None)


def split_holders(
    view: ClusterView, topic_id: str, partition: Partition, holders: Replicas
) -> tuple[Replicas, Replicas]:
    """The brokers that get an intent by this Decision, and those that get it later: an intent is a key, and may empty
    the key of an older one."""
    count = 0
    for at, broker in enumerate(holders):
        count += 1 if view.open_intent(broker, topic_id, partition.partition) is None else 2
        if count > INTENT_KEYS_MAX:
            return holders[:at], holders[at:]
    return holders, ()


def _with_holders(partition: Partition, left: Replicas) -> Extra | None:
    kept = {name: value for name, value in (partition.extra or {}).items() if name != BROKERS_WITHOUT_INTENT}
    return ({**kept, BROKERS_WITHOUT_INTENT: list(left)} if left else kept) or None


def _holders(view: ClusterView, partition: Partition, *, is_known: bool) -> Replicas:
    """The brokers that may hold a log. An unreadable state may have named any broker as a target, so all brokers that
    were ever admitted and not forgotten are included."""
    members = tuple(dict.fromkeys((*partition.members, *partition.isr)))
    if not is_known:
        return tuple(dict.fromkeys((*members, *sorted(view.admitted_brokers()))))
    if partition.has_state:
        return members
    return tuple(b for b in members if view.admitted_epoch(b) is not None)


def logs_due(view: ClusterView, closed: Sequence[DeleteIntent], now_ms: int) -> tuple[Event, ...]:
    """Events when these open intents are closed: if they were the last ones of a topic that is being deleted, its keys
    may be removed."""
    counts = Counter((intent.topic, intent.topic_id) for intent in closed if view.is_deleting(intent.topic))
    return tuple(
        TopicLogsDue(now_ms, name)
        for (name, topic_id), count in counts.items()
        if (topic := view.topic(name)) is not None
        and topic.topic_id == topic_id
        and view.open_intents_of(topic_id) <= count
    )


# --- the remaining keys


def topic_logs_due(view: ClusterView, event: TopicLogsDue) -> Decision:
    """Once all logs are deleted: an event for each state key."""
    if not _are_logs_gone(view, event.topic):
        return Decision()
    due: list[Event] = [
        PartitionDue(event.now_ms, p.topic, p.partition, Reason.ERASE)
        for p in view.partitions_of(event.topic)
        if view.key_version(p.topic, p.partition).version
    ]
    return Decision(expand=(*due, TopicGoneDue(event.now_ms, event.topic)))


def _are_logs_gone(view: ClusterView, name: str) -> bool:
    topic = view.topic(name)
    if topic is None or not topic.topic_id or not view.is_deleting(name):
        return False
    return view.left_to_stop(name) == 0 and view.open_intents_of(topic.topic_id) == 0


def state_key_due(view: ClusterView, event: PartitionDue) -> Decision:
    partition = view.partition(event.topic, event.partition)
    if partition is None or not partition.has_state or not _are_logs_gone(view, event.topic):
        return Decision()
    gone = without_state(event.topic, event.partition, partition.replicas).but(
        leader=LEADER_DURING_DELETE, leader_epoch=partition.leader_epoch
    )
    return Decision((PartitionChanged(partition, gone),), expand=(TopicGoneDue(event.now_ms, event.topic),))


def topic_gone_due(view: ClusterView, event: TopicGoneDue) -> Decision:
    """Once all state keys are removed, the rest is. Before that, marks of its throttles are removed: a later topic of
    this name has its own."""
    topic = view.topic(event.topic)
    if topic is None or not _are_logs_gone(view, event.topic) or view.state_keys_left(event.topic):
        return Decision()
    if marks := unmarked(view, "topics", event.topic):
        return Decision(marks, expand=(event,))
    return Decision((TopicDeleted(topic),))


# --- keys of such a topic that other programs write


def state_key_read(view: ClusterView, event: StateKeyRead) -> Decision:
    """The key is deleted at its present version. ISR changes by its leader are accepted until the partition is stopped:
    if the request is withdrawn, a member of the ISR leads it again."""
    known, partition = view.key_version(event.topic, event.partition), view.partition(event.topic, event.partition)
    if known == event.at or partition is None:
        return Decision()
    moved = StateKeyAdopted(event.topic, event.partition, event.at)
    if event.found is None or not partition.has_state or partition.leader == LEADER_DURING_DELETE:
        return Decision((moved,))
    after = told_by_key(view, partition, event.found)
    if after is partition:
        return Decision((moved,))
    return Decision((moved, PartitionChanged(partition, after, f"isr {list(after.isr)} taken over", is_found=True)))


def topic_key_read(view: ClusterView, event: TopicKeyRead) -> Decision:
    if view.topic(event.name) is None or view.is_known(event.at):
        return Decision()
    return Decision((KeyAdopted(event.at),))
