"""A topic loses its last partitions (KIP-694), whatever befalls it meanwhile: those asked for, and no other."""

from __future__ import annotations

from typing import Any, Final

import attrs
import pytest

from kedge.controller.codec import keys
from kedge.controller.model.errors import ErrorCode, UnknownTopicOrPartition
from kedge.controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge.controller.model.reductions import OFFLINE, READ_ONLY
from kedge.controller.model.requests import DeletePartitions, ElectionType, NewPartitions
from kedge.controller.model.values import LEADER_DURING_DELETE, Settings, TopicPartition
from kedge.controller.rig import Rig
from tests.simulation import reduction_scenarios
from tests.simulation.clusters import AFTER, BEFORE, Told, by_another, leading, put, running, settle
from tests.simulation.reduction_scenarios import KEY, LAST, RETENTION_MS, count, made, status

STAYS: Final = TopicPartition("orders", 0)
SOON = Settings(delete_topic_partition_interval_delay_ms=100)


def orders(records: int = 50, settings: Settings = SOON, **options: Any) -> Rig:
    """`orders` with three partitions, each on 1, 2, 3, kept for three seconds."""
    return reduction_scenarios.orders(settings, records, **options)


def until_status(rig: Rig, wanted: int | None, tp: TopicPartition = LAST) -> None:
    rig.until(lambda: status(rig, tp) == wanted, what=f"{tp} has the status {wanted}")


def takes_no_records(rig: Rig) -> None:
    """The last partition, while another one takes them."""
    rig.run(100)
    assert (rig.produce(LAST, 1), rig.produce(STAYS, 1)) == (0, 1)


