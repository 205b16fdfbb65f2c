"""What a limit leaves is shared: no replica starves, all is copied once, meters show it, and a run can be repeated."""

from __future__ import annotations

import pytest

from kedge.controller.rig import Rig
from tests.simulation.clusters import log_of
from tests.simulation.limited import FOLLOWER, LEADER, is_held_to, limit


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
