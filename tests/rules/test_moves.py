"""What KIP-455 promises of a move, promise by promise. The exact records of each step stand in the transcripts."""

from __future__ import annotations

import pytest

from kedge.controller import records as r
from kedge.controller.model import events as e
from kedge.controller.model.errors import ErrorCode
from kedge.controller.model.requests import ReassignmentAnswer, WaitingOn
from kedge.controller.model.values import Move, Partition, Replicas
from kedge.controller.rules.reassignment import describe_move, expand_cancel
from tests.rules.invariants import steps_of
from tests.rules.world import Ran, World


def cluster(*replicas: Replicas) -> World:
    """Nine live brokers; partition 0 of topic t0, t1, ... per list, all in sync."""
    world = World()
    for broker in range(1, 10):
        world.plant_broker(broker)
    for i, members in enumerate(replicas or ((1, 2, 3),)):
        world.plant(Partition(f"t{i}", 0, members, members, members[0], 0))
    return world


def alter(world: World, target: Replicas | None, topic: str = "t0", move_timeout_ms: int | None = None) -> Ran:
    return world.run(e.AlterReassignment(world.now_ms, topic, 0, target, move_timeout_ms))


def in_sync(world: World, isr: Replicas, topic: str = "t0") -> Ran:
    p = world.partition(topic)
    epoch = world.state.partition_epoch(p)
    leader = world.state.brokers[p.leader]
    return world.run(e.AlterIsr(world.now_ms, topic, 0, p.leader, p.leader_epoch, epoch, isr, leader.epoch))


def code_of(ran: Ran) -> ErrorCode | None:
    return getattr(ran.reply, "code", None)


def kinds(ran: Ran) -> list[str]:
    """The steps of partitions, then the other records."""
    others = [type(record).__name__ for record in ran.records if not isinstance(record, r.PartitionChanged)]
    return [*(step.event for step in steps_of(ran.records)), *others]


@pytest.mark.checklist(76, 100, 101, 102)
def test_a_move_grows_r_by_what_entered_i_and_ends_with_r_equal_to_the_target() -> None:
    """T stands unchanged to the end; R takes each member after I has it; at the end R is T in its order."""
    world = cluster()
    assert alter(world, (6, 4, 5)).reply == ReassignmentAnswer((1, 2, 3), (6, 4, 5), (1, 2, 3))
    for isr, grown in (((1, 2, 3, 4), (1, 2, 3, 4)), ((1, 2, 3, 4, 6), (1, 2, 3, 4, 6))):
        first = steps_of(in_sync(world, isr).records)[0]
        assert first.event == "IsrChanged"
        assert set(first.after.replicas) < set(isr)
        p = world.partition("t0")
        assert (p.replicas, p.isr, p.target_replicas) == (grown, isr, (6, 4, 5))
    in_sync(world, (1, 2, 3, 4, 5, 6))
    p = world.partition("t0")
    assert (p.replicas, sorted(p.isr), p.move) == ((6, 4, 5), [4, 5, 6], None)


@pytest.mark.checklist(103, 104)
def test_the_end_of_a_move_is_three_rows_of_one_commit_led_from_within_the_target() -> None:
    """R := T with a leader of T, T cleared, I := I and T, in this order, in the commit that closed the last gap."""
    world = cluster()
    alter(world, (4, 5))
    ran = in_sync(world, (1, 2, 3, 4, 5))
    ending = [name for name in kinds(ran) if name != "DeleteIntended"]
    assert ending == ["IsrChanged", "ReplicasGrown", "ReplicasChanged", "TargetCleared", "IsrShrunk"]
    changed = next(step for step in steps_of(ran.records) if step.event == "ReplicasChanged")
    assert (changed.before.leader, changed.after.leader) == (1, 4)
    assert changed.after.leader_epoch == changed.before.leader_epoch + 1
    assert sum(1 for kind, _ in ran.batch.dirty_keys if kind == "state") == 1


@pytest.mark.checklist(77)
def test_a_second_move_starts_while_a_first_one_runs() -> None:
    """Both run; neither touches the other."""
    world = cluster((1, 2), (1, 2))
    alter(world, (3, 4))
    alter(world, (5, 6), "t1")
    assert [p.target_replicas for p in world.state.moving()] == [(3, 4), (5, 6)]
    in_sync(world, (1, 2, 5, 6), "t1")
    assert [p.target_replicas for p in world.state.moving()] == [(3, 4)]


