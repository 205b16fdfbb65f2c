"""Throttles by themselves (KIP-179): rates of brokers, lists of replicas, and what was there before."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ReassignPartitionsOptions,
    Settings,
    ThrottledReplicas,
    TopicPartition,
)
from kedge.controller.codec import keys
from kedge.controller.model.throttle_configs import RATES
from tests.runtime.throttled import (
    FOLLOWER_LIST,
    LEADER_LIST,
    LEADER_RATE,
    RATE,
    T,
    alter_rates,
    both,
    broker_config,
    cluster_with,
    complete,
    ended,
    marked,
    nothing_left,
    reassign,
    set_by_hand,
    small,
    topic_config,
    until,
)
from tests.runtime.world import Cluster


def replicas(cluster: Cluster, wanted: dict[TopicPartition, ThrottledReplicas], **options: Any) -> dict[Any, Any]:
    results = cluster.controller.admin.alter_interbroker_throttled_replicas(wanted, **options)
    return {tp: cluster.error(future) for tp, future in results.items()}


# --- rates


@pytest.mark.checklist(231)
def test_the_rates_of_reassignment_are_another_family() -> None:
    """KIP-542's: both go when they are removed."""
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    assert alter_rates(cluster, {1: 5_000}, family="reassignment") == {1: None}
    assert broker_config(cluster, 1) == both(RATE) | dict.fromkeys(RATES["reassignment"], "5000")
    assert marked(cluster)[1] == [1]
    ended(cluster)


@pytest.mark.checklist(45, 47)
def test_what_is_asked_for_replaces_what_was() -> None:
    """A broker that is not named any more loses its rates; the mark names just those of the request."""
    cluster = small()
    assert alter_rates(cluster, {1: 5_000, 2: 5_000}) == {1: None, 2: None}
    assert marked(cluster) == (None, [1, 2])
    assert alter_rates(cluster, {2: 6_000, 3: 7_000}) == {2: None, 3: None}
    assert [broker_config(cluster, b) for b in (1, 2, 3)] == [{}, both(6_000), both(7_000)]
    assert marked(cluster) == (None, [2, 3])
    assert alter_rates(cluster, {}) == {}
    nothing_left(cluster)


@pytest.mark.checklist(46)
def test_a_rate_is_changed_while_a_move_runs_and_the_host_hears_of_it() -> None:
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    assert set(alter_rates(cluster, dict.fromkeys(range(1, 7), 99_000)).values()) == {None}
    assert [broker_config(cluster, b) for b in range(1, 7)] == [both(99_000)] * 6
    ended(cluster)


@pytest.mark.checklist(50, 55)
def test_a_throttle_that_is_to_stay_is_not_marked_any_more() -> None:
    """Who was marked and is asked for stays; who was marked and is not loses it."""
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    assert alter_rates(cluster, {2: 6_000}, auto_remove_throttle=False) == {2: None}
    assert replicas(cluster, {T: ThrottledReplicas([1], [4])}, auto_remove_throttle=False) == {T: None}
    assert 2 not in (marked(cluster)[1] or [])
    complete(cluster)
    cluster.wait(2_000)
    assert marked(cluster) == (None, None)
    assert [broker_config(cluster, b) for b in range(1, 7)] == [both(6_000) if b == 2 else {} for b in range(1, 7)]
    assert topic_config(cluster) == {LEADER_LIST: "0:1", FOLLOWER_LIST: "0:4"}