def _of_last(said: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(p for p in said if p.partition == LAST.partition)


@pytest.mark.checklist(185, 202, 204, 205, 206)
def test_at_once_partitions_go_offline_and_nothing_is_left_of_them() -> None:
    """Status 1 by the answer; then no log, no metadata, no key, and the topic lists what stays."""
    rig = orders()
    assert rig.delete_partitions("orders", 1, immediate=True) == {1: OFFLINE, 2: OFFLINE}
    assert KEY in rig.server.table.rows
    settle(rig)
    assert count(rig) == 1
    assert [key for key in rig.server.table.rows if key.startswith(KEY) or "orders/partitions/1" in key] == []
    for broker in rig.brokers.values():
        assert broker.log(LAST) is None
        assert list(broker.shown()["orders"]) == [0]
    assert rig.producers.acknowledged(STAYS) == 50


@pytest.mark.slow
@pytest.mark.checklist(186, 194, 195, 199)
def test_delayed_partitions_can_be_read_until_their_retention_is_over_and_not_be_written() -> None:
    """Read-only: no record is taken, the end of the log stays where it was; then offline, not sooner, then gone."""
    rig = orders()
    assert rig.delete_partitions("orders", 2) == {2: READ_ONLY}
    asked_ms = rig.clock.now_ms()
    until_status(rig, READ_ONLY)
    rig.run(100)
    leader = rig.leader(LAST)
    assert leader is not None
    assert leader.refuses_produce(LAST) is ErrorCode.POLICY_VIOLATION
    assert leader.refuses_fetch(LAST) is ErrorCode.NONE
    assert rig.produce(LAST, 10) == 0
    assert rig.produce(STAYS, 10) == 10
    log = leader.log(LAST)
    assert log is not None
    assert (log.end_offset, log.high_watermark) == (50, 50)
    until_status(rig, OFFLINE)
    assert RETENTION_MS <= rig.clock.now_ms() - asked_ms <= RETENTION_MS + 500
    settle(rig)
    assert count(rig) == 2


@pytest.mark.slow
@pytest.mark.checklist(200)
def test_the_clocks_are_looked_at_once_per_interval() -> None:
    """300,000 ms unless it is set; a shorter one, also as default of all brokers, is heeded at once."""
    assert Settings().delete_topic_partition_interval_delay_ms == 300_000
    rig = orders(settings=Settings())
    rig.run(6_000)  # the first look is soon after the takeover
    rig.delete_partitions("orders", 2)
    rig.run(60_000)
    assert status(rig) == READ_ONLY
    put(rig, keys.BROKER_DEFAULTS, {"version": 1, "config": {"delete.topic.partition.interval.delay.ms": "1000"}})
    put(rig, f"{keys.CONFIG_CHANGES}/config_change_0000000000", {"version": 2, "entity_path": "brokers/<default>"})
    rig.until(lambda: status(rig) in (OFFLINE, None), timeout_s=2, what="it is offline")
    settle(rig)


@pytest.mark.checklist(190, 196)
def test_all_hear_the_status_and_offline_partitions_are_hidden() -> None:
    """By LeaderAndIsr and UpdateMetadata; the leader serves no client; removed partitions are sent with leader -2."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.run(1_500)
    rig.delete_partitions("orders", 2)
    until_status(rig, READ_ONLY)
    rig.run(100)
    up = [broker for broker in rig.brokers.values() if broker.is_up]
    assert all(broker.shown()["orders"][2].status_code == READ_ONLY for broker in up)
    rig.delete_partitions("orders", 2, immediate=True)
    until_status(rig, OFFLINE)
    rig.run(100)
    assert all(broker.refuses_fetch(LAST) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for broker in up)
    assert all(list(broker.shown()["orders"]) == [0, 1] for broker in up)
    assert rig.leader(LAST) is None
    rig.mishaps.restart_broker(3)
    settle(rig)
    said: dict[type, set[tuple[int, int]]] = {LeaderAndIsrRequest: set(), UpdateMetadataRequest: set()}
    for sent in rig.requests():
        if not isinstance(sent.request, StopReplicaRequest):
            named = [p for p in sent.request.partitions if p.partition == 2]
            said[type(sent.request)] |= {(p.status_code, min(p.leader, 0)) for p in named}
    assert said[LeaderAndIsrRequest] == {(0, 0), (READ_ONLY, 0), (OFFLINE, 0)}
    assert said[UpdateMetadataRequest] == {(0, 0), (READ_ONLY, 0), (OFFLINE, 0), (OFFLINE, LEADER_DURING_DELETE)}


@pytest.mark.checklist(191, 226, 228)
def test_the_status_stays_over_isr_changes_elections_failovers_and_moves() -> None:
    """It is read-only under every leader, and wherever it moves: no record can be written."""
    rig = orders(settings=Settings())
    rig.delete_partitions("orders", 2)
    until_status(rig, READ_ONLY)
    rig.mishaps.kill_broker(1)
    rig.until(lambda: rig.partition(LAST).leader == 2, what="2 leads")
    takes_no_records(rig)
    rig.mishaps.kill_controller(leading(rig).node_id)
    leading(rig)
    rig.mishaps.restart_broker(1)
    rig.until(lambda: len(rig.partition(LAST).isr) == 3, what="1 is in sync again")
    rig.result(rig.admin.elect_leaders(ElectionType.PREFERRED, [LAST]))
    assert rig.partition(LAST).leader == 1
    takes_no_records(rig)
    rig.reassign({LAST: AFTER})
    assert rig.partition(LAST).target_replicas == AFTER
    assert status(rig) == READ_ONLY
    rig.wait.until_replicas({LAST: AFTER})
    assert status(rig) == READ_ONLY
    takes_no_records(rig)
    rig.mishaps.heal()
    settle(rig)


@pytest.mark.slow
@pytest.mark.checklist(213)
def test_failover_does_not_restart_the_time() -> None:
    """It is counted from the time in the key: a controller that dies every second delays nothing."""
    rig = orders()
    rig.delete_partitions("orders", 2)
    asked_ms = rig.clock.now_ms()
    for _ in range(2):
        rig.run(800)
        node = leading(rig).node_id
        rig.mishaps.kill_controller(node)
        leading(rig)
        rig.mishaps.restart_controller(node)
    assert status(rig) == READ_ONLY
    rig.until(lambda: status(rig) != READ_ONLY, timeout_s=5, what="it is offline")
    assert rig.clock.now_ms() - asked_ms <= RETENTION_MS + 1_500
    settle(rig)


@pytest.mark.checklist(212)
@pytest.mark.parametrize("forgets", [False, True])
def test_a_broker_that_is_down_is_waited_for_or_forgotten(forgets: bool) -> None:
    """Also by the next controller; the partition is offline meanwhile, and nothing of it is gone."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.delete_partitions("orders", 2, immediate=True)
    rig.run(500)
    rig.mishaps.kill_controller(leading(rig).node_id)
    rig.run(3_000)
    assert (count(rig), status(rig)) == (3, OFFLINE)
    if forgets:
        rig.reassign({tp: [1, 2] for tp in (STAYS, TopicPartition("orders", 1))})
        rig.wait.until_replicas({tp: [1, 2] for tp in (STAYS, TopicPartition("orders", 1))})
        rig.forget_broker(3)
    else:
        rig.mishaps.restart_broker(3)
    rig.until(lambda: count(rig) == 2, what="it is gone")
    rig.mishaps.heal()
    settle(rig)


@pytest.mark.checklist(218)
def test_recreated_partition_begins_at_zero_and_gets_no_old_messages() -> None:
    """Offset 0, a leader epoch above the retired one; LeaderAndIsr and StopReplica of the old one are dropped."""
    rig = orders()
    rig.delete_partitions("orders", 2, immediate=True)
    settle(rig)
    retired = rig.committed.topics["orders"].topic.retired_epochs[2]
    old = [s.request for s in rig.requests() if not isinstance(s.request, UpdateMetadataRequest)]
    rig.result(rig.admin.create_partitions({"orders": NewPartitions(3, [list(BEFORE)])}).all())
    rig.until(lambda: rig.leader(LAST) is not None, what="it is led")
    settle(rig)
    assert rig.partition(LAST).leader_epoch == retired + 1
    assert rig.produce(LAST, 7) == 7
    rig.run(200)
    for request in old:
        broker = rig.brokers[request.broker_id]
        if isinstance(request, StopReplicaRequest):
            broker.stop_replica(attrs.evolve(request, partitions=_of_last(request.partitions)))
        elif isinstance(request, LeaderAndIsrRequest):
            broker.leader_and_isr(attrs.evolve(request, full=False, partitions=_of_last(request.partitions)))
    rig.run(200)
    for broker_id in BEFORE:
        log = rig.brokers[broker_id].log(LAST)
        assert log is not None
        assert log.end_offset == 7
    settle(rig)


@pytest.mark.checklist(203)
@pytest.mark.parametrize("is_led", [True, False])
def test_a_key_that_another_tool_wrote_is_the_same_request(is_led: bool) -> None:
    """Seen while we lead, and found by a takeover."""
    rig = orders()
    entry = {"timestamp": rig.clock.now_ms(), "immediate": True}
    by_another(rig, lambda: put(rig, KEY, {"version": 1, "partitions": {"1": entry, "2": entry}}), is_led=is_led)
    rig.until(lambda: count(rig) == 1, what="they are gone")
    rig.mishaps.heal()
    settle(rig)


@pytest.mark.checklist(220)
@pytest.mark.parametrize("is_led", [True, False])
@pytest.mark.parametrize(
    "key,value",
    [
        (keys.delete_partitions("nowhere"), {"partitions": {"1": {"timestamp": 1}}}),
        (keys.delete_partitions("__own"), {"partitions": {"1": {"timestamp": 1}}}),
        (KEY, {"partitions": {"1": {"timestamp": 1}}}),
        (KEY, {"partitions": {"3": {"timestamp": 1}}}),
        (KEY, {"partitions": {"2": {"timestamp": "soon"}}}),
        (KEY, b"{"),
    ],
    ids=["no topic", "internal", "not the tail", "unknown", "bad entry", "no JSON"],
)
def test_a_key_that_cannot_be_obeyed_is_removed_and_reported(key: str, value: object, is_led: bool) -> None:
    """Nothing of any topic changes."""
    told = Told(settings=SOON)
    rig = told.rig
    made(rig)
    rig.create_topic("__own", partitions=2)
    by_another(rig, lambda: put(rig, key, value), is_led=is_led)
    rig.until(lambda: key not in rig.server.table.rows, what="the key is gone")
    assert "removed" in told.rows("ForeignChange")[-1]["detail"]["what"]
    assert key in running(leading(rig)).describe().findings[keys.DELETE_PARTITIONS]
    rig.mishaps.heal()
    settle(rig)
    assert all(p.status_code == 0 for p in rig.committed.partitions.values())


@pytest.mark.checklist(215)
def test_the_deletion_of_the_topic_wins_and_takes_the_key_along() -> None:
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.delete_partitions("orders", 1, immediate=True)
    rig.run(200)
    rig.delete_topic("orders", wait=False)
    rig.run(200)
    with pytest.raises(UnknownTopicOrPartition, match="being deleted"):
        rig.delete_partitions("orders", 1)
    rig.mishaps.restart_broker(3)
    rig.until(lambda: "orders" not in rig.committed.topics, what="orders is gone")
    settle(rig)
    assert [key for key in rig.server.table.rows if "orders" in key.split("/")] == []


@pytest.mark.slow
def test_a_deletion_that_begins_with_the_purge_ends() -> None:
    """Whenever it is asked for: also in the commit in which the partitions go."""
    for steps in range(1, 16):
        rig = orders(records=1)
        admin = rig.admin
        asked = admin.delete_partitions({"orders": DeletePartitions(1, immediate_delete=True)})
        rig.run(steps * rig.tick_ms)
        admin.alter_partition_reassignments({STAYS: None})  # requests and what follows take turns: it comes behind
        rig.result(admin.delete_topics(["orders"]).all())
        rig.result(asked.all())
        settle(rig)
        assert [key for key in rig.server.table.rows if "orders" in key] == []
