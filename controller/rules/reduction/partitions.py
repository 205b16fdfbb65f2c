"""A partition gets the status that its reduction demands: read-only, or offline with its move cancelled and intents for
all brokers that may hold a log of it, a few by each Decision (`deletion`). The remaining brokers are kept in the state
key, also as an empty list, so that a takeover knows whether all have an intent.

A partition without a state key was never led. There is nothing to read in it, so it counts as offline.
"""

from __future__ import annotations

from ...model.events import Decision, PartitionDue, PurgeDue, Reason, RetirementOver
from ...model.reductions import OFFLINE, READ_ONLY, Retirement
from ...model.values import BROKERS_WITHOUT_INTENT, Extra, Partition, Replicas
from ...model.view import ClusterView
from ...records import PartitionChanged
from ..completion import intend_deletion
from ..deletion import split_holders
from .configs import retention_ms


def retirement_due(view: ClusterView, event: PartitionDue) -> Decision:
    """Read-only or offline, as the key says; for an offline one, the remaining brokers get an intent."""
    found = _retiring(view, event.topic, event.partition)
    if found is None:
        return Decision()
    partition, entry = found
    if not partition.has_state:
        return Decision(expand=(PurgeDue(event.now_ms, event.topic),))
    if partition.is_offline:
        return _tell_more(view, partition, event)
    if entry.immediate:
        return _take_offline(view, partition, "at once", event)
    if partition.status_code == READ_ONLY:
        return Decision()
    after = partition.but(status_code=READ_ONLY, leader_epoch=partition.leader_epoch + 1)
    return Decision((PartitionChanged(partition, after, "delayed"),))


def retirement_over(view: ClusterView, event: RetirementOver) -> Decision:
    """A read-only partition goes offline, if its retention is over or its log is still empty."""
    found = _retiring(view, event.topic, event.partition)
    if found is None or found[0].status_code != READ_ONLY:
        return Decision()
    partition, entry = found
    due = PartitionDue(event.now_ms, event.topic, event.partition, Reason.RETIRE)
    if event.empty_epoch == partition.leader_epoch:
        return _take_offline(view, partition, "empty", due)
    if is_over(view, event.topic, entry, event.now_ms):
        return _take_offline(view, partition, "retention", due)
    return Decision()


def is_over(view: ClusterView, topic: str, entry: Retirement, now_ms: int) -> bool:
    """Whether the retention of a read-only partition is over."""
    retention = retention_ms(view, topic)
    return retention is not None and now_ms - entry.timestamp_ms >= retention


def _retiring(view: ClusterView, name: str, number: int) -> tuple[Partition, Retirement] | None:
    """A partition to remove with its entry; None if nothing can be done to it now."""
    partition, entry, topic = view.partition(name, number), view.reduction(name).get(number), view.topic(name)
    if partition is None or entry is None or topic is None or not topic.topic_id or view.is_deleting(name):
        return None
    if view.unreadable(name, number):
        return None
    return partition, entry


def _take_offline(view: ClusterView, partition: Partition, cause: str, event: PartitionDue) -> Decision:
    holders, via = tuple(dict.fromkeys((*partition.members, *partition.isr))), None
    now = partition
    if partition.move is not None:
        now = via = partition.but(move=None, leader_epoch=partition.leader_epoch + 1)
        # A broker that was only a target is not a member now: its intent goes first.
        holders = tuple(sorted(holders, key=lambda b: b in now.members))
    told, left = _split(view, now, holders)
    after = now.but(status_code=OFFLINE, leader_epoch=now.leader_epoch + 1, extra=_with_left(now, left))
    records = (PartitionChanged(partition, after, cause, via), *intend_deletion(view, after, told))
    return Decision(records, expand=(event,) if left else ())


def _tell_more(view: ClusterView, partition: Partition, event: PartitionDue) -> Decision:
    if partition.are_holders_told:
        return Decision(expand=(PurgeDue(event.now_ms, event.topic),))
    is_begun = partition.extra is not None and BROKERS_WITHOUT_INTENT in partition.extra
    everyone = tuple(dict.fromkeys((*partition.members, *partition.isr)))
    told, left = _split(view, partition, partition.brokers_without_intent if is_begun else everyone)
    after = partition.but(extra=_with_left(partition, left))
    records = (PartitionChanged(partition, after), *intend_deletion(view, after, told))
    return Decision(records, expand=(event,) if left else (PurgeDue(event.now_ms, event.topic),))


def _split(view: ClusterView, partition: Partition, holders: Replicas) -> tuple[Replicas, Replicas]:
    topic = view.topic(partition.topic)
    return split_holders(view, "" if topic is None else topic.topic_id, partition, holders)


def _with_left(partition: Partition, left: Replicas) -> Extra:
    return {**(partition.extra or {}), BROKERS_WITHOUT_INTENT: list(left)}
