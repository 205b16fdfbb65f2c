"""Batches: decide (`deciding`), commit, publish; and the handling of conflicts.

A batch that conflicts with another program's write is undone as a whole, the key is read, and all events are decided
again after what was found there. If a key keeps being written, it and the events that touch it wait for a while, and
the rest continues. While the outcome of a commit is unknown, nothing else is decided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, cast

from ...stores.base import Op, OutcomeUnknown, Put, StoreError, Unavailable, Version
from ..keys.states import StateKeys
from ..model.events import LATER, Event
from ..state import ClusterState, DirtyKey, start_batch
from . import unwritten
from .committer import Committer, End, Result
from .deciding import Deciding
from .deposed import Deposed
from .inbox import WorkQueue
from .jobs import Job, jobs_of
from .publisher import Publisher
from .reconcile import Reconcile
from .services import Services
from .writer import Writer

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
        self.work = work
        self.reconcile = reconcile
        self._committer = committer
        self._writer = writer
        self._publisher = publisher
        self._committed = committed
        self._kinds = reconcile.kinds
        self._dirty_keys: list[DirtyKey] = []
        self._ops: list[Op] = []
        self._unread: Result | None = None  # applied, but the versions could not be read yet
        self._conflicts: dict[DirtyKey, int] = {}
        self._held: dict[DirtyKey, int] = {}  # keys that others keep writing -> until when they wait
        self._deciding = Deciding(
            services, state, work=work, writer=writer, kinds=self._kinds, findings=findings, held=self._held
        )
        self.batch_size = self._deciding.size

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
        self._deciding.fill()
        if self.state.batch.log:
            self._dirty_keys, self._ops = self._writer.ops(self.state.batch, self._committer.next_seq)
            self._committer.begin(self._ops)
            self.services.measures.committing()
            self.batch_size.decided()
            self.go_on()
        elif self._may_answer():
            self._publish()

    def _may_answer(self) -> bool:
        """Whether a batch without records is answered, once the store says that this controller still leads."""
        if not unwritten.need_leader(self._deciding.decided):
            return True
        try:
            if self._committer.still_leads(self.services.read_timeout_s):
                return True
        except StoreError:
            for job in self._deciding.undo():
                self.work.delay(job, self.services.elapsed_ms())
            return False
        raise Deposed("another controller was elected before an answer")

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
        self.batch_size.committed(len(self._deciding.decided))
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
                word = dirty_key[0]
                if word != StateKeys.dirty and self._kinds.by_word[word].told is not None:
                    versions[-1] = None  # adopted with the content only; state keys are distinguished by generation
        return tuple(versions), self._read(others)

    def _publish(self, seq: int = 0) -> None:
        decided = self._deciding.taken()
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

    def _conflicted(self, result: Result) -> None:
        """Another program wrote one of the keys: undo the batch, read that key, and decide all again. A key that keeps
        being written waits for a while, together with the events that touch it."""
        index = cast(int, result.index)
        dirty_key, key = self._dirty_keys[index], self._ops[index].key
        jobs = self._deciding.undo()
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
        jobs = self._deciding.undo()
        if len(jobs) == 1:
            self._deciding.refuse_too_large(jobs[0])
            return
        self.batch_size.too_many(len(jobs))
        self.work.put_back(jobs)