@pytest.mark.checklist(78)
def test_another_target_replaces_the_running_one_and_deletes_what_only_the_old_one_wanted() -> None:
    """Members of the old T outside R, I and the new T are to be deleted; one that joined R stays until completion."""
    world = cluster()
    alter(world, (4, 5, 6))
    in_sync(world, (1, 2, 3, 4))
    alter(world, (5, 7))
    assert world.partition("t0").target_replicas == (5, 7)
    assert [broker for broker in range(1, 10) if world.state.open_intents(broker)] == [6]


@pytest.mark.checklist(79, 80)
def test_a_cancel_keeps_what_joined_and_deletes_what_did_not() -> None:
    """T is cleared; R is longer by what is in sync; one more reassignment to the origin repairs it."""
    world = cluster()
    alter(world, (4, 5, 6))
    in_sync(world, (1, 2, 3, 5))
    reply = alter(world, None).reply
    assert reply == ReassignmentAnswer((1, 2, 3, 5), None, (1, 2, 3))
    assert [broker for broker in range(1, 10) if world.state.open_intents(broker)] == [4, 6]
    assert isinstance(reply, ReassignmentAnswer)
    alter(world, reply.origin)
    assert world.partition("t0").replicas == (1, 2, 3)


@pytest.mark.checklist(83)
def test_a_cancel_of_nothing_is_an_error_per_partition_and_none_for_all() -> None:
    """Code 85 for the one that is named; the cancel of everything that moves has nothing to do."""
    world = cluster()
    assert code_of(alter(world, None)) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert expand_cancel(world.state, None, 0, force=False) == ()


@pytest.mark.checklist(81, 82)
def test_a_cancel_of_a_topic_stops_its_moves_and_one_of_all_the_others() -> None:
    """Each move becomes a cancel of its own."""
    world = cluster((1, 2), (1, 2), (1, 2))
    for topic in ("t0", "t1", "t2"):
        alter(world, (3, 4), topic)
    for event in expand_cancel(world.state, "t1", 0, force=False):
        world.run(event)
    assert [p.topic for p in world.state.moving()] == ["t0", "t2"]
    for event in expand_cancel(world.state, None, 0, force=False):
        world.run(event)
    assert world.state.moving() == []


@pytest.mark.checklist(92, 109)
@pytest.mark.parametrize("target", [(), (4, 4), (-1, 4), (99,), (2**31,), (9, 4)])
def test_a_target_that_is_none_is_refused_with_its_reason(target: Replicas) -> None:
    """Empty, twice, negative, unknown, absurd, dead: code 39, nothing changed."""
    world = cluster()
    world.die(9)
    ran = alter(world, target)
    assert (code_of(ran), ran.records) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, [])


@pytest.mark.checklist(93)
@pytest.mark.parametrize("topic,partition", [("nobody", 0), ("t0", 1), ("t0", -1), ("t0", 2**40)])
def test_a_partition_that_is_none_is_unknown(topic: str, partition: int) -> None:
    """Code 3, for altering and for cancelling."""
    world = cluster()
    for target in ((4,), None):
        ran = world.run(e.AlterReassignment(0, topic, partition, target))
        assert (code_of(ran), ran.records) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])


@pytest.mark.checklist(107, 108)
def test_another_order_completes_at_once_and_the_same_one_changes_nothing() -> None:
    """No replica leaves I, none is deleted, and the leader stays; the identical target yields no record at all."""
    world = cluster()
    before = world.partition("t0")
    alter(world, (3, 1, 2))
    p = world.partition("t0")
    assert (p.replicas, p.isr, p.leader, p.move) == ((3, 1, 2), before.isr, before.leader, None)
    assert len(world.state.intents) == 0
    assert alter(world, (3, 1, 2)).records == []


@pytest.mark.checklist(106)
def test_brokers_of_both_lists_never_leave_i() -> None:
    """In every row of the move the common members are in I and R."""
    world = cluster()
    rows = [*alter(world, (3, 4, 2)).records, *in_sync(world, (1, 2, 3, 4)).records]
    for step in steps_of(rows):
        assert {2, 3} <= set(step.after.isr) & set(step.after.replicas)


