"""One term of an active controller, from the takeover to the end of its leadership.

`step` is one pass of the loop, on one thread, and never waits: take in items, continue with the batch whose commit is
in flight, process hints and timers, decide a batch (`ready`) and work it off, answer queries, send. While the outcome
of a commit is unknown, nothing is decided, sent or answered. A query that follows a request of the same caller sees its
result, unless more jobs wait than one batch takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...stores.base import OutcomeUnknown, StoreError, Unavailable
from ..model.errors import RequestTimedOut
from ..model.events import LATER, Event, KeyRead, PartitionDue, ReductionKeyRead
from ..state import start_batch
from .cannot_lead import CannotLead
from .committer import Committer, End, Result
from .counts import counts_of
from .dispatcher import Dispatcher
from .gc_tuning import collector_off
from .inbox import Hint, Item, Query, Request, Sent, WorkQueue
from .jobs import Job, jobs_of
from .listing import CommittedMoves
from .loaded import Loaded
from .publisher import Publisher
from .ready import Decider, Ready
from .reconcile import Reconcile
from .rounds import Round
from .services import Services
from .timers import Timers
from .writer import FIXED_OPS

LOOK_AGAIN_MS: Final = 100  # after a failed read
ACKNOWLEDGED_MAX: Final = 16  # deletions in one Decision


class Term:
    """Everything that lives as long as one controller epoch of this controller. `ready`: the batch that is worked off;
    None between two. `metadata_linger_ms`: see the settings."""

    def __init__(self, services: Services, committer: Committer, loaded: Loaded, metadata_linger_ms: int = 0) -> None:
        self.services = services
        self.state = loaded.state
        self.findings: dict[str, str] = {}  # those that are not about a key
        self.dispatcher = Dispatcher(
            self.state,
            services.host,
            services.executor,
            services.inbox,
            services.clock,
            acknowledged_max=self._at_once,
            metadata_linger_ms=metadata_linger_ms,
        )
        self.reconcile = Reconcile(services, loaded.kinds)
        self.work = WorkQueue(services.measures.now_s if services.measures.is_kept else None)
        self.ready: Ready | None = None
        self._timers = Timers(services, self.state)
        self._decider = Decider(services, loaded.kinds, self.work, self.findings)
        self._committer = committer
        self._publisher = Publisher(services, self.state, self.dispatcher, self.reconcile, self._timers)
        self._unread: Result | None = None  # applied, but the versions could not be read yet
        self._queries: list[Query] = []
        self._look_again_ms: int | None = None  # when a failed read is repeated
        self.is_over = False  # set from any thread: nothing more is decided or sent
        self._begin(loaded)
        self.counts = counts_of(self.state)  # replaced as a whole, so that any thread may read it
        self.moves = CommittedMoves(self.state)

    @property
    def _at_once(self) -> int:
        return max(1, min(ACKNOWLEDGED_MAX, self.services.store.capabilities.commit_ops_max - FIXED_OPS))

    def _begin(self, loaded: Loaded) -> None:
        self.work.first.extend(Job(event, cause="takeover") for event in loaded.first)
        self.services.notices.term_began(self.state)
        # Keys with requests about partitions are decided before any request of a caller.
        jobs = jobs_of(loaded.events, "takeover")
        self.work.read(job for job in jobs if isinstance(job.event, ReductionKeyRead))
        self.work.expand(job for job in jobs if not isinstance(job.event, ReductionKeyRead))
        self._timers.moves(self.state.moving())
        for broker in self.state.brokers.values():
            self.dispatcher.registered(broker)

    # --- one pass

    def step(self, items: Sequence[Item]) -> bool:
        """One pass; returns whether anything was done. Raises CannotLead when the term is over."""
        with collector_off():  # objects of a pass live on, or are freed without the collector
            return self._step(items)

    def _step(self, items: Sequence[Item]) -> bool:
        worked = bool(items)
        much_waits = len(self.work) > self._decider.size.decisions
        fresh = self.work.fresh
        for item in items:
            if type(item) is Job:
                fresh.append(item)
            else:
                self._take_in(item)
        if self.ready is not None:
            if not self._work_off(self.ready):
                return worked
            worked = True
        if much_waits and not self.is_over:
            self._answer_queries()  # not only after the next batch, so that queries do not wait for many decisions
        if self.is_over:  # while the commit was in flight
            return worked
        worked |= self._look()
        if self.work.is_ready():
            self._decide()
            worked = True
        if self.ready is None and not self.is_over:
            self._answer_queries()
            worked |= self.dispatcher.send() > 0
        return worked

    # --- a batch

    def _decide(self) -> None:
        ready = self.ready = self._decider.decide(self._committer.next_seq)
        if ready.batch.log:
            self._committer.begin(ready.ops)
            self.services.measures.committing()
        self._work_off(ready)

    def _work_off(self, ready: Ready) -> bool:
        """Do the duties of a batch in their order, as far as the store lets; returns whether nothing is left of it."""
        if ready.is_publishing:
            raise CannotLead("what a commit changed was published only in part, since a callback ended the pass")
        if not ready.batch.log:
            if self._may_answer(ready):
                self._publish(ready)
        else:
            result = self._unread or self._committer.try_once()
            if result.end is End.IN_FLIGHT or (result.end is End.APPLIED and not self._applied(ready, result)):
                return False
            if result.end is End.CONFLICT:
                assert result.index is not None
                self._decider.conflicted(ready, result.index)
            elif result.end is End.TOO_LARGE:
                self._decider.too_large(ready)
            elif result.end is End.DEPOSED:
                raise CannotLead(result.why)
        self.ready = None
        return True

    @property
    def is_in_flight(self) -> bool:
        """Whether a commit was sent whose outcome, or whose versions, are not known yet."""
        return self._committer.is_in_flight or self._unread is not None

    def _may_answer(self, ready: Ready) -> bool:
        """Whether a batch without records is answered, once the store says that this controller still leads."""
        if not ready.needs_leader:
            return True
        try:
            if self._committer.still_leads(self.services.read_timeout_s):
                return True
        except StoreError:
            for job in self._decider.undo(ready):
                self.work.delay(job, self.services.elapsed_ms())
            return False
        raise CannotLead("another controller was elected before an answer")

    def _applied(self, ready: Ready, result: Result) -> bool:
        """The commit was applied; returns whether its versions are known. The outcome may have been read over another
        session, which reconnected before this one."""
        versions = result.versions
        read_again: list[Event] = []
        if versions is None:
            try:
                versions, read_again = self._decider.read_versions(ready)
            except StoreError as error:
                if not isinstance(error, Unavailable | OutcomeUnknown) or self._committer.is_over_time:
                    raise CannotLead(f"committed, but its versions cannot be read: {error}") from error
                self._unread = result
                return False
        self._unread = None
        self._decider.applied(ready, versions)
        self.reconcile.findings.written(op.key for op in ready.ops)
        self.services.measures.committed(ready.ops)
        self._publish(ready)
        self.work.put_back(Job(event, cause="read again") for event in read_again)
        return True

    def _publish(self, ready: Ready) -> None:
        ready.is_publishing = True
        start_batch(self.state)
        if ready.batch.log:  # visible before callers are answered, so that they see the result
            self.counts = counts_of(self.state)
            self.moves.committed()
        self._publisher.publish(ready)
        for job, decision in ready.decided:
            if decision.expand:
                is_later = decision.reply is LATER
                jobs = jobs_of(decision.expand, job.cause, job.request if is_later else None)
                if is_later:  # the caller is answered with the last of them
                    last = jobs[-1]
                    last.reply, last.deadline_ms, last.answer = job.reply, job.deadline_ms, job.answer
                self.work.expand(jobs)

    # --- items, hints, timers, queries

    def _take_in(self, item: Item) -> None:
        if isinstance(item, Hint):
            self.reconcile.hint(item.event)
        elif isinstance(item, Sent):
            self._measure(item.outcome)
            if events := self.dispatcher.returned(item.outcome):
                self.work.expand(Job(event, cause="broker answered") for event in events)
        elif isinstance(item, Query):
            self._queries.append(item)
        elif isinstance(item, Request):
            self.work.expand(item.expand(self.state))

    def _measure(self, sending: object) -> None:
        if isinstance(sending, Round):
            self.services.measures.called(
                sending.broker.broker_id, sending.started_ms, failed=sending.error is not None
            )

    def _look(self) -> bool:
        """Process hints and timers."""
        now_ms, elapsed_ms = self.services.clock.now_ms(), self.services.elapsed_ms()
        self.dispatcher.check_deadlines(self.services.settings.callback_deadline_ms, elapsed_ms)
        self.work.wake_delayed(elapsed_ms)
        events = self._timers.due(now_ms, elapsed_ms)
        if events:
            self.work.expand(Job(event, cause=_cause(event)) for event in events)
        if self._look_again_ms is not None and elapsed_ms < self._look_again_ms:
            return bool(events)
        waiting = len(self.work.first)
        try:
            if released := self._decider.release_held(elapsed_ms, self._committer.next_seq):
                self._found(released)
            for found in self.reconcile.look(now_ms, elapsed_ms):
                if found:
                    self._found(found)
        except StoreError as error:
            self.findings["store"] = str(error)
            self._look_again_ms = elapsed_ms + LOOK_AGAIN_MS
        else:
            self.findings.pop("store", None)
            self._look_again_ms = None
        return bool(events) or len(self.work.first) > waiting

    def _found(self, events: Sequence[Event]) -> None:
        """Decide what was read before anything else: a commit in between would make it obsolete."""
        jobs = [Job(event, cause=_cause(event)) for event in events]
        if read := [job for job in jobs if isinstance(job.event, KeyRead)]:
            self.work.read(read)
        self.work.expand(job for job in jobs if not isinstance(job.event, KeyRead))

    def _answer_queries(self) -> None:
        queries, self._queries = self._queries, []
        if not queries:
            return
        now_ms = self.services.elapsed_ms()
        for query in queries:
            try:
                late = query.deadline_ms is not None and now_ms > query.deadline_ms
                answer = RequestTimedOut("the deadline passed before the answer") if late else query.ask(self.state)
            except Exception as error:  # noqa: BLE001 - it is the caller's
                answer = error
            self.services.outstanding.complete(query.reply, answer)

    def next_due_ms(self) -> int | None:
        """When there is something to do without any new item, in `elapsed_ms`; None if no timer runs."""
        now_ms, elapsed_ms = self.services.clock.now_ms(), self.services.elapsed_ms()
        times = [self._timers.next_due_ms(now_ms, elapsed_ms), self.work.next_due_ms(), self.dispatcher.next_due_ms()]
        if self._look_again_ms is not None:
            times.append(self._look_again_ms)
        else:
            times += [*self._decider.held_until_ms(), self.reconcile.next_due_ms(elapsed_ms)]
        return min((time for time in times if time is not None), default=None)


def _cause(event: Event) -> str:
    """The cause in the journal for an event without a caller: its name in words."""
    if type(event) is PartitionDue:
        return str(event.reason)
    name = type(event).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
