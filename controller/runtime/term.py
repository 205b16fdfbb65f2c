"""One term of an active controller: gather, decide, commit, publish, send; from takeover to the end of leadership.

`step` is one pass of the loop, on one thread, and never waits: a commit whose outcome is not known yet stays in
flight, and until it is resolved nothing is decided, sent or answered. A batch that met somebody else's write is undone
as a whole, the key is read, and all its events are decided anew after what was found there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, cast

from controller.machine import step
from controller.model.errors import ApiError, InvalidRequest, RequestTimedOut
from controller.model.events import DeathDone, Decision, Event, ReplicaDied, StateKeyRead, TopicKeyRead
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

LOOK_AGAIN_MS: Final = 100  # after a read that failed
CONFLICTS_MAX: Final = 3  # on one key, before the rest goes on without it


class Term:
    """Everything that lives as long as one controller epoch of this controller."""

    def __init__(self, services: Services, committer: Committer, loaded: Loaded, seq_offset: int) -> None:
        self.services = services
        self.state = loaded.state
        self.findings = loaded.findings
        self._committer = committer
        self._writer = Writer(self.state, seq_offset)
        self.dispatcher = Dispatcher(self.state, services.host, services.executor, services.inbox, services.clock)
        self.lookout = Lookout(services, self.state, loaded)
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
        self._look_again_ms: int | None = None  # a read failed: when it is made again
        self.is_over = False  # set from any thread: nothing more is decided or sent
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
        if self.is_waiting_for_store:
            if not self._go_on():
                return worked
            worked = True
        if self.is_over:  # while the commit was in flight
            return worked
        worked |= self._look()
        if self.work.is_ready():
            self._gather()
            worked = True
        if not self._committer.is_in_flight and not self.is_over:
            self._answer_queries()
            worked |= self.dispatcher.send() > 0
        return worked

    def _take_in(self, item: Item) -> None:
        if isinstance(item, Job):
            self.work.fresh.append(item)
        elif isinstance(item, Hint):
            self.lookout.hint(item.event)
        elif isinstance(item, Sent):
            events = self.dispatcher.returned(item.outcome)
            self.work.expanded.extend(Job(event, cause="broker answered") for event in events)
        elif isinstance(item, Query):
            self._queries.append(item)
        elif isinstance(item, Request):
            self.work.expanded.extend(item.expand(self.state))

    def _look(self) -> bool:
        """What was hinted, what time has come for."""
        now_ms = self.services.elapsed_ms()
        self.dispatcher.check_deadlines(self.services.settings.callback_deadline_ms)
        self.work.wake_delayed(now_ms)
        events = self._timers.due(self.services.clock.now_ms(), now_ms)
        self.work.expanded.extend(Job(event, cause=_cause(event)) for event in events)
        if self._look_again_ms is not None and now_ms < self._look_again_ms:
            return bool(events)
        waiting = len(self.work.first)
        try:
            self._release_held(now_ms)
            self._found(self.lookout.look())
        except StoreError as error:
            self.findings["store"] = str(error)
            self._look_again_ms = now_ms + LOOK_AGAIN_MS
        else:
            self.findings.pop("store", None)
            self._look_again_ms = None
        return bool(events) or len(self.work.first) > waiting

    def _found(self, events: Sequence[Event]) -> None:
        """What was read is decided before anything else: a commit of ours in between would make it old."""
        for event in events:
            queue = self.work.first if isinstance(event, StateKeyRead | TopicKeyRead) else self.work.expanded
            queue.append(Job(event, cause=_cause(event)))

    def _answer_queries(self) -> None:
        queries, self._queries = self._queries, []
        now_ms = self.services.elapsed_ms()
        for query in queries:
            try:
                late = query.deadline_ms is not None and now_ms > query.deadline_ms
                answer = RequestTimedOut("the deadline passed before the answer") if late else query.ask(self.state)
            except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
                answer = error
            self.services.outstanding.complete(query.future, answer)

    def next_due_ms(self) -> int | None:
        """When there is something to do without any new item, in `elapsed_ms`; None if not by time."""
        services = self.services
        times = [self._timers.next_due_ms(services.clock.now_ms(), services.elapsed_ms())]
        times += [self.work.next_due_ms(), self.dispatcher.next_due_ms()]
        if self._look_again_ms is not None:
            times.append(self._look_again_ms)
        else:
            times += [*self._held.values(), self.lookout.next_due_ms()]
        return min((time for time in times if time is not None), default=None)

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
            if self._is_over(job) or self._must_wait(job):
                continue
            before = len(state.batch)
            decision = self._decide(job, before)
            if decision is None:
                continue
            if self._held and self._touches_held(before):
                undo_to(state, before)
                if self._superseded(job.event) is None:  # else the key is read again when it is released
                    self.work.delay(job, self.services.elapsed_ms())
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
        except Exception as error:  # noqa: BLE001 - see above
            _log.exception("the rules failed on %r", job.event)
            undo_to(self.state, before)
            self.findings["defect"] = f"{type(job.event).__name__}: {error!r}"
            self.services.outstanding.complete(job.future, ApiError(f"the controller failed: {error!r}"))
            return None

    def _is_over(self, job: Job) -> bool:
        """A request whose deadline passed is answered, not decided; one that was answered (by a demotion, or cancelled
        by the caller) is neither."""
        if job.future is None:
            return False
        if job.future.done():
            self.services.outstanding.complete(job.future, None)
            return True
        if job.deadline_ms is None or self.services.elapsed_ms() < job.deadline_ms:
            return False
        self.services.outstanding.complete(job.future, RequestTimedOut("the deadline passed before the commit"))
        return True

    def _must_wait(self, job: Job) -> bool:
        """A death is not over before every partition of it is decided, also those that wait for a key."""
        if type(job.event) is not DeathDone:
            return False
        broker = job.event.broker_id
        waiting = (*self.work.delayed, *self.work.fresh)
        if not any(type(other.event) is ReplicaDied and other.event.broker == broker for other in waiting):
            return False
        self.work.delay(job, self.services.elapsed_ms())
        return True

    def _superseded(self, event: Event) -> Mark | None:
        """The key that `event` tells of, if it tells of what was read: a later read says all that it said."""
        if isinstance(event, TopicKeyRead):
            return ("topic", event.name)
        if isinstance(event, StateKeyRead):
            number = self.state.number(event.topic, event.partition)
            return None if number is None else ("state", number)
        return None

    def _touches_held(self, before: int) -> bool:
        return any(mark in self._held for _, _, fresh in self.state.batch.log[before:] for mark in fresh)

    def _refuse_too_large(self, job: Job) -> None:
        error = InvalidRequest(
            f"what {type(job.event).__name__} would write is more than the store takes in one commit"
        )
        self.findings["too large"] = str(error)
        self.services.outstanding.complete(job.future, error)

    # --- commit

    def _go_on(self) -> bool:
        """Send the commit in flight, or find out what became of it; whether that is known now."""
        result = self._committer.try_once()
        if result.end is End.APPLIED:
            self._applied(result)
        elif result.end is End.CONFLICT:
            self._conflicted(result)
        elif result.end is End.TOO_LARGE:
            self._too_large()
        elif result.end is End.DEPOSED:
            raise Deposed(result.why)
        return result.end is not End.IN_FLIGHT

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
        jobs = [job for job in jobs if self._superseded(job.event) != mark]
        if count >= CONFLICTS_MAX:
            self._held[mark] = self.services.elapsed_ms() + min(100 << (count - CONFLICTS_MAX), 10_000)
            self.work.put_back(jobs)
            return
        try:
            events = self._read_again(mark)
        except StoreError as error:
            raise Deposed(f"a conflict on {key} that cannot be read: {error}") from error
        self.work.put_back([*(Job(event, cause="conflict") for event in events), *jobs])

    def _release_held(self, now_ms: int) -> None:
        """Keys that were left alone for long enough are read again, before the events that wait for them."""
        for mark in [mark for mark, until_ms in self._held.items() if until_ms <= now_ms]:
            self._found(self._read_again(mark))
            del self._held[mark]

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
