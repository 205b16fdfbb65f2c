from __future__ import annotations

from typing import Any

import attrs
import pytest

from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import BrokerRegistration, TopicPartition
from kedge.controller.rig import Broker, NodeClock, Run, VirtualClock
from kedge.controller.simulated.replica import Role

TP = TopicPartition("t", 0)
SAID = LeaderAndIsrPartition("t", "id", 0, 1, 3, (1, 2), 5, (1, 2), None, True, 0, 0)
KNOWN = PartitionMetadata("t", "id", 0, 1, 3, (1, 2), 5, (1, 2), (), 0)
ASKED = LeaderAndIsrRequest(1, 10, 101, 7, False, (SAID,), ())
TOLD = UpdateMetadataRequest(1, 10, 101, 7, False, (LivePeer(1, "h", 1, None),), (KNOWN,))
STOP = StopReplicaRequest(1, 10, 101, 7, (StopReplicaPartition("t", "id", 0, 4, True),))


@pytest.fixture
def broker() -> Broker:
    return Broker(BrokerRegistration(1), NodeClock(VirtualClock()), epoch=10)


def test_it_obeys_and_remembers_the_controller(broker: Broker) -> None:
    assert not broker.leader_and_isr(ASKED).errors
    assert broker.leads(TP)
    assert (broker.controller_id, broker.controller_epoch) == (101, 7)


@pytest.mark.parametrize(
    "changed,error",
    [({"controller_epoch": 6}, ErrorCode.STALE_CONTROLLER_EPOCH), ({"broker_epoch": 9}, ErrorCode.STALE_BROKER_EPOCH)],
)
def test_an_older_controller_and_an_older_self_are_refused(
    broker: Broker, changed: dict[str, Any], error: ErrorCode
) -> None:
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=()))
    assert broker.leader_and_isr(attrs.evolve(ASKED, **changed)).error is error
    assert broker.update_metadata(attrs.evolve(TOLD, **changed)).error is error
    assert broker.stop_replica(attrs.evolve(STOP, **changed)).error is error
    assert broker.log(TP) is None


def test_a_newer_broker_epoch_is_its_own_from_then_on(broker: Broker) -> None:
    """It was registered again, and hears of it by the request."""
    assert not broker.leader_and_isr(attrs.evolve(ASKED, broker_epoch=11)).error
    assert broker.leader_and_isr(ASKED).error is ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_of_version_2_knows_no_targets() -> None:
    """It passes over the field, and over what it holds only as a target."""
    old = Broker(BrokerRegistration(1, leader_and_isr_version=2), NodeClock(VirtualClock()), epoch=10)
    old.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, target_replicas=(2, 3)),)))
    assert old.replicas["id", 0].target is None
    other = attrs.evolve(SAID, partition=1, leader=2, replicas=(2, 3), target_replicas=(1,))
    assert not old.leader_and_isr(attrs.evolve(ASKED, partitions=(other,))).errors
    assert old.log(TopicPartition("t", 1)) is None


def test_an_older_leader_epoch_changes_nothing(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, leader=2, leader_epoch=2),)))
    assert broker.leads(TP)


def test_another_topic_id_is_another_replica(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    other = attrs.evolve(SAID, topic_id="new", leader_epoch=0, leader=2)
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(other,)))
    assert broker.replicas["id", 0].role is Role.LEADER
    assert broker.replicas["new", 0].role is Role.FOLLOWER


def test_a_full_request_stops_what_it_does_not_name_and_deletes_nothing(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    broker.leader_and_isr(attrs.evolve(ASKED, full=True, partitions=()))
    assert not broker.leads(TP)
    assert broker.log(TP) is not None
    broker.leader_and_isr(ASKED)
    assert broker.leads(TP)


def test_a_strict_broker_makes_no_log_that_should_be_there(broker: Broker) -> None:
    broker.is_strict = True
    old = attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, is_new=False),))
    assert broker.leader_and_isr(old).errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert broker.log(TP) is None


def test_a_broker_with_another_disk_than_before_makes_none_either(broker: Broker) -> None:
    old = attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, is_new=False),))
    assert not broker.leader_and_isr(old).errors
    broker.disk_failed(None)
    assert broker.leader_and_isr(ASKED).errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    broker.stopped()
    assert broker.leader_and_isr(old).errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert not broker.leader_and_isr(ASKED).errors


def test_what_was_deleted_does_not_come_back_by_an_older_request(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    assert not broker.stop_replica(STOP).errors
    broker.leader_and_isr(ASKED)
    assert broker.log(TP) is None
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, leader_epoch=5),)))
    assert broker.leads(TP)


def test_a_deletion_from_before_the_present_leader_is_refused(broker: Broker) -> None:
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, leader_epoch=5),)))
    assert broker.stop_replica(STOP).errors == {TP: ErrorCode.FENCED_LEADER_EPOCH}
    assert broker.leads(TP)


def test_deleting_what_is_not_there_is_done(broker: Broker) -> None:
    assert not broker.stop_replica(STOP).errors


def test_a_leader_learns_of_a_newer_isr_from_metadata(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    broker.update_metadata(attrs.evolve(TOLD, partitions=(attrs.evolve(KNOWN, isr=(1,), partition_epoch=6),)))
    assert broker.replicas["id", 0].isr == (1,)
    broker.update_metadata(TOLD)
    assert broker.replicas["id", 0].isr == (1,)
    assert broker.metadata[TP].partition_epoch == 6


def test_full_metadata_forgets_what_it_does_not_name(broker: Broker) -> None:
    broker.update_metadata(TOLD)
    broker.update_metadata(attrs.evolve(TOLD, full=True, partitions=()))
    assert broker.metadata == {}
    assert broker.peers == (1,)


def test_a_restart_keeps_logs_and_forgets_roles(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    broker.replicas["id", 0].log.append([Run(0, 5, 3, 0, 10)])
    broker.replicas["id", 0].log.high_watermark = 5
    broker.stopped()
    log = broker.log(TP)
    assert log is not None
    assert (log.end_offset, log.high_watermark) == (5, 5)
    assert not broker.leads(TP)
    assert broker.controller_epoch == 0
