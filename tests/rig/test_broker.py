"""What the suite for hosts (`tests/rig/test_host_suite.py`) does not ask of a broker, and a replica by itself."""

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
from kedge.controller.simulated.replica import IsrAsked, Replica, Role

TP = TopicPartition("t", 0)
SAID = LeaderAndIsrPartition("t", "id", 0, 1, 3, (1, 2), 5, (1, 2), None, True, 0, 0)
KNOWN = PartitionMetadata("t", "id", 0, 1, 3, (1, 2), 5, (1, 2), (), 0)
ASKED = LeaderAndIsrRequest(1, 10, 101, 7, False, (SAID,), ())
TOLD = UpdateMetadataRequest(1, 10, 101, 7, False, (LivePeer(1, "h", 1, None),), (KNOWN,))
STOP = StopReplicaRequest(1, 10, 101, 7, (StopReplicaPartition("t", "id", 0, 4, True),))


@pytest.fixture
def broker() -> Broker:
    return Broker(BrokerRegistration(1), NodeClock(VirtualClock()), epoch=10)


def test_a_broker_of_version_2_knows_no_targets() -> None:
    """It passes over the field, and over what it holds only as a target."""
    old = Broker(BrokerRegistration(1, leader_and_isr_version=2), NodeClock(VirtualClock()), epoch=10)
    old.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, target_replicas=(2, 3)),)))
    assert old.replicas["id", 0].target is None
    other = attrs.evolve(SAID, partition=1, leader=2, replicas=(2, 3), target_replicas=(1,))
    assert not old.leader_and_isr(attrs.evolve(ASKED, partitions=(other,))).errors
    assert old.log(TopicPartition("t", 1)) is None


def test_a_broker_with_another_disk_than_before_makes_none_either(broker: Broker) -> None:
    old = attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, is_new=False),))
    assert not broker.leader_and_isr(old).errors
    broker.disk_failed(None)
    assert broker.leader_and_isr(ASKED).errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    broker.stopped()
    assert broker.leader_and_isr(old).errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert not broker.leader_and_isr(ASKED).errors


def test_a_leader_learns_of_a_newer_isr_from_metadata(broker: Broker) -> None:
    broker.leader_and_isr(ASKED)
    broker.update_metadata(attrs.evolve(TOLD, partitions=(attrs.evolve(KNOWN, isr=(1,), partition_epoch=6),)))
    assert broker.replicas["id", 0].isr == (1,)
    broker.update_metadata(TOLD)
    assert broker.replicas["id", 0].isr == (1,)
    assert broker.metadata[TP].partition_epoch == 6


def test_a_follower_learns_the_isr_of_its_leader_epoch_from_metadata(broker: Broker) -> None:
    """Not that of a topic of the same name, or an older one."""
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(attrs.evolve(SAID, leader=2),)))
    replica = broker.replicas["id", 0]
    for known, isr in (
        (KNOWN, (1, 2)),
        (attrs.evolve(KNOWN, isr=(2,), partition_epoch=6), (2,)),
        (attrs.evolve(KNOWN, isr=(1,), partition_epoch=4), (2,)),
        (attrs.evolve(KNOWN, isr=(1,), partition_epoch=9, topic_id="other"), (1, 2)),
    ):
        broker.update_metadata(attrs.evolve(TOLD, partitions=(known,)))
        assert broker.isr_of(replica) == isr


def test_of_two_replicas_by_one_name_the_newest_is_meant(broker: Broker) -> None:
    """The topic was deleted while the broker was away, and created again under its name."""
    broker.leader_and_isr(ASKED)
    again = attrs.evolve(SAID, topic_id="again", leader_epoch=4)
    broker.leader_and_isr(attrs.evolve(ASKED, partitions=(again,)))
    assert broker.leader_epoch(TP) == 4


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


# --- a replica

MOVING = attrs.evolve(SAID, isr=(1, 2, 3), replicas=(1, 2, 3), target_replicas=(1, 2, 4))


def _leader(**said: Any) -> Replica:
    replica = Replica(1, "t", "id", 0)
    replica.told(attrs.evolve(MOVING, **said), 1_000)
    return replica


