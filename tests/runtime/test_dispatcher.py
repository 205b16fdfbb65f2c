"""Sends are level-triggered: per broker what is dirty, built from what is committed when it goes out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from kedge import HostResponse, LeaderAndIsrRequest, NewTopic, StopReplicaRequest, TopicPartition, UpdateMetadataRequest
from tests.runtime.world import Cluster, cluster_of_three, failing


class HandExecutor:
    """Calls wait until a test runs them; how many of a broker wait is counted."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Callable[[], None]]] = []
        self.most: dict[int, int] = {}

    def submit(self, broker: int, call: Callable[[], None]) -> None:
        self.calls.append((broker, call))
        waiting = sum(1 for other, _ in self.calls if other == broker)
        self.most[broker] = max(waiting, self.most.get(broker, 0))

    def close(self, timeout_s: float) -> None:
        """Nothing to end."""

    def work(self, *brokers: int) -> None:
        """Let the calls of these brokers return."""
        due = [(b, c) for b, c in self.calls if not brokers or b in brokers]
        self.calls = [(b, c) for b, c in self.calls if brokers and b not in brokers]
        for _, call in due:
            call()


def settle(cluster: Cluster, executor: HandExecutor) -> None:
    cluster.run()
    while executor.calls:
        executor.work()
        cluster.run()


def with_hand() -> tuple[Cluster, HandExecutor]:
    executor = HandExecutor()
    cluster = Cluster(executor=executor)
    cluster.join(1, 2, 3, 4, 5, 6)
    cluster.create()
    settle(cluster, executor)
    cluster.host.told.clear()
    return cluster, executor


def test_one_round_is_leader_and_isr_then_metadata_then_stop_replica() -> None:
    cluster = cluster_of_three()
    cluster.done(cluster.move([1, 2, 4]))
    cluster.host.told.clear()
    cluster.done(cluster.isr([1, 2, 3, 4]))
    kinds = [type(r) for r in cluster.host.told if r.broker_id == 3]
    assert kinds == [UpdateMetadataRequest, StopReplicaRequest]
    kinds = [type(r) for r in cluster.host.told if r.broker_id == 4]
    assert kinds == [LeaderAndIsrRequest, UpdateMetadataRequest]


def test_registering_broker_gets_everything_it_holds() -> None:
    """`full`: what is not named stops serving. `is_new` where its log is not needed: it left the isr."""
    cluster = cluster_of_three()
    (first, *_) = cluster.host.to(4, LeaderAndIsrRequest)
    assert first.full
    assert first.partitions == ()
    cluster.leave(2)
    cluster.host.told.clear()
    cluster.join(2)
    told = cluster.host.to(2, LeaderAndIsrRequest)
    assert told[0].full
    assert [(p.topic, p.partition, p.leader, p.is_new) for p in told[0].partitions] == [("t", 0, 1, True)]
    assert [peer.broker_id for peer in told[0].live_leaders] == [1, 2, 3, 4, 5, 6]
    assert cluster.host.to(2, UpdateMetadataRequest)[0].full


def test_what_changes_while_a_call_is_under_way_goes_out_once_in_its_latest_state() -> None:
    """Superseding needs no code, memory is bounded, and no broker has two calls at a time."""
    cluster, executor = with_hand()
    cluster.done(cluster.move([4, 5, 6]))
    for target in ([5, 6, 4], [6, 5, 4], [4, 5]):
        cluster.done(cluster.move(target))
    settle(cluster, executor)
    told = [p.target_replicas for r in cluster.host.to(1, LeaderAndIsrRequest) for p in r.partitions]
    assert told == [(4, 5, 6), (4, 5)]
    assert set(executor.most.values()) == {1}


def test_a_deletion_that_did_not_arrive_does_not_take_the_place_of_a_later_one() -> None:
    """The replica returned while the broker had the order to delete it, and left: the later leader epoch counts."""
    cluster, executor = with_hand()
    cluster.host.answer = failing(3, StopReplicaRequest)
    for target in ([1, 2], [1, 2, 3], [1, 2]):
        cluster.done(cluster.move(target))
        if 3 in target:
            cluster.done(cluster.isr([1, 2, 3]))
        executor.work(1, 2)
        cluster.run()
    assert cluster.partition().replicas == (1, 2)
    executor.work(3)
    cluster.run()
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(1000, 500)
    settle(cluster, executor)
    refused, later = [[i.leader_epoch for i in r.partitions] for r in cluster.host.to(3, StopReplicaRequest)]
    assert len(refused) == 1
    assert later == [cluster.partition().leader_epoch]
    assert refused < later


def test_stuck_broker_holds_up_no_other_and_is_reported() -> None:
    """The next call to it waits until the first has returned, and the late answer counts."""
    cluster, executor = with_hand()
    cluster.done(cluster.move([4, 5, 6]))
    executor.work(2, 3, 4, 5, 6)
    cluster.wait(31_000, 1000)
    assert "callbacks of broker 1" in cluster.findings()
    cluster.done(cluster.move([5, 4, 6]))
    executor.work(2, 3, 4, 5, 6)
    assert [r.partitions[0].target_replicas for r in cluster.host.to(4, LeaderAndIsrRequest)] == [(4, 5, 6), (5, 4, 6)]
    assert cluster.host.to(1, LeaderAndIsrRequest) == []
    settle(cluster, executor)
    assert cluster.host.to(1, LeaderAndIsrRequest)[-1].partitions[0].target_replicas == (5, 4, 6)
    assert cluster.findings() == {}


