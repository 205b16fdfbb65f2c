"""Throttles by themselves (KIP-179): rates of brokers, lists of replicas, and what was there before."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import (
    InvalidThrottle,
    ReassignPartitionsOptions,
    StorageError,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
    UnknownMemberId,
    UnknownTopicOrPartition,
)
from kedge.controller.codec import keys
from kedge.controller.model.throttle_configs import RATES
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
    complete,
    ended,
    marked,
    nobody,
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


@pytest.mark.checklist(44)
def test_the_rates_of_the_two_sides_may_differ() -> None:
    cluster = small()
    asked = cluster.controller.admin.alter_interbroker_throttled_rates({1: ThrottledRate(5_000, 7_000)})
    assert cluster.done(asked.all()) == {1: None}
    assert broker_config(cluster, 1) == {LEADER_RATE: "5000", FOLLOWER_RATE: "7000"}


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


@pytest.mark.checklist(48)
def test_bad_rates_have_errors_and_the_good_ones_are_set() -> None:
    """A broker that is named wrongly stays as it is, marked and all."""
    cluster = small()
    assert alter_rates(cluster, {1: 5_000, 2: 5_000}) == {1: None, 2: None}
    answers = alter_rates(cluster, {1: 0, 3: 5_000, 99: 5_000})
    assert answers.pop(3) is None
    assert {b: (type(error), int(error.code)) for b, error in answers.items()} == {
        1: (InvalidThrottle, 10_179),
        99: (UnknownMemberId, 25),
    }
    assert "leader_rate" in answers[1].message
    assert [broker_config(cluster, b) for b in (1, 2, 3)] == [both(5_000), {}, both(5_000)]
    assert marked(cluster) == (None, [1, 3])
    refused = nobody(cluster).alter_interbroker_throttled_rates({1: ThrottledRate(1, 1)})
    assert getattr(cluster.error(refused[1]), "code", None) == 31


@pytest.mark.checklist(49, 55)
def test_validate_only_changes_nothing() -> None:
    cluster = small()
    before = cluster.keys("/")
    assert alter_rates(cluster, {1: 5_000}, validate_only=True) == {1: None}
    assert isinstance(alter_rates(cluster, {99: 5_000}, validate_only=True)[99], UnknownMemberId)
    assert replicas(cluster, {T: ThrottledReplicas()}, validate_only=True) == {T: None}
    assert cluster.keys("/") == before


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


def test_a_throttle_that_is_set_while_nothing_moves_goes_with_the_next_move_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    cluster.wait(9_000)
    assert "while nothing moves" not in caplog.text
    cluster.wait(1_000)
    assert "throttles of brokers 1 are set while no move runs" in caplog.text
    assert broker_config(cluster, 1) == both(5_000)
    cluster.done(cluster.move([4, 5, 6]))
    ended(cluster)


def test_a_throttle_that_is_followed_by_its_move_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As the commands do it: rates first, so that nothing is copied without."""
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    cluster.wait(5_000)
    cluster.done(cluster.move([4, 5, 6]))
    cluster.wait(20_000)
    assert "while nothing moves" not in caplog.text
    ended(cluster)
    cluster.wait(20_000)
    assert "while nothing moves" not in caplog.text


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


@pytest.mark.checklist(54)
def test_bad_partitions_and_brokers_have_errors_and_the_good_ones_are_set() -> None:
    cluster = small()
    nowhere, far = TopicPartition("x", 0), TopicPartition("t", 9)
    answers = replicas(
        cluster,
        {
            nowhere: ThrottledReplicas(),
            far: ThrottledReplicas(),
            T: ThrottledReplicas([9]),
            TopicPartition("u", 0): ThrottledReplicas([1], []),
        },
    )
    assert [(type(error), error and int(error.code)) for error in answers.values()] == [
        (UnknownTopicOrPartition, 3), (UnknownTopicOrPartition, 3), (UnknownMemberId, 25), (type(None), None),
    ]  # fmt: skip
    assert topic_config(cluster, "u") == {LEADER_LIST: "0:1"}
    assert topic_config(cluster, "t") == {}


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


def test_what_an_operator_changes_meanwhile_is_left_alone() -> None:
    """A rate that the operator sets or deletes; of a list only our elements go."""
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    set_by_hand(cluster, keys.broker_config("1"), leader_replication_throttled_rate="777")
    set_by_hand(cluster, keys.broker_config("2"))
    set_by_hand(cluster, keys.topic_config("t"), leader_replication_throttled_replicas="0:1,8:8")
    complete(cluster)
    cluster.wait(2_000)
    assert [broker_config(cluster, b) for b in (1, 2, 4)] == [{LEADER_RATE: "777"}, {}, {}]
    assert topic_config(cluster) == {LEADER_LIST: "8:8"}
    assert marked(cluster) == (None, None)


