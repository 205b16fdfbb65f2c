"""One term of an active controller, from takeover to the end of leadership: what lives as long as its epoch.

`step` is one pass of the loop, on one thread, and never waits: take in, go on with a commit in flight, look at what was
hinted and at what time has come for, decide and commit (`batching`), answer queries, send. While a commit's outcome is
not known nothing is decided, sent or answered. A query that comes after a request of the same caller sees what became
of it, unless there is more waiting than one batch holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from controller.model.errors import RequestTimedOut
from controller.model.events import (
    BrokerDefaultsRead,
    ConfigKeyRead,
    DeletionKeyRead,
    Event,
    LegacyKeyRead,
    StateKeyRead,
    TopicKeyRead,
)
from controller.runtime.batching import Batching
from controller.runtime.committer import Committer
from controller.runtime.dispatcher import Dispatcher
from controller.runtime.inbox import Hint, Item, Job, Query, Request, Sent, WorkQueue
from controller.runtime.loader import Loaded
from controller.runtime.lookout import Lookout
from controller.runtime.publisher import Publisher, Timers
from controller.runtime.rebalance import Rebalancing
from controller.runtime.services import Services
from controller.runtime.writer import FIXED_OPS, Writer
from stores.base import StoreError

LOOK_AGAIN_MS: Final = 100  # after a read that failed
ACKNOWLEDGED_MAX: Final = 16  # deletions in one Decision
_READ: Final = (StateKeyRead, TopicKeyRead, LegacyKeyRead, ConfigKeyRead, BrokerDefaultsRead, DeletionKeyRead)


@attrs.frozen
class Counts:
    """How much of what there is, as committed. `problems`: why keys cannot be read, by topic or partition."""

    live_brokers: tuple[int, ...]
    topics: int
    partitions: int
    moves: int
    intents: int
    problems: Mapping[str, str]
    deleting_topics: tuple[str, ...]


class Term:
    """Everything that lives as long as one controller epoch of this controller."""

    def __init__(self, services: Services, committer: Committer, loaded: Loaded, seq_offset: int) -> None:
        self.services = services
        self.state = loaded.state
        self.findings: dict[str, str] = {}  # what is not about a key
        self.dispatcher = Dispatcher(
            self.state,
            services.host,
            services.executor,
            services.inbox,
            services.clock,
            acknowledged_max=max(1, min(ACKNOWLEDGED_MAX, services.store.capabilities.commit_ops_max - FIXED_OPS)),
        )
        self.lookout = Lookout(services, self.state, loaded)
        self._timers = Timers(services.settings.topic_rewrite_interval_ms)
        self._rebalancing = Rebalancing(services.settings, services.elapsed_ms())
        self.work = WorkQueue()
        self._batching = Batching(
            services,
            self.state,
            committer=committer,
            writer=Writer(self.state, seq_offset, parents_stay=services.store.capabilities.parents_stay),
            publisher=Publisher(services, self.state, self.dispatcher, self.lookout, self._timers),
            lookout=self.lookout,
            work=self.work,
            findings=self.findings,
        )
        self._queries: list[Query] = []
        self._look_again_ms: int | None = None  # a read failed: when it is made again
        self.is_over = False  # set from any thread: nothing more is decided or sent
        self._begin(loaded.events)
        self.counts = self._count()  # of what is committed; replaced as a whole, so that any thread may look

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
        )

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
        much_waits = len(self.work) > self.services.settings.commit_decisions_max
        for item in items:
            self._take_in(item)
        if self.is_waiting_for_store:
            if not self._batching.go_on():
                return worked
            worked = True
        if much_waits and not self.is_over:
            self._answer_queries()  # not only after the next batch: who asks while much is decided need not wait for it
        if self.is_over:  # while the commit was in flight
            return worked
        worked |= self._look()
        if self.work.is_ready():
            self._batching.gather()
            worked = True
        if not self._batching.is_in_flight and not self.is_over:
            if worked:
                self.counts = self._count()
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
        events += self._rebalancing.due(self.services.clock.now_ms(), now_ms)
        self.work.expanded.extend(Job(event, cause=_cause(event)) for event in events)
        if self._look_again_ms is not None and now_ms < self._look_again_ms:
            return bool(events)
        waiting = len(self.work.first)
        try:
            self._found(self._batching.release_held(now_ms))
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
            queue = self.work.first if isinstance(event, _READ) else self.work.expanded
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
        times += [self.work.next_due_ms(), self.dispatcher.next_due_ms(), self._rebalancing.next_due_ms]
        if self._look_again_ms is not None:
            times.append(self._look_again_ms)
        else:
            times += [*self._batching.held_until_ms(), self.lookout.next_due_ms()]
        return min((time for time in times if time is not None), default=None)

    @property
    def is_waiting_for_store(self) -> bool:
        return self._batching.is_in_flight


def _cause(event: Event) -> str:
    """What the journal says of an event that nobody asked for: its name in words."""
    name = type(event).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
