"""The inbox of a controller, and the work queue beside it.

Requests, hints of the store and results of sends enter the inbox from any thread; the driver of the loop takes them
out. The parts of a large event wait in the work queue. Batches take from both in turn, so that neither holds up the
other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from ...stores.base import StoreEvent
from ..model.events import KeyRead
from ..model.view import ClusterView
from .jobs import Job
from .replies import Reply


@attrs.define(eq=False)
class Request:
    """Expands into jobs on the loop, where the state is available."""

    expand: Callable[[ClusterView], Iterable[Job]]


@attrs.define(eq=False)
class Query:
    """Answered between batches from the committed state."""

    ask: Callable[[ClusterView], object]
    reply: Reply[Any]
    deadline_ms: int | None = None


@attrs.define(eq=False)
class Hint:
    """An event of a subscription."""

    event: StoreEvent


@attrs.define(eq=False)
class Sent:
    """The result of a round of callbacks to one broker; `outcome` is for the dispatcher."""

    broker: int
    outcome: object


Item: TypeAlias = Job | Request | Query | Hint | Sent


class Inbox:
    """Thread-safe, in the order of arrival, bounded for requests: `offer` returns False if it is full."""

    def __init__(self, items_max: int) -> None:
        self._items: deque[Item] = deque()
        self._items_max = items_max
        self._lock = threading.RLock()
        self._ready = threading.Condition(self._lock)
        self._is_waiting = False  # whether the only reader waits in `take` and must be notified
        self._woken = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, *items: Item) -> None:
        """Add items that must not be lost: hints, results."""
        with self._lock:
            self._items.extend(items)
            self._notify()

    def offer(self, *items: Item) -> bool:
        """Add requests; False, and none is added, if the inbox is full."""
        with self._lock:
            if len(self._items) + len(items) > self._items_max:
                return False
            self._items.extend(items)
            self._notify()
            return True

    def wake(self) -> None:
        """Make a waiting `take` return."""
        with self._lock:
            self._woken = True
            self._notify()

    def _notify(self) -> None:
        if self._is_waiting:
            self._ready.notify()

    def take(self, items_max: int, timeout_s: float) -> list[Item]:
        """Up to `items_max` items; waits up to `timeout_s` for the first."""
        with self._lock:
            if not self._items and not self._woken and timeout_s > 0:
                self._is_waiting = True
                try:
                    self._ready.wait(timeout_s)
                finally:
                    self._is_waiting = False
            self._woken = False
            waiting = self._items
            if len(waiting) > items_max:
                return [waiting.popleft() for _ in range(items_max)]
            taken = list(waiting)
            waiting.clear()
            return taken


class WorkQueue:
    """Jobs that wait to be decided. First, in order, jobs that are decided again and what was read from the store
    (which is news only until the next commit); then new and expanded jobs in turn; delayed ones when they are due. Used
    by the loop alone. Times are `elapsed_ms`. `now_s`: the clock, if waiting times are measured."""

    def __init__(self, now_s: Callable[[], float] | None = None) -> None:
        self.first: deque[Job] = deque()
        self.fresh: deque[Job] = deque()
        self.expanded: deque[Job] = deque()
        self.delayed: list[Job] = []
        self._turn = False
        self._now_s = now_s

    def __len__(self) -> int:
        return len(self.first) + len(self.fresh) + len(self.expanded) + len(self.delayed)

    def is_ready(self) -> bool:
        return bool(self.first or self.fresh or self.expanded)

    def expand(self, jobs: Iterable[Job]) -> None:
        """Add jobs that follow from an event, a request or a timer, and record when they came."""
        if self._now_s is None:
            self.expanded.extend(jobs)
            return
        now_s = self._now_s()
        for job in jobs:
            if job.since_s is None:
                job.since_s = now_s
            self.expanded.append(job)

    def next(self) -> Job | None:
        """The next job to decide, None if none is ready."""
        if self.first:
            return self.first.popleft()
        self._turn = not self._turn
        first, second = (self.fresh, self.expanded) if self._turn else (self.expanded, self.fresh)
        return first.popleft() if first else second.popleft() if second else None

    def read(self, jobs: Iterable[Job]) -> None:
        """Add events with the content of keys, after earlier ones but before all other jobs, also before those that are
        decided again: these would raise epochs, and what a leader wrote under the former epoch would be lost."""
        waiting = list(self.first)
        count = next((i for i, job in enumerate(waiting) if not isinstance(job.event, KeyRead)), len(waiting))
        self.first = deque([*waiting[:count], *jobs, *waiting[count:]])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Put back jobs that are decided again, before all others and in their order."""
        self.first.extendleft(reversed(list(jobs)))

    def delay(self, job: Job, now_ms: int) -> None:
        """Decide `job` later: after 100 ms, then 200, ...; a request at its deadline at the latest, to be answered."""
        job.due_ms = now_ms + job.delay_ms
        if job.deadline_ms is not None:
            job.due_ms = min(job.due_ms, max(job.deadline_ms, now_ms + 1))
        job.delay_ms = min(job.delay_ms * 2, 10_000)
        self.delayed.append(job)

    def wake_delayed(self, now_ms: int) -> None:
        """Make delayed jobs that are due new ones."""
        due = [job for job in self.delayed if job.due_ms <= now_ms]
        if due:
            self.delayed = [job for job in self.delayed if job.due_ms > now_ms]
            self.fresh.extend(due)

    def next_due_ms(self) -> int | None:
        return min((job.due_ms for job in self.delayed), default=None)
