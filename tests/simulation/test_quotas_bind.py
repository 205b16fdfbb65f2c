"""Which replicas quotas bind: those that a move adds, those that a list names, none in sync."""

from __future__ import annotations

import pytest

from kedge.controller.model.throttle_configs import Side
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import NotInTime, Rig
from kedge.stores.base import ABSENT, Put
from kedge.stores.memory import MemoryStore
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, log_of, orders, settle
from tests.simulation.limited import (
    FOLLOWER,
    LEADER,
    MORE_THAN_COPIED,
    OLD_FOLLOWER,
    OLD_LEADER,
    RATE,
    big,
    is_held_to,
    limit,
    moving,
    name_replicas,
    written,
)

# --- who is bound, and who is not


@pytest.mark.slow
@pytest.mark.checklist(169)
def test_in_sync_replicas_of_a_moving_partition_keep_up_whatever_the_limit_is() -> None:
    rig = big()
    for setting in (LEADER, FOLLOWER):
        limit(rig, setting, 5_000)
    moving(rig, 2, 4)  # 2 stays, and is in sync
    written(rig, records_per_s=300)
    assert rig.partition(ORDERS).isr == BEFORE
    assert {log_of(rig, b).end_offset for b in BEFORE} == {rig.producers.sent}
    assert rig.producers.acknowledged(ORDERS) == rig.producers.sent


@pytest.mark.checklist(170)
def test_an_ordinary_replica_that_fell_out_of_the_isr_during_a_move_catches_up_freely() -> None:
    rig = big()
    limit(rig, LEADER, RATE)
    limit(rig, FOLLOWER, RATE)
    moving(rig, 1, 4)
    rig.mishaps.kill_broker(3)
    rig.until(lambda: 3 not in rig.partition(ORDERS).isr, what="3 fell out")
    rig.produce(ORDERS, 2_000)
    rig.mishaps.restart_broker(3)
    rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=1, what="3 is in sync again")
    assert rig.partition(ORDERS).move is not None


def _served(rate: int | None) -> tuple[int, int]:
    """How many records are acknowledged and consumed within three seconds."""
    rig = big()
    if rate is not None:
        for setting in (LEADER, FOLLOWER, OLD_LEADER, OLD_FOLLOWER):
            limit(rig, setting, rate)
    name_replicas(rig, "orders", "*", "*")
    rig.reassign({ORDERS: AFTER})
    group, before = rig.clients.group("g", ["orders"]), rig.producers.acknowledged()
    rig.write([ORDERS], records_per_s=500)
    rig.run(3_000)
    return rig.producers.acknowledged() - before, sum(group.consumed.values()) - before


@pytest.mark.slow
@pytest.mark.checklist(171)
def test_clients_write_and_read_as_much_as_without_a_limit() -> None:
    limited = _served(1_000)
    assert limited == pytest.approx(_served(None), abs=10)
    assert limited == pytest.approx((1_500, 1_500), rel=0.02)


@pytest.mark.slow
@pytest.mark.checklist(175)
def test_a_cancel_lifts_the_limit_from_a_replica_that_stays() -> None:
    rig = big()
    rig.mishaps.kill_broker(3)
    rig.until(lambda: 3 not in rig.partition(ORDERS).isr, what="3 fell out")
    rig.produce(ORDERS, 2_000)
    limit(rig, FOLLOWER, 10_000, 3, 4)
    rig.reassign({ORDERS: [3, 4]})
    rig.mishaps.restart_broker(3)
    with pytest.raises(NotInTime):
        rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=5)
    rig.reassign({ORDERS: None})
    rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=0.5, what="3 is in sync again")
    settle(rig)


# --- the family of KIP-73


def _falls_behind(rig: Rig, broker: int, *tps: TopicPartition) -> None:
    rig.mishaps.kill_broker(broker)
    rig.until(lambda: all(broker not in rig.partition(tp).isr for tp in tps), what=f"{broker} fell out")
    for tp in tps:
        rig.produce(tp, MORE_THAN_COPIED)
    rig.mishaps.restart_broker(broker)
    rig.until(lambda: all(rig.brokers[broker].leader_epoch(tp) >= 0 for tp in tps), what=f"{broker} follows")


