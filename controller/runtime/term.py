"""One term of an active controller: gather, decide, commit, publish, send; from takeover to the end of leadership.

`step` is one pass of the loop, on one thread, and never waits: a commit whose outcome is not known yet stays in flight, and
until it is resolved nothing is decided, sent or answered. A batch that met somebody else's write is undone as a whole, the
key is read, and all its events are decided anew after what was found there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, cast

from controller.machine import step
from controller.model.errors import ApiError, InvalidRequest, RequestTimedOut
from controller.model.events import Decision, Event
from controller.runtime.committer import Committer, End, Result
from controller.runtime.dispatcher import Dispatcher
from controller.runtime.inbox import Hint, Item, Job, Query, Request, Sent, WorkQueue
from controller.runtime.loader import Loaded
from controller.runtime.lookout import Lookout
from controller.runtime.publisher import Publisher, Timers
from controller.runtime.services import Deposed, Services
from controller.runtime.writer import Budget, Writer
from controller.state import Mark, start_batch, undo_to
from stores.base import Op, StoreError, Version

_log = logging.getLogger(__name__)

CONFLICTS_MAX: Final = 3  # on one key, before the rest goes on without it


class Term:
    """Everything that lives as long as one controller epoch of this controller."""

    def __init__(self, services: Services, committer: Committer, loaded: Loaded, seq_offset: int) -> None:
        self.services = services
        self.state = loaded.state
        self.findings = loaded.findings
        self._committer = committer
        self._writer = Writer(self.state, seq_offset)
        self.dispatcher = Dispatcher(
            self.state, services.host, services.executor, services.inbox, services.clock
        )
        self.lookout = Lookout(services, self.state, loaded.registered)
        self._timers = Timers(services.settings.topic_rewrite_interval_ms)
        self._publisher = Publisher(services, self.state, self.dispatcher, self.lookout, self._timers)
        self.work = WorkQueue()
        self._queries: list[Query] = []
        self._decided: list[tuple[Job, Decision]] = []
        self._marks: list[Mark] = []
        self._ops: list[Op] = []
        self._conflicts: dict[Mark, int] = {}
        self._held: dict[Mark, int] = {}  # keys that others keep writing -> until when they are left alone
        self._decisions_max = services.settings.commit_decisions_max
        self._begin(loaded.events)

    def _begin(self, events: Sequence[Event]) -> None:
        self.work.expanded.extend(Job(event, cause="takeover") for event in events)
        for partition in self.state.moving():
            self._timers.move(partition)
        for broker in self.state.brokers.values():
            self.dispatcher.registered(broker)

    # --- one pass

    def step(self, items: Sequence[Item]) -> bool:
        """One pass; whether anything was done. Raises Deposed when the term is over."""
        worked = bool(items)
        for item in items:
            self._take_in(item)
        if self._committer.is_in_flight:
            self._go_on()
            if self._committer.is_in_flight:
                return worked
            worked = True
        worked |= self._look()
        if self.work.is_ready():
            self._gather()
            worked = True
        if not self._committer.is_in_flight:
            self._answer_queries()
            worked |= self.dispatcher.send() > 0
        return worked

    def _take_in(self, item: Item) -> None:
        if isinstance(item, Job):
            self.work.fresh.append(item)
        elif isinstance(item, Hint):
            self.lookout.hint(item.event)
        elif isinstance(item, Sent):
            events = self.dispatcher.returned(item.outcome, self.services.clock.now_ms())
            self.work.expanded.extend(Job(event, cause="broker answered") for event in events)
        elif isinstance(item, Query):
            self._queries.append(item)
        elif isinstance(item, Request):
            self.work.expanded.extend(item.expand(self.state))

    def _look(self) -> bool:
        """What was hinted, what time has come for."""
        now_ms = self.services.clock.now_ms()
        self.dispatcher.check_deadlines(now_ms, self.services.settings.callback_deadline_ms)
        self.work.wake_delayed(now_ms)
        events = self._timers.due(now_ms)
        try:
            events += self._release_held(now_ms)
            events += self.lookout.look()
        except StoreError as error:
            self.findings["store"] = str(error)
        self.work.expanded.extend(Job(event, cause=_cause(event)) for event in events)
        return bool(events)

    def _answer_queries(self) -> None:
        queries, self._queries = self._queries, []
        now_ms = self.services.clock.now_ms()
        for query in queries:
            try:
                if query.deadline_ms is not None and now_ms > query.deadline_ms:
                    raise RequestTimedOut("the deadline passed before the answer")
                answer = query.ask(self.state)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
                answer = error
            self.services.outstanding.complete(query.future, answer)

    def next_due_ms(self) -> int | None:
        """When there is something to do without any new item, None if not by time."""
        times = (self._timers.next_due_ms(), self.work.next_due_ms(), self.dispatcher.next_due_ms())
        known = [*(time for time in times if time is not None), *self._held.values()]
        return min(known, default=None)

    @property
    def is_waiting_for_store(self) -> bool:
        return self._committer.is_in_flight

    # --- decide

    def _gather(self) -> None:
        """Decide until the batch is full or nothing is ready, then commit."""
        state = self.state
        capabilities = self.services.store.capabilities
        budget = Budget(self._writer, capabilities.commit_ops_max, capabilities.commit_bytes_max)
        while len(self._decided) < self._decisions_max and (job := self.work.next()) is not None:
            if self._is_over(job):
                continue
            before = len(state.batch)
            decision = self._decide(job, before)
            if decision is None:
                continue
            if self._held and self._touches_held(before):
                undo_to(state, before)
                self.work.delay(job, self.services.clock.now_ms())
                continue
            if not budget.take(state.batch.log[before:]):
                undo_to(state, before)
                if self._decided:
                    self.work.put_back([job])
                    break
                self._refuse_too_large(job)
                budget = Budget(self._writer, capabilities.commit_ops_max, capabilities.commit_bytes_max)
                continue
            self._decided.append((job, decision))
        if state.batch.log:
            self._marks, self._ops = self._writer.ops(state.batch, self._committer.next_seq)
            self._committer.begin(self._ops)
            self._go_on()
        else:
            self._publish()

    def _decide(self, job: Job, before: int) -> Decision | None:
        """The Decision of a job, applied. None: a rule failed on it, which is a defect of ours that must not stop the
        controller: nothing of it is applied, it is reported, and whoever asked gets the error."""
        try:
            return step(self.state, job.event)
        except Exception as error:
            _log.exception("the rules failed on %r", job.event)
            undo_to(self.state, before)
            self.findings["defect"] = f"{type(job.event).__name__}: {error!r}"
            self.services.outstanding.complete(job.future, ApiError(f"the controller failed: {error!r}"))
            return None

    def _is_over(self, job: Job) -> bool:
        """A request whose deadline passed is answered, not decided."""
        if job.future is None:
            return False
        if job.future.cancelled():
            return True
        if job.deadline_ms is None or self.services.clock.now_ms() < job.deadline_ms:
            return False
        self.services.outstanding.complete(job.future, RequestTimedOut("the deadline passed before the commit"))
        return True

    def _touches_held(self, before: int) -> bool:
        return any(mark in self._held for _, _, fresh in self.state.batch.log[before:] for mark in fresh)

    def _refuse_too_large(self, job: Job) -> None:
        error = InvalidRequest(f"what {type(job.event).__name__} would write is more than the store takes in one commit")
        self.findings["too large"] = str(error)
        self.services.outstanding.complete(job.future, error)

    # --- commit

    def _go_on(self) -> None:
        """Send the commit in flight, or find out what became of it."""
        result = self._committer.try_once()
        if result.end is End.APPLIED:
            self._applied(result)
        elif result.end is End.CONFLICT:
            self._conflicted(result)
        elif result.end is End.TOO_LARGE:
            self._too_large()
        elif result.end is End.DEPOSED:
            raise Deposed(result.why)

    def _applied(self, result: Result) -> None:
        seq = self._committer.next_seq - 1
        versions = result.versions
        read_again: list[Event] = []
        if versions is None:
            versions, read_again = self._read_versions()
        self._writer.committed(self._marks, self._ops, versions, seq)
        self._decisions_max = self.services.settings.commit_decisions_max
        for mark in self._marks:
            self._conflicts.pop(mark, None)
        self._publish(seq)
        self.work.put_back(Job(event, cause="read again") for event in read_again)

    def _read_versions(self) -> tuple[tuple[Version | None, ...], list[Event]]:
        """The versions that a commit whose reply was lost left. A value that is not what it wrote is somebody else's
        since: it is read as such."""
        try:
            entries = self.lookout.read_versions(op.key for op in self._ops)
        except StoreError as error:
            raise Deposed(f"committed, but the versions cannot be read: {error}") from error
        versions: list[Version | None] = []
        events: list[Event] = []
        for mark, op, entry in zip(self._marks, self._ops, entries, strict=True):
            versions.append(None if entry is None else entry.version)
            if (None if entry is None else entry.value) != getattr(op, "value", None):
                events += self._read_again(mark)
        return tuple(versions), events

    def _publish(self, seq: int = 0) -> None:
        decided, self._decided = self._decided, []
        batch = start_batch(self.state)
        self._publisher.publish(batch, self._marks, decided, seq)
        self._marks, self._ops = [], []
        for job, decision in decided:
            if decision.expand:
                self.work.expanded.extend(Job(event, cause=job.cause) for event in decision.expand)

    # --- conflicts

    def _undo(self) -> list[Job]:
        """Take the whole batch back; its jobs, in their order."""
        undo_to(self.state, 0)
        start_batch(self.state)
        jobs = [job for job, _ in self._decided]
        self._decided = []
        return jobs

    def _conflicted(self, result: Result) -> None:
        """Somebody else wrote one of our keys: undo, read that key, decide all anew. A key that keeps being written is
        left alone for a while, with the events that touch it."""
        index = cast(int, result.index)
        mark, key = self._marks[index], self._ops[index].key
        jobs = self._undo()
        self._marks, self._ops = [], []
        count = self._conflicts[mark] = self._conflicts.get(mark, 0) + 1
        self.services.journal.conflict(key, count)
        if count >= CONFLICTS_MAX:
            self._held[mark] = self.services.clock.now_ms() + min(100 << (count - CONFLICTS_MAX), 10_000)
            self.work.put_back(jobs)
            return
        try:
            events = self._read_again(mark)
        except StoreError as error:
            raise Deposed(f"a conflict on {key} that cannot be read: {error}") from error
        self.work.put_back([*(Job(event, cause="conflict") for event in events), *jobs])

    def _release_held(self, now_ms: int) -> list[Event]:
        """Keys that were left alone for long enough are read again, before the events that wait for them."""
        events: list[Event] = []
        for mark in [mark for mark, until_ms in self._held.items() if until_ms <= now_ms]:
            events += self._read_again(mark)
            del self._held[mark]
        return events

    def _read_again(self, mark: Mark) -> list[Event]:
        """What a key that somebody else wrote holds now: an event for partitions and topics; the small keys are only
        written over, at the version that they have."""
        now_ms = self.services.clock.now_ms()
        kind, of = mark
        if kind == "state":
            number = cast(int, of)
            partition = self.state.rows[number] if number < len(self.state.rows) else None
            if partition is None:
                return []
            return [self.lookout.read_state(partition.topic, partition.partition, now_ms)]
        if kind == "topic":
            return [self.lookout.read_topic(cast(str, of), now_ms)]
        key = self._writer.key(mark, self._committer.next_seq)
        entry = self.lookout.read_versions([key])[0]
        self._writer.found[key] = None if entry is None else entry.version
        return []

    def _too_large(self) -> None:
        """The store refused the size: half as many decisions at once; one alone that is too large is refused."""
        jobs = self._undo()
        if len(jobs) == 1:
            self._refuse_too_large(jobs[0])
            return
        self._decisions_max = max(1, len(jobs) // 2)
        self.work.put_back(jobs)


def _cause(event: Event) -> str:
    """What the journal says of an event that nobody asked for: its name in words."""
    name = type(event).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