def test_a_throttle_over_an_operators_change_gives_back_that() -> None:
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    set_by_hand(cluster, keys.broker_config("1"), leader_replication_throttled_rate="777")
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    complete(cluster)
    cluster.wait(2_000)
    assert broker_config(cluster, 1) == {LEADER_RATE: "777"}


def test_what_an_operator_sets_after_it_was_marked_and_before_it_is_set_comes_back() -> None:
    """The mark says so in the commit that sets over it."""
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


@pytest.mark.checklist(57)
def test_throttles_are_settings_that_others_read_and_hear_of() -> None:
    """Each with a notification below /config/changes, set and removed."""
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    told = [value for key, value in cluster.keys("/config/changes").items() if key != "/config/changes"]
    assert told == [b'{"version":2,"entity_path":"brokers/1"}']
    assert alter_rates(cluster, {}) == {}
    assert len([key for key in cluster.keys("/config/changes") if "config_change_" in key]) == 2


def test_settings_that_cannot_be_read_stay_marked_until_they_can() -> None:
    """What would be restored is unknown; the rest is removed."""
    cluster = small()
    assert reassign(cluster, {T: [4, 5, 6]}) == {T: None}
    cluster.put(keys.broker_config("4"), b"{")
    cluster.run()
    assert isinstance(alter_rates(cluster, {4: 5_000})[4], StorageError)
    complete(cluster)
    cluster.wait(2_000)
    assert marked(cluster) == (None, [4])
    set_by_hand(cluster, keys.broker_config("4"), leader_replication_throttled_rate=str(RATE))
    cluster.wait(1_000)
    nothing_left(cluster)


@pytest.mark.parametrize(
    "asked",
    [
        lambda a: a.alter_interbroker_throttled_rates(None),
        lambda a: a.alter_interbroker_throttled_rates({"1": ThrottledRate(1, 1)}),
        lambda a: a.alter_interbroker_throttled_rates({1: 5}),
        lambda a: a.alter_interbroker_throttled_rates({}, validate_only=1),
        lambda a: a.alter_interbroker_throttled_replicas({T: [1]}),
        lambda a: a.alter_interbroker_throttled_replicas([T]),
        lambda _: ThrottledRate(1.5, 1),
        lambda _: ThrottledReplicas("12"),
        lambda _: ThrottledReplicas([True]),
    ],
)
def test_arguments_of_another_kind_raise_at_once(asked: Any) -> None:
    with pytest.raises(TypeError):
        asked(small().controller.admin)


def test_another_family_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="replication, reassignment"):
        small().controller.admin.alter_interbroker_throttled_rates({}, family="both")  # type: ignore[arg-type]


# --- what was to go, and is to stay


@pytest.mark.checklist(18)
def test_a_throttle_that_is_to_stay_stays_where_the_same_one_was_to_go() -> None:
    """It is not marked any more, however equal its values are; the rest of what is marked goes."""
    cluster = small()
    assert alter_rates(cluster, {1: RATE, 6: RATE}) == {1: None, 6: None}
    assert replicas(cluster, {T: ThrottledReplicas([1, 6], [4])}) == {T: None}
    assert reassign(cluster, {T: [4, 2, 3]}, auto_remove_throttle=False) == {T: None}
    assert marked(cluster) == (["t"], [6])
    complete(cluster)
    cluster.wait(2_000)
    assert [broker_config(cluster, b) for b in (1, 2, 3, 4, 6)] == [both(RATE)] * 4 + [{}]
    assert topic_config(cluster) == {LEADER_LIST: "0:1,0:2,0:3", FOLLOWER_LIST: "0:4"}
    assert marked(cluster) == (None, None)


@pytest.mark.checklist(50)
def test_rates_of_the_other_family_go_though_those_of_the_request_are_to_stay() -> None:
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}, family="reassignment") == {1: None}
    assert alter_rates(cluster, {1: 6_000}, auto_remove_throttle=False) == {1: None}
    assert marked(cluster) == (None, [1])
    assert reassign(cluster, {T: [4, 5, 6]}, None) == {T: None}
    complete(cluster)
    cluster.wait(2_000)
    assert broker_config(cluster, 1) == both(6_000)
    assert marked(cluster) == (None, None)


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


def test_topics_that_stay_are_marked_still_when_another_one_is_deleted() -> None:
    cluster = small()
    u = TopicPartition("u", 0)
    assert replicas(cluster, {T: ThrottledReplicas([1], [2]), u: ThrottledReplicas([1], [2])}) == {T: None, u: None}
    cluster.done(cluster.controller.admin.delete_topics(["u"]).all())
    assert marked(cluster) == (["t"], None)
