"""The isr changes of leaders: under the epochs that they got, one change at a time, also after a refusal."""

from __future__ import annotations

from ...model.errors import FencedLeaderEpoch, InvalidUpdateVersion
from ...simulated.replica import Role
from ..hosted.isr_calls import IsrCall
from ..hosted.under_test import Ability, HostUnderTest
from .base import case, expect
from .stage import (
    CONTROLLER_EPOCH,
    LEADER_EPOCH,
    PARTITION_EPOCH,
    TOPIC_ID,
    TP,
    Stage,
    deletion,
    metadata,
    said,
)

_NEEDS = (Ability.ISR, Ability.RECORDS, Ability.COPIES)
TEN = 10  # this many times `quiet_ms`, after which a leader that repeats its call would have done so
EPOCHS = "leader, partition and broker epoch of the call"
NEXT = {"leader_epoch": LEADER_EPOCH + 1, "partition_epoch": PARTITION_EPOCH + 1}


def _leader_alone_in_sync(host: HostUnderTest) -> Stage:
    """1 leads `orders-0` on 1 and 2, with records; 2 follows, and is not in the isr."""
    stage = Stage(host)
    stage.tell(1, said(replicas=(1, 2), isr=(1,)))
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    stage.tell(2, said(replicas=(1, 2), isr=(1,)))
    return stage


def _next_call(stage: Stage, seen: int = 0) -> IsrCall:
    """The first call after the first `seen` ones."""
    stage.eventually("a leader asks for an isr", lambda: len(stage.updater.calls) > seen, lambda: stage.updater.calls)
    return stage.updater.calls[seen]


@case("isr", *_NEEDS)
def a_leader_asks_with_the_epochs_that_it_was_told(host: HostUnderTest) -> None:
    """Only the leader requests a follower that caught up, under its leader, partition and broker epoch."""
    stage = _leader_alone_in_sync(host)
    asked = _next_call(stage)
    expect("partition, leader and isr of the call", (asked.tp, asked.leader, set(asked.isr)), (TP, 1, {1, 2}))
    expect(EPOCHS, asked.epochs, (LEADER_EPOCH, PARTITION_EPOCH, stage.broker_epochs[1]))
    stage.quiet(TEN)
    expect("the brokers that ask", {one.leader for one in stage.updater.calls}, {1})


@case("isr", *_NEEDS)
def what_was_accepted_is_its_isr(host: HostUnderTest) -> None:
    """After the answer the leader has the committed isr, and makes no further call."""
    stage = _leader_alone_in_sync(host)
    _next_call(stage).accept(PARTITION_EPOCH + 1)
    stage.becomes(1, "has the isr 1, 2", lambda held: set(held.isr) == {1, 2})
    calls = len(stage.updater.calls)
    stage.quiet(TEN)
    expect("calls after the answer", stage.updater.calls[calls:], [])


@case("isr", *_NEEDS)
def one_change_of_a_partition_is_under_way_at_a_time(host: HostUnderTest) -> None:
    """While a call waits for its answer the leader makes no other for the partition, whichever follower catches up."""
    stage = Stage(host)
    idle = said(replicas=(1, 2, 3), isr=(1,))
    stage.tell(1, idle)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    stage.tell(2, idle)
    first = _next_call(stage)
    stage.tell(3, idle)
    stage.becomes(3, "has 5 records", lambda held: held.end_offset == 5)
    stage.quiet(TEN)
    expect("calls that wait for an answer", stage.updater.unanswered, [first])
    first.accept(PARTITION_EPOCH + 1)
    second = _next_call(stage, 1)
    got = (set(second.isr), second.partition_epoch)
    expect("isr and partition epoch of the next call", got, ({1, 2, 3}, PARTITION_EPOCH + 1))


@case("isr", *_NEEDS)
def after_95_it_asks_again_with_what_it_is_told(host: HostUnderTest) -> None:
    """INVALID_UPDATE_VERSION: the state was changed meanwhile; when the leader knows that, it repeats the call under
    the new partition epoch."""
    stage = _leader_alone_in_sync(host)
    _next_call(stage).refuse(InvalidUpdateVersion("the partition epoch is another"))
    newer = PARTITION_EPOCH + 1
    stage.tell(1, said(replicas=(1, 2), isr=(1,), partition_epoch=newer))
    stage.inform(1, metadata(replicas=(1, 2), isr=(1,), partition_epoch=newer))

    def asked_again() -> bool:
        for asked in stage.updater.unanswered:
            if asked.partition_epoch == newer:
                return set(asked.isr) == {1, 2}
            asked.refuse(InvalidUpdateVersion("the partition epoch is another"))
        return False

    stage.eventually(f"the leader asks again under partition epoch {newer}", asked_again, lambda: stage.updater.calls)


