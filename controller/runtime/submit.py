"""Turns calls into replies and items of the inbox. Thread-safe. The loop gives the answer, or it is given at once if
this controller does not lead or its inbox is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from ..model.errors import ApiError
from ..model.events import Event, NothingDue
from ..model.throttles import CommitLimits
from ..model.values import TopicPartition
from ..model.view import ClusterView
from .inbox import Item, Query, Request
from .jobs import Answer, Job
from .listing import take_listing
from .loop import Loop
from .replies import Reply
from .writer import FIXED_BYTES, FIXED_OPS

K = TypeVar("K")


class Overloaded(ApiError):
    """The inbox is full: too many requests are waiting. Nothing was added; try again later."""

    retriable = True


class Submitter:
    """Puts requests into the inbox of a loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop: Final = loop
        self._services: Final = loop.services

    def reply(self, timeout_ms: int | None = None) -> Reply[Any]:
        """A reply that this controller will give in any case; after `timeout_ms` from now at the latest, if given."""
        return Reply(self._loop.is_driver, self._deadline_ms(timeout_ms))

    def _deadline_ms(self, timeout_ms: int | None) -> int | None:
        return None if timeout_ms is None else self._services.elapsed_ms() + timeout_ms

    def failed(self, error: Exception) -> Reply[Any]:
        reply = self.reply()
        reply.settle(error)
        return reply

    def failed_each(self, keys: Iterable[K], error: Callable[[], Exception]) -> dict[K, Reply[Any]]:
        return {key: self.failed(error()) for key in keys}

    def now_ms(self) -> int:
        return self._services.clock.now_ms()

    @property
    def commit_limits(self) -> CommitLimits:
        """The limits of a commit without its fence."""
        capabilities = self._services.store.capabilities
        return CommitLimits(capabilities.commit_ops_max - FIXED_OPS, capabilities.commit_bytes_max - FIXED_BYTES)

    def job(
        self,
        event: Event,
        timeout_ms: int | None,
        cause: str,
        request: str | None = None,
        answer: Answer | None = None,
    ) -> Job:
        """An event with a reply of its own."""
        reply = self.reply(timeout_ms)
        return Job(event, reply, reply.deadline_ms, cause, request, answer, since_s=self._since_s())

    def ask(
        self,
        event: Event,
        timeout_ms: int,
        cause: str,
        request: str | None = None,
        answer: Answer | None = None,
    ) -> Reply[Any]:
        return self.submit({None: self.job(event, timeout_ms, cause, request, answer)})[None]

    def _since_s(self) -> float | None:
        """When measuring of the waiting time begins."""
        measures = self._services.measures
        return measures.now_s() if measures.is_kept else None

    def jobs(
        self, events: Iterable[tuple[K, Event]], timeout_ms: int | None, cause: str, request: str | None
    ) -> dict[K, Job]:
        """The events of one request, each with a reply of its own."""
        return self._jobs(events, self._deadline_ms(timeout_ms), cause, request, self._since_s())

    def _jobs(
        self,
        events: Iterable[tuple[K, Event]],
        deadline_ms: int | None,
        cause: str,
        request: str | None,
        since_s: float | None,
    ) -> dict[K, Job]:
        is_driver = self._loop.is_driver
        return {
            key: Job(event, Reply(is_driver, deadline_ms), deadline_ms, cause, request, since_s=since_s)
            for key, event in events
        }

    def submit(self, jobs: Mapping[K, Job]) -> dict[K, Reply[Any]]:
        """Submit jobs, many of them as one request; their replies may be errors already."""
        replies = {key: job.reply for key, job in jobs.items() if job.reply is not None}
        waiting = list(jobs.values())
        items: list[Item] = [*waiting] if len(waiting) <= _ONE_BY_ONE_MAX else [Request(lambda _: waiting)]
        self._offer(items, replies.values())
        return replies

    def expand_all(
        self,
        make: Callable[[ClusterView], Mapping[K, Event]],
        timeout_ms: int,
        cause: str,
        request: str,
        leave_out: tuple[type[Exception], ...] = (),
    ) -> Reply[dict[K, Any]]:
        """A request that expands into events where the state is available. Its reply is done when all of them are, with
        the answer of each, a value or an error; errors of the classes in `leave_out` are omitted. NotController is the
        answer to the whole. `timeout_ms`, from now on, is for all of it."""
        whole, since_s = self.reply(timeout_ms), self._since_s()
        deadline_ms = whole.deadline_ms

        def expanded(view: ClusterView) -> Iterable[Job]:
            if whole.done():
                return ()
            try:
                events = make(view)
            except Exception as error:  # noqa: BLE001 - a defect here must not stop the controller
                self.complete(whole, ApiError(f"the controller failed: {error!r}"))
                return ()
            if not events:
                nothing = NothingDue(self.now_ms())
                return [Job(nothing, whole, deadline_ms, cause, request, lambda _view, _event: {}, since_s=since_s)]
            whole.deadline_ms = None
            jobs = self._jobs(events.items(), deadline_ms, cause, request, since_s)
            answers: dict[K, Any] = {}
            waiting = set(jobs)

            def one_done(key: K, reply: Reply[Any]) -> None:
                if not isinstance(reply.outcome, leave_out):
                    answers[key] = reply.outcome
                waiting.discard(key)
                if not waiting:
                    self.complete(whole, answers)

            self.track(job.reply for job in jobs.values() if job.reply is not None)
            for key, job in jobs.items():
                assert job.reply is not None
                job.reply.add_done_callback(partial(one_done, key))
            return jobs.values()

        self._offer([Request(expanded)], [whole])
        return whole

    def query(self, ask: Callable[[ClusterView], object], timeout_ms: int | None = None) -> Reply[Any]:
        """The result of `ask` on the committed state."""
        reply = self.reply(timeout_ms)
        self._offer([Query(ask, reply, reply.deadline_ms)], [reply])
        return reply

    def listing(
        self, partitions: list[TopicPartition] | None, topics: frozenset[str] | None, timeout_ms: int
    ) -> Reply[Any]:
        """The running moves of `partitions`, of `topics`, or all, as committed."""
        moves = self._loop.committed_moves()
        found = None if moves is None else moves.take(partitions, topics)
        if found is None or not self._loop.is_active:
            return self.query(lambda view: take_listing(view, partitions, topics), timeout_ms)
        reply = self.reply()
        reply.settle(found)
        return reply

    def query_each(
        self, keys: Iterable[K], ask: Callable[[ClusterView, K], object], timeout_ms: int
    ) -> dict[K, Reply[Any]]:
        """A reply for each key, all from one view. `ask` returns an answer or an error."""
        replies = {key: self.reply(timeout_ms) for key in keys}

        def answer(view: ClusterView) -> None:
            for key, reply in replies.items():
                self.complete(reply, ask(view, key))

        def fail_rest(whole: Reply[Any]) -> None:
            if whole.error is not None:
                self._fail(replies.values(), lambda: whole.outcome)

        self.track(replies.values())
        self.query(answer, timeout_ms).add_done_callback(fail_rest)
        return replies

    def complete(self, reply: Reply[Any], outcome: object) -> None:
        self._services.outstanding.complete(reply, outcome)

    def track(self, replies: Iterable[Reply[Any]]) -> None:
        """Make the replies fail if this controller is demoted."""
        self._services.outstanding.add(replies)

    def _offer(self, items: list[Item], replies: Iterable[Reply[Any]]) -> None:
        loop = self._loop
        self.track(replies)
        was_active = loop.is_active
        if was_active and not self._services.inbox.offer(*items):
            self._fail(replies, lambda: Overloaded("the inbox is full, try again later"))
        if not was_active or not loop.is_active:  # demoted just now: the inbox may not be read any more
            self._fail(replies, loop.not_controller)

    def _fail(self, replies: Iterable[Reply[Any]], error: Callable[[], Exception]) -> None:
        self._services.outstanding.complete_all([(reply, error()) for reply in replies])


_ONE_BY_ONE_MAX: Final = 16  # jobs of one call that are items of their own
