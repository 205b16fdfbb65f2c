"""Requests with an older epoch or another topic id are ignored: callbacks may be late, repeated and lost."""

from __future__ import annotations

from typing import Any

from ...model.errors import ErrorCode
from ...simulated.replica import Role
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import (
    CONTROLLER_EPOCH,
    LEADER_EPOCH,
    OTHER_ID,
    PARTITION_EPOCH,
    SECOND,
    TOPIC_ID,
    TP,
    Stage,
    deletion,
    metadata,
    said,
)


def _refuses_all(stage: Stage, code: ErrorCode, **header: Any) -> None:
    """Each of the three callbacks is answered with `code`, and the state of broker 1 stays the same."""
    newer = {"leader": 2, "leader_epoch": LEADER_EPOCH + 1, "partition_epoch": PARTITION_EPOCH + 1}
    before = stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    answers = {
        "LeaderAndIsr": stage.leader_and_isr(1, said(**newer), **header),
        "LeaderAndIsr full": stage.leader_and_isr(1, full=True, **header),
        "UpdateMetadata": stage.update_metadata(1, metadata(**newer), **header),
        "StopReplica": stage.stop_replica(1, deletion(), **header),
    }
    for name, answer in answers.items():
        expect(f"the error of {name} with {header}", answer.error, code)
    expect("the replica after the refused requests", stage.stays(1), before)
    if Ability.METADATA in stage.host.abilities:
        known = stage.host.known(1, TP)
        epoch = LEADER_EPOCH if known is None else known.leader_epoch
        expect("the leader epoch of the metadata after the refused requests", epoch, LEADER_EPOCH)


@case("fences")
def an_older_controller_epoch_is_refused_with_11(host: HostUnderTest) -> None:
    """A request of a deposed controller is answered with STALE_CONTROLLER_EPOCH and changes nothing."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.inform(1, metadata())
    _refuses_all(stage, ErrorCode.STALE_CONTROLLER_EPOCH, controller_epoch=CONTROLLER_EPOCH - 1, controller_id=102)


@case("fences")
def a_newer_controller_epoch_fences_the_former(host: HostUnderTest) -> None:
    """The highest controller epoch that came with any callback is the one that counts."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.inform(1, metadata(), controller_epoch=CONTROLLER_EPOCH + 1, controller_id=102)
    _refuses_all(stage, ErrorCode.STALE_CONTROLLER_EPOCH)
    stage.tell(2, said())  # another broker has had no request of the new one


@case("fences")
def an_older_broker_epoch_is_refused_with_77(host: HostUnderTest) -> None:
    """A request to a former registration of the broker is answered with STALE_BROKER_EPOCH and changes nothing."""
    stage = Stage(host)
    former = stage.broker_epochs[1]
    stage.register(1, former + 10)
    stage.tell(1, said(), full=True)
    stage.inform(1, metadata())
    _refuses_all(stage, ErrorCode.STALE_BROKER_EPOCH, broker_epoch=former)


@case("fences")
def a_newer_broker_epoch_is_its_own(host: HostUnderTest) -> None:
    """A broker that the host registered again by itself obeys under the new epoch, and no longer under the old."""
    stage = Stage(host)
    stage.tell(1, said(leader=2))
    former = stage.broker_epochs[1]
    stage.tell(1, said(leader_epoch=LEADER_EPOCH + 1), full=True, broker_epoch=former + 10)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    late = stage.leader_and_isr(1, said(leader=2, leader_epoch=LEADER_EPOCH + 2), broker_epoch=former)
    expect("the error under the former broker epoch", late.error, ErrorCode.STALE_BROKER_EPOCH)
    expect("the role of broker 1", stage.stays(1).role, Role.LEADER)


@case("fences")
def an_older_leader_epoch_changes_nothing(host: HostUnderTest) -> None:
    """A partition under an older leader epoch is ignored, the others of the request are obeyed."""
    stage = Stage(host)
    stage.tell(1, said())
    before = stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    other = said(SECOND, leader=1)
    stage.tell(1, said(leader=2, leader_epoch=LEADER_EPOCH - 1, partition_epoch=PARTITION_EPOCH - 1), other)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER, SECOND)
    expect("the replica of broker 1", stage.stays(1), before)


@case("fences")
def an_older_partition_epoch_brings_back_no_older_isr(host: HostUnderTest) -> None:
    """Under one leader epoch the isr of the highest partition epoch counts."""
    stage = Stage(host)
    stage.tell(1, said(isr=(1, 2), partition_epoch=PARTITION_EPOCH + 1))
    stage.tell(1, said())
    expect("the isr of broker 1", stage.stays(1).isr, (1, 2))


@case("fences", Ability.METADATA)
def older_metadata_is_dropped(host: HostUnderTest) -> None:
    """Metadata of an older leader epoch, or of an older partition epoch under the same, changes nothing."""
    stage = Stage(host)
    stage.inform(1, metadata())
    stage.eventually("metadata is known", lambda: host.known(1, TP) is not None)
    stage.inform(1, metadata(leader=3, leader_epoch=LEADER_EPOCH - 1, partition_epoch=PARTITION_EPOCH - 1))
    stage.inform(1, metadata(isr=(1,), partition_epoch=PARTITION_EPOCH - 1))
    stage.quiet()
    known = host.known(1, TP)
    expect("the metadata that broker 1 knows", known, metadata())


@case("fences")
def another_topic_id_is_another_topic(host: HostUnderTest) -> None:
    """A topic that was created again under its name begins with a new log, under a first leader epoch."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.tell(1, said(topic_id=OTHER_ID, leader_epoch=0, partition_epoch=0))
    stage.eventually("the new topic is led", lambda: _leads(stage, OTHER_ID))


@case("fences")
def a_deletion_of_another_topic_id_spares_this_one(host: HostUnderTest) -> None:
    """A deletion for a former topic of the same name is acknowledged, and the present log stays."""
    stage = Stage(host)
    stage.tell(1, said())
    before = stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.delete(1, deletion(topic_id=OTHER_ID))
    expect("the replica of broker 1", stage.stays(1), before)
    stage.delete(1, deletion(topic_id=TOPIC_ID))
    expect("the log on broker 1", stage.held(1), None)


def _leads(stage: Stage, topic_id: str) -> bool:
    held = stage.held(1, TP, topic_id)
    return held is not None and held.role is Role.LEADER and held.leader_epoch == 0
