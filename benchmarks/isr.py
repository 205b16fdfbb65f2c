"""`alter_isr`: how many a second from 8 threads, each with many under way; and what one costs with 1,000 and with
1,000,000 partitions in the cluster."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from time import perf_counter, sleep

from benchmarks.cluster import QuietHost, ids, plant, register, replicas_of, settle
from benchmarks.figures import figure, percentile, rate
from controller import AcceptedIsr, Controller, TopicPartition
from stores import MemoryServer, MemoryStore

THREADS, PER_THREAD, UNDER_WAY, BROKERS = 8, 5_000, 200, 10
ONE_BY_ONE = 2_000
TIMEOUT_S = 60.0


def run() -> None:
    from_threads()
    for topics in (100, 100_000):
        one_by_one(topics, 10)


def from_threads() -> None:
    """Leaders whose followers fall behind and catch up; each thread speaks for a tenth of the partitions."""
    server = MemoryServer()
    plant(MemoryStore(server), 800, 10, BROKERS)
    controller = Controller(MemoryStore(server), 1, QuietHost())
    epochs = register(controller, ids(BROKERS))
    controller.start()
    while len(controller.describe().live_brokers) < BROKERS:
        sleep(0.01)
    threads = [threading.Thread(target=_churn, args=(controller, epochs, share)) for share in range(THREADS)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate("alter_isr, 8 threads", THREADS * PER_THREAD, perf_counter() - began)
    controller.close()


def _churn(controller: Controller, epochs: dict[int, int], share: int) -> None:
    waiting: deque[tuple[int, int, Future[AcceptedIsr]]] = deque()
    for i in range(PER_THREAD):
        if len(waiting) == UNDER_WAY:
            _settled(*waiting.popleft())
        number = share * 1_000 + i % 1_000
        waiting.append((number, i // 1_000, _alter(controller, epochs, number, round_=i // 1_000)))
    while waiting:
        _settled(*waiting.popleft())


def _alter(controller: Controller, epochs: dict[int, int], number: int, *, round_: int) -> Future[AcceptedIsr]:
    """The last follower leaves in even rounds and returns in odd ones; each round writes the key once."""
    replicas = list(replicas_of(number, BROKERS, 3))
    isr = replicas[:2] if round_ % 2 == 0 else replicas
    tp = TopicPartition(f"topic-{number // 10:06d}", number % 10)
    return controller.alter_isr(tp, replicas[0], 0, round_, isr, epochs[replicas[0]])


def _settled(number: int, round_: int, future: Future[AcceptedIsr]) -> None:
    assert future.result(TIMEOUT_S).partition_epoch == round_ + 1, number


def one_by_one(topics: int, partitions: int) -> None:
    """Each change is committed before the next is asked for."""
    server = MemoryServer()
    plant(MemoryStore(server), topics, partitions, BROKERS)
    controller = Controller(MemoryStore(server), 1, QuietHost())
    epochs = register(controller, ids(BROKERS))
    settle(controller)
    seconds = []
    for i in range(ONE_BY_ONE):
        began = perf_counter()
        future = _alter(controller, epochs, i % 1_000, round_=i // 1_000)
        settle(controller)
        seconds.append(perf_counter() - began)
        _settled(i, i // 1_000, future)
    figure(f"one ISR change, {topics * partitions} partitions, p50", ONE_BY_ONE, percentile(seconds, 0.5))
    controller.close()
