"""Every kind of record and of event has its place in the tables, and the small things of the state hold."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from kedge.controller import machine, records
from kedge.controller.model import events
from kedge.controller.model.records import KeyVersion, KeyVersions, Record
from kedge.controller.model.values import DeleteIntent, Move, Partition, Settings, Topic
from kedge.controller.state import ClusterState, apply, start_batch, undo_to
from kedge.controller.state.columns import PartitionColumns
from kedge.controller.state.intents import Intents
from tests.rules.world import World


def kinds(module: ModuleType, root: type) -> set[type]:
    found = {kind for _, kind in inspect.getmembers(module, inspect.isclass) if issubclass(kind, root)}
    return found - {root, events.ThrottleRequest, events.KeyRead}


SILENT = {
    "BrokerShutsDown", "ChangePurged", "DeletionKeyLost", "DeletionRefused", "IntentsKeyEmptied", "KeyAdopted",
    "KeysRewritten", "LegacyKeyRemoved", "LegacyKeyRewritten", "LegacyPlanWritten", "LegacySubmitted",
    "PartitionsAdded", "RegistrationKnown", "RegistrationUnread", "StateKeyAdopted", "ThrottlePlanRuns",
    "ThrottlesEnded", "TopicChanged",
}  # fmt: skip
"""Records without a publication: their change is not visible, or another record publishes it."""


@pytest.mark.checklist(272)
def test_every_record_publishes_or_is_silent_on_purpose() -> None:
    names = {kind.__name__ for kind in kinds(records, Record) if getattr(kind, "publish") is Record.publish}  # noqa: B009
    assert names == SILENT


def test_every_event_has_a_rule() -> None:
    """Whatever the runtime may draw from its inbox is decided by one rule."""
    assert set(machine.RULES) == kinds(events, events.Event)
    assert set(machine.DUE) == set(events.Reason)


def test_growth_is_late_and_taken_back_with_its_record() -> None:
    """The topic of partitions that grew is late as long as one of the records stands."""
    world = World()
    state = world.state
    for row in [world.plant(Partition("t", number, (1,), (1, 2), 1, 0, Move((1, 2), (1,), 0))) for number in (0, 1)]:
        apply(state, records.PartitionChanged(row, row.but(replicas=(1, 2)), via=row))
    assert (list(state.batch.late_topics), state.batch.dirty_keys) == (["t"], {})
    undo_to(state, 1)
    assert list(state.batch.late_topics) == ["t"]
    undo_to(state, 0)
    assert list(state.batch.late_topics) == []


def test_a_started_batch_is_empty_and_the_old_one_keeps_its_records() -> None:
    """What was decided so far belongs to the commit; what is decided from now on to the next."""
    world = World()
    world.plant(Partition("t", 0, (1,), (1,), 1, 0))
    record = records.KeysRewritten("t")
    apply(world.state, record)
    done = start_batch(world.state)
    assert ([record for record, _, _ in done.log], list(done.dirty_keys)) == ([record], [("topic", "t")])
    assert (len(world.state.batch), world.state.batch.dirty_keys) == (0, {})


def test_a_topic_is_loaded_with_its_versions() -> None:
    """Keys stand where the store said, and an absent state key stands at version 0."""
    state = ClusterState(1, 1, Settings())
    rows = (Partition("t", 0, (1,), (1,), 1, 0), Partition("t", 1, (2,), (), -1, -1))
    versions = KeyVersions.of((KeyVersion(3, 2), KeyVersion(0, -1)))
    state.load_topic(Topic("t", "id"), PartitionColumns.of(rows), {"a": "b"}, versions)
    absent = KeyVersion(0, -1)
    assert [state.key_version("t", p) for p in (0, 1, 2)] == [KeyVersion(3, 2), absent, absent]
    assert state.key_version("nobody", 0) == absent
    assert [state.partition_epoch(row) for row in rows] == [2, -1]
    assert state.partition_epoch(Partition("nobody", 0, (1,), (), -1, -1)) == -1
    assert (list(state.topic_names()), state.topic_config("t"), state.topic_config("u")) == (["t"], {"a": "b"}, {})
    assert (list(state.partitions()), state.partitions_of("u"), state.partition_count("u")) == (list(rows), (), 0)
    assert [state.partition("t", p) for p in (0, 1, 2, -1)] == [*rows, None, None]
    assert [state.number("t", p) for p in (0, 1, 2, -1)] == [0, 1, None, None]
    assert (state.partition("nobody", 0), state.number("nobody", 0)) == (None, None)
    assert (state.brokers_named(), state.partitions_on(7), state.admitted_epoch(1)) == ([1, 2], [], None)


def test_of_two_loaded_intents_for_one_replica_the_newer_stands() -> None:
    """A key whose intents were all superseded has nothing open, in whatever order the keys are read."""
    old, new = (DeleteIntent(1, "t", "id", 0, epoch) for epoch in (2, 5))
    for first, second in (((7, old), (8, new)), ((8, new), (7, old))):
        intents = Intents()
        for seq, intent in (first, second):
            intents.load(1, seq, [intent])
        assert (intents.of(1), intents.get(1, "id", 0), intents.finished_keys()) == ((new,), new, [(1, 7)])
        assert (len(intents), intents.brokers()) == (1, [1])


def test_the_key_of_intents_goes_with_the_last_of_them() -> None:
    """Closing the first intent of a key leaves it, closing the last names the key; an intent without key has none."""
    intents = Intents()
    first, second, fresh = (DeleteIntent(1, "t", "id", partition, 1) for partition in range(3))
    intents.open(first)
    intents.open(second)
    assert intents.undurable(1) == [first, second]
    intents.durable(1, 9)
    intents.durable(2, 9)
    assert (intents.undurable(1), set(intents.keys)) == ([], {(1, 9)})
    intents.open(fresh)
    assert intents.close(fresh) == (None, None)
    assert intents.close(first) == (9, None)
    assert intents.close(second) == (9, (1, 9))
    intents.reopen(second, 9)
    assert intents.finished_keys() == []


def test_names_that_differ_by_dot_and_underscore_collide() -> None:
    """A taken name is found under its twin, until the topic is taken back."""
    state = ClusterState(1, 1, Settings())
    for name in ("a.b", "plain"):
        apply(state, records.TopicCreated(Topic(name, "id"), ((1,),)))
    assert [state.colliding_topic(name) for name in ("a_b", "plain", "x_y")] == ["a.b", None, None]
    undo_to(state, 0)
    assert state.colliding_topic("a_b") is None


@pytest.mark.parametrize("first", ["", "why"])
def test_a_broken_key_is_remembered_until_it_is_mended(first: str) -> None:
    """The state gives the reason; undoing gives back the one before."""
    state = ClusterState(1, 1, Settings())
    apply(state, records.BadKey("t", 0, "why", first or None))
    assert (state.unreadable("t", 0), state.unreadable("t")) == ("why", None)
    apply(state, records.BadKey("t", 0, None, "why"))
    assert state.unreadable("t", 0) is None
    undo_to(state, 1)
    assert state.unreadable("t", 0) == "why"
