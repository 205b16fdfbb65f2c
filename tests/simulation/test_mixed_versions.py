"""Brokers and controllers that are older than `target_replicas`: what hangs, what waits, and what is kept."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from kedge.controller.codec import keys
from kedge.controller.model.host import LeaderAndIsrPartition, LeaderAndIsrRequest
from kedge.controller.model.values import Replicas
from kedge.controller.rig import Rig
from kedge.stores.base import PRESENT, Put
from kedge.stores.memory import MemoryStore
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, leading, log_of, orders, settle

STATE = keys.state("orders", 0)


def _told(rig: Rig, broker: int, first: int = 0) -> list[LeaderAndIsrPartition]:
    """What a broker was sent, from the `first` callback of the rig on."""
    sent = [s.request for s in rig.requests()[first:] if s.broker_id == broker]
    return [p for request in sent if isinstance(request, LeaderAndIsrRequest) for p in request.partitions]


def _waiting_on(rig: Rig) -> list[tuple[int, bool]]:
    """Who the move waits for, and whether it is down."""
    listing = rig.result(rig.admin.list_partition_reassignments())
    return [(waiting.broker, waiting.down) for waiting in listing[ORDERS].waiting_on]


def _keep_at(rig: Rig, isr: Replicas) -> None:
    """The isr is reached, and stays what it is for ten seconds."""
    rig.until(lambda: set(rig.partition(ORDERS).isr) == set(isr), what=f"the isr is {isr}")
    rig.run(10_000)
    assert set(rig.partition(ORDERS).isr) == set(isr)


@pytest.mark.slow
@pytest.mark.checklist(130)
def test_a_move_onto_an_old_broker_waits_for_it_by_name_and_ends_after_its_upgrade_and_a_new_controller() -> None:
    """The other targets join; nothing is removed before the last one is there."""
    rig = orders(leader_and_isr_versions={5: 2})
    rig.reassign({ORDERS: AFTER})
    _keep_at(rig, (*BEFORE, 4, 6))
    assert _waiting_on(rig) == [(5, False)]
    assert rig.brokers[5].log(ORDERS) is None
    assert all(rig.brokers[b].log(ORDERS) is not None for b in BEFORE)
    rig.mishaps.kill_controller(leading(rig).node_id)
    rig.mishaps.restart_broker(5, leader_and_isr_version=3)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    rig.mishaps.heal()
    settle(rig)
    assert log_of(rig, 5).end_offset == 1_000


@pytest.mark.slow
@pytest.mark.checklist(130)
def test_a_move_under_an_old_leader_hangs_and_names_all_targets_until_the_leader_is_upgraded() -> None:
    """They copy, but a leader that knows no targets proposes none of them."""
    rig = orders(leader_and_isr_versions={1: 2})
    assert rig.partition(ORDERS).leader == 1
    rig.reassign({ORDERS: AFTER})
    _keep_at(rig, BEFORE)
    assert _waiting_on(rig) == [(4, False), (5, False), (6, False)]
    rig.mishaps.restart_controller(leading(rig).node_id)
    _keep_at(rig, BEFORE)
    rig.mishaps.restart_broker(1, leader_and_isr_version=3)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    settle(rig)


@pytest.mark.slow
@pytest.mark.checklist(131)
def test_a_downgraded_controller_sends_no_targets_and_moves_stop_until_a_newer_one_leads() -> None:
    rig = orders()
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    _keep_at(rig, (*BEFORE, 4, 5))
    old = 101 + 102 - leading(rig).node_id
    rig.mishaps.restart_controller(old, leader_and_isr_version=2)
    rig.mishaps.kill_controller(leading(rig).node_id)
    first = len(rig.requests())
    rig.until(lambda: rig.active is not None and rig.active.node_id == old, what="the old version leads")
    rig.until(lambda: bool(_told(rig, 1, first)), what="it has told the leader")
    rig.mishaps.resume_broker(6)
    _keep_at(rig, (*BEFORE, 4, 5))
    told = [p for b in rig.brokers for p in _told(rig, b, first)]
    assert told
    assert {p.target_replicas for p in told} == {None}
    assert rig.partition(ORDERS).target_replicas == AFTER
    rig.mishaps.restart_controller(old, leader_and_isr_version=3)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=30)
    rig.mishaps.heal()
    settle(rig)


# --- fields that this version does not know


def _state(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rig.server.table.rows[STATE][0])
    return found


def _plant_unknown_fields(rig: Rig) -> dict[str, Any]:
    """A later version wrote more into the key, at the top and inside what a move remembers."""
    later = {"later": {"kept": [1, None, "x"]}, "elr": [3]}
    store = MemoryStore(rig.server)
    store.commit([Put(STATE, json.dumps({**_state(rig), **later}).encode(), PRESENT)], timeout_s=1)
    store.close()
    return later


@pytest.mark.slow
@pytest.mark.checklist(132)
def test_unknown_fields_of_a_state_key_survive_every_writer_of_the_isr_and_a_whole_move() -> None:
    """A shrink and a growth of the isr, an election, the acceptance, growth and completion of a move, a cancel, and a
    takeover in between: each rewrites the key."""
    rig = orders()
    later = _plant_unknown_fields(rig)
    known = later.keys()

    def kept() -> bool:
        return {name: _state(rig).get(name) for name in known} == later

    rig.mishaps.restart_controller(leading(rig).node_id)
    rig.mishaps.pause_broker(3)
    rig.produce(ORDERS, 10)
    rig.until(lambda: rig.partition(ORDERS).isr == (1, 2), what="the leader takes 3 out")
    assert kept()
    rig.mishaps.resume_broker(3)
    rig.until(lambda: set(rig.partition(ORDERS).isr) == set(BEFORE), what="3 is in sync again")
    assert kept()
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(ORDERS).leader == 2, what="2 leads")
    assert kept()
    rig.mishaps.restart_broker(1)
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    _keep_at(rig, (*BEFORE, 4, 5))
    assert kept()
    assert _state(rig)["targetReplicas"] == list(AFTER)
    rig.mishaps.resume_broker(6)
    rig.wait.until_replicas({ORDERS: AFTER}, timeout_s=20)
    assert kept()
    rig.mishaps.pause_broker(1)
    rig.reassign({ORDERS: BEFORE})
    rig.reassign({ORDERS: None})
    rig.mishaps.heal()
    settle(rig)
    assert kept()
    assert attrs.astuple(rig.partition(ORDERS))[-1] == later
