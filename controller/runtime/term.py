"""One term of an active controller, from the takeover to the end of its leadership.

`step` is one pass of the loop, on one thread, and never waits: take in items, continue a commit in flight, process
hints and timers, decide and commit (`batching`), answer queries, send. While the outcome of a commit is unknown,
nothing is decided, sent or answered. A query that follows a request of the same caller sees its result, unless more
jobs wait than one batch takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ...stores.base import StoreError
from ..model.errors import RequestTimedOut
from ..model.events import Event, KeyRead, ReductionKeyRead
from ..state.tally import Tally
from .batching import Batching
from .collector import collector_off
from .committer import Committer
from .dispatcher import Dispatcher
from .inbox import Hint, Item, Query, Request, Sent, WorkQueue
from .jobs import Job, jobs_of
from .listing import CommittedMoves
from .loaded import Loaded
from .publisher import Publisher
from .reconcile import Reconcile
from .rounds import Round
from .services import Services
from .timers import Timers
from .writer import FIXED_OPS, Writer

LOOK_AGAIN_MS: Final = 100  # after a failed read
ACKNOWLEDGED_MAX: Final = 16  # deletions in one Decision


@attrs.frozen
class Counts:
    """Counts of the committed state. `problems`: why keys cannot be read, by topic or partition."""

    live_brokers: tuple[int, ...]
    topics: int
    partitions: int
    moves: int
    intents: int
    problems: Mapping[str, str]
    deleting_topics: tuple[str, ...]
    throttles_to_remove: Mapping[str, tuple[str, ...]]
    tally: Tally | None = None


class Term:
    """Everything that lives as long as one controller epoch of this controller."""

    def __init__(self, services: Services, committer: Committer, loaded: Loaded) -> None:
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
        )
        self.reconcile = Reconcile(services, loaded.kinds)
        self._timers = Timers(services, self.state)
        self.work = WorkQueue(services.measures.now_s if services.measures.is_kept else None)
        self._batching = Batching(
            services,
            self.state,
            committer=committer,
            writer=Writer(loaded.kinds),
            publisher=Publisher(services, self.state, self.dispatcher, self.reconcile, self._timers),
            reconcile=self.reconcile,
            work=self.work,
            findings=self.findings,
            committed=self._committed,
        )
        self._queries: list[Query] = []
        self._look_again_ms: int | None = None  # when a failed read is repeated
        self.is_over = False  # set from any thread: nothing more is decided or sent
        self._begin(loaded)
        self.counts = self._count()  # of the committed state; replaced as a whole, so that any thread may read it
        self.moves = CommittedMoves(self.state)

    def _committed(self) -> None:
        """The whole state is committed: make it visible."""
        self.counts = self._count()
        self.moves.committed()
        self.services.measures.publish()

    def _count(self) -> Counts:
        state = self.state
        problems = {t if p is None else f"{t}-{p}": why for (t, p), why in state.problems.items()}
        brokers = tuple(sorted(state.brokers))
        return Counts(
            brokers,
            len(state.topics),
            state.partition_total(),
            len(state.moves),
            len(state.intents),
            problems,
            tuple(sorted(state.deletions)),
            {kind: tuple(owners) for kind, owners in state.throttles.told().items()},
            None if state.tally is None else state.tally.copy(),
        )

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
        """One pass; returns whether anything was done. Raises Deposed when the term is over."""
        with collector_off():  # objects of a pass live on, or are freed without the collector
            return self._step(items)

    def _step(self, items: Sequence[Item]) -> bool:
        worked = bool(items)
        much_waits = len(self.work) > self._batching.batch_size.decisions
        fresh = self.work.fresh
        for item in items:
            if type(item) is Job:
                fresh.append(item)
            else:
                self._take_in(item)
        if self.is_waiting_for_store:
            if not self._batching.go_on():
                return worked
            worked = True
        if much_waits and not self.is_over:
            self._answer_queries()  # not only after the next batch, so that queries do not wait for many decisions
        if self.is_over:  # while the commit was in flight
            return worked
        worked |= self._look()
        if self.work.is_ready():
            self._batching.gather()
            worked = True
        if not self._batching.is_in_flight and not self.is_over:
            self._answer_queries()
            worked |= self.dispatcher.send() > 0
        return worked

    def _take_in(self, item: Item) -> None:
        if isinstance(item, Hint):
            self.reconcile.hint(item.event)
        elif isinstance(item, Sent):
            self._measure(item.outcome)
            events = self.dispatcher.returned(item.outcome)
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
        self.work.expand(Job(event, cause=_cause(event)) for event in events)
        if self._look_again_ms is not None and elapsed_ms < self._look_again_ms:
            return bool(events)
        waiting = len(self.work.first)
        try:
            self._found(self._batching.release_held(elapsed_ms))
            for found in self.reconcile.look(now_ms, elapsed_ms):
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
            times += [*self._batching.held_until_ms(), self.reconcile.next_due_ms(elapsed_ms)]
        return min((time for time in times if time is not None), default=None)

    @property
    def is_waiting_for_store(self) -> bool:
        return self._batching.is_in_flight


def _cause(event: Event) -> str:
    """The cause in the journal for an event without a caller: its name in words."""
    name = type(event).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
