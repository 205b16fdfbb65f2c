"""When a log begins, stays, and is deleted; and the broker's answer where there is none."""

from __future__ import annotations

from ...model.errors import ErrorCode
from ...simulated.replica import Role
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import LEADER_EPOCH, PARTITION_EPOCH, SECOND, TP, Stage, deletion, said

GONE = {TP: ErrorCode.KAFKA_STORAGE_ERROR}


@case("logs")
def is_new_begins_a_log(host: HostUnderTest) -> None:
    """A replica that is new by the request has an empty log, whether it leads or follows."""
    stage = Stage(host)
    for broker in (1, 2):
        expect(f"the log on broker {broker}", stage.held(broker), None)
        expect("errors in the answer", stage.tell(broker, said()), {})
        held = stage.becomes(broker, "has a log", lambda _: True)
        expect("records in the log", held.end_offset, 0)


@case("logs", Ability.STRICT)
def without_a_log_is_new_false_is_answered_with_56(host: HostUnderTest) -> None:
    """An empty log must not replace the old one: KAFKA_STORAGE_ERROR, and no new log; other partitions succeed."""
    stage = Stage(host)
    codes = stage.tell(1, said(is_new=False), said(SECOND))
    expect("errors in the answer", codes, GONE)
    stage.becomes(1, "leads the other", lambda held: held.role is Role.LEADER, SECOND)
    expect("the log on broker 1", stage.held(1), None)


@case("logs")
def with_a_log_is_new_false_goes_well(host: HostUnderTest) -> None:
    """A replica that has its log is not new, and continues under the next leader epoch."""
    stage = Stage(host)
    stage.tell(1, said())
    expect(
        "errors in the answer",
        stage.tell(1, said(is_new=False, leader_epoch=LEADER_EPOCH + 1, partition_epoch=PARTITION_EPOCH + 1)),
        {},
    )
    stage.becomes(1, "leads on", lambda held: (held.role, held.leader_epoch) == (Role.LEADER, LEADER_EPOCH + 1))


# --- full


@case("logs")
def full_stops_what_it_does_not_name_and_deletes_nothing(host: HostUnderTest) -> None:
    """After a `full` request a partition that it does not name serves no requests, but has its log; named ones
    serve."""
    stage = Stage(host)
    stage.tell(1, said(), said(SECOND))
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("errors in the answer", stage.tell(1, said(SECOND), full=True), {})
    stage.becomes(1, "serves no requests, and has its log", lambda held: held.role is Role.IDLE)
    expect("the role of broker 1", stage.stays(1, SECOND).role, Role.LEADER)
    expect("the role of broker 1", stage.stays(1).role, Role.IDLE)


@case("logs", Ability.RECORDS)
def full_keeps_the_records_of_what_it_does_not_name(host: HostUnderTest) -> None:
    """A replica that a `full` request stopped takes no record, and serves again, with its records, when named again."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    stage.tell(1, full=True)
    stage.becomes(1, "serves no requests", lambda held: held.role is Role.IDLE)
    expect("records that broker 1 takes", host.append(1, TP, 1), 0)
    stage.tell(1, said(is_new=False), full=True)
    held = stage.becomes(1, "leads again", lambda held: held.role is Role.LEADER)
    expect("records in the log", held.end_offset, 5)


@case("logs")
def what_is_not_full_leaves_the_others_alone(host: HostUnderTest) -> None:
    """A request that is not `full` does not affect the partitions that it does not name."""
    stage = Stage(host)
    stage.tell(1, said())
    before = stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.tell(1, said(SECOND))
    stage.becomes(1, "leads the other", lambda held: held.role is Role.LEADER, SECOND)
    expect("the replica of broker 1", stage.stays(1), before)


# --- deletion


@case("logs")
def a_deletion_is_done_when_it_is_acknowledged(host: HostUnderTest) -> None:
    """NONE to stop_replica with delete means that the log is already deleted; other partitions keep theirs."""
    stage = Stage(host)
    stage.tell(1, said(), said(SECOND))
    stage.becomes(1, "leads the other", lambda held: held.role is Role.LEADER, SECOND)

    def acknowledged() -> bool:
        if stage.stop(1, deletion()):
            return False  # repeated, as the controller does
        expect("the log after its deletion was acknowledged", stage.held(1), None)
        return True

    stage.eventually("the deletion is acknowledged", acknowledged)
    expect("the role of broker 1", stage.stays(1, SECOND).role, Role.LEADER)
    expect("the log on broker 1", stage.held(1), None)


@case("logs")
def what_is_gone_is_acknowledged_again(host: HostUnderTest) -> None:
    """A repeated deletion, or one of a missing log, is acknowledged: the first answer may have been lost."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.delete(1, deletion())
    expect("errors in the answer", stage.stop(1, deletion()), {})
    expect("errors in the answer", stage.stop(1, deletion(LEADER_EPOCH + 9)), {})
    expect("errors in the answer", stage.stop(2, deletion()), {})


