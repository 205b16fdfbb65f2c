"""Jobs -> Ready: jobs go through the rules until a batch is full.

In: the jobs that wait. Out: one value with all duties that follow from their Decisions. The records are in the batch of
the state, which fits the limits of the store. What must wait goes back to the jobs, and what cannot be decided is
answered. The term works the value off, and says here how its commit ended.

A batch that conflicts with another program's write is undone as a whole, the key is read, and all events are decided
again after what was found there. If a key keeps being written, it and the events that touch it wait for a while, and
the rest continues.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, TypeAlias

import attrs

from ...stores.base import Op, StoreError, Version
from ..keys.table import KeyKinds
from ..machine import step
from ..model.errors import ApiError, InvalidRequest, RequestTimedOut
from ..model.events import LATER, Decision, Event
from ..state import Batch, DirtyKey, start_batch, undo_to
from . import no_op_answers
from .batch_size import BatchSize
from .cannot_lead import CannotLead
from .inbox import WorkQueue
from .jobs import Job
from .services import Services
from .writer import FIXED_OPS, Writer

Decided: TypeAlias = list[tuple[Job, Decision]]
CONFLICTS_MAX: Final = 3  # of one key, before the rest continues without it


class RuleFailed(RuntimeError):
    """A rule, or a record of it, failed on an event. It ends the term, since the event must not be lost, and the state
    may be half changed: the next term loads everything again."""


@attrs.define(eq=False)
class Ready:
    """A decided batch. Its duties, in this order: `ops` are committed, which write `dirty_keys`; then the records of
    `batch` are published; then the callers of `decided` are answered, and what follows from each Decision is decided.
    Without records there is nothing to commit. `is_publishing`: since it began;
    a callback of a caller may raise meanwhile, such as KeyboardInterrupt."""

    decided: Decided
    batch: Batch
    seq: int
    dirty_keys: list[DirtyKey]
    ops: list[Op]
    is_publishing: bool = False

    @property
    def needs_leader(self) -> bool:
        """Whether a caller waits for an answer that no commit makes true, which only the leader may give: a refusal, or
        that there was nothing to do, may be what the successor has made wrong since then."""
        return not self.batch.log and any(
            job.reply is not None and decision.reply is not LATER for job, decision in self.decided
        )


class Decider:
    """Makes the batches of a term, on the loop's thread."""

    def __init__(self, services: Services, kinds: KeyKinds, work: WorkQueue, findings: dict[str, str]) -> None:
        self.services = services
        self.state = kinds.state
        self.work = work
        self.findings = findings
        self.decided: Decided = []
        self.size = BatchSize(services.clock, services.settings.commit_decisions_max)
        self._starts: list[int] = []  # for each Decision, how many records the batch had before it
        self._writer = Writer(kinds)
        self._kinds = kinds
        self._conflicts: dict[DirtyKey, int] = {}
        self._held: dict[DirtyKey, int] = {}  # keys that others keep writing -> until when jobs that touch them wait

    def decide(self, seq: int) -> Ready:
        """Decide until the batch is full or nothing is ready. `seq`: the number of the next commit."""
        self.size.begin()
        self.services.measures.deciding()
        self._decide()
        batch = self.state.batch
        while not self._writer.fits(batch, self.services.store.capabilities.commit_bytes_max):
            self._take_back_half()
        self._take_out_stale()
        dirty_keys, ops = self._writer.ops(batch, seq) if batch.log else ([], [])
        self.size.decided()
        return Ready(self._taken(), batch, seq, dirty_keys, ops)

    def _taken(self) -> Decided:
        decided, self.decided, self._starts = self.decided, [], []
        return decided

    # --- how the batch ended

    def applied(self, ready: Ready, versions: Sequence[Version | None]) -> None:
        """Its commit was applied, and left these versions."""
        self._writer.committed(ready.dirty_keys, ready.ops, versions, ready.seq)
        self.state.changes.committed()
        self.size.committed(len(ready.decided))
        if self._conflicts:
            for dirty_key in ready.dirty_keys:
                self._conflicts.pop(dirty_key, None)
        if self.work.first:  # what was read before this commit wrote the key; otherwise it would have had a conflict
            written = set(ready.dirty_keys)
            self.work.first = deque(job for job in self.work.first if self._kinds.key_of(job.event) not in written)

    def read_versions(self, ready: Ready) -> tuple[tuple[Version | None, ...], list[Event]]:
        """The versions after a commit whose reply was lost. A key with another value was written by another program
        since then: it is read again. Raises the store's errors."""
        entries = self._kinds.context.current([op.key for op in ready.ops])
        versions: list[Version | None] = []
        others: list[DirtyKey] = []
        for dirty_key, op, entry in zip(ready.dirty_keys, ready.ops, entries, strict=True):
            is_ours, version = self._writer.found(dirty_key, op, entry)
            versions.append(version)
            if not is_ours:
                others.append(dirty_key)
        return tuple(versions), self._read(others, ready.seq + 1)

    def undo(self, ready: Ready) -> list[Job]:
        """Undo the whole batch; return its jobs in order."""
        undo_to(self.state, 0)
        start_batch(self.state)
        jobs = [job for job, _ in ready.decided]
        self._mark_undecided(jobs)
        return jobs

    def conflicted(self, ready: Ready, index: int) -> None:
        """Another program wrote the key of this op: undo the batch, read that key, and decide all again. A key that
        keeps being written waits for a while, together with the events that touch it."""
        dirty_key, key = ready.dirty_keys[index], ready.ops[index].key
        jobs = self.undo(ready)
        count = self._conflicts[dirty_key] = self._conflicts.get(dirty_key, 0) + 1
        self.services.journal.conflict(key, count)
        self.services.measures.conflicted()
        jobs = [job for job in jobs if self._kinds.key_of(job.event) != dirty_key]
        if count >= CONFLICTS_MAX:
            self._held[dirty_key] = self.services.elapsed_ms() + min(100 << (count - CONFLICTS_MAX), 10_000)
            self.work.put_back(jobs)
            return
        try:
            events = self._read([dirty_key], ready.seq)
        except StoreError as error:
            raise CannotLead(f"a conflict on {key}, which cannot be read: {error}") from error
        self.work.put_back([*(Job(event, cause="conflict") for event in events), *jobs])

    def too_large(self, ready: Ready) -> None:
        """The store refused the size: use half as many decisions. A single decision that is too large is refused."""
        jobs = self.undo(ready)
        if len(jobs) == 1:
            self._refuse_too_large(jobs[0])
            return
        self.size.too_many(len(jobs))
        self.work.put_back(jobs)

    def _read(self, dirty_keys: list[DirtyKey], seq: int) -> list[Event]:
        return self._kinds.reread(dirty_keys, seq, self.services.clock.now_ms())

    def release_held(self, now_ms: int, seq: int) -> list[Event]:
        """Read the keys that have waited long enough; their events are decided before those that wait for them. Raises
        the store's errors; all keys keep waiting then."""
        due = [dirty_key for dirty_key, until_ms in self._held.items() if until_ms <= now_ms]
        events = self._read(due, seq) if due else []
        for dirty_key in due:
            del self._held[dirty_key]
        return events

    def held_until_ms(self) -> list[int]:
        """When the waiting keys are read again, in `elapsed_ms`."""
        return list(self._held.values())

    # --- one job after another

    def _decide(self) -> None:  # noqa: C901, PLR0912 - one loop, for speed
        """Decide until the batch is full or nothing is ready. Checks are inlined, since a call per job is slow.

        The bytes of the batch are computed afterwards for all records together, since several of them may write the
        same key."""
        state, measures = self.state, self.services.measures
        ops_max = self.services.store.capabilities.commit_ops_max - FIXED_OPS
        decisions_max, records_max = self.size.decisions, self.size.records
        now_ms, now_s = self.services.elapsed_ms(), measures.now_s if measures.is_kept else None
        log, dirty_keys, next_job = state.batch.log, state.batch.dirty_keys, self.work.next
        decided, starts = self.decided, self._starts
        ended_s: list[float] = []
        while len(decided) < decisions_max and len(log) < records_max and (job := next_job()) is not None:
            is_late = job.deadline_ms is not None and now_ms >= job.deadline_ms
            if job.reply is not None and (is_late or job.reply.done()) and self._is_over(job, now_ms):
                continue
            if job.after is not None and self._must_wait(job):
                continue
            before = len(log)
            try:
                decision = step(state, job.event)
            except Exception as error:
                self.services.outstanding.complete(job.reply, ApiError(f"the controller failed: {error!r}"))
                raise RuleFailed(f"{type(job.event).__name__}: {error!r}") from error
            if self._held and self._touches_held(before):
                undo_to(state, before)
                if self._kinds.key_of(job.event) is None:  # otherwise the key is read again when it is released
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
                job.mark_decided()
            if now_s is not None:
                ended_s.append(now_s())
        if ended_s:
            measures.decided([job for job, _ in decided], ended_s)

    def _take_back_half(self) -> None:
        """The batch exceeds the limits of the store: put half of it back for the next one. A single decision that is
        too large is refused, and others are decided."""
        kept = len(self.decided) // 2
        jobs = [job for job, _ in self.decided[kept:]]
        undo_to(self.state, self._starts[kept])
        self._mark_undecided(jobs)
        del self.decided[kept:], self._starts[kept:]
        self.size.too_many(len(jobs) + kept)
        if kept:
            self.work.put_back(jobs)
        else:
            self._refuse_too_large(jobs[0])
            self._decide()

    def _is_over(self, job: Job, now_ms: int) -> bool:
        """Whether the request has ended: it was answered (by a demotion, or cancelled by the caller), or its deadline
        has passed, in which case it is answered now. Parts of a group have no reply."""
        if job.event.ignores_deadline:
            return False
        if job.reply is not None and job.reply.done():
            self.services.outstanding.complete(job.reply, None)
            return True
        if job.deadline_ms is None or now_ms < job.deadline_ms:
            return False
        self.services.outstanding.complete(job.reply, RequestTimedOut("the deadline passed before the commit"))
        return True

    def _must_wait(self, job: Job) -> bool:
        """Whether parts of its group are not decided yet: then it is decided later."""
        if not job.is_too_early():
            return False
        self.work.delay(job, self.services.elapsed_ms())
        return True

    def _touches_held(self, before: int) -> bool:
        return any(dirty_key in self._held for _, _, fresh in self.state.batch.log[before:] for dirty_key in fresh)

    def _refuse_too_large(self, job: Job) -> None:
        """The job would write more than the store takes in one commit: fail its request."""
        error = InvalidRequest(f"{type(job.event).__name__} would write more than the store takes in one commit")
        self.findings["too large"] = str(error)
        self.services.outstanding.complete(job.reply, error)
        job.mark_decided()
        if (then := job.event.dropped()) is not None:
            self.work.expanded.append(Job(then, cause=job.cause))

    def _take_out_stale(self) -> None:
        """Take out requests that alter no configs of those known, where the store holds others or does not answer. They
        are decided again once their keys were read."""
        stale = no_op_answers.stale(self.decided, self._kinds, self.services.clock.now_ms())
        if stale:
            for place in stale:
                self.work.delay(self.decided[place][0], self.services.elapsed_ms())
            self.decided = [pair for place, pair in enumerate(self.decided) if place not in stale]

    def _mark_undecided(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.part_of:
                job.mark_decided(-1)