def test_throttle_without_a_move_is_logged_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Ten seconds later, since commands set rates before they move; it goes with the next move."""
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    cluster.wait(9_000)
    assert "while no move runs" not in caplog.text
    cluster.wait(1_000)
    assert "throttles of brokers 1 are set while no move runs" in caplog.text
    assert broker_config(cluster, 1) == both(5_000)
    caplog.clear()
    cluster.done(cluster.move([4, 5, 6]))
    cluster.wait(20_000)
    ended(cluster)
    assert "while no move runs" not in caplog.text


def test_a_rate_below_a_kilobyte_works_and_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    cluster = small()
    assert alter_rates(cluster, {1: 100}) == {1: None}
    assert broker_config(cluster, 1) == both(100)
    assert "100 bytes per second" in caplog.text


# --- replicas


@pytest.mark.checklist(51, 53)
def test_lists_are_set_by_side_and_replace_what_was() -> None:
    """Also the former elements of a topic that is named again; a topic that is not loses its lists."""
    cluster = small()
    u = [TopicPartition("u", n) for n in range(2)]
    wanted = {T: ThrottledReplicas([1], [2, 3]), u[0]: ThrottledReplicas([1], []), u[1]: ThrottledReplicas([], [3])}
    assert set(replicas(cluster, wanted).values()) == {None}
    assert topic_config(cluster, "t") == {LEADER_LIST: "0:1", FOLLOWER_LIST: "0:2,0:3"}
    assert topic_config(cluster, "u") == {LEADER_LIST: "0:1", FOLLOWER_LIST: "1:3"}
    assert marked(cluster) == (["t", "u"], None)
    assert replicas(cluster, {u[0]: ThrottledReplicas([2], [])}) == {u[0]: None}
    assert topic_config(cluster, "t") == {}
    assert topic_config(cluster, "u") == {LEADER_LIST: "0:2"}
    assert marked(cluster) == (["u"], None)


# --- what an operator had, and what the operator does meanwhile


@pytest.mark.checklist(58)
def test_what_an_operator_had_set_is_given_back_and_what_is_not_listed_is_not_touched() -> None:
    cluster = small()
    set_by_hand(cluster, keys.broker_config("1"), leader_replication_throttled_rate="777")
    set_by_hand(cluster, keys.topic_config("t"), leader_replication_throttled_replicas="0:3, 5:5", retention_ms="9")
    set_by_hand(cluster, keys.topic_config("u"), follower_replication_throttled_replicas="*")
    for step in range(2):  # the second time over what the first one set
        assert reassign(cluster, {T: [4, 5]}) == {T: None}, step
        assert alter_rates(cluster, {1: 5_000, 4: 5_000}) == {1: None, 4: None}
        assert broker_config(cluster, 1) == both(5_000)
        assert topic_config(cluster)[LEADER_LIST] == "0:3,5:5,0:1,0:2"
        assert cluster.error(cluster.move(None)) is None
        cluster.wait(2_000)
    assert broker_config(cluster, 1) == {LEADER_RATE: "777"}
    assert topic_config(cluster) == {LEADER_LIST: "0:3, 5:5", "retention.ms": "9"}
    assert topic_config(cluster, "u") == {FOLLOWER_LIST: "*"}
    assert marked(cluster) == (None, None)


def test_what_an_operator_sets_after_it_was_marked_and_before_it_is_set_comes_back() -> None:
    cluster = small()
    set_by_hand(cluster, keys.broker_config("6"), leader_replication_throttled_rate="666")
    asked = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, ReassignPartitionsOptions(throttle=RATE))
    until(cluster, lambda: marked(cluster)[1] is not None)
    assert broker_config(cluster, 6) == {LEADER_RATE: "666"}
    cluster.put(keys.broker_config("6"), {"version": 1, "config": {LEADER_RATE: "777"}})
    assert cluster.error(asked[T]) is None
    assert broker_config(cluster, 6) == both(RATE)
    complete(cluster)
    cluster.wait(2_000)
    assert broker_config(cluster, 6) == {LEADER_RATE: "777"}


# --- topics that go


@pytest.mark.checklist(58)
def test_a_topic_that_comes_under_the_name_of_a_marked_one_keeps_the_lists_that_it_is_made_with() -> None:
    """The mark goes with the old topic, before the name is free."""
    cluster = small()
    assert replicas(cluster, {T: ThrottledReplicas([1], [2])}) == {T: None}
    cluster.done(cluster.controller.admin.delete_topics(["t"]).all())
    assert not cluster.has(keys.topic("t"))
    nothing_left(cluster)
    lists = {LEADER_LIST: "0:1", FOLLOWER_LIST: "0:2,0:3"}
    cluster.create("t", (1, 2, 3), **lists)
    u = TopicPartition("u", 0)
    assert reassign(cluster, {u: [4, 5]}) == {u: None}
    cluster.isr([1, 2, 4, 5], "u")
    cluster.wait(2_000)
    assert topic_config(cluster) == lists
    assert marked(cluster) == (None, None)


@pytest.mark.parametrize("before", [None, "777"])
def test_operators_rate_over_a_throttle_is_kept(before: str | None) -> None:
    """It is set before the moves begin, and they begin all the same."""
    cluster = cluster_with(options={"commit_ops_max": 10}, settings=Settings(commit_decisions_max=1))
    if before is not None:
        set_by_hand(cluster, keys.broker_config("1"), leader_replication_throttled_rate=before)
    asked = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, ReassignPartitionsOptions(throttle=5_000))
    until(cluster, lambda: broker_config(cluster, 1) == both(5_000))
    assert not asked[T].done()
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    altered = cluster.controller.admin.incremental_alter_configs({broker: [AlterConfigOp(LEADER_RATE, "123456")]}).all()
    cluster.wait(1_000)
    assert altered.exception(0) is None
    assert asked[T].result(0) is None
    assert cluster.state()["targetReplicas"] == [4, 5, 6]
    assert broker_config(cluster, 1)[LEADER_RATE] == "123456"
    assert cluster.error(cluster.move(None)) is None
    cluster.wait(1_000)
    assert broker_config(cluster, 1) == {LEADER_RATE: "123456"}
    assert broker_config(cluster, 4) == {}
    assert marked(cluster) == (None, None)
