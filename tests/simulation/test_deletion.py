"""Topics are deleted, whatever befalls them meanwhile: nothing of them is left, and their names are free again."""

from __future__ import annotations

import json

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.errors import (
    InvalidRequest,
    InvalidTopic,
    TopicAlreadyExists,
    TopicDeletionDisabled,
    UnknownTopicOrPartition,
)
from kedge.controller.model.host import StopReplicaRequest, UpdateMetadataRequest
from kedge.controller.model.requests import ElectionType, NewPartitions, NewTopic
from kedge.controller.model.values import LEADER_DURING_DELETE, Settings, TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.server import write
from tests.simulation.clusters import (
    AFTER,
    BEFORE,
    ORDERS,
    Told,
    by_another,
    keys_of,
    leading,
    orders,
    put,
    running,
    settle,
)


def until_gone(rig: Rig, name: str = "orders") -> None:
    rig.until(lambda: name not in rig.committed.topics, what=f"{name} is gone")


def test_a_deleted_topic_leaves_nothing_and_its_name_is_free_again_with_a_new_id() -> None:
    """No key, no log, no metadata; the next topic of its name begins at offset 0."""
    rig = orders(records=500)
    first = rig.committed.topics["orders"].topic.topic_id
    rig.delete_topic("orders")
    rig.wait.until_converged()
    assert keys_of(rig, "orders") == []
    assert all(broker.log(ORDERS) is None and ORDERS not in broker.metadata for broker in rig.brokers.values())
    assert running(leading(rig)).describe().partitions == 0
    rig.create_topic("orders", replicas=[[2, 3, 4]], records=10)
    settle(rig)
    assert rig.committed.topics["orders"].topic.topic_id != first
    assert rig.producers.acknowledged(ORDERS) == 10
    assert rig.partition(ORDERS).leader_epoch == 0


def test_metadata_without_leader_is_sent_before_any_log_is_deleted() -> None:
    """Clients turn away first: leader -2 reaches every broker, and each that deletes before it has the order."""
    rig = orders()
    rig.delete_topic("orders")
    leaderless = {
        sent.broker_id: at
        for at, sent in enumerate(rig.requests())
        if isinstance(sent.request, UpdateMetadataRequest)
        and any(p.leader == LEADER_DURING_DELETE for p in sent.request.partitions)
    }
    deleting = {s.broker_id: at for at, s in enumerate(rig.requests()) if isinstance(s.request, StopReplicaRequest)}
    assert set(leaderless) == set(rig.brokers)
    assert set(deleting) == set(BEFORE)
    assert all(leaderless[broker] < deleting[broker] for broker in deleting)


def test_what_others_write_to_the_state_of_a_stopped_partition_is_left_there() -> None:
    """Broken and mended by hand while a broker is waited for; a broker that joins meanwhile gets what is decided."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.delete_topic("orders", wait=False)
    rig.until(lambda: rig.partition(ORDERS).leader == LEADER_DURING_DELETE, what="it is stopped")
    rig.mishaps.break_key(keys.state("orders", 0))
    named = {"version": 1, "partitions": [{"topic": "orders", "partition": 0}]}
    write(rig.server, f"{keys.ISR_CHANGES}/isr_change_0000000001", json.dumps(named).encode())
    rig.run(500)  # it was looked at
    rig.mishaps.mend_key(keys.state("orders", 0))
    rig.mishaps.bounce_broker(5)
    rig.run(500)
    rig.mishaps.heal()
    until_gone(rig)
    settle(rig)


@pytest.mark.checklist(122)
def test_a_move_is_cancelled_before_any_of_its_replicas_is_deleted() -> None:
    """In the journal, and in requests to brokers; the listing shows nothing of it once it is cancelled."""
    told = Told()
    rig = told.rig
    rig.create_topic("orders", replicas=[list(BEFORE)], records=100)
    rig.mishaps.pause_broker(6)
    rig.reassign({ORDERS: AFTER})
    rig.until(lambda: 4 in rig.partition(ORDERS).isr, what="4 is in sync")
    rig.delete_topic("orders", wait=False)
    rig.until(lambda: rig.partition(ORDERS).leader == LEADER_DURING_DELETE, what="it is stopped")
    assert rig.result(rig.admin.list_partition_reassignments()) == {}
    rig.mishaps.resume_broker(6)
    until_gone(rig)
    settle(rig)
    rows = told.rows("TopicDeletionStarted", "TargetCleared", "DeleteIntended", "ReplicaDeleted", "TopicDeleted")
    events = [row["event"] for row in rows]
    assert events[:2] == ["TopicDeletionStarted", "TargetCleared"]
    assert rows[1]["cause"] == "topic deleted"
    assert sorted(row["broker"] for row in rows if row["event"] == "ReplicaDeleted") == [1, 2, 3, 4, 5, 6]
    assert events[-1] == "TopicDeleted"


@pytest.mark.checklist(94)
def test_what_is_asked_of_a_topic_that_is_being_deleted_is_refused_and_holds_up_nothing() -> None:
    """Each request has its documented error; asking for the deletion again is no error."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.delete_topic("orders", wait=False)
    rig.until(lambda: rig.partition(ORDERS).leader == LEADER_DURING_DELETE, what="it is stopped")
    with pytest.raises(UnknownTopicOrPartition, match="being deleted"):
        rig.reassign({ORDERS: AFTER})
    with pytest.raises(UnknownTopicOrPartition, match="being deleted"):
        rig.reassign({ORDERS: None})
    with pytest.raises(UnknownTopicOrPartition, match="being deleted"):
        rig.result(rig.admin.create_partitions({"orders": NewPartitions(4)}).all())
    with pytest.raises(TopicAlreadyExists, match="marked for deletion"):
        rig.result(rig.admin.create_topics({"orders": NewTopic(1, 1)}).all())
    answers = rig.result(rig.admin.elect_leaders(ElectionType.PREFERRED, [ORDERS]))
    assert isinstance(answers[ORDERS], InvalidTopic)
    assert rig.result(rig.admin.elect_leaders(ElectionType.PREFERRED, None)) == {}
    assert rig.result(rig.admin.delete_topics(["orders"]).all()) == {"orders": None}
    rig.mishaps.restart_broker(3)
    until_gone(rig)
    settle(rig)