def test_the_high_watermark_waits_for_the_whole_isr() -> None:
    leader = _leader()
    leader.append(10, 0, 100)
    assert leader.log.high_watermark == 0
    leader.fetched(2, 10, 1_010)
    assert leader.log.high_watermark == 0
    leader.fetched(3, 7, 1_010)
    assert leader.log.high_watermark == 7


def test_a_member_that_is_asked_for_holds_the_high_watermark_back_already() -> None:
    leader = _leader(isr=(1,), replicas=(1, 4))
    leader.append(10, 0, 100)
    leader.fetched(4, 10, 1_010)
    leader.asked = IsrAsked((1, 4), 3, 5)
    leader.append(5, 10, 100)
    assert leader.log.high_watermark == 10
    leader.learned((1,), 6)
    assert leader.log.high_watermark == 15


def test_a_member_that_is_to_leave_holds_it_back_until_it_left() -> None:
    leader = _leader(isr=(1, 2))
    leader.fetched(2, 0, 1_010)
    leader.append(10, 0, 100)
    leader.asked = IsrAsked((1,), 3, 5)
    leader.advance()
    assert leader.log.high_watermark == 0
    leader.learned((1,), 6)
    assert leader.log.high_watermark == 10


def test_a_target_joins_once_it_reached_the_high_watermark() -> None:
    leader = _leader()
    leader.append(10, 0, 100)
    for member in (2, 3):
        leader.fetched(member, 10, 1_010)
    leader.fetched(4, 9, 1_010)
    assert leader.wanted_isr(1_020, 500) is None
    leader.fetched(4, 10, 1_030)
    assert leader.wanted_isr(1_030, 500) == (1, 2, 3, 4)


def test_replica_joins_only_where_this_epoch_began() -> None:
    """Not at the high watermark, which a new leader knows only in part until its followers have fetched."""
    leader = _leader()
    leader.append(10, 0, 100)
    for member in (2, 3):
        leader.fetched(member, 5, 1_010)
    leader.told(attrs.evolve(MOVING, leader_epoch=4, partition_epoch=6, isr=(1, 3)), 2_000)
    assert (leader.log.high_watermark, leader.epoch_start) == (5, 10)
    for end, wanted in ((7, None), (9, None), (10, (1, 3, 2))):
        leader.fetched(2, end, 2_010)
        assert leader.wanted_isr(2_010, 500) == wanted


def test_who_lags_for_too_long_leaves_and_who_keeps_pace_stays() -> None:
    leader = _leader()
    for now_ms in range(1_010, 2_000, 10):
        leader.append(1, now_ms, 100)
        leader.fetched(2, leader.log.end_offset - 1, now_ms)  # always one behind, never for long
    assert leader.wanted_isr(2_000, 500) == (1, 2)


def test_one_change_of_the_isr_is_under_way_at_a_time() -> None:
    leader = _leader(isr=(1,))
    leader.fetched(2, 0, 1_010)
    leader.asked = IsrAsked((1, 2), 3, 5)
    leader.fetched(3, 0, 1_010)
    assert leader.wanted_isr(1_020, 500) is None


def test_an_older_isr_is_not_learned() -> None:
    leader = _leader()
    leader.learned((1,), 5)
    leader.learned((1,), 4)
    assert leader.isr == (1, 2, 3)


def test_the_same_epochs_again_change_nothing() -> None:
    leader = _leader()
    leader.fetched(2, 0, 1_010)
    followers = dict(leader.followers)
    leader.told(MOVING, 2_000)
    assert leader.followers == followers
    assert leader.role is Role.LEADER


def test_a_follower_truncates_once_per_leader_epoch() -> None:
    leader, follower = _leader(), Replica(2, "t", "id", 0)
    leader.append(5, 0, 100)
    follower.told(MOVING, 1_000)
    follower.log.append(leader.log.read(0))
    assert follower.truncate_to(leader.log) == 0
    assert follower.is_truncated
    leader.log.truncate(3)
    assert follower.truncate_to(leader.log) == 0


def test_a_leader_that_recovers_asks_to_be_done_with_it() -> None:
    leader = _leader(isr=(1,), replicas=(1,), target_replicas=None, leader_recovery_state=1)
    assert leader.wanted_isr(1_010, 500) == (1,)
