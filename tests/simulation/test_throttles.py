"""Throttles that remove themselves, whatever befalls them: none stays, and what an operator had is given back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.throttles import ThrottledReplicas
from kedge.controller.model.values import Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import configs
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, leading, log_of, orders, settle
from tests.simulation.throttle_scenarios import (
    OPTIONS,
    RATE,
    ask_for_a_rate,
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


@pytest.mark.checklist(3)
def test_the_replication_factor_goes_up() -> None:
    rig = Rig(brokers=dict.fromkeys(range(1, 4)), session_timeout_s=1.0)
    rig.create_topic("orders", replicas=[[1]], records=200)
    reassign(rig, {ORDERS: [1, 2, 3]})
    rig.until(lambda: rig.partition(ORDERS).isr == (1, 2, 3), what="all are in sync")
    settle(rig)
    assert {log_of(rig, broker).end_offset for broker in (1, 2, 3)} == {200}


@pytest.mark.checklist(5)
def test_the_first_broker_becomes_the_leader_by_rebalance() -> None:
    settings = Settings(leader_imbalance_check_interval_seconds=1, leader_imbalance_per_broker_percentage=0)
    rig = orders(settings=settings)
    reassign(rig, {ORDERS: [2, 1, 3]})
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="the preferred replica leads")
    settle(rig)


@pytest.mark.parametrize("steps", range(6))
def test_a_move_may_begin_at_any_step_of_a_removal(steps: int) -> None:
    """Before it the rest waits for its end; after it, in the same commit perhaps, the move has no throttle."""
    rig = orders(store={"commit_ops_max": 12})
    reassign(rig, {ORDERS: AFTER})
    rig.wait.until_replicas({ORDERS: AFTER})
    rig.run(max(1, steps) * rig.tick_ms)
    asked = rig.admin.alter_partition_reassignments({ORDERS: BEFORE})
    rig.result(asked.all())
    rig.wait.until_replicas({ORDERS: BEFORE})
    until_unthrottled(rig)
    settle(rig)


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


def test_a_topic_that_is_deleted_while_others_move_takes_its_mark_along() -> None:
    """No other throttle is removed for that."""
    rig = orders()
    other = rig.create_topic("other", replicas=[[1, 2]])[0]
    rig.mishaps.pause_broker(6)
    reassign(rig, {ORDERS: AFTER, other: [4, 2]})
    rig.wait.until_replicas({other: [4, 2]})
    rig.delete_topic("other")
    assert rig.committed.marked[keys.REPLICAS_REMOVAL] == ("orders",)
    assert rate_of(rig, 1) == str(RATE)
    rig.mishaps.resume_broker(6)
    rig.wait.until_replicas({ORDERS: AFTER})
    until_unthrottled(rig)
    settle(rig)


def test_what_an_operator_asks_for_in_the_commit_of_a_throttle_comes_back() -> None:
    """No commit shows it before: the throttle stands over it at once."""
    rig = orders()
    answer = ask_for_a_rate(rig, "7700000")
    reassign(rig, {ORDERS: AFTER})
    assert answer.done()
    assert rate_of(rig, 1) == str(RATE)
    rig.wait.until_replicas({ORDERS: AFTER})
    until_unthrottled(rig)
    settle(rig)
    assert rate_of(rig, 1) == "7700000"


@pytest.mark.parametrize("topic", ["t", "u"])
def test_marks_and_lists_of_a_topic_whose_key_a_takeover_cannot_read_outlast_other_requests(topic: str) -> None:
    """For its lists and for those of others: they go once it can be read, and the last move has ended."""
    rig = orders()
    tps = {name: rig.create_topic(name, replicas=[[1, 2]])[0] for name in ("t", "u")}
    rig.mishaps.pause_broker(6)
    reassign(rig, {ORDERS: AFTER, tps["t"]: [4, 2]})
    throttled = configs(rig, "topics", "t")
    rig.mishaps.break_key(keys.topic("t"))
    rig.mishaps.kill_controller(leading(rig).node_id)
    asked = {tps[topic]: ThrottledReplicas([1], [2])}
    answer = rig.admin.alter_interbroker_throttled_replicas(asked)[tps[topic]]
    rig.until(answer.done, what="the request is answered")
    assert (answer.exception() is None) is (topic == "u")
    assert "t" in rig.committed.marked[keys.REPLICAS_REMOVAL]
    assert configs(rig, "topics", "t") == throttled
    rig.mishaps.heal()
    rig.wait.until_replicas({ORDERS: AFTER, tps["t"]: [4, 2]})
    until_unthrottled(rig)
    settle(rig)
    assert configs(rig, "topics", "t") == {}