def test_a_stuck_call_of_a_broker_that_left_is_forgotten_when_it_returns() -> None:
    cluster, executor = with_hand()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.leave(1)
    cluster.wait(31_000, 1000)
    assert "callbacks of broker 1" in cluster.findings()
    settle(cluster, executor)
    cluster.wait(1000, 500)
    assert cluster.findings() == {}


def test_a_send_that_failed_is_repeated_after_100_ms_doubling_to_10_s() -> None:
    """It stays dirty; no other is touched; a wall clock that is set back changes nothing."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(4)
    cluster.clock.wall_ms -= 3_600_000
    cluster.done(cluster.move([4, 5, 6]))
    cluster.host.told.clear()
    tries = []
    for _ in range(0, 40_000, 50):
        before = len(cluster.host.told)
        cluster.wait(50)
        if len(cluster.host.told) > before:
            tries.append(cluster.clock.elapsed_ms)
    gaps = [b - a for a, b in pairwise(tries)]
    assert gaps[:6] == [200, 400, 800, 1600, 3200, 6400]
    assert set(gaps[6:]) == {10_000}
    assert {r.broker_id for r in cluster.host.told} == {4}
    assert "no such luck" in cluster.findings()["callbacks of broker 4"]
    cluster.done(cluster.move([5, 6, 4]))
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(10_000, 500)
    assert cluster.host.to(4, LeaderAndIsrRequest)[-1].partitions[0].target_replicas == (5, 6, 4)
    assert cluster.findings() == {}


def test_back_off_restarts_when_the_broker_registers() -> None:
    """A broker that was restarted is not kept waiting for what its former self did."""
    cluster = cluster_of_three()
    cluster.host.answer = failing(4)
    cluster.done(cluster.move([4, 5, 6]))
    cluster.wait(6_000, 100)
    cluster.leave(4)
    cluster.host.answer = lambda _: HostResponse()
    cluster.join(4)
    assert cluster.host.to(4, LeaderAndIsrRequest)[-1].full


@pytest.mark.slow
def test_broker_far_behind_gets_all_metadata_instead_of_a_log() -> None:
    """Memory for it is bounded by the size of the cluster."""
    cluster, executor = with_hand()
    tps = [TopicPartition("m", p) for p in range(300)]
    cluster.create("m", *[(1, 2, 3)] * 300)
    for i in range(9):
        targets = dict.fromkeys(tps, [4, 5, 6] if i % 2 else [5, 4, 6])
        cluster.done(cluster.controller.admin.alter_partition_reassignments(targets).all())
        executor.work(1, 2, 3, 5, 6)
    settle(cluster, executor)
    told = cluster.host.to(4, UpdateMetadataRequest)
    assert told[-1].full
    assert {p.leader_epoch for p in told[-1].partitions if p.topic == "m"} == {9}


def test_interrupt_in_a_callback_reaches_the_caller_and_the_request_is_repeated() -> None:
    """A KeyboardInterrupt is not the host's error; the round counts as not delivered."""
    cluster = cluster_of_three()

    def interrupted(_: object) -> HostResponse:
        raise KeyboardInterrupt

    cluster.host.answer = interrupted
    future = cluster.move([4, 5, 6])
    with pytest.raises(KeyboardInterrupt):
        cluster.run()
    assert future.done()
    cluster.host.answer = lambda _: HostResponse()
    cluster.wait(1000)
    assert cluster.host.to(4, LeaderAndIsrRequest)[-1].partitions[0].target_replicas == (4, 5, 6)


def test_who_has_not_heard_of_a_new_partition_may_make_its_log_under_a_later_leader_epoch_too() -> None:
    """A request after the creation raises the epoch before it was sent; a broker that has answered knows its log."""
    cluster = Cluster()
    cluster.join(1, 2, 3, 4)
    new = {"n": NewTopic(replica_assignments=[(1, 2)])}
    cluster.controller.admin.create_topics(new)
    moved = cluster.controller.admin.alter_partition_reassignments({TopicPartition("n", 0): [1, 2, 3]})
    assert cluster.done(moved.all())
    told = {b: cluster.host.to(b, LeaderAndIsrRequest)[-1].partitions[-1] for b in (1, 2, 3)}
    assert {b: (said.leader_epoch, said.is_new) for b, said in told.items()} == dict.fromkeys(told, (1, True))
    cluster.done(cluster.controller.admin.alter_partition_reassignments({TopicPartition("n", 0): [2, 1, 3]}).all())
    told = {b: cluster.host.to(b, LeaderAndIsrRequest)[-1].partitions[-1] for b in (1, 2, 3)}
    assert {b: (said.leader_epoch, said.is_new) for b, said in told.items()} == {
        1: (2, False),
        2: (2, False),
        3: (2, True),
    }
