"""Reassignments in a healthy cluster, from the request to the last byte."""

from __future__ import annotations

import pytest

from kedge.controller.model.host import (
    StopReplicaRequest,
)
from kedge.controller.model.requests import AlterReassignmentsOptions
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import is_key_there, submit_by_key
from kedge.controller.simulated.log import Run
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, Told, asked, leading, log_of, orders, settle


def _joins_one_by_one(rig: Rig) -> None:
    """4, 5, 6 get in sync in this order."""
    rig.mishaps.pause_broker(5)
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    for joined in AFTER:
        rig.mishaps.resume_broker(joined)
        _is_in_sync(rig, joined)


def _is_in_sync(rig: Rig, broker: int) -> None:
    rig.until(lambda: broker in rig.partition(ORDERS).isr, what=f"{broker} is in sync")


@pytest.mark.checklist(1, 76, 100, 101, 102, 103, 104, 105)
def test_the_journal_of_a_move_is_the_trace_of_the_proposal() -> None:
    told = Told()
    told.rig.create_topic("orders", replicas=[list(BEFORE)], records=100)
    _joins_one_by_one(told.rig)
    settle(told.rig)
    r, t = [1, 2, 3], [4, 5, 6]
    assert told.trace() == [
        ("TargetSet", r, r, t),
        ("IsrChanged", r, [*r, 4], t),
        ("ReplicasGrown", [*r, 4], [*r, 4], t),
        ("IsrChanged", [*r, 4], [*r, 4, 5], t),
        ("ReplicasGrown", [*r, 4, 5], [*r, 4, 5], t),
        ("IsrChanged", [*r, 4, 5], [*r, 4, 5, 6], t),
        ("ReplicasGrown", [*r, 4, 5, 6], [*r, 4, 5, 6], t),
        ("ReplicasChanged", t, [*r, 4, 5, 6], t),
        ("TargetCleared", t, [*r, 4, 5, 6], None),
        ("IsrShrunk", t, t, None),
    ]
    completing = told.rows("ReplicasChanged", "TargetCleared", "IsrShrunk", "DeleteIntended")
    assert len({(row["epoch"], row["seq"]) for row in completing}) == 1
    assert told.rig.partition(ORDERS).leader == 4


@pytest.mark.slow
@pytest.mark.checklist(105, 111)
def test_a_move_under_load_loses_nothing_and_leaves_nothing_behind() -> None:
    rig = orders(records=5_000, copy_rate_bytes_s=1_000_000)
    writer = rig.write([ORDERS], records_per_s=300)
    rig.reassign({ORDERS: AFTER})
    rig.wait.until_replicas({ORDERS: AFTER})
    rig.run(300)
    writer.stop()
    settle(rig)
    assert rig.producers.acknowledged(ORDERS) > 5_000 + 1_000
    assert [rig.brokers[b].log(ORDERS) for b in BEFORE] == [None] * 3
    assert {b: rig.brokers[b].deleted for b in BEFORE} == {b: [ORDERS] for b in BEFORE}
    ends = {log_of(rig, b).end_offset for b in AFTER}
    assert len(ends) == 1


@pytest.mark.checklist(79, 80)
def test_a_cancel_keeps_who_is_in_sync_and_deletes_who_is_not() -> None:
    rig = orders(copy_rate_bytes_s=1_000_000)
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: [4, 6]})
    rig.until(lambda: 4 in rig.partition(ORDERS).isr, what="4 is in sync")
    rig.reassign({ORDERS: None})
    rig.mishaps.resume_broker(6)
    settle(rig)
    assert rig.partition(ORDERS).replicas == (1, 2, 3, 4)
    assert rig.brokers[6].log(ORDERS) is None
    rig.reassign({ORDERS: BEFORE})
    settle(rig)
    assert rig.partition(ORDERS).replicas == BEFORE
    assert rig.brokers[4].deleted == [ORDERS]


@pytest.mark.checklist(79)
@pytest.mark.parametrize("steps", range(1, 7))
def test_cancel_during_the_joining_of_a_target_keeps_who_is_in_sync(steps: int) -> None:
    """Also in one commit, where what is left may look like the end of the move."""
    rig = orders(records=10)
    rig.mishaps.kill_broker(3)
    rig.until(lambda: 3 not in rig.partition(ORDERS).isr, what="3 is not in sync")
    rig.reassign({ORDERS: [1, 2, 3, 4]})
    rig.run(steps * rig.tick_ms)
    asked(leading(rig), None)
    rig.until(lambda: rig.partition(ORDERS).move is None, what="it is cancelled")
    assert rig.partition(ORDERS).replicas[:3] == BEFORE
    rig.mishaps.restart_broker(3)
    settle(rig)


