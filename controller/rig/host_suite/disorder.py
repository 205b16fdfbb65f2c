"""Requests may be repeated, reordered and lost: the newest one counts in the end."""

from __future__ import annotations

from itertools import permutations

from ...model.values import TopicPartition
from ...simulated.replica import Role
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import LEADER_EPOCH, PARTITION_EPOCH, TP, Stage, deletion, metadata, said


@case("disorder")
def repeated_requests_do_no_harm(host: HostUnderTest) -> None:
    """A request that comes three times has the effect of one, and gets the same answer."""
    stage = Stage(host)
    for _ in range(3):
        expect("errors in the answer", stage.tell(1, said()), {})
        stage.inform(1, metadata())
    held = stage.stays(1)
    expect(
        "role, leader epoch and isr of broker 1",
        (held.role, held.leader_epoch, held.isr),
        (Role.LEADER, LEADER_EPOCH, (1, 2, 3)),
    )
    for _ in range(3):
        stage.delete(1, deletion())
    stage.quiet()
    expect("the log on broker 1", stage.held(1), None)


@case("disorder", Ability.RECORDS)
def repeated_requests_keep_the_records(host: HostUnderTest) -> None:
    """A leader that gets its present role again, new or not, continues with its log."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    stage.tell(1, said())
    stage.tell(1, said(is_new=False), full=True)
    held = stage.stays(1)
    expect("role and records of broker 1", (held.role, held.end_offset), (Role.LEADER, 5))


@case("disorder")
def any_order_of_leader_epochs_ends_alike(host: HostUnderTest) -> None:
    """Whatever the order of requests with three leader epochs, the highest epoch counts in the end."""
    stage = Stage(host)
    for number, order in enumerate(permutations((0, 1, 2))):
        tp = TopicPartition("orders", number)
        for later in order:
            epochs = {"leader_epoch": LEADER_EPOCH + later, "partition_epoch": PARTITION_EPOCH + later}
            stage.tell(2, said(tp, leader=later + 1, **epochs))
        found = stage.stays(2, tp)
        got = (found.role, found.leader, found.leader_epoch)
        expect(f"role, leader and leader epoch after the order {order}", got, (Role.FOLLOWER, 3, LEADER_EPOCH + 2))


@case("disorder")
def requests_that_are_lost_between_do_no_harm(host: HostUnderTest) -> None:
    """A leader epoch that skips some is obeyed as the next one would be."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.tell(1, said(leader=2, leader_epoch=LEADER_EPOCH + 10, partition_epoch=PARTITION_EPOCH + 30, is_new=False))
    stage.becomes(1, "follows 2", lambda held: (held.role, held.leader) == (Role.FOLLOWER, 2))


@case("disorder")
def a_late_deletion_spares_a_replica_that_came_back(host: HostUnderTest) -> None:
    """A deletion with an older leader epoch than the replica's is not acknowledged, and the log stays and serves."""
    stage = Stage(host)
    stage.tell(1, said(leader_epoch=LEADER_EPOCH + 2))
    before = stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    codes = stage.stop(1, deletion(LEADER_EPOCH + 1))
    expect("the replica after a deletion of an older leader epoch", stage.stays(1), before)
    expect("partitions with an error in the answer", set(codes), {TP})


@case("disorder")
def a_late_leader_and_isr_brings_no_deleted_replica_back(host: HostUnderTest) -> None:
    """A request from before a deletion that comes after it creates no log, and is no error of a disk."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.delete(1, deletion())
    stage.tell(1, said())
    stage.tell(1, said(leader=2, isr=(2, 3), partition_epoch=PARTITION_EPOCH + 1))
    stage.quiet()
    expect("the log of the deleted replica", stage.held(1), None)


@case("disorder")
def a_deletion_that_overtook_what_it_deletes_counts(host: HostUnderTest) -> None:
    """A broker that gets the deletion before the request to begin has nothing in the end."""
    stage = Stage(host)
    stage.delete(1, deletion())
    stage.tell(1, said())
    stage.quiet()
    expect("the log of the deleted replica", stage.held(1), None)


@case("disorder")
def a_deleted_replica_comes_back_under_a_later_epoch(host: HostUnderTest) -> None:
    """A replica that is requested again after its deletion begins with an empty log."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.delete(1, deletion())
    again = said(leader=2, leader_epoch=LEADER_EPOCH + 2, isr=(2, 3), partition_epoch=PARTITION_EPOCH + 4)
    expect("errors in the answer", stage.tell(1, again), {})
    held = stage.becomes(1, "follows 2", lambda held: (held.role, held.leader) == (Role.FOLLOWER, 2))
    expect("records in the log", held.end_offset, 0)
