"""Answers to requests for many, and the word for everything."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class All(enum.Enum):
    """The type of `ALL`."""

    ALL = "all"


ALL: Final = All.ALL
"""Everything, where a set is asked for. None is no set: TypeError."""


class Results(Mapping[K, Future[V]]):
    """The answers to a request for many: what was asked for -> its future, in the order of the request."""

    def __init__(
        self,
        values: Mapping[K, Future[V]],
        make_future: Callable[[], Future[Any]] = Future,
        whole: Future[Any] | None = None,
    ) -> None:
        """`whole`: done when the request is, where naming nothing asks for something, too."""
        self._futures = values
        self._make_future = make_future
        self._whole = whole

    def __getitem__(self, key: K) -> Future[V]:
        return self._futures[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._futures)

    def __len__(self) -> int:
        return len(self._futures)

    def all(self) -> Future[dict[K, V]]:
        """Done when all are: with every value, or with the first error in the order of the request (CancelledError
        for a future that the caller cancelled)."""
        whole: Future[dict[K, V]] = self._make_future()
        awaited: list[Future[Any]] = [*self._futures.values(), *(() if self._whole is None else (self._whole,))]
        lock, waiting = threading.Lock(), len(awaited)
        if not waiting:
            whole.set_result({})

        def one_done(_: Future[Any]) -> None:
            nonlocal waiting
            with lock:
                waiting -= 1
                if waiting or not whole.set_running_or_notify_cancel():
                    return
            error = next((e for f in awaited if (e := _error_of(f)) is not None), None)
            if error is not None:
                whole.set_exception(error)
            else:
                whole.set_result({key: future.result() for key, future in self._futures.items()})

        for future in awaited:
            future.add_done_callback(one_done)
        return whole


def _error_of(future: Future[Any]) -> BaseException | None:
    return CancelledError() if future.cancelled() else future.exception()
