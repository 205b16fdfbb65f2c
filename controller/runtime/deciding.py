"""Deciding: jobs go through the rules until a batch is full.

In: the jobs that wait. Out: the jobs with their Decisions; their records are in the batch of the state, which fits the
limits of the store. What must wait goes back to the jobs, and what cannot be decided is answered.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from ..keys.table import KeyKinds
from ..machine import step
from ..model.errors import ApiError, InvalidRequest, RequestTimedOut
from ..model.events import Decision
from ..state import ClusterState, DirtyKey, start_batch, undo_to
from . import unwritten
from .batch_size import BatchSize
from .inbox import WorkQueue
from .jobs import Job
from .services import Services
from .writer import FIXED_OPS, Writer

Decided: TypeAlias = list[tuple[Job, Decision]]


class RuleFailed(RuntimeError):
    """A rule, or a record of it, failed on an event. It ends the term, since the event must not be lost, and the state
    may be half changed: the next term loads everything again."""


class Deciding:
    """The jobs that were decided since the last batch, `decided`. `held`: keys that others keep writing; jobs that
    touch one wait. Used by Batching, on the loop's thread."""

    def __init__(
        self,
        services: Services,
        state: ClusterState,
        *,
        work: WorkQueue,
        writer: Writer,
        kinds: KeyKinds,
        findings: dict[str, str],
        held: Collection[DirtyKey],
    ) -> None:
        self.services = services
        self.state = state
        self.work = work
        self.findings = findings
        self.decided: Decided = []
        self.size = BatchSize(services.clock, services.settings.commit_decisions_max)
        self._starts: list[int] = []  # for each Decision, how many records the batch had before it
        self._writer = writer
        self._kinds = kinds
        self._held = held

    def fill(self) -> None:
        """Decide until the batch is full or nothing is ready."""
        self.size.begin()
        self.services.measures.deciding()
        self._decide()
        while not self._writer.fits(self.state.batch, self.services.store.capabilities.commit_bytes_max):
            self._take_back_half()
        self._take_out_late()

    def taken(self) -> Decided:
        """What was decided, which is forgotten here."""
        decided, self.decided, self._starts = self.decided, [], []
        return decided

    def undo(self) -> list[Job]:
        """Undo the whole batch; return its jobs in order."""
        undo_to(self.state, 0)
        start_batch(self.state)
        jobs = [job for job, _ in self.taken()]
        self._not_settled(jobs)
        return jobs

    # --- one job after another

    def _decide(self) -> None:  # noqa: C901, PLR0912 - one loop, for speed
        """Decide until the batch is full or nothing is ready. Checks are inlined, since a call per job is slow.

        The bytes of the batch are computed afterwards for all records together: a move has nine, and computing the
        bytes of each would take longer than its rules."""
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
                if self._kinds.told(job.event) is None:  # otherwise the key is read again when it is released
                    self.work.delay(job, self.services.elapsed_ms())
                continue
            if len(dirty_keys) > ops_max:
                undo_to(state, before)
                if decided:
                    self.work.put_back([job])
                    break
                self.refuse_too_large(job)
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
        kept = len(self.decided) // 2
        jobs = [job for job, _ in self.decided[kept:]]
        undo_to(self.state, self._starts[kept])
        self._not_settled(jobs)
        del self.decided[kept:], self._starts[kept:]
        self.size.too_many(len(jobs) + kept)
        if kept:
            self.work.put_back(jobs)
        else:
            self.refuse_too_large(jobs[0])
            self._decide()

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
        """Whether parts of its group are not decided yet: then it is decided later."""
        if not job.is_too_early():
            return False
        self.work.delay(job, self.services.elapsed_ms())
        return True

    def _touches_held(self, before: int) -> bool:
        return any(dirty_key in self._held for _, _, fresh in self.state.batch.log[before:] for dirty_key in fresh)

    def refuse_too_large(self, job: Job) -> None:
        """The job would write more than the store takes in one commit: fail its request."""
        error = InvalidRequest(f"{type(job.event).__name__} would write more than the store takes in one commit")
        self.findings["too large"] = str(error)
        self.services.outstanding.complete(job.reply, error)
        self._keep(job)

    def _take_out_late(self) -> None:
        """Take out requests that alter no configs of those known, where the store holds others or does not answer. They
        are decided again once their keys were read."""
        late = unwritten.late(self.decided, self._kinds, self.services.clock.now_ms())
        if late:
            for place in late:
                self.work.delay(self.decided[place][0], self.services.elapsed_ms())
            self.decided = [pair for place, pair in enumerate(self.decided) if place not in late]
            self._starts = [start for place, start in enumerate(self._starts) if place not in late]

    def _not_settled(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.part_of:
                job.settled(-1)
