"""`alter_isr`: how many a second from 8 threads, each with many under way; and what one costs with 1,000 and with
1,000,000 partitions in the cluster."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from itertools import islice
from time import perf_counter

from benchmarks.cluster import QuietHost, named, register
from benchmarks.conditions import Conditions
from benchmarks.figures import figure, percentile, rate
from benchmarks.place import Place, place
from kedge import AcceptedIsr

THREADS, PER_THREAD, UNDER_WAY, BROKERS = 8, 5_000, 200, 10
SMALL, LARGE, PARTITIONS = 100, 100_000, 10  # topics, and partitions per topic
CHANGED = 1_000  # partitions that one thread reports for, or that change one by one
ONE_BY_ONE = 2_000
TIMEOUT_S = 60.0


def run(where: Place) -> None:
    from_threads(where.conditions)
    for topics in (SMALL, LARGE):
        one_by_one(where.conditions, topics)


class Leaders:
    """Leaders of some partitions, which report that followers fall behind and catch up."""

    def __init__(self, where: Place, topics: int, partitions: int) -> None:
        where.fill(topics, PARTITIONS, BROKERS)
        store = where.open()
        self.driven = where.driven(store, QuietHost())
        self._controller = self.driven.controller
        self._epochs = register(self._controller, named(store))
        self.driven.settle()
        self._rows = self.driven.answer(
            self._controller.query(
                lambda view: [(p.tp, p.replicas, p.leader_epoch) for p in islice(view.partitions(), partitions)]
            )
        )

    def alter(self, number: int, *, round_: int) -> Future[AcceptedIsr]:
        """The last follower leaves in even rounds and returns in odd ones; each round writes the key once."""
        tp, replicas, leader_epoch = self._rows[number]
        isr = replicas[:2] if round_ % 2 == 0 else replicas
        return self._controller.alter_isr(tp, replicas[0], leader_epoch, round_, isr, self._epochs[replicas[0]])


def from_threads(conditions: Conditions) -> None:
    """Each thread reports for an eighth of the partitions."""
    with place("memory", None, conditions) as where:
        leaders = Leaders(where, THREADS * CHANGED // PARTITIONS, THREADS * CHANGED)
        threads = [threading.Thread(target=_churn, args=(leaders, share)) for share in range(THREADS)]
        began = perf_counter()
        for thread in threads:
            thread.start()
        leaders.driven.until(lambda: not any(thread.is_alive() for thread in threads))
        rate("alter_isr, 8 threads", THREADS * PER_THREAD, perf_counter() - began)


def _churn(leaders: Leaders, share: int) -> None:
    waiting: deque[tuple[int, int, Future[AcceptedIsr]]] = deque()
    for i in range(PER_THREAD):
        if len(waiting) == UNDER_WAY:
            _settled(*waiting.popleft())
        number, round_ = share * CHANGED + i % CHANGED, i // CHANGED
        waiting.append((number, round_, leaders.alter(number, round_=round_)))
    while waiting:
        _settled(*waiting.popleft())


def _settled(number: int, round_: int, future: Future[AcceptedIsr]) -> None:
    assert future.result(TIMEOUT_S).partition_epoch == round_ + 1, number


def one_by_one(conditions: Conditions, topics: int) -> None:
    """Each change is committed before the next is asked for."""
    with place("memory", None, conditions) as where:
        leaders = Leaders(where, topics, CHANGED)
        seconds = []
        for i in range(ONE_BY_ONE):
            began = perf_counter()
            future = leaders.alter(i % CHANGED, round_=i // CHANGED)
            leaders.driven.answer(future)
            seconds.append(perf_counter() - began)
            _settled(i, i // CHANGED, future)
    figure(f"one ISR change, {topics * PARTITIONS} partitions, p50", ONE_BY_ONE, percentile(seconds, 0.5))
