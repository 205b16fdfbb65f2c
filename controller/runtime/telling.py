"""Publish committed records: to brokers, the host, timers, and the parts that read keys again.

TOLD has an entry for every record type, as the tables for applying and for the journal do (a test checks all of them).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..codec import keys
from ..keys.notifications import NotificationKeys
from ..model import records as r
from ..model.values import BROKERS, TOPICS, DeleteIntent, Partition
from ..rules.legacy import DROPPED
from ..state import ClusterState, DirtyKey
from .dispatcher import Dispatcher
from .reconcile import Reconcile
from .services import Services
from .timers import Timers

_log = logging.getLogger(__name__)


class Telling:
    """Publishes the records of a commit. What is sent for many partitions at once is collected first."""

    __slots__ = (
        "_deleted",
        "_intended",
        "_purged",
        "dispatcher",
        "moves",
        "reconcile",
        "services",
        "state",
        "timers",
        "touched"
    )  # fmt: skip

    def __init__(
        self, services: Services, state: ClusterState, dispatcher: Dispatcher, reconcile: Reconcile, timers: Timers
    ) -> None:
        self.services = services
        self.state = state
        self.dispatcher = dispatcher
        self.reconcile = reconcile
        self.timers = timers
        self._begin()

    def _begin(self) -> None:
        self.touched: dict[int, bool] = {}  # by number; True: its replicas get a request, not only metadata
        self.moves: list[Partition] = []
        self._intended: list[DeleteIntent] = []
        self._deleted: list[DeleteIntent] = []
        self._purged: list[tuple[Partition, int]] = []

    def tell(self, log: Sequence[tuple[r.Record, Any, Sequence[DirtyKey]]]) -> None:
        """Publish a commit, record by record."""
        self._begin()
        for record, token, _ in log:
            TOLD[type(record)](self, record, token)
        self.timers.moves(self.moves)
        self.dispatcher.intended(self._intended)
        self.dispatcher.partitions_changed(self.touched)
        self.services.log_reports.forget((i.topic, i.partition, i.broker) for i in self._deleted)
        for partition, number in self._purged:
            self.dispatcher.purged(number, partition)
            self.services.notices.partition_purged(partition.topic, partition.partition)
            self.forget_reports(partition)

    def forget_reports(self, partition: Partition) -> None:
        """Drop the reports of its logs; a report that arrived after the deletion of its log is dropped with the
        topic."""
        brokers = (*partition.members, *partition.isr)
        self.services.log_reports.forget([(partition.topic, partition.partition, broker) for broker in brokers])

    def intended(self, record: r.DeleteIntended, _: object) -> None:
        self._intended.append(record.intent)

    def deleted(self, record: r.ReplicaDeleted, _: object) -> None:
        self._deleted.append(record.intent)

    def purged(self, record: r.PartitionPurged, number: int) -> None:
        self._purged.append((record.before, number))


Tell: TypeAlias = Callable[[Telling, Any, Any], None]


def _nobody(telling: Telling, record: r.Record, token: object) -> None:
    """The change is not visible, or another record publishes it."""


# --- partitions


def _changed(telling: Telling, record: r.PartitionChanged, number: int) -> None:
    before, after = record.before, record.after
    if before.has_state and not after.has_state:
        telling.forget_reports(before)
        return
    if record.must_obey:
        telling.touched[number] = True
    else:  # all brokers get the new metadata
        telling.touched.setdefault(number, False)
    if record.is_found:
        telling.dispatcher.readable_again(after)
    if after.move is not None and (after.move is not before.move or record.is_found):
        telling.moves.append(after)  # it may have a deadline
    if telling.state.rows[number] is not None and _may_be_unheard(telling.state, record):
        telling.dispatcher.created(number, after.isr)


def _may_be_unheard(state: ClusterState, record: r.PartitionChanged) -> bool:
    """Whether brokers may have no log of the partition yet: it got its first leader, or still has the first leader
    epoch of the store from which the cluster was migrated."""
    before, after = record.before, record.after
    if not before.has_state:
        return after.has_state and not record.is_found
    if not record.is_raised:
        return False
    topic = state.topic(after.topic)
    return topic is not None and before.leader_epoch == topic.created_epoch(after.partition)


def _disk_gone(telling: Telling, record: r.DiskGone, _: object) -> None:
    number = telling.state.number(record.topic, record.partition)
    if number is not None:
        telling.touched.setdefault(number, False)


def _foreign_change(telling: Telling, record: r.ForeignChange, _: object) -> None:
    """A rewritten state key has a later partition epoch, which its leader needs to change the ISR."""
    if record.partition is None or not record.is_rewritten:
        return
    number = telling.state.number(record.topic, record.partition)
    if number is not None:
        telling.touched[number] = True


# --- topics


def _topic_found(telling: Telling, record: r.TopicFound, _: object) -> None:
    name, numbers = record.topic.name, telling.state.topics[record.topic.name].numbers
    telling.touched.update({numbers[i]: True for i in range(len(record.partitions))})
    telling.moves += record.partitions
    telling.reconcile.kinds.hint(keys.topic_config(name))  # it may have changed since it was read
    telling.reconcile.hint_requests()
    telling.services.notices.config_changed(TOPICS, name, record.configs)


def _topic_created(telling: Telling, record: r.TopicCreated, _: object) -> None:
    """Also if it has no configs: the host may still have those of a former topic."""
    telling.services.notices.config_changed(TOPICS, record.topic.name, record.configs)


def _topic_deleted(telling: Telling, record: r.TopicDeleted, _: object) -> None:
    telling.services.notices.config_changed(TOPICS, record.topic.name, {})


def _deletion_started(telling: Telling, record: r.TopicDeletionStarted, _: object) -> None:
    telling.dispatcher.deletion_started(record.topic.name, record.topic.topic_id)


def _reduction_changed(telling: Telling, record: r.ReductionChanged, _: object) -> None:
    telling.reconcile.findings.good(keys.DELETE_PARTITIONS)
    for partition in record.gone:
        telling.services.notices.partition_purged(record.topic, partition)


def _reduction_refused(telling: Telling, record: r.ReductionRefused, _: object) -> None:
    """Report a removed key, until a reduction is begun."""
    said = f"{keys.delete_partitions(record.topic)} was removed: {record.detail}"
    telling.reconcile.findings.bad(keys.DELETE_PARTITIONS, said)
    _log.warning("%s", said)


# --- brokers


def _registered(telling: Telling, record: r.BrokerRegistered, _: object) -> None:
    telling.dispatcher.registered(record.broker)
    telling.reconcile.registrations.is_due = True  # a newer registration may have been seen before this decision


def _left(telling: Telling, record: r.BrokerLeft, _: object) -> None:
    telling.dispatcher.left(record.broker.broker_id)
    telling.reconcile.registrations.is_due = True


def _death_worked_off(telling: Telling, _: r.DeathWorkedOff, __: object) -> None:
    telling.reconcile.registrations.is_due = True


def _forgotten(telling: Telling, record: r.BrokerForgotten, _: object) -> None:
    telling.services.measures.forget(record.broker_id)


def _asked_again(telling: Telling, record: r.BrokerAskedAgain, _: object) -> None:
    telling.dispatcher.ask_again(record.broker_id)


def _intent_dropped(telling: Telling, record: r.IntentDropped, _: object) -> None:
    if record.forgotten:
        intent = record.intent
        telling.services.log_reports.forget([(intent.topic, intent.partition, intent.broker)])


# --- configs, throttles, and what others wrote


def _configs_altered(telling: Telling, record: r.ConfigsAltered, _: object) -> None:
    telling.services.notices.config_changed(record.entity.kind, record.entity.name, record.after)


def _config_changed(telling: Telling, record: r.ConfigChanged, _: object) -> None:
    if record.before != record.after:
        telling.services.notices.config_changed(TOPICS, record.topic, record.after)


def _broker_config_changed(telling: Telling, record: r.BrokerConfigChanged, _: object) -> None:
    if record.before != record.after:
        telling.services.notices.config_changed(BROKERS, record.name, record.after)


def _throttle_marked(telling: Telling, record: r.ThrottleMarkChanged, _: object) -> None:
    telling.timers.throttles.marked(record, telling.services.elapsed_ms())


def _legacy(_: Telling, record: r.Record, __: object) -> None:
    """Log what the writer of the legacy key has to know."""
    if isinstance(record, r.LegacyEntryRemoved) and record.cause == DROPPED:
        entry = record.entry
        _log.warning("dropped from the legacy key: %.300r-%d: %s", entry.topic, entry.partition, record.reason)
    elif isinstance(record, r.LegacyKeyChanged):
        _log.warning("the legacy key: %s", record.detail)
    elif isinstance(record, r.LegacyKeyBroken) and record.after.problem is not None:
        _log.warning("the legacy key cannot be read: %s", record.after.problem)


def _notification_worked_off(telling: Telling, record: r.NotificationWorkedOff, _: object) -> None:
    for said in telling.reconcile.kinds.one(NotificationKeys).worked_off(record):
        _log.warning("%s", said)


def _bad_key(telling: Telling, record: r.BadKey, _: object) -> None:
    if record.problem is None:
        telling.reconcile.hint_requests()  # a request may have waited for the topic, which is readable again or gone
    if not telling.state.problems:
        telling.dispatcher.everything_readable()


TOLD: Final[dict[type[r.Record], Tell]] = {
    r.PartitionChanged: _changed,
    r.PartitionPurged: Telling.purged,
    r.DiskGone: _disk_gone,
    r.ForeignChange: _foreign_change,
    r.TopicFound: _topic_found,
    r.TopicCreated: _topic_created,
    r.TopicDeleted: _topic_deleted,
    r.TopicDeletionStarted: _deletion_started,
    r.ReductionChanged: _reduction_changed,
    r.ReductionRefused: _reduction_refused,
    r.BrokerRegistered: _registered,
    r.BrokerLeft: _left,
    r.DeathWorkedOff: _death_worked_off,
    r.BrokerForgotten: _forgotten,
    r.BrokerAskedAgain: _asked_again,
    r.DeleteIntended: Telling.intended,
    r.ReplicaDeleted: Telling.deleted,
    r.IntentDropped: _intent_dropped,
    **dict.fromkeys((r.ConfigsAltered, r.ThrottleSet, r.ThrottleRemoved, r.ThrottleRestored), _configs_altered),
    r.ConfigChanged: _config_changed,
    r.BrokerConfigChanged: _broker_config_changed,
    r.ThrottleMarkChanged: _throttle_marked,
    **dict.fromkeys((r.LegacyEntryRemoved, r.LegacyKeyChanged, r.LegacyKeyBroken), _legacy),
    r.NotificationWorkedOff: _notification_worked_off,
    r.BadKey: _bad_key,
    **dict.fromkeys(
        (
            r.BrokerShutsDown, r.ChangePurged, r.DeletionKeyFound, r.DeletionRefused,
            r.IntentsKeyEmptied, r.KeyVersionFound, r.KeysRewritten, r.LegacyKeyRemoved,
            r.LegacyKeyRewritten, r.LegacyPlanWritten, r.LegacySubmitted, r.MigrationWorkedOff, r.PartitionsAdded,
            r.ReductionKeyFound, r.RegistrationKnown, r.RegistrationUnread, r.ThrottleReleased,
            r.ThrottleRemovalBegan, r.ThrottleRemovalEnded, r.ThrottleRequestBegan, r.ThrottleRequestEnded,
            r.ThrottleStays, r.TopicChanged,
        ),
        _nobody,
    ),
}  # fmt: skip
