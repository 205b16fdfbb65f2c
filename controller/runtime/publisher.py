"""Publishes a commit, only after the store has accepted it: lines of the journal, dirty brokers, notices to the host,
timers, answers to callers.

Each record says what is published of it, by the methods of `kedge.controller.records.Publication`. Partitions are
collected first, since a commit may change the same one twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..keys.notifications import NotificationKeys
from ..model.events import LATER, Decision
from ..model.printable import clean
from ..model.records import Record
from ..model.values import Broker, DeleteIntent, Partition
from ..records import PartitionChanged
from ..state import ClusterState
from .dispatcher import Dispatcher
from .jobs import Job
from .journal import Decided
from .ready import Ready
from .reconcile import Reconcile
from .replies import Reply
from .services import Services
from .timers import Timers

_log = logging.getLogger(__name__)


class Publisher:
    """Publishes the commits of a term; a `Publication`."""

    def __init__(
        self, services: Services, state: ClusterState, dispatcher: Dispatcher, reconcile: Reconcile, timers: Timers
    ) -> None:
        self.state = state
        self._services = services
        self._dispatcher = dispatcher
        self._reconcile = reconcile
        self._timers = timers
        self._touched: dict[int, bool] = {}  # by number; True: its replicas get a request, not only metadata

    def publish(self, ready: Ready) -> None:
        """Publish a batch, and answer its callers."""
        batch = ready.batch
        if batch.log:
            self._write_journal(ready)
            self._timers.topics_written(ready.dirty_keys)
            late = [t for t in batch.late_topics if ("topic", t) not in batch.dirty_keys]
            self._timers.topics_late(late, self._services.elapsed_ms())
            self.publish_records(batch.log)
        self._answer(ready.decided)

    def publish_records(self, log: Iterable[tuple[Record, Any, object]]) -> None:
        """Publish the records of a commit, with their tokens."""
        self._touched = {}
        for record, token, _ in log:
            record.publish(self, token)
        self._dispatcher.partitions_changed(self._touched)

    def _write_journal(self, ready: Ready) -> None:
        journal = self._services.journal
        if journal.is_kept:
            rows = [
                Decided(decision.records, job.cause, job.request, self._bytes_copied(decision))
                for job, decision in ready.decided
                if decision.records
            ]
            journal.commit(ready.seq, self._services.clock.now_ms(), rows, self.state.partition_epoch)

    def _bytes_copied(self, decision: Decision) -> int | None:
        """The bytes of the replicas that a move added, as their brokers reported them; None if no move ends."""
        for record in decision.records:
            if type(record) is PartitionChanged and (move := record.ended) is not None:
                isr = record.before.isr if record.first.move is None else record.first.isr
                added = [b for b in isr if b not in move.origin]
                return self._services.log_reports.bytes_of(record.after.topic, record.after.partition, added)
        return None

    def _answer(self, decided: Sequence[tuple[Job, Decision]]) -> None:
        answers: list[tuple[Reply[Any], object]] = []
        for job, decision in decided:
            outcome = decision.reply
            if job.reply is not None and outcome is not LATER:
                if job.answer is not None and not isinstance(outcome, BaseException):
                    outcome = job.answer(self.state, job.event)
                answers.append((job.reply, outcome))
        self._services.outstanding.complete_all(answers)

    # --- what records publish to brokers

    def partition(self, number: int, *, must_obey: bool) -> None:
        self._touched[number] = must_obey or self._touched.get(number, False)

    def created(self, number: int, members: Sequence[int]) -> None:
        self._dispatcher.created(number, members)

    def purged(self, number: int, partition: Partition) -> None:
        self._dispatcher.purged(number, partition)
        self.purged_before(partition.topic, partition.partition)
        self.forget_reports(partition.topic, partition.partition, (*partition.members, *partition.isr))

    def purged_before(self, topic: str, partition: int) -> None:
        self._services.notices.partition_purged(topic, partition)

    def readable(self, topic: str) -> None:
        self._dispatcher.readable_again(topic)

    def everything_readable(self) -> None:
        self._dispatcher.everything_readable()

    def intended(self, intent: DeleteIntent) -> None:
        self._dispatcher.intended((intent,))

    def deletion_started(self, topic: str, topic_id: str) -> None:
        self._dispatcher.deletion_started(topic, topic_id)

    def registered(self, broker: Broker) -> None:
        self._dispatcher.registered(broker)

    def left(self, broker_id: int) -> None:
        self._dispatcher.left(broker_id)

    def ask_again(self, broker_id: int) -> None:
        self._dispatcher.ask_again(broker_id)

    def forgotten(self, broker_id: int) -> None:
        self._services.measures.forget(broker_id)

    # --- to the host, timers and reports

    def configs(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        self._services.notices.config_changed(entity_type, name, configs)

    def moving(self, partition: Partition) -> None:
        self._timers.moves((partition,))

    def throttled(self) -> None:
        self._timers.throttles.marked(self._services.elapsed_ms())

    def forget_reports(self, topic: str, partition: int, brokers: Sequence[int]) -> None:
        """A report that arrived after the deletion of its log is dropped with the topic."""
        self._services.log_reports.forget([(topic, partition, broker) for broker in brokers])

    # --- to what reads keys again, and to people

    def read_key(self, key: str) -> None:
        self._reconcile.kinds.hint(key)

    def read_requests(self) -> None:
        self._reconcile.hint_requests()

    def read_registrations(self) -> None:
        self._reconcile.registrations.is_due = True

    def notification_worked_off(self, key: str, notes: Sequence[str], problem: str | None) -> None:
        for text in self._reconcile.kinds.one(NotificationKeys).worked_off(key, notes, problem):
            self.warn(text)

    def finding(self, key: str, problem: str | None) -> None:
        if problem is None:
            self._reconcile.findings.good(key)
        else:
            self._reconcile.findings.bad(key, problem)

    def warn(self, text: str) -> None:
        _log.warning("%s", clean(text))