@case("logs")
def without_delete_the_log_stays(host: HostUnderTest) -> None:
    """stop_replica without delete ends the service, and deletes nothing."""
    stage = Stage(host)
    stage.tell(1, said())
    expect("errors in the answer", stage.stop(1, deletion(delete=False)), {})
    stage.becomes(1, "serves no requests, and has its log", lambda held: held.role is Role.IDLE)
    expect("the role of broker 1", stage.stays(1).role, Role.IDLE)


# --- disks


@case("logs", Ability.DISKS)
def a_lost_disk_is_answered_with_56(host: HostUnderTest) -> None:
    """While its disk is gone a replica is answered with KAFKA_STORAGE_ERROR, new or not; others continue to serve."""
    stage = Stage(host)
    stage.tell(1, said(), said(SECOND))
    stage.becomes(1, "leads the other", lambda held: held.role is Role.LEADER, SECOND)
    host.lose_disk(1, TP)
    for is_new in (False, True):
        codes = stage.tell(1, said(is_new=is_new, leader_epoch=LEADER_EPOCH + 1), said(SECOND, is_new=False))
        expect("errors in the answer", codes, GONE)
    expect("the role of broker 1", stage.stays(1, SECOND).role, Role.LEADER)
    held = stage.held(1)
    expect("the role of a replica whose disk is gone", Role.IDLE if held is None else held.role, Role.IDLE)


@case("logs", Ability.DISKS)
def a_replaced_disk_takes_a_new_replica_and_pretends_no_old_one(host: HostUnderTest) -> None:
    """On the empty disk that replaced a lost one, `is_new` false is answered with 56, and `is_new` true with NONE and
    an empty log."""
    stage = Stage(host)
    stage.tell(1, said())
    host.lose_disk(1, TP)
    stage.tell(1, said())
    host.replace_disk(1)
    stage.register(1, stage.broker_epochs[1] + 10)
    codes = stage.tell(1, said(leader=2, leader_epoch=LEADER_EPOCH + 1, isr=(1, 2, 3), is_new=False), full=True)
    expect("errors in the answer for an empty log in place of the old one", codes, GONE)
    later = {"leader_epoch": LEADER_EPOCH + 2, "partition_epoch": PARTITION_EPOCH + 2}
    expect("errors in the answer", stage.tell(1, said(leader=2, isr=(2, 3), **later)), {})
    held = stage.becomes(1, "follows 2", lambda held: (held.role, held.leader) == (Role.FOLLOWER, 2))
    expect("records in the log", held.end_offset, 0)


@case("logs", Ability.DISKS)
def a_deletion_on_a_lost_disk_is_not_acknowledged_unless_it_is_done(host: HostUnderTest) -> None:
    """Where the disk is gone a deletion is answered with an error, or leaves nothing that could come back."""
    stage = Stage(host)
    stage.tell(1, said())
    host.lose_disk(1, TP)
    if not stage.stop(1, deletion()):
        expect("the log on broker 1", stage.held(1), None)
    host.replace_disk(1)
    stage.register(1, stage.broker_epochs[1] + 10)
    stage.delete(1, deletion())
    stage.quiet()
    expect("the log on broker 1", stage.held(1), None)


@case("logs", Ability.RESTART, Ability.RECORDS)
def a_restart_keeps_the_log_and_serves_when_it_is_told(host: HostUnderTest) -> None:
    """A restarted process serves no requests until it gets its role, and then has its former records."""
    stage = Stage(host)
    stage.tell(1, said())
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    host.restart(1)
    stage.register(1, stage.broker_epochs[1] + 10)
    held = stage.stays(1)
    expect("role and records of broker 1", (held.role, held.end_offset), (Role.IDLE, 5))
    expect("errors in the answer", stage.tell(1, said(is_new=False), full=True), {})
    held = stage.becomes(1, "leads again", lambda held: held.role is Role.LEADER)
    expect("records in the log", held.end_offset, 5)
