"""Batches: gather, decide, commit, publish; and the handling of conflicts.

A batch that conflicts with another program's write is undone as a whole, the key is read, and all events are decided
again after what was found there. If a key keeps being written, it and the events that touch it wait for a while, and
the rest continues. While the outcome of a commit is unknown, nothing else is decided.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, cast

from controller.machine import step
from controller.model.errors import ApiError, InvalidRequest, RequestTimedOut
from controller.model.events import (
    LATER,
    Decision,
    Event,
)
from controller.rules.throttling.turns import must_wait
from controller.runtime import unwritten
from controller.runtime.batch_size import BatchSize
from controller.runtime.committer import Committer, End, Result
from controller.runtime.deposed import Deposed
from controller.runtime.inbox import WorkQueue
from controller.runtime.jobs import Job, jobs_of
from controller.runtime.publisher import Publisher
from controller.runtime.reconcile import Reconcile
from controller.runtime.services import Services
from controller.runtime.writer import FIXED_OPS, Writer
from controller.state import ClusterState, DirtyKey, start_batch, undo_to
from stores.base import Op, OutcomeUnknown, Put, StoreError, Unavailable, Version

_log = logging.getLogger(__name__)

CONFLICTS_MAX: Final = 3  # of one key, before the rest continues without it


class Batching:
    """Turns waiting jobs into commits and publishes them. Used by its term, on the loop's thread."""

    def __init__(
        self,
        services: Services,
        state: ClusterState,
        *,
        committer: Committer,
        writer: Writer,
        publisher: Publisher,
        reconcile: Reconcile,
        work: WorkQueue,
        findings: dict[str, str],
        committed: Callable[[], None],
    ) -> None:
        self.services = services
        self.state = state
        self.findings = findings
        self.work = work
        self.reconcile = reconcile
        self._committer = committer
        self._writer = writer
        self._publisher = publisher
        self._committed = committed
        self._kinds = reconcile.kinds
        self._decided: list[tuple[Job, Decision]] = []
        self._starts: list[int] = []  # for each Decision, how many records the batch had before it
        self._dirty_keys: list[DirtyKey] = []
        self._ops: list[Op] = []
        self._unread: Result | None = None  # applied, but the versions could not be read yet
        self._conflicts: dict[DirtyKey, int] = {}
        self._held: dict[DirtyKey, int] = {}  # keys that others keep writing -> until when they wait
        self.batch_size = BatchSize(services.clock, services.settings.commit_decisions_max)

    @property
    def is_in_flight(self) -> bool:
        """Whether a commit was sent whose outcome, or whose versions, are not known yet."""
        return self._committer.is_in_flight or self._unread is not None

    def held_until_ms(self) -> list[int]:
        """When the waiting keys are read again, in `elapsed_ms`."""
        return list(self._held.values())

    # --- decide

    def gather(self) -> None:
        """Decide until the batch is full or nothing is ready, then commit."""
        state, measures = self.state, self.services.measures
        self.batch_size.begin()
        measures.deciding()
        self._decide()
        while not self._writer.fits(state.batch, self.services.store.capabilities.commit_bytes_max):
            self._take_back_half()
        self._take_out_late()
        if state.batch.log:
            self._dirty_keys, self._ops = self._writer.ops(state.batch, self._committer.next_seq)
            self._committer.begin(self._ops)
            measures.committing()
            self.batch_size.decided()
            self.go_on()
        elif self._may_answer():
            self._publish()

    def _take_out_late(self) -> None:
        """Take out requests that alter no configs of those known, where the store holds others or does not answer. They
        are decided again once their keys were read."""
        late = unwritten.late(self._decided, self._kinds, self.services.clock.now_ms())
        if late:
            for place in late:
                self.work.delay(self._decided[place][0], self.services.elapsed_ms())
            self._decided = [pair for place, pair in enumerate(self._decided) if place not in late]
            self._starts = [start for place, start in enumerate(self._starts) if place not in late]

    def _may_answer(self) -> bool:
        """Whether a batch without records is answered, once the store says that this controller still leads."""
        if not unwritten.need_leader(self._decided):
            return True
        try:
            if self._committer.still_leads(self.services.read_timeout_s):
                return True
        except StoreError:
            for job in self._undo():
                self.work.delay(job, self.services.elapsed_ms())
            return False
        raise Deposed("another controller was elected before an answer")

    def _decide(self) -> None:  # noqa: C901, PLR0912 - one loop, for speed
        """Decide until the batch is full or nothing is ready. Checks are inlined, since a call per job is slow.

        The bytes of the batch are computed afterwards for all records together: a move has nine, and computing the
        bytes of each would take longer than its rules."""
        state, measures = self.state, self.services.measures
        ops_max = self.services.store.capabilities.commit_ops_max - FIXED_OPS
        decisions_max, records_max = self.batch_size.decisions, self.batch_size.records
        now_ms, now_s = self.services.elapsed_ms(), measures.now_s if measures.is_kept else None
        log, dirty_keys, next_job = state.batch.log, state.batch.dirty_keys, self.work.next
        decided, starts = self._decided, self._starts
        ended_s: list[float] = []
        while len(decided) < decisions_max and len(log) < records_max and (job := next_job()) is not None:
            is_late = job.deadline_ms is not None and now_ms >= job.deadline_ms
            if job.reply is not None and (is_late or job.reply.done()) and self._is_over(job, now_ms):
                continue
            if (job.after is not None or job.event.takes_turns) and self._must_wait(job):
                continue
            before = len(log)
            try:
                decision = step(state, job.event)
            except Exception as error:  # noqa: BLE001 - a defect in a rule must not stop the controller
                self._failed(job, before, error)
                continue
            if self._held and self._touches_held(before):
                undo_to(state, before)
                if self._kinds.told(job.event) is None:  # otherwise the key is read again when it is released
                    self.work.delay(job, self.services.elapsed_ms())
                continue
            if len(dirty_keys) > ops_max:
                undo_to(state, before)
                if decided:
                    self.work.put_back([job])
                    break
                self._refuse_too_large(job)
                continue
            decided.append((job, decision))
            starts.append(before)
            if job.part_of:
                job.settled()
            if now_s is not None:
                ended_s.append(now_s())
        if ended_s:
            measures.decided([job for job, _ in decided], ended_s)

    def _take_back_half(self) -> None:
        """The batch exceeds the limits of the store: put half of it back for the next one. A single decision that is
        too large is refused, and others are decided."""
        kept = len(self._decided) // 2
        jobs = [job for job, _ in self._decided[kept:]]
        undo_to(self.state, self._starts[kept])
        self._not_settled(jobs)
        del self._decided[kept:], self._starts[kept:]
        self.batch_size.too_many(len(jobs) + kept)
        if kept:
            self.work.put_back(jobs)
        else:
            self._refuse_too_large(jobs[0])
            self._decide()

    def _failed(self, job: Job, before: int, error: Exception) -> None:
        """A rule failed on a job: undo its records, report it, and fail the request."""
        _log.error("the rules failed on %r", job.event, exc_info=error)
        undo_to(self.state, before)
        self.findings["defect"] = f"{type(job.event).__name__}: {error!r}"
        self.services.outstanding.complete(job.reply, ApiError(f"the controller failed: {error!r}"))
        self._keep(job)

    def _keep(self, job: Job) -> None:
        """Drop a refused job, unless others wait for it."""
        if job.event.is_kept:
            self.work.delay(job, self.services.elapsed_ms())
            return
        job.settled()
        if (then := job.event.dropped()) is not None:
            self.work.expanded.append(Job(then, cause=job.cause))

    def _is_over(self, job: Job, now_ms: int) -> bool:
        """Whether the request has ended: it was answered (by a demotion, or cancelled by the caller), or its deadline
        has passed, in which case it is answered now. Parts of a group have no reply."""
        if job.event.is_begun:
            return False
        if job.reply is not None and job.reply.done():
            self.services.outstanding.complete(job.reply, None)
            return True
        if job.deadline_ms is None or now_ms < job.deadline_ms:
            return False
        self.services.outstanding.complete(job.reply, RequestTimedOut("the deadline passed before the commit"))
        return True

    def _must_wait(self, job: Job) -> bool:
        """Whether the job must wait: for parts of its group that are not decided yet, or for another large event."""
        if not job.is_too_early() and not must_wait(self.state, job.event):
            return False
        self.work.delay(job, self.services.elapsed_ms())
        return True

    def _touches_held(self, before: int) -> bool:
        return any(dirty_key in self._held for _, _, fresh in self.state.batch.log[before:] for dirty_key in fresh)

    def _refuse_too_large(self, job: Job) -> None:
        error = InvalidRequest(f"{type(job.event).__name__} would write more than the store takes in one commit")
        self.findings["too large"] = str(error)
        self.services.outstanding.complete(job.reply, error)
        self._keep(job)

    # --- commit

    def go_on(self) -> bool:
        """Send the commit in flight, or find its outcome; return whether it is known now."""
        result = self._unread or self._committer.try_once()
        if result.end is End.APPLIED:
            return self._applied(result)
        if result.end is End.CONFLICT:
            self._conflicted(result)
        elif result.end is End.TOO_LARGE:
            self._too_large()
        elif result.end is End.DEPOSED:
            raise Deposed(result.why)
        return result.end is not End.IN_FLIGHT

    def _applied(self, result: Result) -> bool:
        seq = self._committer.next_seq - 1
        versions = result.versions
        read_again: list[Event] = []
        if versions is None:
            try:
                versions, read_again = self._read_versions()
            except StoreError as error:
                if not self._may_be_read_later(error):
                    raise Deposed(f"committed, but its versions cannot be read: {error}") from error
                self._unread = result
                return False
        self._unread = None
        self._writer.committed(self._dirty_keys, self._ops, versions, seq)
        self.state.changes.committed()
        self.reconcile.findings.written(op.key for op in self._ops)
        self.batch_size.committed(len(self._decided))
        self.services.measures.committed(self._ops)
        if self._conflicts:
            for dirty_key in self._dirty_keys:
                self._conflicts.pop(dirty_key, None)
        self._forget_reads()
        self._publish(seq)
        self.work.put_back(Job(event, cause="read again") for event in read_again)
        return True

    def _may_be_read_later(self, error: StoreError) -> bool:
        """Whether the store has no connection just now: the outcome was read over another session, which may reconnect
        before this one."""
        return isinstance(error, Unavailable | OutcomeUnknown) and not self._committer.is_over_time

    def _forget_reads(self) -> None:
        """Drop what was read of keys before this commit wrote them: otherwise the commit would have had a conflict."""
        if self.work.first:
            written = set(self._dirty_keys)
            self.work.first = deque(job for job in self.work.first if self._kinds.told(job.event) not in written)

    def _read_versions(self) -> tuple[tuple[Version | None, ...], list[Event]]:
        """The versions after a commit whose reply was lost. A key with another value was written by another program
        since then: it is read again."""
        entries = self._kinds.ground.current([op.key for op in self._ops])
        versions: list[Version | None] = []
        others: list[DirtyKey] = []
        for dirty_key, op, entry in zip(self._dirty_keys, self._ops, entries, strict=True):
            versions.append(None if entry is None else entry.version)
            if entry is None:
                is_ours = not isinstance(op, Put)
            else:  # another program may have written the same bytes since then
                is_ours = isinstance(op, Put) and entry.value == op.value and self._writer.is_next(dirty_key, entry)
            if not is_ours:
                others.append(dirty_key)
                if self._kinds.by_word[dirty_key[0]].is_altered(dirty_key[1]):
                    versions[-1] = None  # by its version, what is read is distinguished from what this commit wrote
        return tuple(versions), self._read(others)

    def _publish(self, seq: int = 0) -> None:
        decided, self._decided, self._starts = self._decided, [], []
        batch = start_batch(self.state)
        if batch.log:
            self._committed()  # before callers are answered, so that they see the result
        self._publisher.publish(batch, self._dirty_keys, decided, seq)
        self._dirty_keys, self._ops = [], []
        for job, decision in decided:
            if decision.expand:
                is_later = decision.reply is LATER
                jobs = jobs_of(decision.expand, job.cause, job.request if is_later else None)
                if is_later:  # the caller is answered with the last of them
                    last = jobs[-1]
                    last.reply, last.deadline_ms, last.answer = job.reply, job.deadline_ms, job.answer
                self.work.expand(jobs)

    # --- conflicts

    def _undo(self) -> list[Job]:
        """Undo the whole batch; return its jobs in order."""
        undo_to(self.state, 0)
        start_batch(self.state)
        jobs = [job for job, _ in self._decided]
        self._not_settled(jobs)
        self._decided, self._starts = [], []
        return jobs

    def _not_settled(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.part_of:
                job.settled(-1)

    def _conflicted(self, result: Result) -> None:
        """Another program wrote one of the keys: undo the batch, read that key, and decide all again. A key that keeps
        being written waits for a while, together with the events that touch it."""
        index = cast(int, result.index)
        dirty_key, key = self._dirty_keys[index], self._ops[index].key
        jobs = self._undo()
        self._dirty_keys, self._ops = [], []
        count = self._conflicts[dirty_key] = self._conflicts.get(dirty_key, 0) + 1
        self.services.journal.conflict(key, count)
        self.services.measures.conflicted()
        jobs = [job for job in jobs if self._kinds.told(job.event) != dirty_key]
        if count >= CONFLICTS_MAX:
            self._held[dirty_key] = self.services.elapsed_ms() + min(100 << (count - CONFLICTS_MAX), 10_000)
            self.work.put_back(jobs)
            return
        try:
            events = self._read([dirty_key])
        except StoreError as error:
            raise Deposed(f"a conflict on {key}, which cannot be read: {error}") from error
        self.work.put_back([*(Job(event, cause="conflict") for event in events), *jobs])

    def _read(self, dirty_keys: list[DirtyKey]) -> list[Event]:
        return self._kinds.reread(dirty_keys, self._committer.next_seq, self.services.clock.now_ms())

    def release_held(self, now_ms: int) -> list[Event]:
        """Read the keys that have waited long enough; their events are decided before those that wait for them. Raises
        the store's errors; all keys keep waiting then."""
        due = [dirty_key for dirty_key, until_ms in self._held.items() if until_ms <= now_ms]
        events = self._read(due)
        for dirty_key in due:
            del self._held[dirty_key]
        return events

    def _too_large(self) -> None:
        """The store refused the size: use half as many decisions. A single decision that is too large is refused."""
        jobs = self._undo()
        if len(jobs) == 1:
            self._refuse_too_large(jobs[0])
            return
        self.batch_size.too_many(len(jobs))
        self.work.put_back(jobs)
