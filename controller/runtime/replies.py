"""Answers to callers. Each is given exactly once: success, error, deadline, demotion or close.

The loop gives them when a commit is published. Demotion, close and deadlines give the rest, from another thread if the
loop waits for the store. A second answer is ignored.

A request for many partitions makes one `Reply` each, most of which are answered before a caller reads them. So a reply
is small, and the future for the caller is created on demand.
"""

from __future__ import annotations

import enum
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, Final, Generic, Protocol, Self, TypeVar, cast

from ..model.errors import ControllerError, RequestTimedOut

T = TypeVar("T")


class IsDriver(Protocol):
    """Whether the calling thread runs a pass now, or (`waits`) is the one that runs passes."""

    def __call__(self, *, waits: bool) -> bool: ...


class WouldDeadlock(ControllerError, RuntimeError):
    """The thread that waits for a future is the one that has to complete it."""


class _Pending(enum.Enum):
    """No answer yet; an enum, so that copies of a simulated world share it."""

    PENDING = "pending"


_PENDING: Final = _Pending.PENDING
_settling: Final = threading.Lock()  # for outcomes and callbacks; no other lock is taken while it is held


class Reply(Generic[T]):
    """The answer to one request. `outcome`: the answer; an exception is an error (CancelledError: the caller withdrew
    the request). `deadline_ms`: by the monotonic clock. Thread-safe."""

    __slots__ = ("callbacks", "deadline_ms", "is_driver", "outcome")

    def __init__(self, is_driver: IsDriver, deadline_ms: int | None = None) -> None:
        self.is_driver = is_driver
        self.deadline_ms = deadline_ms
        self.outcome: Any = _PENDING
        self.callbacks: tuple[Callable[[Self], object], ...] = ()

    def done(self) -> bool:
        return self.outcome is not _PENDING

    @property
    def error(self) -> BaseException | None:
        """The error; None if there is none, or no answer yet."""
        return self.outcome if isinstance(self.outcome, BaseException) else None

    def settle(self, outcome: object) -> None:
        """Give the answer. Does nothing if there is one already."""
        settle_all([(self, outcome)])

    def add_done_callback(self, call: Callable[[Self], object]) -> None:
        """Call `call(reply)` when there is an answer, on the thread that gives it; at once if there is one. `call` must
        not raise."""
        with _settling:
            if self.outcome is _PENDING:
                self.callbacks = (*self.callbacks, call)
                return
        call(self)

    def future(self) -> Future[T]:
        """A future that gets the answer. Cancelling it withdraws the request."""
        future: _ReplyFuture[T] = _ReplyFuture(self)
        self.add_done_callback(future.take)
        return future


def settle_all(answers: Sequence[tuple[Reply[Any], object]]) -> None:
    """Give every reply its outcome, unless it has one; then call the callbacks in this order."""
    heard: list[Reply[Any]] = []
    with _settling:
        for reply, outcome in answers:
            if reply.outcome is _PENDING:
                reply.outcome = outcome
                if reply.callbacks:
                    heard.append(reply)
    for reply in heard:
        callbacks, reply.callbacks = reply.callbacks, ()
        for call in callbacks:
            call(reply)


class _ReplyFuture(Future[T]):
    """The future of a caller. Waiting for it on the thread that drives the loop raises WouldDeadlock: a callback in
    `poll_once` mode, or the caller of `poll_once`, would wait for itself. With timeout 0 it does not wait, so that is
    allowed outside a pass."""

    def __init__(self, reply: Reply[T]) -> None:
        super().__init__()
        self._reply = reply

    def take(self, reply: Reply[T]) -> None:
        """Take the answer. Called once, also for a cancelled future, whose waiters are notified only here."""
        if self.done() and not self.cancelled():
            return  # a caller has set a result itself
        if not self.set_running_or_notify_cancel():
            return
        if reply.error is not None:
            self.set_exception(reply.error)
        else:
            self.set_result(cast(T, reply.outcome))

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._reply.settle(CancelledError())
        return cancelled

    def result(self, timeout: float | None = None) -> T:
        self._may_wait(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._may_wait(timeout)
        return super().exception(timeout)

    def _may_wait(self, timeout: float | None) -> None:
        if not self.done() and self._reply.is_driver(waits=timeout is None or timeout > 0):
            raise WouldDeadlock(
                "this thread drives the controller: let the callback return, or call poll_once() until it is done"
            )


class Outstanding:
    """All replies without an answer. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._replies: dict[Reply[Any], None] = {}
        self._earliest_ms: float = math.inf  # no reply has an earlier deadline

    def __len__(self) -> int:
        return len(self._replies)

    def add(self, replies: Iterable[Reply[Any]]) -> None:
        with self._lock:
            for reply in replies:
                self._replies[reply] = None
                if reply.deadline_ms is not None and reply.deadline_ms < self._earliest_ms:
                    self._earliest_ms = reply.deadline_ms

    def complete(self, reply: Reply[Any] | None, outcome: object) -> None:
        if reply is not None:
            self.complete_all([(reply, outcome)])

    def complete_all(self, answers: Sequence[tuple[Reply[Any], object]]) -> None:
        """Give each reply its outcome, in this order."""
        with self._lock:
            for reply, _ in answers:
                self._replies.pop(reply, None)
        settle_all(answers)

    def expire(self, now_ms: int) -> int:
        """Answer requests whose deadline has passed, also while the loop waits for the store. Such a request is not
        decided any more, or it is in the commit under way, whose outcome is unknown. Returns how many there were.
        Replies are visited only once the earliest known deadline has passed."""
        if now_ms < self._earliest_ms:
            return 0
        with self._lock:
            late = [r for r in self._replies if r.deadline_ms is not None and now_ms >= r.deadline_ms]
            for reply in late:
                del self._replies[reply]
            self._earliest_ms = min(
                (r.deadline_ms for r in self._replies if r.deadline_ms is not None), default=math.inf
            )
        settle_all([(reply, RequestTimedOut("the deadline passed before the answer")) for reply in late])
        return len(late)

    def fail_all(self, error: Callable[[], BaseException]) -> int:
        """Give each reply an error of its own; return how many there were."""
        with self._lock:
            replies, self._replies = self._replies, {}
        settle_all([(reply, error()) for reply in replies])
        return len(replies)
