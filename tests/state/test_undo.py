"""What was decided can be taken back, record by record, and leaves no trace."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import assume, example, given

from kedge.controller import records as r
from kedge.controller.codec import keys
from kedge.controller.machine import step
from kedge.controller.model import events as e
from kedge.controller.model.config_requests import AlterConfigOp
from kedge.controller.model.legacy import NO_KEY, LegacyEntry, LegacyKey
from kedge.controller.model.records import KeyAt, KeyVersion
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttles import CommitLimits, ThrottlePlan
from kedge.controller.model.values import Broker, BrokerRegistration, ConfigEntity, Partition, Replicas
from kedge.controller.state import ClusterState, apply, start_batch, undo_to
from kedge.controller.state.rows import ABSENT
from tests.rules.world import World
from tests.state.snapshot import members_by_hand, snapshot

LISTS = st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True).map(tuple)
NAMES = st.tuples(st.sampled_from(["a", "b", "made"]), st.integers(0, 2))

ENTRIES = st.builds(lambda name, target: LegacyEntry(name[0], name[1], target), NAMES, LISTS)
PLANS = st.one_of(
    st.just(NO_KEY),
    st.builds(LegacyKey, st.lists(ENTRIES, max_size=4).map(tuple)),
    st.just(LegacyKey(problem="broken")),
)

REDUCTIONS = st.dictionaries(st.integers(0, 3), st.builds(Retirement, st.just(900), st.booleans()), max_size=2)


UNCLEAN = "unclean.leader.election.enable"
VALUES = st.sampled_from(["true", "false"])
ENTITIES = st.sampled_from(
    [ConfigEntity(*of) for of in (("topics", "a"), ("topics", "no"), ("brokers", "1"), ("brokers", "<default>"))]
)


@st.composite
def events(draw: st.DrawFn) -> e.Event:
    """Any event of any kind; most of them fit the cluster of `planted`."""
    name, broker, epoch = draw(NAMES), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    live = Broker(BrokerRegistration(broker, rack=draw(st.sampled_from([None, "r"]))), epoch)
    common = (1000, False, draw(st.booleans()), CommitLimits(draw(st.sampled_from([2, 1000])), 1_000_000))
    whose = draw(st.sampled_from(["1", "<default>"]))

    def at(path: str) -> KeyAt:
        return KeyAt(path, draw(st.integers(0, 2)))

    kinds = [
        e.AlterReassignment(1000, *name, draw(st.one_of(LISTS, st.none())), force=draw(st.booleans())),
        e.AlterReassignment(1000, *name, draw(LISTS), 5),
        e.AlterIsr(1000, *name, draw(st.integers(1, 3)), draw(st.integers(3, 6)), 0, draw(LISTS), 1),
        e.ElectLeader(1000, *name, draw(st.booleans())),
        e.BrokerGone(1000, broker, epoch),
        e.PartitionDue(1000, *name, e.Reason.DIED),
        e.DeathDone(1000, broker, epoch),
        e.BrokerCame(1000, live),
        e.BrokerRedescribed(1000, live),
        e.BrokerUnread(1000, broker, epoch),
        e.BrokerKnown(1000, broker, epoch),
        e.DiskReported(1000, *name, broker, draw(st.booleans())),
        e.PartitionDue(1000, *name),
        e.PartitionDue(2000, *name, e.Reason.DEADLINE),
        e.TopicKeyDue(1000, name[0]),
        e.IntentsDue(1000, broker),
        e.KafkaMoveFound(1000, *name, draw(LISTS), draw(LISTS), draw(LISTS)),
        e.PartitionDue(1000, *name, e.Reason.STRAY),
        e.StateKeyRead(1000, *name, Partition(*name, (1, 2), draw(LISTS), 1, 3), None, KeyVersion(9, 9)),
        e.DeleteTopic(1000, name[0]),
        e.ReassignPartitions(*common, (e.NamedTarget(*name, draw(LISTS)),), draw(st.sampled_from([None, 5000]))),
        e.AlterThrottledRates(*common, ((broker, 5000, epoch),), "replication"),
        e.AlterThrottledReplicas(*common, ((*name, draw(st.none() | LISTS), ()),)),
        e.ThrottleRemovalDue(1000),
        e.ThrottleDue(1000, "brokers", str(broker)),
        e.ThrottleDue(1000, "topics", name[0]),
        e.ThrottlePlanDue(1000, ThrottlePlan({}, common[-1]), is_refused=draw(st.booleans())),
        e.DeletionKeyRead(1000, name[0], at(keys.delete_topic(name[0]))),
        e.StateKeyRead(1000, *name, None, "broken", KeyVersion(8, 8)),
        e.TopicDeletionDue(1000, name[0]),
        e.PartitionDue(1000, *name, e.Reason.STOP),
        e.TopicLogsDue(1000, name[0]),
        e.PartitionDue(1000, *name, e.Reason.ERASE),
        e.TopicGoneDue(1000, name[0]),
        e.ForgetBroker(1000, broker),
        e.CreateTopic(1000, "made", 2, 1, None, {}, False, "id-of-made", 0, 0),
        e.CreatePartitions(1000, name[0], draw(st.integers(1, 4)), None),
        e.DeletePartitions(1000, name[0], draw(st.integers(0, 2)), None, draw(st.booleans())),
        e.ReductionKeyRead(1000, name[0], at(keys.delete_partitions(name[0])), draw(REDUCTIONS)),
        e.ReductionDue(1000, name[0]),
        e.PartitionDue(1000, *name, e.Reason.RETIRE),
        e.RetirementOver(10**9, *name),
        e.PurgeDue(1000, name[0]),
        e.ReductionKeyDue(1000, name[0]),
        e.LegacyKeyRead(1000, at(keys.REASSIGN_PARTITIONS), draw(PLANS)),
        e.LegacyPlanDue(1000),
        e.PartitionDue(1000, *name, e.Reason.PLANNED),
        e.LegacyKeyDue(1000),
        e.AlterConfigs(1000, draw(ENTITIES), (AlterConfigOp(UNCLEAN, draw(VALUES)),), draw(st.booleans())),
        e.ConfigKeyRead(1000, name[0], {UNCLEAN: draw(VALUES)}, at(keys.topic_config(name[0]))),
        e.BrokerConfigRead(1000, whose, {}, at(keys.broker_config(whose))),
        e.ChangesDue(1000, ("/config/changes/config_change_0000000001",)),
    ]
    return draw(st.sampled_from(kinds))


def planted() -> World:
    world = World()
    for broker in range(1, 6):
        world.plant_broker(broker)
    world.plant(Partition("a", 0, (1, 2, 3), (1, 2, 3), 1, 3))
    world.plant(Partition("a", 1, (2, 3), (2,), 2, 3))
    world.plant_move("b", (1, 2), (1, 2, 4), (4, 5))
    return world


def forget_all(state: ClusterState) -> list[e.Event]:
    """What a deletion waits for, none of it, and what it does then."""
    intents = [intent for broker in state.intents.brokers() for intent in state.open_intents(broker)]
    left = [p for name in state.deletions for p in state.partitions_of(name)]
    return [
        e.DeletionAcknowledged(1000, tuple(intents)),
        *(e.PartitionDue(1000, p.topic, p.partition, e.Reason.STOP) for p in left),
        *(e.PartitionDue(1000, p.topic, p.partition, e.Reason.ERASE) for p in left),
    ]


def acknowledged(state: ClusterState) -> e.Event:
    intents = [intent for broker in state.intents.brokers() for intent in state.open_intents(broker)]
    return e.DeletionAcknowledged(1000, tuple(intents[:2]))


@pytest.mark.slow
@given(st.lists(events(), max_size=25), st.integers(0, 60))
def test_a_batch_is_taken_back_to_any_record(sequence: list[e.Event], cut: int) -> None:
    """undo_to(k) gives the state as it stood after k records, undo_to(0) the state before the batch."""
    state = planted().state
    for event in sequence[: len(sequence) // 2]:  # something durable stands before
        step(state, event)
    start_batch(state)
    for broker in state.intents.brokers():
        state.intents.durable(broker, 1)
    stood = [snapshot(state)]
    for event in [*sequence[len(sequence) // 2 :], acknowledged(state)]:
        decision = step(state, event)
        undo_to(state, len(stood) - 1)
        for record in decision.records:
            apply(state, record)
            stood.append(snapshot(state))
    middle = min(cut, len(stood) - 1)
    undo_to(state, middle)
    assert snapshot(state) == stood[middle]
    undo_to(state, 0)
    assert snapshot(state) == stood[0]


@pytest.mark.slow
@given(st.lists(events(), max_size=15))
def test_records_applied_one_by_one_leave_what_those_of_one_decision_leave(sequence: list[e.Event]) -> None:
    """A run of records of one partition puts its row once, and looks its state key up once."""
    state = planted().state
    for event in sequence:
        before = len(state.batch)
        decision = step(state, event)
        once = snapshot(state)
        undo_to(state, before)
        for record in decision.records:
            apply(state, record)
        assert snapshot(state) == once


@pytest.mark.slow
@given(st.lists(events(), max_size=25), st.integers(0, 25))
def test_the_index_by_broker_is_what_counting_by_hand_gives(sequence: list[e.Event], cut: int) -> None:
    """partitions_on names every partition that has the broker in R, I or T, once, and no other."""
    state = planted().state
    for event in sequence:
        step(state, event)
    undo_to(state, min(cut, len(state.batch)))
    by_hand = members_by_hand(state)
    for broker in range(8):
        found = state.partitions_on(broker)
        assert sorted((p.topic, p.partition) for p in found) == sorted(
            (row.topic, row.partition) for n in by_hand.get(broker, ()) if (row := state.rows[n]) is not None
        )


def test_a_number_of_a_topic_that_was_taken_back_is_used_again() -> None:
    """What an index still holds of a partition that was taken back names neither nothing nor the next one."""
    state = planted().state
    create = e.CreateTopic(1000, "made", -1, -1, ((1,),), {}, False, "id-of-made", 0, 0)
    step(state, create)
    step(state, e.PartitionDue(1000, "made", 0))
    step(state, e.AlterReassignment(1000, "made", 0, (3,)))
    undo_to(state, 0)
    assert state.partitions_on(3) == [state.partition("a", 0), state.partition("a", 1)]
    step(state, e.CreateTopic(1000, "other", -1, -1, ((2,),), {}, False, "id-of-other", 0, 0))
    assert state.partition("other", 0) not in state.partitions_on(3)
    assert state.partition("other", 0) in state.partitions_on(2)


@pytest.mark.slow
@given(st.lists(events(), max_size=10), st.lists(events(), max_size=10))
@example([e.AlterThrottledReplicas(1000, False, True, CommitLimits(1000, 1_000_000), (("a", 0, None, ()),))], [])
def test_a_deleted_topic_is_taken_back_with_all_that_was_known_of_it(
    before: list[e.Event], after: list[e.Event]
) -> None:
    """Rows, indexes, moves, disks, names: as they were; also when a topic of the same name was made since."""
    state = planted().state
    readable = e.DeletionKeyRead(1000, "a", KeyAt(keys.delete_topic("a"), 0))  # else it could not be deleted
    for event in [*before, readable, e.DiskReported(1000, "a", 0, 2, gone=True), e.DeleteTopic(1000, "a")]:
        step(state, event)
    assume(state.is_deleting("a"))  # not while its key cannot be read
    for _ in range(3):  # stopped, acknowledged, without state keys
        for event in forget_all(state):
            step(state, event)
    for number in state.topics["a"].numbers:  # the commit
        state.put_state_version("a", number, ABSENT.version, ABSENT.generation)
    start_batch(state)
    for broker in state.intents.brokers():
        state.intents.durable(broker, 1)
    for event in forget_all(state):  # of what another topic's moves left
        step(state, event)
    stood = snapshot(state)
    length = len(state.batch)
    for _ in range(2):  # where throttles are marked with its name, the marks go before it
        step(state, e.TopicGoneDue(1000, "a"))
    assert state.topic("a") is None
    assert state.is_deleting("a")
    for event in [e.CreateTopic(1000, "made", 2, 1, None, {}, False, "id-of-made", 0, 0), *after]:
        step(state, event)
    undo_to(state, length)
    assert snapshot(state) == stood


@pytest.mark.slow
def test_unread_index_does_not_grow_for_ever() -> None:
    """A broker that becomes a member and leaves again, a hundred thousand times, takes no more room than at first."""
    world = World(is_checked=False)
    inside = world.plant(Partition("a", 0, (1, 2), (1, 2), 1, 0))
    outside = inside.but(replicas=(1,), isr=(1,))
    for _ in range(100_000):
        world.state.put_row(0, inside, outside)
        world.state.put_row(0, outside, inside)
    assert len(world.state._index[2].numbers) < 5_000  # noqa: SLF001 - nothing outside shows the room that it takes
    assert world.state.partitions_on(2) == [inside]


@pytest.mark.parametrize("replicas", [(1, 2), (2, 1, 3)])
def test_a_record_of_an_unknown_partition_is_refused_loudly(replicas: Replicas) -> None:
    """A record that names no row is a fault of the rules; it does not become a row."""
    unknown = Partition("nobody", 0, replicas, replicas, replicas[0], 0)
    state = planted().state
    with pytest.raises(AssertionError, match="nobody-0 is not in the state"):
        apply(state, r.PartitionChanged(unknown, unknown))
    assert len(state.batch) == 0
