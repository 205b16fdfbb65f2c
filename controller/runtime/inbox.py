"""The one inbox of a controller, and the work queue beside it.

Requests, hints of the store, acknowledged sends: everything comes in here, from any thread, and is taken out by whoever
drives the loop. What a request or a death expands into waits in the work queue; batches take from both in turn, so that
new requests are not held up by a large one, nor a large one by new requests.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import attrs

from controller.model.events import KeyRead
from controller.model.view import ClusterView
from controller.runtime.jobs import Job
from controller.runtime.replies import Reply
from stores.base import StoreEvent


@attrs.frozen(eq=False)
class Request:
    """What expands into jobs on the loop, where the state can be seen."""

    expand: Callable[[ClusterView], Iterable[Job]]


@attrs.frozen(eq=False)
class Query:
    """Answered between batches from committed state."""

    ask: Callable[[ClusterView], object]
    reply: Reply[Any]
    deadline_ms: int | None = None


@attrs.frozen(eq=False)
class Hint:
    """What a subscription gave."""

    event: StoreEvent


@attrs.frozen(eq=False)
class Sent:
    """What became of a round of callbacks to one broker; `outcome` belongs to the dispatcher."""

    broker: int
    outcome: object


Item: TypeAlias = Job | Request | Query | Hint | Sent


class Inbox:
    """Thread-safe, in the order of arrival, bounded for requests: `offer` says no when it is full."""

    def __init__(self, items_max: int) -> None:
        self._items: deque[Item] = deque()
        self._items_max = items_max
        self._lock = threading.RLock()
        self._ready = threading.Condition(self._lock)
        self._is_waiting = False  # somebody is in `take`, of whom there is one: else nobody need be notified
        self._woken = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, *items: Item) -> None:
        """Items that may not be lost: hints, outcomes."""
        with self._lock:
            self._items.extend(items)
            self._notify()

    def offer(self, *items: Item) -> bool:
        """Requests: False, and nothing is taken in, when the inbox is full."""
        with self._lock:
            if len(self._items) + len(items) > self._items_max:
                return False
            self._items.extend(items)
            self._notify()
            return True

    def wake(self) -> None:
        """Whoever waits in `take` returns."""
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
    """Jobs that wait to be decided: first those that are decided anew and what was read in the store (it is news only
    until our next commit), in their order; then fresh ones and expanded ones in turn; delayed ones when they are due.
    Used by the loop alone. Times are `elapsed_ms`. `now_s`: the clock, where it is measured how long they wait."""

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
        """What an event, a request or time brought; those that do not know when they came do from now on."""
        if self._now_s is None:
            self.expanded.extend(jobs)
            return
        now_s = self._now_s()
        for job in jobs:
            if job.since_s is None:
                job.since_s = now_s
            self.expanded.append(job)

    def next(self) -> Job | None:
        """The next job to decide, None if there is none ready."""
        if self.first:
            return self.first.popleft()
        self._turn = not self._turn
        first, second = (self.fresh, self.expanded) if self._turn else (self.expanded, self.fresh)
        return first.popleft() if first else second.popleft() if second else None

    def read(self, jobs: Iterable[Job]) -> None:
        """What keys hold is decided before all that waits, also before what is decided anew: that would raise epochs,
        and what a leader wrote under the former one would be lost. After what was read before it."""
        waiting = list(self.first)
        count = next((i for i, job in enumerate(waiting) if not isinstance(job.event, KeyRead)), len(waiting))
        self.first = deque([*waiting[:count], *jobs, *waiting[count:]])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Jobs that are decided anew, before all others and in their order."""
        self.first.extendleft(reversed(list(jobs)))

    def delay(self, job: Job, now_ms: int) -> None:
        """Decide `job` again later: after 100 ms, then 200, ...; a request at its deadline, to be answered then."""
        job.due_ms = now_ms + job.delay_ms
        if job.deadline_ms is not None:
            job.due_ms = min(job.due_ms, max(job.deadline_ms, now_ms + 1))
        job.delay_ms = min(job.delay_ms * 2, 10_000)
        self.delayed.append(job)

    def wake_delayed(self, now_ms: int) -> None:
        """Delayed jobs that are due become fresh."""
        due = [job for job in self.delayed if job.due_ms <= now_ms]
        if due:
            self.delayed = [job for job in self.delayed if job.due_ms > now_ms]
            self.fresh.extend(due)

    def next_due_ms(self) -> int | None:
        return min((job.due_ms for job in self.delayed), default=None)
