"""Publishes a commit, only after the store has accepted it: lines of the journal, dirty brokers, answers to callers,
timers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..model import records as r
from ..model.events import LATER, Decision
from ..state import Batch, ClusterState, DirtyKey
from .dispatcher import Dispatcher
from .jobs import Job
from .journal import Decided
from .reconcile import Reconcile
from .replies import Reply
from .services import Services
from .telling import Telling
from .timers import Timers


class Publisher:
    """Publishes commits."""

    def __init__(
        self, services: Services, state: ClusterState, dispatcher: Dispatcher, reconcile: Reconcile, timers: Timers
    ) -> None:
        self._services = services
        self._state = state
        self._timers = timers
        self._telling = Telling(services, state, dispatcher, reconcile, timers)

    def publish(
        self, batch: Batch, dirty_keys: Iterable[DirtyKey], decided: Sequence[tuple[Job, Decision]], seq: int
    ) -> None:
        """Publish a commit; `dirty_keys`: the keys that it wrote."""
        now_ms = self._services.clock.now_ms()
        if batch.log:
            if self._services.journal.is_kept:
                rows = [
                    Decided(decision.records, job.cause, job.request, self._bytes_copied(decision))
                    for job, decision in decided
                    if decision.records
                ]
                self._services.journal.commit(seq, now_ms, rows, self._state.partition_epoch)
            self._timers.topics_written(dirty_keys)
            late = [t for t in batch.late_topics if ("topic", t) not in batch.dirty_keys]
            self._timers.topics_late(late, self._services.elapsed_ms())
            self._telling.tell(batch.log)
        self.answer(decided)

    def _bytes_copied(self, decision: Decision) -> int | None:
        """The bytes of the replicas that a move added, as their brokers reported them; None if no move ends."""
        for record in decision.records:
            if type(record) is r.PartitionChanged and (move := record.ended) is not None:
                isr = record.before.isr if record.first.move is None else record.first.isr
                added = [b for b in isr if b not in move.origin]
                return self._services.log_reports.bytes_of(record.after.topic, record.after.partition, added)
        return None

    def answer(self, decided: Sequence[tuple[Job, Decision]]) -> None:
        """Answer the callers."""
        answers: list[tuple[Reply[Any], object]] = []
        for job, decision in decided:
            outcome = decision.reply
            if job.reply is not None and outcome is not LATER:
                if job.answer is not None and not isinstance(outcome, BaseException):
                    outcome = job.answer(self._state, job.event)
                answers.append((job.reply, outcome))
        self._services.outstanding.complete_all(answers)