def test_a_broker_that_is_down_is_waited_for() -> None:
    """Also by the next controller."""
    rig = orders()
    rig.mishaps.kill_broker(3)
    rig.delete_topic("orders", wait=False)
    rig.run(500)
    rig.mishaps.kill_controller(leading(rig).node_id)
    rig.run(3_000)
    assert "orders" in rig.committed.topics
    assert rig.brokers[3].log(ORDERS) is not None
    assert running(leading(rig)).describe().deleting_topics == ("orders",)
    rig.mishaps.restart_broker(3)
    until_gone(rig)
    rig.mishaps.heal()
    settle(rig)


def test_forgetting_a_broker_ends_the_wait_for_it() -> None:
    """It is refused while the broker lives, or is a replica of anything that stays."""
    rig = orders()
    rig.create_topic("kept", replicas=[[3, 4]])
    with pytest.raises(InvalidRequest, match="3 is alive"):
        rig.result(rig.admin.forget_broker(3))
    rig.mishaps.kill_broker(3)
    rig.run(200)
    rig.delete_topic("orders", wait=False)
    rig.run(500)
    with pytest.raises(InvalidRequest, match="kept-0"):
        rig.result(rig.admin.forget_broker(3))
    rig.reassign({TopicPartition("kept", 0): [4]})
    rig.wait.until_replicas({TopicPartition("kept", 0): [4]})
    rig.result(rig.admin.forget_broker(3))
    until_gone(rig)
    rig.wait.until_quiet()
    assert keys_of(rig, "orders") == []
    assert "/kedge/brokers/3" not in rig.server.table.rows
    assert not any(key.startswith("/admin/replica_deletions/3/") for key in rig.server.table.rows)


@pytest.mark.parametrize("is_led", [True, False])
def test_a_key_that_another_tool_wrote_is_the_same_request(is_led: bool) -> None:
    """Seen while we lead, and found by a takeover."""
    rig = orders()
    by_another(rig, lambda: put(rig, keys.delete_topic("orders"), b""), is_led=is_led)
    until_gone(rig)
    rig.mishaps.heal()
    settle(rig)
    assert keys_of(rig, "orders") == []


@pytest.mark.parametrize("is_led", [True, False])
def test_with_deletion_disabled_a_request_is_refused_and_the_key_of_others_removed(is_led: bool) -> None:
    told = Told(settings=Settings(delete_topic_enable=False))
    rig = told.rig
    rig.create_topic("orders", replicas=[list(BEFORE)])
    with pytest.raises(TopicDeletionDisabled):
        rig.result(rig.admin.delete_topics(["orders", "nowhere"]).all())
    by_another(rig, lambda: put(rig, keys.delete_topic("orders"), b""), is_led=is_led)
    rig.until(lambda: not any("delete_topics" in key for key in rig.server.table.rows), what="the key is gone")
    rig.run(500)
    assert "delete_topic_enable is off" in told.rows("ForeignChange")[0]["detail"]["what"]
    rig.mishaps.heal()
    settle(rig)
    assert rig.partition(ORDERS).leader in BEFORE
