"""Metrics are asked for from any thread, while the controller works on others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from kedge import BrokerRegistration, Controller, HostResponse, LeaderAndIsrRequest, NewTopic, TopicPartition
from kedge.controller.metrics import HistogramValue, Snapshot, Value
from kedge.stores import MemoryServer, MemoryStore
from tests.metrics.test_gauges import OFFLINE, REASSIGNING, UNDER_REPLICATED
from tests.runtime.world import Brokers, cluster_of_three

MOVES, DEADLINE_S = 300, 60


class Joining(Brokers):
    """Leaders that report every target in sync at once."""

    controller: Controller

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        for told in request.partitions:
            missing = [b for b in told.target_replicas or () if b not in told.isr]
            if told.leader == request.broker_id and missing:
                tp, isr = TopicPartition(told.topic, told.partition), [*told.isr, *missing]
                epochs = (told.leader, told.leader_epoch, told.partition_epoch, isr, request.broker_epoch)
                self.controller.alter_isr(tp, *epochs)
        return HostResponse()


def counted(snapshot: Mapping[str, Value]) -> dict[str, int]:
    """How often each thing was observed."""
    return {key: value.count for key, value in snapshot.items() if isinstance(value, HistogramValue)}


@pytest.mark.slow
def test_threads_that_look_while_moves_run_see_numbers_that_fit() -> None:
    """What counts never goes back, a sum is that of its brokers, and no move is an alarm."""
    host = Joining()
    with Controller(MemoryStore(MemoryServer()), 1, host) as controller:
        host.controller = controller
        controller.start()
        for broker in range(1, 7):
            controller.register_broker(BrokerRegistration(broker))
        over = threading.Event()

        def look() -> int:
            looks, before = 0, dict[str, int]()
            while not over.is_set():
                now = controller.metrics()
                fits(now, before)
                before, looks = counted(now), looks + 1
            return looks

        with ThreadPoolExecutor(3) as pool:
            looking = [pool.submit(look) for _ in range(3)]
            try:
                moved(controller)
            finally:
                over.set()
            assert all(future.result(DEADLINE_S) > 1 for future in looking)
        assert controller.metrics()[REASSIGNING] == 0


def fits(now: Snapshot, before: Mapping[str, int]) -> None:
    found = counted(now)
    assert all(found[key] >= count for key, count in before.items())
    if REASSIGNING in now:
        by_broker = [value for key, value in now.items() if key.startswith(f"{REASSIGNING},")]
        assert sum(value for value in by_broker if isinstance(value, int)) == now[REASSIGNING]
        assert now[UNDER_REPLICATED] == 0


def moved(controller: Controller) -> None:
    """A topic that moves from the first three brokers to the others."""
    deadline_s = time.monotonic() + DEADLINE_S
    while len(controller.describe().live_brokers) < 6 or not controller.is_active:
        assert time.monotonic() < deadline_s
    new = NewTopic(replica_assignments=[(1, 2, 3)] * MOVES)
    controller.admin.create_topics({"t": new}).all().result(DEADLINE_S)
    while controller.metrics()[OFFLINE]:  # each gets its first leader
        assert time.monotonic() < deadline_s
    moves = {TopicPartition("t", number): [4, 5, 6] for number in range(MOVES)}
    controller.admin.alter_partition_reassignments(moves).all().result(DEADLINE_S)
    while controller.metrics()[REASSIGNING]:
        assert time.monotonic() < deadline_s


def test_answered_caller_sees_the_result() -> None:
    """At the moment of the answer: state and events are seen first."""
    cluster = cluster_of_three()
    seen: list[Snapshot] = []
    cluster.move([4, 5, 6]).add_done_callback(lambda _: seen.append(cluster.controller.metrics()))
    cluster.run()
    assert [now[REASSIGNING] for now in seen] == [1]
    assert "kafka.controller:type=ControllerEventManager,name=EventQueueTimeMs,event=AlterReassignment" in seen[0]


def test_a_callback_may_look_and_does_not_wait_for_its_own_loop() -> None:
    """In `poll_once` mode the callback runs on the thread that drives."""
    cluster = cluster_of_three()
    seen: list[Value] = []

    def answer(_: object) -> HostResponse:
        seen.append(cluster.controller.metrics()[REASSIGNING])
        return HostResponse()

    cluster.host.answer = answer
    cluster.done(cluster.move([4, 5, 6]))
    assert set(seen) == {1}


@pytest.mark.parametrize("is_closed", [False, True])
def test_it_answers_before_the_first_pass_and_after_the_end(is_closed: bool) -> None:
    controller = Controller(MemoryStore(MemoryServer()), 1, Brokers())
    if is_closed:
        controller.poll_once()
        controller.close()
    assert controller.metrics()["kafka.controller:type=KafkaController,name=ActiveControllerCount"] == 0
    controller.close()
