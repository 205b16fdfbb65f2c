"""The results of a request about several things, and `ALL`."""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from ..runtime.replies import Reply

K = TypeVar("K")
V = TypeVar("V")


class All(enum.Enum):
    """The type of `ALL`."""

    ALL = "all"


ALL: Final = All.ALL
"""Everything, where an argument is a set. None is not a set and raises TypeError."""


class Results(Mapping[K, Future[V]]):
    """The results of a request about several things: each key -> its future, in the order of the request. A future is
    created at the first access to it."""

    def __init__(self, replies: Mapping[K, Reply[V]], whole: Reply[Any] | None = None) -> None:
        """`whole`: done when the request is, for a request that has an effect even without keys."""
        self.replies: Final = replies
        self._whole = whole
        self._futures: dict[K, Future[V]] = {}

    def __getitem__(self, key: K) -> Future[V]:
        found = self._futures.get(key)
        return self._futures.setdefault(key, self.replies[key].future()) if found is None else found

    def __contains__(self, key: object) -> bool:
        return key in self.replies

    def __iter__(self) -> Iterator[K]:
        return iter(self.replies)

    def __len__(self) -> int:
        return len(self.replies)

    def all(self) -> Future[dict[K, V]]:
        """Done when all futures are: with a dict of all values, or with the first error in the order of the request
        (CancelledError for a future that the caller cancelled)."""
        awaited: list[Reply[Any]] = [*self.replies.values(), *(() if self._whole is None else (self._whole,))]
        if not awaited:
            nothing: Future[dict[K, V]] = Future()
            nothing.set_result({})
            return nothing
        whole: Reply[dict[K, V]] = Reply(awaited[0].is_driver)
        lock, waiting = threading.Lock(), len(awaited)

        def one_done(_: Reply[Any]) -> None:
            nonlocal waiting
            with lock:
                waiting -= 1
                if waiting:
                    return
            error = next((reply.error for reply in awaited if reply.error is not None), None)
            values = {key: reply.outcome for key, reply in self.replies.items()}
            whole.settle(values if error is None else error)

        for reply in awaited:
            reply.add_done_callback(one_done)
        return whole.future()