@pytest.mark.slow
@pytest.mark.checklist(172)
@pytest.mark.parametrize(
    "side,named,broker",
    [("leader", "*", 1), ("leader", "0:1", 1), ("leader", "7:1, 0:1", 1), ("follower", "0:3", 3)],
)
def test_replicas_that_a_list_names_are_held_to_the_old_limit_though_nothing_moves(
    side: Side, named: str, broker: int
) -> None:
    rig = orders()
    name_replicas(rig, "orders", **{f"{side}s": named})
    limit(rig, {"leader": OLD_LEADER, "follower": OLD_FOLLOWER}[side], RATE, broker)
    _falls_behind(rig, 3, ORDERS)
    flow = rig.watch_flow(broker, side, "replication")
    rig.run(15_000)
    is_held_to(flow, RATE)
    assert rig.copying.flows.bytes(broker, side, "reassignment") == 0


@pytest.mark.checklist(172, 174)
def test_a_replica_that_no_list_names_is_not_held_to_the_old_limit() -> None:
    rig = orders()
    (other,) = rig.create_topic("other", replicas=[[1, 3]], records=10)
    limit(rig, OLD_LEADER, 10_000)
    limit(rig, OLD_FOLLOWER, 10_000)
    name_replicas(rig, "orders", leaders="0:2,1:1", followers="0:2,1:3")  # other brokers, another partition
    name_replicas(rig, "other", leaders="0:1")
    _falls_behind(rig, 3, ORDERS, other)
    rig.until(lambda: 3 in rig.partition(ORDERS).isr, timeout_s=1, what="3 is in sync")
    assert 3 not in rig.partition(other).isr


@pytest.mark.slow
@pytest.mark.checklist(177)
def test_what_others_write_to_the_store_throttles() -> None:
    rig = orders()
    other = MemoryStore(rig.server)
    rates = b'{"version":1,"config":{"leader.replication.throttled.rate":"50000"}}'
    lists = b'{"version":1,"config":{"leader.replication.throttled.replicas":"0:1"}}'
    other.commit([Put("/config/brokers/<default>", rates, ABSENT)], timeout_s=1)
    version = other.get("/config/topics/orders", sync=False, timeout_s=1)
    expected = ABSENT if version is None else version.version
    other.commit([Put("/config/topics/orders", lists, expected)], timeout_s=1)
    rig.until(lambda: len(rig.network.settings) >= 2, what="the host was told")
    _falls_behind(rig, 3, ORDERS)
    flow = rig.watch_flow(1, "leader", "replication")
    rig.run(15_000)
    is_held_to(flow, RATE)
    other.close()


# --- what a limit leaves is shared


@pytest.mark.checklist(183)
@pytest.mark.slow
@pytest.mark.parametrize("setting,broker", [(LEADER, 1), (FOLLOWER, 4)])
def test_fifty_partitions_under_a_low_limit_all_progress_alike(setting: str, broker: int) -> None:
    rig = Rig(brokers=dict.fromkeys(range(1, 5)), tick_ms=50)
    tps = rig.create_topic("t", replicas=[[1]] * 50, records=1_000)
    limit(rig, setting, 20_000, broker)
    rig.reassign({tp: [1, 4] for tp in tps})
    rig.until(lambda: all(rig.brokers[4].log(tp) for tp in tps), what="copying has begun")
    flow = rig.watch_flow(4, "follower")
    rig.run(30_000)
    is_held_to(flow, 20_000)
    sizes = [log_of(rig, 4, tp).size_bytes for tp in tps]
    assert max(sizes) - min(sizes) <= 3_000
    assert min(sizes) >= 11_000


@pytest.mark.slow
@pytest.mark.checklist(183)
def test_a_partition_that_needs_two_limits_at_once_does_not_starve_beside_those_that_need_one_of_them() -> None:
    rig = Rig(brokers=dict.fromkeys(range(1, 5)), record_bytes=20_000)
    through_both, of_1, into_3 = rig.create_topic("t", replicas=[[1], [1], [2]], records=500)
    limit(rig, LEADER, 40_000, 1)
    limit(rig, FOLLOWER, 40_000, 3)
    rig.reassign({through_both: [1, 3], of_1: [1, 4], into_3: [2, 3]})
    rig.run(30_000)
    sizes = [log_of(rig, b, tp).size_bytes for b, tp in ((3, through_both), (4, of_1), (3, into_3))]
    assert min(sizes) >= 500_000
