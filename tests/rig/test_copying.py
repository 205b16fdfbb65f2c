"""Followers that get their leader's records at once, where no rate limits them."""

from __future__ import annotations

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig


def led() -> tuple[Rig, TopicPartition]:
    """t-0 is led by 1, and 2 and 3 follow."""
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2, 3)))
    (tp,) = rig.create_topic("t", replicas=[[1, 2, 3]], records=10)
    rig.wait.until_quiet()
    return rig, tp


def appended(rig: Rig, tp: TopicPartition) -> tuple[list[int], int]:
    """The ends of the logs after the leader has five more records and its followers may catch up, and its watermark."""
    leader = rig.brokers[1].replica(tp)
    assert leader is not None
    leader.append(5, 1_000, 100)
    rig.copying.catch_up(leader)
    logs = [broker.log(tp) for broker in rig.brokers.values()]
    return [log.end_offset for log in logs if log is not None], leader.log.high_watermark


def test_followers_catch_up_at_once() -> None:
    rig, tp = led()
    before = rig.copying.copied_bytes
    assert appended(rig, tp) == ([15, 15, 15], 15)
    assert rig.copying.copied_bytes - before == 2 * 5 * 100


@pytest.mark.parametrize("why", ["rate", "quota"])
def test_followers_do_not_catch_up_where_a_rate_limits_them(why: str) -> None:
    rig, tp = led()
    if why == "rate":
        rig.copying.rate_bytes_s = 1
    else:
        rig.network.config_changed("brokers", "3", {"follower.reassignment.throttled.rate": "1"})
    assert appended(rig, tp) == ([15, 10, 10], 10)


@pytest.mark.parametrize("why", ["paused", "another epoch", "another leader"])
def test_follower_that_does_not_follow_this_leader_now_is_left_out(why: str) -> None:
    rig, tp = led()
    follower = rig.brokers[3].replica(tp)
    assert follower is not None
    if why == "paused":
        rig.mishaps.pause_broker(3)
    elif why == "another epoch":
        follower.leader_epoch -= 1
    else:
        follower.leader = 2
    assert appended(rig, tp) == ([15, 15, 10], 10)


@pytest.mark.parametrize("limited", [False, True], ids=["no limit", "limits that allow more"])
def test_rate_is_used_to_the_byte_and_divided_among_followers(limited: bool) -> None:
    """Three partitions are behind on one broker. What a step leaves over is used in the next one."""
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2)), record_bytes=70)
    tps = rig.create_topic("t", replicas=[[1, 2]] * 3)
    if limited:
        throttled = {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")}
        rig.network.config_changed("topics", "t", throttled)
        rig.network.config_changed("brokers", "2", {"follower.replication.throttled.rate": "10000000"})
    rig.wait.until_quiet()
    rig.copying.rate_bytes_s = 74_000  # ten records in a step, and one more in every second one
    for tp in tps:
        rig.produce(tp, 100)
    copied = []
    for _ in range(8):
        before = rig.copying.copied_bytes
        rig.step()
        copied.append((rig.copying.copied_bytes - before) // 70)
    assert copied == [10, 11, 10, 11, 10, 11, 11, 10]
    ends = [log.end_offset for tp in tps if (log := rig.brokers[2].log(tp)) is not None]
    assert max(ends) - min(ends) <= 8
