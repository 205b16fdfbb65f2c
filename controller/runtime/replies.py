"""Futures of callers. Each is completed exactly once, whatever happens: success, error, deadline, demotion, close.

The loop completes them when a commit is published; demotion, close and the caller's deadline complete what is left,
from another thread if the loop is inside the store just then. Whoever comes second is ignored."""

# ruff: noqa: SLF001 - a batch of futures is filled at once, by what belongs to each
from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, PENDING
from typing import Any, Final, Protocol, TypeVar, cast

from controller.model.errors import ControllerError, RequestTimedOut

T = TypeVar("T")


class IsDriver(Protocol):
    """Whether the calling thread drives the loop, now or (`waits`) at all."""

    def __call__(self, *, waits: bool) -> bool: ...


class WouldDeadlock(ControllerError, RuntimeError):
    """The thread that waits for a future is the one that has to complete it."""


_watching = threading.Lock()  # of the moment at which a future gets what waiting needs; nothing else is taken under it


class _Condition:
    """`Future._condition`, made with what belongs to it when somebody first asks for it: to wait, to cancel."""

    def __get__(self, future: ReplyFuture[T], _: type) -> threading.Condition:
        with _watching:
            if not future.is_watched:
                future.watch(threading.Condition())
        return cast(threading.Condition, future.__dict__["_condition"])


class ReplyFuture(Future[T]):
    """A future of this controller. Waiting for it on the thread that drives the loop raises WouldDeadlock: a callback
    in `poll_once` mode that waits, or whoever calls `poll_once`, would wait for itself. Asking without waiting
    (timeout 0) is no waiting, but inside a pass.

    A request for many partitions makes one for each, and most are completed before anybody looks: a lock, a condition
    and two lists in each would be most of what the collector has to walk over while moves run. So they are made late;
    everything beside `settle` is the standard library's own.
    """

    _condition = _Condition()  # an attribute of the instance once it was asked for
    _done_callbacks: list[Callable[[Future[T]], object]] = []  # noqa: RUF012 - of the instance once there is one
    is_watched = False
    deadline_ms: int | None = None  # on the clock that never goes back; of the instance where it has one

    def __init__(self, is_driver: IsDriver, deadline_ms: int | None = None) -> None:  # not super(): see above
        self._is_driver = is_driver
        if deadline_ms is not None:
            self.deadline_ms = deadline_ms
        self._state = PENDING
        self._result: T | None = None
        self._exception: BaseException | None = None

    def watch(self, condition: threading.Condition) -> None:
        """Somebody waits with `condition`. Under the lock of watching."""
        self._waiters = []
        self._done_callbacks = list(self._done_callbacks)
        self.__dict__["_condition"] = condition
        self.is_watched = True

    def settle(self, outcome: Any) -> None:
        """The future gets `outcome`: an exception is raised in whoever waits, anything else is the result. Nothing
        changes if it is done already: demoted, closed or cancelled meanwhile, the first answer stands."""
        failed = isinstance(outcome, BaseException)
        with _watching:
            watched = self.is_watched
            if not watched:
                if self._state != PENDING:
                    return
                if failed:
                    self._exception = outcome
                else:
                    self._result = outcome
                self._state = FINISHED
        if not watched:
            if self._done_callbacks:  # none comes to stand there any more: who adds one now calls it himself
                cast(Any, self)._invoke_callbacks()
            return
        with contextlib.suppress(InvalidStateError):
            if failed:
                self.set_exception(outcome)
            else:
                self.set_result(outcome)

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        """As the standard library's; by itself it needs no condition."""
        with _watching:
            if not self.is_watched and self._state == PENDING:
                self._done_callbacks = [*self._done_callbacks, fn]
                return
        super().add_done_callback(fn)

    def done(self) -> bool:
        """Whether there is an answer; as the standard library's, without its lock."""
        return self._state in _DONE

    def cancelled(self) -> bool:
        """Whether the caller took it back; without the lock, too."""
        return self._state in _CANCELLED

    def result(self, timeout: float | None = None) -> T:
        if self._state == FINISHED and self._exception is None:
            return cast(T, self._result)
        self._may_wait(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if self._state == FINISHED:
            return self._exception
        self._may_wait(timeout)
        return super().exception(timeout)

    def _may_wait(self, timeout: float | None) -> None:
        if not self.done() and self._is_driver(waits=timeout is None or timeout > 0):
            raise WouldDeadlock(
                "this thread drives the controller: let the callback return, or call poll_once() until it is done"
            )


_CANCELLED: Final = frozenset({CANCELLED, CANCELLED_AND_NOTIFIED})
_DONE: Final = _CANCELLED | {FINISHED}


class Outstanding:
    """Every future that is not completed yet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[ReplyFuture[Any], None] = {}
        self._earliest_ms: float = math.inf  # no future here has an earlier deadline

    def __len__(self) -> int:
        return len(self._futures)

    def add(self, futures: Iterable[ReplyFuture[Any]]) -> None:
        with self._lock:
            for future in futures:
                self._futures[future] = None
                if future.deadline_ms is not None and future.deadline_ms < self._earliest_ms:
                    self._earliest_ms = future.deadline_ms

    def complete(self, future: ReplyFuture[Any] | None, outcome: object) -> None:
        """The future gets `outcome` (`ReplyFuture.settle`)."""
        if future is None:
            return
        self.complete_all([(future, outcome)])

    def complete_all(self, answers: Sequence[tuple[ReplyFuture[Any], object]]) -> None:
        """Each future gets its outcome, in this order."""
        with self._lock:
            for future, _ in answers:
                self._futures.pop(future, None)
        for future, outcome in _settle_unwatched(answers):
            future.settle(outcome)

    def expire(self, now_ms: int) -> int:
        """Whoever waits past his deadline hears so, also while the loop is inside the store; what he asked for is not
        decided any more, or is in the commit under way, of which nobody knows yet. Returns how many there were. All are
        looked at only when the earliest deadline that was seen is over."""
        if now_ms < self._earliest_ms:
            return 0
        with self._lock:
            late = [f for f in self._futures if f.deadline_ms is not None and now_ms >= f.deadline_ms]
            for future in late:
                del self._futures[future]
            self._earliest_ms = _earliest(self._futures)
        for future in late:
            future.settle(RequestTimedOut("the deadline passed before the answer"))
        return len(late)

    def fail_all(self, error: Callable[[], BaseException]) -> int:
        """Complete everything with an error of its own; returns how many there were."""
        with self._lock:
            futures, self._futures = self._futures, {}
        for future in futures:
            future.settle(error())
        return len(futures)


def _settle_unwatched(
    answers: Iterable[tuple[ReplyFuture[Any], object]],
) -> list[tuple[ReplyFuture[Any], object]]:
    """Those that nobody waits for, nor wants to be called for, get their outcomes, as `settle` gives them one by one;
    the others are left."""
    left: list[tuple[ReplyFuture[Any], object]] = []
    with _watching:
        for future, outcome in answers:
            if future.is_watched or future._done_callbacks:
                left.append((future, outcome))
            elif future._state == PENDING:
                if isinstance(outcome, BaseException):
                    future._exception = outcome
                else:
                    future._result = outcome
                future._state = FINISHED
    return left


def _earliest(futures: Iterable[ReplyFuture[Any]]) -> float:
    return min((f.deadline_ms for f in futures if f.deadline_ms is not None), default=math.inf)
