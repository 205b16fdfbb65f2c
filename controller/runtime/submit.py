"""How a call becomes a future and an item of the inbox. Thread-safe; the answer comes from the loop, or at once where
this controller does not lead or its inbox is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from controller.model.errors import ApiError
from controller.model.events import Event
from controller.model.throttles import Room
from controller.model.view import ClusterView
from controller.runtime.inbox import Answer, Item, Job, Query, Request
from controller.runtime.loop import Loop
from controller.runtime.replies import ReplyFuture
from controller.runtime.writer import FIXED_BYTES, FIXED_OPS

K = TypeVar("K")


class Overloaded(ApiError):
    """The inbox is full: too many requests wait already. Nothing was taken in; try again later."""

    retriable = True


class Submitter:
    """Hands requests to a loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop: Final = loop
        self._services: Final = loop.services

    def future(self, timeout_ms: int | None = None) -> ReplyFuture[Any]:
        """A future that this controller completes, whatever happens; by `timeout_ms` from now, if there is such."""
        return ReplyFuture(self._loop.is_driver, self._deadline_ms(timeout_ms))

    def _deadline_ms(self, timeout_ms: int | None) -> int | None:
        return None if timeout_ms is None else self._services.elapsed_ms() + timeout_ms

    def failed(self, error: Exception) -> ReplyFuture[Any]:
        """A future that has failed."""
        future = self.future()
        future.set_exception(error)
        return future

    def now_ms(self) -> int:
        return self._services.clock.now_ms()

    @property
    def room(self) -> Room:
        """What a commit takes beside its fence."""
        capabilities = self._services.store.capabilities
        return Room(capabilities.commit_ops_max - FIXED_OPS, capabilities.commit_bytes_max - FIXED_BYTES)

    def job(
        self,
        event: Event,
        timeout_ms: int | None,
        cause: str,
        request: str | None = None,
        answer: Answer | None = None,
    ) -> Job:
        """An event with a future of its own."""
        deadline_ms = self._deadline_ms(timeout_ms)
        future: ReplyFuture[Any] = ReplyFuture(self._loop.is_driver, deadline_ms)
        return Job(event, future, deadline_ms, cause, request, answer, since_s=self._since_s())

    def ask(
        self,
        event: Event,
        timeout_ms: int,
        cause: str,
        request: str | None = None,
        answer: Answer | None = None,
    ) -> ReplyFuture[Any]:
        """An event that is a request of its own: it is in the inbox, or its future has failed."""
        job = self.job(event, timeout_ms, cause, request, answer)
        assert job.future is not None
        self._offer([job], [job.future])
        return job.future

    def _since_s(self) -> float | None:
        """From when on it is measured how long something waits."""
        measures = self._services.measures
        return measures.now_s() if measures.is_kept else None

    def jobs(self, events: Iterable[Event], timeout_ms: int | None, cause: str, request: str | None) -> list[Job]:
        """The events of one request, each with a future of its own."""
        is_driver, deadline_ms, since_s = self._loop.is_driver, self._deadline_ms(timeout_ms), self._since_s()
        return [
            Job(event, ReplyFuture(is_driver, deadline_ms), deadline_ms, cause, request, since_s=since_s)
            for event in events
        ]

    def submit(self, jobs: list[Job]) -> None:
        """The jobs are in the inbox, a large number of them as one request; or their futures have failed."""
        futures = [job.future for job in jobs if job.future is not None]
        items: list[Item] = list(jobs) if len(jobs) <= _ONE_BY_ONE_MAX else [Request(lambda _: jobs)]
        self._offer(items, futures)

    def expand_all(
        self,
        make: Callable[[ClusterView], Mapping[K, Job]],
        leave_out: tuple[type[Exception], ...] = (),
        timeout_ms: int | None = None,
    ) -> ReplyFuture[dict[K, Any]]:
        """A request that becomes jobs where the state can be seen. Its future is done when all of them are: with what
        each was answered, value or error, but for errors of the kinds to leave out. NotController is the answer to the
        whole. `timeout_ms` is for the expansion; from then on the jobs have their own."""
        whole, since_s = self.future(timeout_ms), self._since_s()

        def expanded(view: ClusterView) -> Iterable[Job]:
            if whole.done():
                return ()
            whole.deadline_ms = None
            try:
                jobs = make(view)
            except Exception as error:  # noqa: BLE001 - a defect of ours: whoever asked gets it, the controller goes on
                self.complete(whole, ApiError(f"the controller failed: {error!r}"))
                return ()
            answers: dict[K, Any] = {}
            waiting = set(jobs)

            def one_done(key: K, future: ReplyFuture[Any]) -> None:
                error = future.exception()
                if not isinstance(error, leave_out):
                    answers[key] = future.result() if error is None else error
                waiting.discard(key)
                if not waiting:
                    self.complete(whole, answers)

            if not jobs:
                self.complete(whole, {})
            self.track(job.future for job in jobs.values() if job.future is not None)
            for key, job in jobs.items():
                assert job.future is not None
                job.since_s = since_s
                job.future.add_done_callback(partial(one_done, key))
            return jobs.values()

        self._offer([Request(expanded)], [whole])
        return whole

    def query(self, ask: Callable[[ClusterView], object], timeout_ms: int | None = None) -> ReplyFuture[Any]:
        """What `ask` makes of the committed state."""
        future = self.future(timeout_ms)
        self._offer([Query(ask, future, future.deadline_ms)], [future])
        return future

    def query_each(
        self, keys: Iterable[K], ask: Callable[[ClusterView, K], object], timeout_ms: int
    ) -> dict[K, ReplyFuture[Any]]:
        """A future for each key, all answered from one view. `ask` returns an answer or an error."""
        futures = {key: self.future(timeout_ms) for key in keys}

        def answer(view: ClusterView) -> None:
            for key, future in futures.items():
                self.complete(future, ask(view, key))

        self.track(futures.values())
        whole = self.query(answer, timeout_ms)
        whole.add_done_callback(lambda _: self._fail_rest(whole, futures.values()))
        return futures

    def _fail_rest(self, whole: ReplyFuture[Any], futures: Iterable[ReplyFuture[Any]]) -> None:
        error = whole.exception()
        if error is not None:
            for future in futures:
                self.complete(future, error)

    def complete(self, future: ReplyFuture[Any], outcome: object) -> None:
        self._services.outstanding.complete(future, outcome)

    def track(self, futures: Iterable[ReplyFuture[Any]]) -> None:
        """The futures fail if this controller is demoted."""
        self._services.outstanding.add(futures)

    def _offer(self, items: list[Item], futures: list[ReplyFuture[Any]]) -> None:
        loop = self._loop
        self.track(futures)
        was_active = loop.is_active
        if was_active and not self._services.inbox.offer(*items):
            self._fail(futures, lambda: Overloaded("the inbox is full, try again later"))
        if not was_active or not loop.is_active:  # demoted just now: nobody may look into the inbox any more
            self._fail(futures, loop.not_controller)

    def _fail(self, futures: list[ReplyFuture[Any]], error: Callable[[], ApiError]) -> None:
        for future in futures:
            self.complete(future, error())


_ONE_BY_ONE_MAX: Final = 16  # jobs of one call that stand in the inbox by themselves
