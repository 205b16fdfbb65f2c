"""Points of KIP-179 of which the scenarios show only a part: one of two sides, or of two causes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kedge import (
    ConfigResource,
    ConfigResourceType,
    InvalidThrottle,
    ReassignmentInProgress,
    ReassignPartitionsOptions,
    ThrottledRate,
    ThrottledReplicas,
    UnknownMemberId,
)
from kedge.controller.codec import keys
from tests.runtime.test_throttle_requests import replicas
from tests.runtime.throttled import (
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    T,
    alter_rates,
    broker_config,
    cluster_with,
    ended,
    marked,
    reassign,
    small,
    topic_config,
    until,
)


@pytest.mark.checklist(6)
def test_no_options_are_the_default_options() -> None:
    def left(*options: ReassignPartitionsOptions) -> Mapping[str, Any]:
        cluster = cluster_with()
        cluster.done(cluster.controller.admin.reassign_partitions({T: [5, 4, 6]}, *options).all())
        return dict(cluster.keys("/"))

    assert left() == left(ReassignPartitionsOptions())


@pytest.mark.checklist(28)
def test_the_key_alone_is_a_reassignment_in_progress() -> None:
    cluster = cluster_with()
    cluster.put(keys.REASSIGN_PARTITIONS, b"{")
    cluster.run()
    assert isinstance(reassign(cluster, {T: [4]})[T], ReassignmentInProgress)


@pytest.mark.checklist(28)
def test_a_target_alone_is_a_reassignment_in_progress() -> None:
    cluster = cluster_with({"t": [[1, 2]], "u": [[1, 2]]})
    assert cluster.error(cluster.move([5, 6], "u")) is None
    assert not cluster.has(keys.REASSIGN_PARTITIONS)
    assert isinstance(reassign(cluster, {T: [4]})[T], ReassignmentInProgress)


@pytest.mark.checklist(47)
def test_until_a_request_for_rates_has_ended_the_key_names_the_brokers_of_both() -> None:
    """A death in between leaves no rate that is never removed."""
    cluster = small()
    assert set(alter_rates(cluster, dict.fromkeys((1, 2, 3), 5_000)).values()) == {None}
    wanted = {broker: ThrottledRate(6_000, 6_000) for broker in (3, 4, 5, 6)}
    asked = cluster.controller.admin.alter_interbroker_throttled_rates(wanted).all()
    until(cluster, lambda: marked(cluster)[1] != [1, 2, 3])
    assert marked(cluster)[1] == [1, 2, 3, 4, 5, 6]
    assert not asked.done()
    cluster.done(asked)
    assert marked(cluster) == (None, [3, 4, 5, 6])


@pytest.mark.checklist(48)
@pytest.mark.parametrize(
    "leader, follower, side", [(0, 1, "leader"), (-5, 1, "leader"), (1, 0, "follower"), (1, -5, "follower")]
)
def test_a_rate_below_one_is_refused_by_its_side(leader: int, follower: int, side: str) -> None:
    cluster = small()
    asked = cluster.controller.admin.alter_interbroker_throttled_rates({1: ThrottledRate(leader, follower)})
    error = cluster.error(asked[1])
    assert isinstance(error, InvalidThrottle)
    assert f"{side}_rate" in error.message
    assert broker_config(cluster, 1) == {}


@pytest.mark.checklist(52)
@pytest.mark.parametrize(
    "sides, lists",
    [
        (ThrottledReplicas(None, [2]), {LEADER_LIST: "0:1,0:2,0:3,0:4,0:5,0:6", FOLLOWER_LIST: "0:2"}),
        (ThrottledReplicas([2], None), {LEADER_LIST: "0:2", FOLLOWER_LIST: "0:1,0:2,0:3,0:4,0:5,0:6"}),
    ],
)
def test_no_list_is_every_broker_also_one_that_is_down(sides: ThrottledReplicas, lists: Mapping[str, str]) -> None:
    cluster = small()
    cluster.leave(6)
    assert replicas(cluster, {T: sides}) == {T: None}
    assert topic_config(cluster) == lists


@pytest.mark.checklist(54)
def test_an_unknown_follower_is_refused() -> None:
    cluster = small()
    assert isinstance(replicas(cluster, {T: ThrottledReplicas([1], [9])})[T], UnknownMemberId)
    assert topic_config(cluster) == {}


@pytest.mark.checklist(55)
def test_lists_go_with_the_last_move() -> None:
    cluster = small()
    assert cluster.error(cluster.move([4, 5, 6])) is None
    assert replicas(cluster, {T: ThrottledReplicas([1], [4])}) == {T: None}
    assert topic_config(cluster) == {LEADER_LIST: "0:1", FOLLOWER_LIST: "0:4"}
    ended(cluster)
    assert topic_config(cluster) == {}


@pytest.mark.checklist(57)
def test_rates_and_lists_of_requests_are_described() -> None:
    cluster = small()
    assert alter_rates(cluster, {1: 5_000}) == {1: None}
    assert replicas(cluster, {T: ThrottledReplicas([1], [4])}) == {T: None}
    of = ConfigResource(ConfigResourceType.BROKER, "1"), ConfigResource(ConfigResourceType.TOPIC, "t")
    found = cluster.controller.admin.describe_configs(of)
    broker, topic = (cluster.done(found[resource]) for resource in of)
    assert [broker[name].value for name in (LEADER_RATE, FOLLOWER_RATE)] == ["5000", "5000"]
    assert [topic[name].value for name in (LEADER_LIST, FOLLOWER_LIST)] == ["0:1", "0:4"]
