"""Moves that an outside client asks for by the legacy key, from the write to the last byte."""

from __future__ import annotations

import pytest

from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import is_key_there, submit_by_key
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, Told, leading, orders, settle


def _gone(rig: Rig) -> None:
    rig.until(lambda: not is_key_there(rig), timeout_s=60, what="the key is gone")


@pytest.mark.slow
@pytest.mark.checklist(115, 117)
def test_a_client_that_writes_the_key_and_polls_it_finds_the_move_done_when_the_key_is_gone() -> None:
    rig = orders(records=2_000, copy_rate_bytes_s=1_000_000)
    writer = rig.write([ORDERS], records_per_s=300)
    submit_by_key(rig, {ORDERS: AFTER})
    _gone(rig)
    assert rig.partition(ORDERS).replicas == AFTER
    writer.stop()
    settle(rig)
    assert [rig.brokers[b].log(ORDERS) for b in BEFORE] == [None] * 3


def test_the_journal_of_a_move_by_key_is_that_of_any_move_between_two_rows_of_the_key() -> None:
    told = Told()
    told.rig.create_topic("orders", replicas=[list(BEFORE)], records=100)
    submit_by_key(told.rig, {ORDERS: AFTER})
    _gone(told.rig)
    events = [row["event"] for row in told.rows()]
    begun = events.index("LegacySubmitted")
    moved = [event for event in events[begun:] if event in {"TargetSet", "TargetCleared"} or "Legacy" in event]
    assert moved == ["LegacySubmitted", "TargetSet", "TargetCleared", "LegacyEntryRemoved", "LegacyKeyRemoved"]
    ending = told.rows("TargetCleared", "LegacyEntryRemoved", "LegacyKeyRemoved")
    assert len({row["seq"] for row in ending}) == 1


@pytest.mark.checklist(109)
def test_an_entry_whose_target_dies_stays_until_its_move_has_ended() -> None:
    rig = orders()
    rig.mishaps.pause_broker(6)
    submit_by_key(rig, {ORDERS: AFTER})
    rig.until(lambda: 5 in rig.partition(ORDERS).isr, what="5 is in sync")
    rig.mishaps.kill_broker(6)
    rig.run(3_000)
    assert is_key_there(rig)
    rig.mishaps.restart_broker(6)
    _gone(rig)
    settle(rig)
    assert rig.partition(ORDERS).replicas == AFTER


@pytest.mark.checklist(119, 120)
def test_a_key_that_is_written_while_every_controller_is_down_is_obeyed_by_the_next() -> None:
    rig = orders()
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    for node in rig.nodes:
        rig.mishaps.kill_controller(node)
    submit_by_key(rig, {ORDERS: (1, 2, 5), TopicPartition("orders", 7): (1,)})
    rig.run(1_500)
    rig.mishaps.heal()
    _gone(rig)
    settle(rig)
    assert rig.partition(ORDERS).replicas == (1, 2, 5)


def test_a_zombie_neither_begins_a_plan_nor_removes_a_key() -> None:
    rig = orders()
    rig.mishaps.pause_broker(6)
    zombie = leading(rig)
    rig.mishaps.pause_controller(zombie.node_id)
    leading(rig)
    submit_by_key(rig, {ORDERS: AFTER})
    rig.mishaps.resume_controller(zombie.node_id, deaf_ms=300)
    rig.run(500)
    assert is_key_there(rig)
    rig.mishaps.heal()
    _gone(rig)
    settle(rig)
    assert rig.partition(ORDERS).replicas == AFTER
