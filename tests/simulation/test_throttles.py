"""Throttles that remove themselves, whatever befalls them: none stays, and what an operator had is given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, log_of, orders, settle
from tests.simulation.throttle_scenarios import (
    OPTIONS,
    RATE,
    rate_of,
    until_unthrottled,
)


def reassign(rig: Rig, targets: Mapping[TopicPartition, Any]) -> None:
    rig.result(rig.admin.reassign_partitions(targets, OPTIONS).all())


@pytest.mark.checklist(1, 4, 17)
def test_a_throttled_move_leaves_the_data_and_no_throttle() -> None:
    """The removed replicas are deleted, every record is on the new ones."""
    rig = orders(records=300)
    reassign(rig, {ORDERS: AFTER})
    assert rate_of(rig, 1) == str(RATE)
    rig.wait.until_replicas({ORDERS: AFTER})
    settle(rig)
    assert [log_of(rig, broker).end_offset for broker in AFTER] == [300] * 3
    assert all(rig.brokers[broker].log(ORDERS) is None for broker in BEFORE)


def test_a_throttle_stays_until_the_last_of_two_moves_has_ended() -> None:
    """The end of the first one removes nothing; a broker that is down holds nothing up."""
    rig = orders()
    other = rig.create_topic("other", replicas=[[1, 2]])[0]
    rig.mishaps.pause_broker(6)
    reassign(rig, {ORDERS: AFTER, other: [2, 3]})
    rig.wait.until_replicas({other: [2, 3]})
    rig.run(2_000)
    assert [rate_of(rig, broker) for broker in range(1, 7)] == [str(RATE)] * 6
    rig.mishaps.kill_broker(2)
    rig.mishaps.resume_broker(6)
    rig.wait.until_replicas({ORDERS: AFTER})
    until_unthrottled(rig)
    rig.mishaps.heal()
    settle(rig)
