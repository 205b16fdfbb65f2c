"""Removals of throttles beside what else goes on: none is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ReassignPartitionsOptions,
    Settings,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
)
from kedge.controller.codec import keys
from kedge.controller.model.errors import InvalidTopic, StorageError
from tests.runtime.test_conflicts import Meddling, meddled
from tests.runtime.throttled import (
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    RATE,
    T,
    alter_rates,
    both,
    broker_config,
    cluster_with,
    marked,
    nothing_left,
    reassign,
    set_by_hand,
    topic_config,
    until,
)
from tests.runtime.world import Cluster

U = TopicPartition("u", 0)


def removing() -> tuple[Cluster, Meddling]:
    """A removal that waits for the settings of topic t, which another client keeps writing."""
    cluster, store = meddled(keys.topic_config("t"), 0, settings=Settings(commit_decisions_max=1))
    lists = cluster.controller.admin.alter_interbroker_throttled_replicas({T: ThrottledReplicas([1], [2])})
    assert cluster.error(lists[T]) is None
    assert set(alter_rates(cluster, dict.fromkeys(range(1, 7), 5_000)).values()) == {None}
    assert cluster.error(cluster.move([4, 5, 6], "u")) is None
    store.times = 3
    return cluster, store


def test_a_move_that_begins_and_ends_while_throttles_are_removed_loses_none_of_the_removal() -> None:
    """What it held up is given back once it has ended."""
    cluster, store = removing()
    cluster.move(None, "u")
    while store.times:
        cluster.controller.poll_once()
    again = cluster.move([4, 5, 6], "u")
    while not again.done():
        cluster.controller.poll_once()
    assert cluster.error(cluster.move(None, "u")) is None
    assert topic_config(cluster) == {LEADER_LIST: "0:1", FOLLOWER_LIST: "0:2"}
    assert marked(cluster)[0] == ["t"]
    cluster.wait(2_000)
    nothing_left(cluster)


def test_nothing_is_removed_before_the_end_of_a_request_during_which_the_last_move_ended() -> None:
    """The rates that it has set already stay beside the one that it waits to set, because another client keeps writing
    the key; then all go."""
    small = {"options": {"commit_ops_max": 10}, "settings": Settings(commit_decisions_max=1)}
    cluster, store = meddled(keys.broker_config("6"), 0, **small)
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    store.times = 3
    lists = topic_config(cluster)
    assert lists.keys() == {LEADER_LIST, FOLLOWER_LIST}
    rates = {broker: ThrottledRate(5_000, 5_000) for broker in range(1, 7)}
    asked = cluster.controller.admin.alter_interbroker_throttled_rates(rates)
    until(cluster, lambda: broker_config(cluster, 1) == both(5_000))
    ended = cluster.move(None)
    until(cluster, ended.done)
    assert broker_config(cluster, 6) == both(RATE)

    def is_answered() -> bool:
        is_done = all(future.done() for future in asked.values())
        assert is_done or topic_config(cluster) == lists
        assert is_done or broker_config(cluster, 1) == both(5_000)
        return is_done

    until(cluster, is_answered)
    assert store.times == 0
    cluster.wait(2_000)
    nothing_left(cluster)


def test_topic_deleted_during_a_request_ends_no_other_move() -> None:
    """Its move has an error; what was marked of it goes."""
    cluster, store = meddled(keys.topic_config("t"), 3, options={"commit_ops_max": 10})
    options = ReassignPartitionsOptions(throttle=5_000)
    asked = cluster.controller.admin.reassign_partitions({T: [4, 5, 6], U: [4, 5, 6]}, options)
    deleted = cluster.controller.admin.delete_topics(["u"]).all()
    cluster.wait(3_000)
    assert store.times == 0
    assert deleted.result(0) == {"u": None}
    assert asked[T].exception(0) is None
    assert isinstance(asked[U].exception(0), InvalidTopic)
    assert not cluster.has(keys.topic("u"))
    assert marked(cluster)[0] == ["t"]
    assert cluster.state()["targetReplicas"] == [4, 5, 6]
    assert cluster.error(cluster.move(None)) is None
    cluster.wait(1_000)
    nothing_left(cluster)


def test_settings_broken_during_a_request_are_not_written_over() -> None:
    """The request is given up, and nothing moves; what it marked goes once they can be read."""
    cluster = cluster_with(options={"commit_ops_max": 10}, settings=Settings(commit_decisions_max=1))
    asked = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, ReassignPartitionsOptions(throttle=5_000))
    until(cluster, lambda: marked(cluster)[0] == ["t"])
    assert topic_config(cluster) == {}
    cluster.put(keys.topic_config("t"), b'{"version":')
    cluster.wait(1_000)
    error = asked[T].exception(0)
    assert isinstance(error, StorageError)
    assert "the configs of topics t cannot be read" in error.message
    assert cluster.keys()[keys.topic_config("t")] == b'{"version":'
    assert "targetReplicas" not in cluster.state()
    assert marked(cluster)[0] == ["t"]
    cluster.put(keys.topic_config("t"), {"version": 1, "config": {}})
    cluster.wait(1_000)
    nothing_left(cluster)


def begun(rates_of_1: str | None = None) -> tuple[Cluster, dict[TopicPartition, Any]]:
    """A throttled move, step by step, up to the rate of broker 1."""
    cluster = cluster_with(options={"commit_ops_max": 10}, settings=Settings(commit_decisions_max=1))
    if rates_of_1 is not None:
        set_by_hand(cluster, keys.broker_config("1"), leader_replication_throttled_rate=rates_of_1)
    options = ReassignPartitionsOptions(throttle=5_000)
    asked = cluster.controller.admin.reassign_partitions({T: [4, 5, 6]}, options)
    until(cluster, lambda: broker_config(cluster, 1) == both(5_000))
    assert not asked[T].done()
    return cluster, dict(asked)


def set_rate(cluster: Cluster, value: str) -> Any:
    """An operator sets a rate of broker 1 by the API."""
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    return cluster.controller.admin.incremental_alter_configs({broker: [AlterConfigOp(LEADER_RATE, value)]}).all()


@pytest.mark.parametrize("before", [None, "777"])
def test_what_an_operator_sets_over_a_throttle_before_its_moves_begin_is_kept_and_the_request_goes_on(
    before: str | None,
) -> None:
    cluster, asked = begun(before)
    altered = set_rate(cluster, "123456")
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


@pytest.mark.parametrize("back", ["777", "5"], ids=["the earlier value", "another value"])
def test_what_is_put_back_over_a_throttle_before_its_moves_begin_is_the_operators(back: str) -> None:
    """As after the moves began: the mark says that the throttle was set."""
    cluster, asked = begun("777")
    altered = set_rate(cluster, back)
    cluster.wait(1_000)
    assert altered.exception(0) is None
    assert asked[T].result(0) is None
    assert cluster.state()["targetReplicas"] == [4, 5, 6]
    assert broker_config(cluster, 1) == {LEADER_RATE: back, FOLLOWER_RATE: "5000"}
    assert cluster.error(cluster.move(None)) is None
    cluster.wait(1_000)
    assert broker_config(cluster, 1) == {LEADER_RATE: back}
    assert marked(cluster) == (None, None)
