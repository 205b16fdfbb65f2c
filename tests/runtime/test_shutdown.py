"""Controlled shutdown through the host's API: answered when all is decided, by the controller that was asked, or not at
all."""

from __future__ import annotations

from itertools import pairwise

from kedge import (
    BrokerRegistration,
    IneligibleReplica,
    LeaderAndIsrRequest,
    NotController,
    RequestTimedOut,
    Settings,
    StaleBrokerEpoch,
    TopicPartition,
    UpdateMetadataRequest,
)
from tests.runtime.world import Cluster, cluster_of_three


def test_leaders_go_and_the_answer_names_what_is_still_led() -> None:
    """Others lead what they can, and an only replica keeps its partition."""
    cluster = cluster_of_three()
    cluster.create("alone", (1,))
    answer = cluster.done(cluster.controller.controlled_shutdown(1, cluster.epoch(1)))
    assert answer == (TopicPartition("alone", 0),)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2, 3])
    told = cluster.host.to(2, LeaderAndIsrRequest)[-1].partitions[0]
    assert (told.leader, told.isr) == (2, (2, 3))


def test_many_partitions_are_given_away_in_many_commits_before_the_answer() -> None:
    """Requests of others come in between; the answer comes last."""
    cluster = Cluster(settings=Settings(commit_decisions_max=10))
    cluster.join(1, 2, 3)
    cluster.create("m", *[(1, 2, 3)] * 100)
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1))
    left = [100]
    while not future.done():
        cluster.controller.poll_once()
        left.append(sum(cluster.state("m", p)["leader"] == 1 for p in range(100)))
    assert max(before - after for before, after in pairwise(left)) == 10
    assert future.result() == ()
    assert {cluster.state("m", p)["leader"] for p in range(100)} == {2}


def test_a_partition_that_waits_for_its_key_is_waited_for() -> None:
    """Another client keeps writing the state key: the answer comes after the partition was decided."""
    cluster = cluster_of_three()
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1))
    for _ in range(6):
        cluster.put("/brokers/topics/t/partitions/0/state", cluster.state())
        cluster.controller.poll_once()
    cluster.wait(2_000)
    assert future.result(0) == ()
    assert cluster.state()["leader"] == 2


def test_a_deadline_ends_the_wait_and_not_the_shutdown() -> None:
    cluster = cluster_of_three()
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1), timeout_s=0.0)
    assert isinstance(cluster.error(future), RequestTimedOut)
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1), timeout_s=0.001)
    cluster.controller.poll_once()
    cluster.clock.advance(5)
    assert isinstance(cluster.error(future), RequestTimedOut)
    assert cluster.state()["leader"] == 2


def test_a_broker_that_goes_meanwhile_is_answered_77() -> None:
    cluster = Cluster(settings=Settings(commit_decisions_max=1))
    cluster.join(1, 2, 3)
    cluster.create("m", *[(1, 2, 3)] * 5)
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1))
    cluster.leave(1, run=False)
    assert isinstance(cluster.error(future), StaleBrokerEpoch)
    assert {cluster.state("m", p)["leader"] for p in range(5)} == {2}


def test_a_takeover_forgets_the_mark_and_the_broker_asks_again() -> None:
    """The pending answer is NOT_CONTROLLER; the next controller gives away what is left."""
    cluster = Cluster(settings=Settings(commit_decisions_max=2))
    cluster.join(1, 2, 3)
    cluster.create("m", *[(1, 2, 3)] * 10)
    future = cluster.controller.controlled_shutdown(1, cluster.epoch(1))
    for _ in range(3):
        cluster.controller.poll_once()
    cluster.controllers.pop().close()
    assert isinstance(future.exception(0), NotController)
    again = cluster.another(2)
    cluster.run()
    assert 1 in {cluster.state("m", p)["leader"] for p in range(10)}
    assert cluster.done(again.controlled_shutdown(1, cluster.epoch(1))) == ()
    assert {cluster.state("m", p)["leader"] for p in range(10)} == {2}


def test_a_broker_that_shuts_down_is_no_offline_replica() -> None:
    """It serves until it goes: metadata says so."""
    cluster = cluster_of_three()
    cluster.done(cluster.controller.controlled_shutdown(1, cluster.epoch(1)))
    told = [p for r in cluster.host.to(5, UpdateMetadataRequest) for p in r.partitions if p.topic == "t"]
    assert (told[-1].leader, told[-1].offline_replicas) == (2, ())


def test_broker_described_again_under_its_epoch_still_shuts_down() -> None:
    cluster = Cluster()
    for broker_id in (1, 2, 3):
        cluster.controller.register_broker(BrokerRegistration(broker_id))
    cluster.run()
    cluster.create()
    epoch = cluster.epoch(1)
    assert cluster.done(cluster.controller.controlled_shutdown(1, epoch)) == ()
    assert cluster.controller.register_broker(BrokerRegistration(1, host="elsewhere")) == epoch
    cluster.run()
    assert isinstance(cluster.error(cluster.isr([2, 3, 1])), IneligibleReplica)
    cluster.controller.unregister_broker(1, epoch)
    cluster.run()
    assert cluster.controller.register_broker(BrokerRegistration(1)) > epoch
    cluster.run()
    assert cluster.error(cluster.isr([2, 3, 1])) is None
