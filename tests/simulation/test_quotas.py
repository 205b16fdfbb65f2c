"""Replication quotas in virtual time: what flows between brokers, measured where it flows, against what is allowed."""

from __future__ import annotations

import pytest

from tests.simulation.clusters import AFTER, ORDERS, log_of
from tests.simulation.limited import FOLLOWER, LEADER, MORE_THAN_COPIED, RATE, big, is_held_to, limit, moving

# --- the two sides


@pytest.mark.slow
@pytest.mark.checklist(164, 167)
def test_what_goes_out_of_a_leader_is_held_to_its_limit_in_every_window_and_no_list_is_needed() -> None:
    rig = big()
    limit(rig, LEADER, RATE, 1)
    moving(rig, *AFTER)
    flow = rig.watch_flow(1, "leader")
    before = sum(log_of(rig, b).size_bytes for b in AFTER)
    rig.run(25_000)
    is_held_to(flow, RATE)
    assert flow.silent_ms() <= 100
    assert sum(log_of(rig, b).size_bytes for b in AFTER) - before == flow.bytes
    assert rig.partition(ORDERS).move is not None
    assert not [kind for kind, _ in rig.network.settings if kind == "topics"]


@pytest.mark.slow
@pytest.mark.checklist(165, 167)
def test_incoming_traffic_of_a_follower_has_one_limit_for_all_senders() -> None:
    rig = big()
    (clicks,) = rig.create_topic("clicks", replicas=[[2, 3]], records=MORE_THAN_COPIED)
    limit(rig, FOLLOWER, RATE, 4)
    moving(rig, 1, 4)
    rig.reassign({clicks: [2, 4]})
    flow, of_1, of_2 = rig.watch_flow(4, "follower"), rig.watch_flow(1, "leader"), rig.watch_flow(2, "leader")
    rig.run(25_000)
    is_held_to(flow, RATE)
    is_held_to(of_1, RATE / 2)
    is_held_to(of_2, RATE / 2)


@pytest.mark.slow
@pytest.mark.checklist(166)
@pytest.mark.parametrize("leader,follower", [(RATE, 20_000), (20_000, RATE)])
def test_of_two_limits_the_lower_one_holds(leader: int, follower: int) -> None:
    rig = big()
    limit(rig, LEADER, leader, 1)
    limit(rig, FOLLOWER, follower, 4)
    moving(rig, 1, 4)
    flow = rig.watch_flow(4, "follower")
    rig.run(20_000)
    is_held_to(flow, 20_000)


# --- time


@pytest.mark.slow
@pytest.mark.checklist(162)
@pytest.mark.parametrize("later", [200_000, 10_000])
def test_a_limit_that_is_changed_meanwhile_holds_within_the_window(later: int) -> None:
    rig = big()
    limit(rig, LEADER, RATE, 1)
    moving(rig, *AFTER)
    flow = rig.watch_flow(1, "leader")
    rig.run(12_000)
    assert flow.rate() == pytest.approx(RATE, rel=0.05)
    limit(rig, LEADER, later, 1)
    changed = rig.watch_flow(1, "leader")
    rig.run(11_000)
    assert changed.rate() == pytest.approx(later, rel=0.05)
    rig.run(11_000)
    is_held_to(changed, later)


@pytest.mark.slow
@pytest.mark.checklist(168)
def test_a_leader_that_is_elected_half_way_holds_to_its_own_limit() -> None:
    rig = big()
    limit(rig, LEADER, RATE)
    moving(rig, *AFTER)
    rig.run(3_000)
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    rig.run(200)
    flow = rig.watch_flow(2, "leader")
    rig.run(15_000)
    is_held_to(flow, RATE)
