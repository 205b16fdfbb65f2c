"""The gauges of a controller against what the rig did to the cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.controller.metrics import Snapshot
from kedge.controller.rig import Rig
from kedge.controller.rig.node import State
from tests.simulation.clusters import AFTER, ORDERS, orders, settle

KAFKA = "kafka.controller:type=KafkaController,name="
REPLICAS = "kafka.server:type=ReplicaManager,name="
OFFLINE = f"{KAFKA}OfflinePartitionsCount"
IMBALANCE = f"{KAFKA}PreferredReplicaImbalanceCount"
ACTIVE = f"{KAFKA}ActiveControllerCount"
REASSIGNING = f"{REPLICAS}ReassigningPartitions"
UNDER_REPLICATED = f"{REPLICAS}UnderReplicatedPartitions"


def metrics(rig: Rig) -> Snapshot:
    """Of the active controller."""
    rig.until(lambda: rig.active is not None, what="a controller is active")
    assert rig.active is not None
    assert rig.active.controller is not None
    return rig.active.controller.metrics()


def while_it_moves(rig: Rig) -> Iterator[Snapshot]:
    """The metrics after each step, until the move is over."""
    while rig.partition(ORDERS).move is not None:
        rig.step()
        yield metrics(rig)


def until(rig: Rig, key: str, value: int) -> None:
    rig.until(lambda: metrics(rig).get(key) == value, what=f"{key} is {value}")


@pytest.mark.slow
@pytest.mark.checklist(182)
def test_a_move_is_no_under_replication_alarm() -> None:
    """In no step of it, from the first to the last, though targets are out of sync nearly all the time."""
    rig = orders(copy_rate_bytes_s=500_000)
    rig.reassign({ORDERS: AFTER})
    seen = [(m[UNDER_REPLICATED], rig.partition(ORDERS).isr) for m in while_it_moves(rig)]
    assert len({isr for _, isr in seen}) > 1
    assert {count for count, _ in seen} == {0}


def test_a_replica_that_falls_out_of_a_move_is_an_alarm_of_its_leader() -> None:
    rig = orders(copy_rate_bytes_s=100_000)
    rig.reassign({ORDERS: AFTER})
    rig.mishaps.kill_broker(2)
    until(rig, UNDER_REPLICATED, 1)
    assert rig.partition(ORDERS).move is not None
    now = metrics(rig)
    assert [now[f"{UNDER_REPLICATED},broker-id={b}"] for b in (1, 3, 4)] == [1, 0, 0]


@pytest.mark.slow
@pytest.mark.checklist(179)
def test_leader_partitions_that_move_are_counted_by_broker_and_none_when_idle() -> None:
    rig = orders(copy_rate_bytes_s=500_000)
    other = rig.create_topic("other", replicas=[[2, 3, 1], [1, 2, 3]], records=500)
    assert metrics(rig)[REASSIGNING] == 0
    rig.reassign({ORDERS: AFTER, other[0]: (5, 6, 4)})
    now = metrics(rig)
    assert now[REASSIGNING] == 2
    assert [now[f"{REASSIGNING},broker-id={b}"] for b in range(1, 7)] == [1, 1, 0, 0, 0, 0]
    settle(rig)
    now = metrics(rig)
    assert [now[REASSIGNING], *(now[f"{REASSIGNING},broker-id={b}"] for b in range(1, 7))] == [0] * 7


def test_a_partition_whose_replicas_all_died_is_offline_until_one_is_back() -> None:
    rig = orders()
    for broker in (1, 2, 3):
        rig.mishaps.kill_broker(broker)
    until(rig, OFFLINE, 1)
    assert metrics(rig)[UNDER_REPLICATED] == 0  # no leader reports missing replicas
    for broker in (1, 2, 3):
        rig.mishaps.restart_broker(broker)
    until(rig, OFFLINE, 0)


def test_a_partition_that_another_leads_is_an_imbalance_of_the_first_of_its_replicas() -> None:
    rig = orders()
    assert metrics(rig)[IMBALANCE] == 0
    rig.mishaps.kill_broker(1)
    until(rig, IMBALANCE, 1)
    now = metrics(rig)
    assert [now[f"{IMBALANCE},broker-id={b}"] for b in (1, 2, 3)] == [1, 0, 0]


def test_what_is_left_to_delete_is_counted_until_it_is_acknowledged() -> None:
    """Of a topic whose deletion waits for a broker, and of that broker's replica."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.run(1_000)
    rig.delete_topic("orders", wait=False)
    topics, replicas = f"{KAFKA}TopicsToDeleteCount", f"{KAFKA}ReplicasToDeleteCount"
    until(rig, replicas, 1)
    assert metrics(rig)[topics] == 1
    rig.mishaps.restart_broker(3)
    until(rig, topics, 0)
    now = metrics(rig)
    assert (now[replicas], now[f"{KAFKA}GlobalTopicCount"], now[OFFLINE]) == (0, 0, 0)


def test_topics_partitions_and_brokers_are_counted() -> None:
    rig = orders()
    rig.create_topic("other", 5, 2)
    names = ("GlobalTopicCount", "GlobalPartitionCount", "ActiveBrokerCount")
    assert [metrics(rig)[KAFKA + name] for name in names] == [2, 6, 6]


@pytest.mark.slow
def test_next_controller_publishes_what_the_former_one_did() -> None:
    """Gauges are counted again at a takeover; the former one counts as none, and leaves out what it does not know."""
    rig = orders(copy_rate_bytes_s=50_000)
    rig.reassign({ORDERS: AFTER})
    former = rig.active
    assert former is not None
    assert former.controller is not None
    rig.mishaps.pause_controller(former.node_id, for_ms=3_000)
    rig.until(lambda: rig.active is not None and rig.active is not former, what="another one leads")
    now = metrics(rig)
    assert [now[ACTIVE], now[REASSIGNING], now[UNDER_REPLICATED], now[OFFLINE]] == [1, 1, 0, 0]
    rig.until(lambda: former.state is State.UP and not former.is_active, what="the former one knows")
    stand_by = former.controller.metrics()
    assert stand_by[ACTIVE] == 0
    assert [key for key in stand_by if key.startswith((KAFKA, REPLICAS))] == [ACTIVE]
    former_events = [key for key in stand_by if "EventQueueTimeMs,event=AlterReassignment" in key]
    assert len(former_events) == 1  # what it did while it led
