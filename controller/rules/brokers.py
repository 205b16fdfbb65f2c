"""Brokers register, leave and report. A death is decided partition by partition. A new registration waits until the
death before it is complete, so that a restart (another broker epoch) is a death, then a birth, and hides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.events import (
    BrokerCame,
    BrokerGone,
    BrokerKnown,
    BrokerRedescribed,
    BrokerUnread,
    DeathDone,
    Decision,
    DeletionAcknowledged,
    DiskReported,
    Event,
    Group,
    PartitionDue,
    Reason,
)
from ..model.values import NO_LEADER, Broker, DeleteIntent, Partition
from ..model.view import ClusterView
from ..records import (
    BrokerLeft,
    BrokerRegistered,
    DeathWorkedOff,
    DiskGone,
    RegistrationKnown,
    RegistrationUnread,
    ReplicaDeleted,
)
from .deletion import logs_due
from .reduction.purge import purges_due


def broker_gone(view: ClusterView, event: BrokerGone) -> Decision:
    """The broker is dead from now on; events for the partitions that it led or was in sync with follow."""
    broker = view.brokers.get(event.broker_id)
    if broker is None or broker.epoch != event.epoch:
        return Decision()
    return Decision((BrokerLeft(broker),), expand=(_death(view, event.broker_id, event.epoch, event.now_ms),))


def _death(view: ClusterView, broker_id: int, epoch: int, now_ms: int) -> Group:
    """An event for each partition that `broker_id` leads or is in sync with, led ones first; then the end of the
    death."""
    touched = [p for p in view.partitions_on(broker_id) if broker_id in p.isr]
    touched.sort(key=lambda p: p.leader != broker_id)
    died = tuple([PartitionDue(now_ms, p.topic, p.partition, Reason.DIED) for p in touched])
    return Group(died, DeathDone(now_ms, broker_id, epoch))


def expand_deaths(
    view: ClusterView, dead: Mapping[int, int], returned: Mapping[int, Broker], now_ms: int
) -> list[Event | Group]:
    """The deaths that a takeover found (`dead`: id -> the epoch that died): an event for each partition that a dead
    broker leads or is in sync with, those that lost their leader first, and the end of each death. So a partition that
    lost several brokers changes once."""
    touched = {(p.topic, p.partition): p for b in dead for p in view.partitions_on(b) if b in p.isr}
    ordered = sorted(touched.values(), key=lambda p: p.leader not in dead)
    died: list[Event] = [PartitionDue(now_ms, p.topic, p.partition, Reason.DIED) for p in ordered]
    of_broker: dict[int, list[Event]] = {broker: [] for broker in dead}
    for partition, event in zip(ordered, died, strict=True):
        for broker in partition.isr:
            if broker in of_broker:
                of_broker[broker].append(event)
    ends = [Group(tuple(of_broker[b]), DeathDone(now_ms, b, epoch, returned.get(b))) for b, epoch in dead.items()]
    return [*died, *ends]


def death_done(view: ClusterView, event: DeathDone) -> Decision:
    if view.dying.get(event.broker_id) != event.epoch:
        return Decision()
    born = () if event.returned is None else (BrokerCame(event.now_ms, event.returned),)
    return Decision((DeathWorkedOff(event.broker_id, event.epoch),), expand=born)


def broker_came(view: ClusterView, event: BrokerCame) -> Decision:
    """The broker is live; partitions that wait for it are checked again."""
    broker_id = event.broker.broker_id
    if broker_id in view.brokers or broker_id in view.dying or broker_id in view.unread:
        return Decision()
    due = tuple(
        PartitionDue(event.now_ms, p.topic, p.partition) for p in view.partitions_on(broker_id) if _waits(p, broker_id)
    )
    return Decision((BrokerRegistered(event.broker),), expand=due)


def broker_unread(view: ClusterView, event: BrokerUnread) -> Decision:
    """The broker is registered, but its epoch and addresses are unknown: it is neither live nor dead."""
    broker_id = event.broker_id
    if broker_id in view.brokers or broker_id in view.dying or broker_id in view.unread:
        return Decision()
    return Decision((RegistrationUnread(broker_id, event.epoch),))


def broker_known(view: ClusterView, event: BrokerKnown) -> Decision:
    """If the broker is gone, or registered under another epoch than before, it died, and this is decided before a
    birth. Otherwise it never died."""
    broker_id = event.broker_id
    if broker_id not in view.unread:
        return Decision()
    unread, admitted = view.unread[broker_id], view.admitted_epoch(broker_id)
    if event.epoch is not None and event.epoch in (unread, admitted):
        return Decision((RegistrationKnown(broker_id, unread, None),))
    died = admitted if admitted is not None else 0
    death = _death(view, broker_id, died, event.now_ms)
    return Decision((RegistrationKnown(broker_id, unread, died),), expand=(death,))


def _waits(partition: Partition, broker_id: int) -> bool:
    return partition.leader in (NO_LEADER, broker_id) or partition.move is not None


def broker_redescribed(view: ClusterView, event: BrokerRedescribed) -> Decision:
    """Other endpoints or another rack of a live broker: brokers are informed, and no election follows."""
    broker = event.broker
    before = view.brokers.get(broker.broker_id)
    if before is None or before.epoch != broker.epoch:
        return Decision()
    if before == broker and view.admitted_epoch(broker.broker_id) == broker.epoch:
        return Decision()
    return Decision((BrokerRegistered(broker, before),))


def disk_reported(view: ClusterView, event: DiskReported) -> Decision:
    """A replica with a failed disk counts as offline."""
    partition = view.partition(event.topic, event.partition)
    if partition is None or view.disk_gone(partition, event.broker) == event.gone:
        return Decision()
    record = DiskGone(event.topic, event.partition, event.broker, event.gone)
    if event.gone:
        follow: Event = PartitionDue(event.now_ms, event.topic, event.partition, Reason.DIED)
    else:
        follow = PartitionDue(event.now_ms, event.topic, event.partition)
    return Decision((record,), expand=(follow,))


def deletion_acknowledged(view: ClusterView, event: DeletionAcknowledged) -> Decision:
    """Close intents that are still open. A late acknowledgement of a dropped or replaced one changes nothing."""
    found: dict[tuple[int, str, int], DeleteIntent] = {}  # each once, by its key in the state
    for intent in event.intents:
        slot = (intent.broker, intent.topic_id, intent.partition)
        open_one = view.open_intent(*slot)
        if open_one is intent or open_one == intent:
            found[slot] = intent
    closed = list(found.values())
    due: tuple[Event, ...] = ()
    if view.has_trouble():  # a deletion or reduction may wait for them
        due = (*logs_due(view, closed, event.now_ms), *purges_due(view, closed, event.now_ms))
    return Decision(tuple(map(ReplicaDeleted, closed)), expand=due)