@case("isr", *_NEEDS)
def after_74_it_asks_no_more_until_it_is_told(host: HostUnderTest) -> None:
    """FENCED_LEADER_EPOCH: the leader epoch is over; the leader makes no call under it, and again under the next."""
    stage = _leader_alone_in_sync(host)
    _next_call(stage).refuse(FencedLeaderEpoch("there is a newer leader epoch"))
    stage.quiet(TEN)
    expect("calls under the leader epoch that is over", stage.updater.calls[1:], [])
    for broker in (1, 2):
        stage.tell(broker, said(replicas=(1, 2), isr=(1,), **NEXT))
    asked = _next_call(stage, 1)
    expect(EPOCHS, asked.epochs, (LEADER_EPOCH + 1, PARTITION_EPOCH + 1, stage.broker_epochs[1]))


@case("isr", *_NEEDS, Ability.TARGETS)
def a_target_that_caught_up_is_asked_for(host: HostUnderTest) -> None:
    """A leader requests targets as well as replicas."""
    stage = Stage(host)
    moving = said(replicas=(1,), isr=(1,), target_replicas=(3,))
    stage.tell(1, moving)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 5), 5)
    stage.tell(3, moving)
    expect("the isr of the call", set(_next_call(stage).isr), {1, 3})


@case("isr", *_NEEDS, Ability.TARGETS)
def without_targets_nobody_else_is_asked_for(host: HostUnderTest) -> None:
    """Once target_replicas is None again, a broker that is no replica is not requested, though it has all records."""
    stage = Stage(host)
    moving = said(replicas=(1,), isr=(1,), target_replicas=(3,))
    stage.tell(1, moving)
    stage.tell(3, moving)
    asked = _next_call(stage)
    asked.refuse(FencedLeaderEpoch("the move was cancelled"))
    calls = len(stage.updater.calls)
    for broker in (1, 3):  # 3 has not got its deletion yet
        stage.tell(broker, said(replicas=(1,), isr=(1,), **NEXT))
    stage.becomes(1, "leads on", lambda held: held.leader_epoch == LEADER_EPOCH + 1)
    expect("records that broker 1 takes", host.append(1, TP, 1), 1)
    stage.quiet(TEN)
    wrong = [one for one in stage.updater.calls[calls:] if 3 in one.isr]
    expect("calls for a broker that is neither replica nor target", wrong, [])


@case("isr", *_NEEDS, Ability.TARGETS)
def a_controller_that_names_no_targets_ends_them(host: HostUnderTest) -> None:
    """A controller of a former version takes over and names no targets, under the same leader epoch: the move stops."""
    stage = Stage(host)
    moving = said(replicas=(1,), isr=(1,), target_replicas=(3,))
    stage.tell(1, moving)
    stage.becomes(1, "leads", lambda held: held.role is Role.LEADER)
    stage.tell(1, said(replicas=(1,), isr=(1,)), full=True, controller_id=102, controller_epoch=CONTROLLER_EPOCH + 1)
    stage.tell(3, moving)  # 3 has had no request of the new controller
    stage.becomes(1, "leads on", lambda held: held.role is Role.LEADER)
    expect("records that broker 1 takes", host.append(1, TP, 1), 1)
    stage.quiet(TEN)
    expect("calls for a target that the newest controller does not name", stage.updater.calls, [])


@case("isr", *_NEEDS, Ability.CONTENTS)
def a_record_waits_for_every_replica_that_may_be_in_the_isr(host: HostUnderTest) -> None:
    """While a call waits for its answer the replicas that it adds count: the controller may have committed it."""
    stage = _leader_alone_in_sync(host)
    asked = _next_call(stage)
    expect("the isr of the call", set(asked.isr), {1, 2})
    stage.stop(2, deletion(delete=False))
    stage.becomes(2, "stops", lambda held: held.role is Role.IDLE)
    has = stage.stays(2).end_offset
    expect("records that broker 1 takes", host.append(1, TP, 3), 3)
    stage.quiet(TEN)
    known = host.read(1, TP, TOPIC_ID).high_watermark
    expect("acknowledged records that broker 2 lacks", max(0, known - has), 0)