def test_a_rollback_ends_where_the_move_began() -> None:
    rig = orders(copy_rate_bytes_s=1_000_000)
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    rig.until(lambda: set(rig.partition(ORDERS).isr) >= {4, 5}, what="4 and 5 are in sync")
    rig.result(rig.admin.rollback_partition_reassignments([ORDERS]).all())
    rig.mishaps.resume_broker(6)
    settle(rig)
    assert rig.partition(ORDERS).replicas == BEFORE
    assert [rig.brokers[b].log(ORDERS) for b in AFTER] == [None] * 3


def test_a_move_past_its_deadline_cancels_itself() -> None:
    told = Told(copy_rate_bytes_s=10_000)
    rig = told.rig
    rig.create_topic("orders", replicas=[list(BEFORE)], records=1_000)
    options = AlterReassignmentsOptions(move_timeout_s=0.7)
    rig.result(rig.admin.alter_partition_reassignments({ORDERS: AFTER}, options).all())
    accepted_ms = rig.clock.elapsed_ms
    rig.until(lambda: rig.partition(ORDERS).move is None, what="the move is over")
    assert 600 <= rig.clock.elapsed_ms - accepted_ms <= 800
    settle(rig)
    assert [row["cause"] for row in told.rows("TargetCleared")] == ["deadline"]
    assert rig.partition(ORDERS).replicas == BEFORE


@pytest.mark.checklist(111)
def test_a_consumer_reads_over_a_move_without_a_gap() -> None:
    """From the first record to the last, each once, while they are written and all replicas are replaced."""
    rig = orders(records=100, copy_rate_bytes_s=1_000_000)
    writer = rig.write([ORDERS], records_per_s=300)
    consumer = rig.clients.consumer()
    consumer.assign([ORDERS])
    rig.reassign({ORDERS: AFTER})
    read: list[Run] = []
    while rig.partition(ORDERS).move is not None:
        rig.run(50)
        read += consumer.poll().get(ORDERS, ())
    during = read[-1].end
    rig.run(300)
    writer.stop()
    settle(rig)
    for _ in range(2):
        read += consumer.poll().get(ORDERS, ())
    assert during > 100
    assert [one.start for one in read[1:]] == [one.end for one in read[:-1]]
    assert (read[0].start, read[-1].end) == (0, log_of(rig, 4).end_offset)
    assert read[-1].end >= rig.producers.acknowledged(ORDERS) > during


@pytest.mark.checklist(3)
def test_growth_gives_the_new_replicas_the_same_records() -> None:
    rig = Rig(brokers={1: None, 2: None, 3: None}, copy_rate_bytes_s=1_000_000)
    (tp,) = rig.create_topic("orders", replicas=[[1]], records=2_000)
    rig.reassign({tp: [1, 2, 3]})
    settle(rig)
    assert set(rig.partition(tp).isr) == {1, 2, 3}
    logs = [log_of(rig, b, tp) for b in (1, 2, 3)]
    assert [log.runs for log in logs] == [logs[0].runs] * 3
    assert rig.copying.copied_bytes == 2 * 2_000 * 1_000


@pytest.mark.checklist(106)
def test_who_stays_keeps_its_log_and_never_leaves_the_isr() -> None:
    rig = orders()
    rig.reassign({ORDERS: [3, 4]})
    settle(rig)
    assert all(3 in moment.partition.isr for moment in rig.committed.history[ORDERS])
    assert ORDERS not in rig.brokers[3].deleted
    assert not [s for s in rig.requests(StopReplicaRequest) if s.broker_id == 3]


@pytest.mark.slow
@pytest.mark.checklist(115, 117)
def test_a_client_that_writes_the_key_and_polls_it_finds_the_move_done_when_the_key_is_gone() -> None:
    rig = orders(records=2_000, copy_rate_bytes_s=1_000_000)
    writer = rig.write([ORDERS], records_per_s=300)
    submit_by_key(rig, {ORDERS: AFTER})
    rig.until(lambda: not is_key_there(rig), what="the key is gone")
    assert rig.partition(ORDERS).replicas == AFTER
    writer.stop()
    settle(rig)
    assert [rig.brokers[b].log(ORDERS) for b in BEFORE] == [None] * 3
