"""What a limit leaves is shared: no replica starves, all is copied once, meters show it, and a run can be repeated."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kedge.controller.metrics import MeterValue
from kedge.controller.rig import Rig
from tests.simulation.clusters import AFTER, ORDERS, log_of, orders, settle
from tests.simulation.limited import FOLLOWER, LEADER, OLD_FOLLOWER, OLD_LEADER, RATE, is_held_to, limit, name_replicas


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


@pytest.mark.slow
@pytest.mark.checklist(183)
def test_who_catches_up_time_and_again_does_not_hold_up_who_does_not() -> None:
    rig = Rig(brokers={1: None, 2: None})
    big, trickle = rig.create_topic("t", replicas=[[1], [1]], records=500)
    name_replicas(rig, "t", followers="*")
    limit(rig, FOLLOWER, 20_000, 2)
    limit(rig, OLD_FOLLOWER, 20_000, 2)
    rig.reassign({big: [1, 2], trickle: [1, 2]})
    rig.write([trickle], records_per_s=20)
    rig.run(10_000)
    assert log_of(rig, 2, big).size_bytes >= 90_000


@pytest.mark.slow
def test_a_cluster_that_is_held_up_by_a_limit_is_not_quiet() -> None:
    rig = orders(records=20)
    limit(rig, FOLLOWER, 1_000, 4)
    rig.reassign({ORDERS: [1, 4]})
    rig.wait.until_quiet()
    assert rig.partition(ORDERS).replicas == (1, 4)


@pytest.mark.slow
def test_a_throttled_move_copies_every_record_once() -> None:
    rig = orders(records=300)
    limit(rig, LEADER, RATE)
    limit(rig, FOLLOWER, 20_000)
    rig.reassign({ORDERS: AFTER})
    settle(rig)
    copied = 300 * 1_000
    assert rig.copying.flows.bytes(1, "leader", "reassignment") == 3 * copied
    assert [rig.copying.flows.bytes(b, "follower", "reassignment") for b in AFTER] == [copied] * 3
    assert [rig.copying.flows.bytes(b, "follower", "replication") for b in AFTER] == [0] * 3


@pytest.mark.slow
@pytest.mark.checklist(180, 181)
def test_brokers_meter_what_moves_copy_and_at_which_rate_a_limit_lets_it() -> None:
    """Nothing of what in-sync followers copy; the rate is what flows, on both sides."""
    rig = orders(records=300)
    rig.run(1_000)
    assert _metered(rig, 1, "ReassignmentBytesOutPerSec").count == 0
    limit(rig, LEADER, RATE)
    rig.reassign({ORDERS: AFTER})
    writer = rig.write([ORDERS], 2)
    rig.run(12_000)
    out = rig.copying.flows.bytes(1, "leader", "reassignment")
    assert 0 < out < 3 * 300 * 1_000
    assert _metered(rig, 1, "ReassignmentBytesOutPerSec").count == out
    come = [_metered(rig, broker, "ReassignmentBytesInPerSec").count for broker in AFTER]
    assert sum(come) == out
    rate = rig.copying.flows.meters(1).metrics()["kafka.server:type=LeaderReassignment,name=byte-rate,broker-id=1"]
    assert rate == pytest.approx(RATE, rel=0.1)
    writer.stop()


def _metered(rig: Rig, broker: int, name: str) -> MeterValue:
    key = f"kafka.server:type=BrokerTopicMetrics,name={name},broker-id={broker}"
    found = rig.copying.flows.meters(broker).metrics()[key]
    assert isinstance(found, MeterValue)
    return found


def throttled_run() -> str:
    """What a throttled run leaves: its trace, and how far every log got at some time."""
    rig = orders(records=2_000, copy_rate_bytes_s=100_000)
    tps = rig.create_topic("more", replicas=[[1, 2], [2, 3], [3, 1]], records=500)
    name_replicas(rig, "more", "*", "0:4,1:5")
    for setting in (LEADER, FOLLOWER, OLD_LEADER, OLD_FOLLOWER):
        limit(rig, setting, RATE)
    rig.reassign({ORDERS: AFTER, **{tp: [4, 5] for tp in tps}})
    rig.run(4_000)
    ends = [rig.brokers[b].log(tp) for b in AFTER for tp in (ORDERS, *tps)]
    return f"{rig.timeline.trace} {[log.end_offset for log in ends if log is not None]}"


@pytest.mark.full
def test_a_throttled_run_does_not_depend_on_how_strings_are_hashed() -> None:
    here = throttled_run()
    assert throttled_run() == here
    script = "from tests.simulation.test_quotas_share import throttled_run; print(throttled_run())"
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        assert done.stdout.strip() == here