@pytest.mark.checklist(109)
def test_a_target_that_dies_is_waited_for_and_the_listing_says_so() -> None:
    """The move stands; `waiting_on` names who is behind and who of them is down; it goes on when the broker returns."""
    world = cluster()
    alter(world, (1, 4, 5))
    world.die(5)
    found = describe_move(world.state, world.partition("t0"))
    assert found is not None
    assert found.waiting_on == (WaitingOn(4, down=False), WaitingOn(5, down=True))
    assert (found.adding, found.removing, found.origin, found.started_at) == ((4, 5), (2, 3), (1, 2, 3), world.now_ms)
    world.come(5)
    in_sync(world, (1, 2, 3, 4, 5))
    assert describe_move(world.state, world.partition("t0")) is None


@pytest.mark.checklist(110)
def test_a_leader_that_dies_is_followed_from_i_and_the_move_goes_on() -> None:
    """The next one may be a member of T that joined; the target is still reached."""
    world = cluster((1, 2))
    alter(world, (4, 5))
    in_sync(world, (1, 4))
    world.die(1)
    p = world.partition("t0")
    assert (p.leader, p.isr, p.target_replicas) == (4, (4,), (4, 5))
    in_sync(world, (4, 5))
    assert world.partition("t0").replicas == (4, 5)


@pytest.mark.checklist(114)
def test_a_move_left_between_its_last_steps_is_finished_cleanly() -> None:
    """R = T with T still set: T is cleared, I shrinks to it, and replicas outside are to be deleted."""
    world = cluster()
    world.plant(Partition("seed", 0, (4, 5), (1, 2, 4, 5), 4, 9, Move((4, 5), (4, 5), 0)))
    world.decide(e.PartitionDue(0, "seed", 0, e.Reason.STRAY))
    world.run(e.PartitionDue(0, "seed", 0))
    p = world.partition("seed")
    assert (p.replicas, p.isr, p.move) == ((4, 5), (4, 5), None)
    assert [broker for broker in range(1, 10) if world.state.open_intents(broker)] == [1, 2]


def test_a_member_that_left_i_again_is_written_to_the_topic_key_at_once() -> None:
    """Otherwise a takeover, which derives R from T and I, would lose a replica from R."""
    world = cluster((1, 2))
    alter(world, (4, 5))
    assert ("topic", "t0") not in in_sync(world, (1, 2, 4)).batch.dirty_keys
    assert ("topic", "t0") in in_sync(world, (1, 2)).batch.dirty_keys
    assert world.partition("t0").replicas == (1, 2, 4)


def test_a_deadline_is_never_beyond_what_can_be_read_back() -> None:
    """The longest timeout that a request may carry gives a deadline that the codec accepts."""
    world = cluster()
    alter(world, (4,), move_timeout_ms=2**53)
    move = world.partition("t0").move
    assert move is not None
    assert move.deadline_ms == 2**53


@pytest.mark.checklist(191, 226)
def test_status_is_kept_by_every_change() -> None:
    """A read-only partition is still read-only after an isr change, elections and a whole move."""
    world = cluster()
    world.plant(Partition("ro", 0, (1, 2), (1, 2), 1, 0, status_code=-1))
    in_sync(world, (1,), "ro")
    in_sync(world, (1, 2), "ro")
    world.die(1)
    world.come(1)
    alter(world, (3,), "ro")
    in_sync(world, (2, 3), "ro")
    p = world.partition("ro")
    assert (p.replicas, p.status_code) == ((3,), -1)


@pytest.mark.checklist(216)
def test_a_partition_that_is_being_removed_moves_while_it_is_read_only_and_not_any_more_when_offline() -> None:
    """Read-only: accepted. Offline: unknown, code 3."""
    world = cluster()
    for topic, status in (("ro", -1), ("off", 1)):
        world.plant(Partition(topic, 0, (1, 2), (1, 2), 1, 0, status_code=status))
    assert code_of(alter(world, (3,), "ro")) is None
    assert code_of(alter(world, (3,), "off")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.checklist(217)
def test_a_topic_that_is_being_reduced_or_moved_does_not_grow() -> None:
    """Code 37 says which partitions go; code 60 while a partition moves."""
    world = cluster()
    world.plant(Partition("ro", 0, (1, 2), (1, 2), 1, 0, status_code=-1))
    ran = world.run(e.CreatePartitions(0, "ro", 2, None))
    assert code_of(ran) is ErrorCode.INVALID_PARTITIONS
    assert "being removed" in str(ran.reply)
    alter(world, (4,))
    assert code_of(world.run(e.CreatePartitions(0, "t0", 2, None))) is ErrorCode.REASSIGNMENT_IN_PROGRESS
