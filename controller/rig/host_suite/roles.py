"""The roles of leader, follower and target, and their effects on the logs."""

from __future__ import annotations

from ...model.host import PartitionMetadata
from ...model.values import NO_LEADER
from ...simulated.replica import Role
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import BROKERS, LEADER_EPOCH, PARTITION_EPOCH, TP, Stage, metadata, said

NEXT = {"leader_epoch": LEADER_EPOCH + 1, "partition_epoch": PARTITION_EPOCH + 1, "is_new": False}


@case("roles")
def each_replica_takes_the_role_that_it_is_told(host: HostUnderTest) -> None:
    """The leader leads with the isr of the request, the others follow it, under the leader epoch of the request."""
    stage = Stage(host)
    for broker in BROKERS:
        stage.tell(broker, said(leader=2))
    for broker in BROKERS:
        _becomes(stage, broker, Role.LEADER if broker == 2 else Role.FOLLOWER, leader=2)
    expect("the isr of the leader", stage.holds(2).isr, (1, 2, 3))


@case("roles")
def a_follower_becomes_leader_and_a_leader_follower(host: HostUnderTest) -> None:
    """Under the next leader epoch roles change both ways, and back."""
    stage = Stage(host)
    for step, leader in enumerate((1, 2, 1)):
        epochs = {"leader_epoch": LEADER_EPOCH + step, "partition_epoch": PARTITION_EPOCH + step}
        for broker in (1, 2):
            expect("errors in the answer", stage.tell(broker, said(leader=leader, is_new=step == 0, **epochs)), {})
        _becomes(stage, leader, Role.LEADER, leader, LEADER_EPOCH + step)
        _becomes(stage, 3 - leader, Role.FOLLOWER, leader, LEADER_EPOCH + step)


def _becomes(stage: Stage, broker: int, role: Role, leader: int, leader_epoch: int = LEADER_EPOCH) -> None:
    wanted = (role, leader, leader_epoch)
    words = f"{role.value} of {leader} under {leader_epoch}"
    stage.becomes(broker, words, lambda held: (held.role, held.leader, held.leader_epoch) == wanted)


@case("roles")
def without_a_leader_nobody_leads(host: HostUnderTest) -> None:
    """Leader -1: the former leader no longer leads, and the log stays."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("errors in the answer", stage.tell(1, said(leader=NO_LEADER, isr=(1,), **NEXT)), {})
    stage.becomes(1, "does not lead", lambda held: held.role is not Role.LEADER)


@case("roles", Ability.RECORDS)
def only_the_leader_takes_records(host: HostUnderTest) -> None:
    """A follower, or a leader of a former epoch, takes none."""
    stage = Stage(host)
    for broker in (1, 2):
        stage.tell(broker, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.becomes(2, "follows", lambda held: held.role is Role.FOLLOWER)
    expect("records that broker 1 takes", host.append(1, TP, 3), 3)
    expect("records that broker 2 takes", host.append(2, TP, 3), 0)
    stage.tell(1, said(leader=2, **NEXT))
    stage.becomes(1, "follows", lambda held: held.role is Role.FOLLOWER)
    expect("records that broker 1 takes", host.append(1, TP, 3), 0)


@case("roles", Ability.RECORDS, Ability.COPIES)
def followers_copy_from_the_leader(host: HostUnderTest) -> None:
    """The leader's records are on the followers in the end, and the next leader continues from there."""
    stage = Stage(host)
    for broker in BROKERS:
        stage.tell(broker, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 7), 7)
    for broker in (2, 3):
        stage.becomes(broker, "has 7 records", lambda held: held.end_offset == 7)
    for broker in BROKERS:
        stage.tell(broker, said(leader=2, **NEXT))
    stage.becomes(2, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 2 takes", host.append(2, TP, 2), 2)
    for broker in BROKERS:
        stage.becomes(broker, "has 9 records", lambda held: held.end_offset == 9)


# --- targets


@case("roles", Ability.TARGETS)
def a_target_follows_though_it_is_no_replica(host: HostUnderTest) -> None:
    """A broker that is in target_replicas but not in replicas begins a log and follows the leader."""
    stage = Stage(host)
    moving = said(replicas=(1, 2), isr=(1, 2), target_replicas=(2, 3))
    expect("errors in the answer", stage.tell(3, moving), {})
    held = stage.becomes(3, "follows 1", lambda held: held.role is Role.FOLLOWER)
    expect("leader and leader epoch on broker 3", (held.leader, held.leader_epoch), (1, LEADER_EPOCH))


@case("roles", Ability.TARGETS, Ability.RECORDS, Ability.COPIES)
def a_target_copies_the_whole_log(host: HostUnderTest) -> None:
    """A target has all the leader's records in the end, also those from before it joined."""
    stage = Stage(host)
    idle = said(replicas=(1, 2), isr=(1, 2))
    for broker in (1, 2):
        stage.tell(broker, idle)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 7), 7)
    moving = said(replicas=(1, 2), isr=(1, 2), target_replicas=(2, 3), **NEXT)
    for broker in (1, 2):
        stage.tell(broker, moving)
    stage.tell(3, said(replicas=(1, 2), isr=(1, 2), target_replicas=(2, 3), **{**NEXT, "is_new": True}))
    stage.becomes(3, "has 7 records", lambda held: held.end_offset == 7)


# --- the status of a partition, as KIP-694 has it


@case("roles", Ability.RECORDS)
def a_read_only_partition_takes_no_records(host: HostUnderTest) -> None:
    """With the status -1 a leader leads on and takes no records, and with 0 it takes some again."""
    stage = Stage(host)
    stage.tell(1, said(status_code=-1))
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 3), 0)
    stage.tell(1, said(**NEXT))
    stage.becomes(1, "leads on", lambda held: held.leader_epoch == LEADER_EPOCH + 1)
    expect("records that broker 1 takes", host.append(1, TP, 3), 3)


@case("roles")
def an_offline_partition_is_not_served(host: HostUnderTest) -> None:
    """With the status 1 a replica serves no requests and keeps its log, and a broker without a log begins none."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    for broker in (1, 2):
        expect("errors in the answer", stage.tell(broker, said(status_code=1, **NEXT)), {})
    stage.becomes(1, "serves no requests, and has its log", lambda held: held.role is Role.IDLE)
    expect("the role of broker 1", stage.stays(1).role, Role.IDLE)
    expect("the log on broker 2", stage.held(2), None)


# --- metadata


@case("roles", Ability.METADATA)
def metadata_is_known_and_full_metadata_forgets(host: HostUnderTest) -> None:
    """A broker has the last UpdateMetadata of a partition, and nothing about partitions that a `full` one leaves
    out."""
    stage = Stage(host)
    stage.inform(3, metadata())
    _knows(stage, metadata())
    newer = metadata(leader=2, leader_epoch=LEADER_EPOCH + 1, partition_epoch=PARTITION_EPOCH + 1)
    stage.inform(3, newer)
    _knows(stage, newer)
    stage.inform(3, full=True)
    _knows(stage, None)


def _knows(stage: Stage, wanted: PartitionMetadata | None) -> None:
    """Wait until broker 3 has this metadata."""
    stage.eventually(
        f"broker 3 knows {wanted}", lambda: stage.host.known(3, TP) == wanted, lambda: stage.host.known(3, TP)
    )
