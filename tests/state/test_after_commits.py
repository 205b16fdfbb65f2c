"""What the state knows of its keys after a commit: their versions, what they still hold, and that they are gone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.controller import records as r
from kedge.controller.model.legacy import NO_KEY, LegacyEntry, LegacyKey
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttles import ConfigMark, MarkKey, OwnerMark
from kedge.controller.model.values import Broker, BrokerRegistration, ConfigEntity, DeleteIntent, Partition
from kedge.controller.state import apply, undo_to
from kedge.controller.state.intents import Intents
from kedge.controller.state.reductions import Reduction
from kedge.controller.state.rows import Deletion
from tests.rules.world import World

ENTRIES = {1: Retirement(900, immediate=False)}
LATER = {1: Retirement(950, immediate=False)}
EXTRA = {"more": 1}


def intent(partition: int, epoch: int = 3, broker: int = 7) -> DeleteIntent:
    return DeleteIntent(broker, "t", "id-of-t", partition, epoch)


def world_of_two() -> World:
    world = World()
    for partition in (0, 1):
        world.plant(Partition("t", partition, (1, 2), (1, 2), 1, 3))
    return world


def test_a_key_of_marks_keeps_its_fields_until_it_is_deleted() -> None:
    throttles = World().state.throttles
    throttles.load("brokers", "brokers", {}, MarkKey(EXTRA, 2))
    throttles.written("brokers", is_there=True)
    assert throttles.keys["brokers"] == MarkKey(EXTRA, 2)
    assert throttles.is_marked
    throttles.written("brokers", is_there=False)
    assert not throttles.is_marked


def test_the_legacy_key_holds_the_entries_in_force_in_order() -> None:
    legacy = World().state.legacy
    one, two = LegacyEntry("t", 0, (1,)), LegacyEntry("t", 1, (2,))
    legacy.load(LegacyKey((two, one, two), EXTRA, 2))
    behind = [legacy.is_behind]
    del legacy.entries[two.name]
    behind.append(legacy.is_behind)
    legacy.committed(is_there=True)
    behind.append(legacy.is_behind)
    assert behind == [False, True, False]
    assert legacy.key == LegacyKey((one,), EXTRA, 2)
    legacy.committed(is_there=False)
    assert legacy.key == NO_KEY


def test_unknown_fields_of_a_reduction_stay_until_others_are_read() -> None:
    state = world_of_two().state
    state.load_reduction("t", ENTRIES, EXTRA)
    apply(state, r.ReductionChanged("t", LATER))
    assert state.reducing.of["t"] == Reduction(LATER, EXTRA)
    apply(state, r.ReductionChanged("t", LATER, extra={"other": 2}))
    assert state.reducing.of["t"] == Reduction(LATER, {"other": 2})
    apply(state, r.ReductionChanged("t", {}))
    assert state.reducing.of == {}
    undo_to(state, 0)
    assert state.reducing.of["t"] == Reduction(ENTRIES, EXTRA)


@pytest.mark.parametrize("loaded", [(intent(0, 5), intent(0, 5)), (intent(0, 5), intent(0, 4))])
def test_of_intents_that_are_no_newer_the_first_counts(loaded: Sequence[DeleteIntent]) -> None:
    """The key of the other one holds nothing that is open, and may go."""
    intents = Intents()
    for seq, one in enumerate(loaded, 1):
        intents.load(7, seq, [one])
    assert intents.of(7) == (loaded[0],)
    assert intents.seq_of(loaded[0]) == 1
    assert intents.finished_keys() == [(7, 2)]
    assert (intents.count_of("id-of-t"), intents.count_of_partition("id-of-t", 0)) == (1, 1)


def test_an_older_intent_in_a_key_hides_none_of_the_others_in_it() -> None:
    intents = Intents()
    intents.load(7, 1, [intent(0, 5)])
    intents.load(7, 2, [intent(0, 4), intent(1), intent(2)])
    assert set(intents.of(7)) == {intent(0, 5), intent(1), intent(2)}
    assert intents.keys[7, 2] == 2


def test_a_newer_intent_takes_the_place_of_an_older_one() -> None:
    intents = Intents()
    intents.load(7, 1, [intent(0, 4), intent(1)])
    intents.load(7, 2, [intent(0, 5)])
    assert intents.finished_keys() == []
    assert set(intents.of(7)) == {intent(0, 5), intent(1)}
    assert intents.close(intent(1)) == (1, (7, 1))
    assert intents.finished_keys() == [(7, 1)]
    assert intents.close(intent(0, 5)) == (2, (7, 2))
    assert len(intents) == 0
    assert intents.brokers() == []
    assert (intents.count_of("id-of-t"), intents.count_of_partition("id-of-t", 1)) == (0, 0)


def test_intents_of_a_batch_get_a_key_by_its_commit() -> None:
    intents = Intents()
    intents.load(7, 1, [intent(0)])
    intents.open(intent(1))
    intents.open(intent(2, broker=8))
    assert [intents.seq_of(one) for one in (intent(0), intent(1))] == [1, None]
    assert intents.undurable(7) == [intent(1)]
    intents.durable(7, 4)
    assert [intents.seq_of(one) for one in (intent(0), intent(1), intent(2, broker=8))] == [1, 4, None]
    assert intents.undurable(7) == []
    assert intents.keys[7, 4] == 1
    intents.durable(7, 5)  # nothing was left to write
    assert set(intents.keys) == {(7, 1), (7, 4)}


def test_state_keys_that_are_written_count_for_a_deletion_and_purged_ones_do_not() -> None:
    state = world_of_two().state
    state.deletions["t"] = Deletion(0, 2)
    state.state_key_written("t", 0, 0)
    assert (state.deletions["t"].keys_left, state.versions.states[0], state.versions.generations[0]) == (1, 0, -1)
    state.state_key_written("t", 0, 9)
    assert (state.deletions["t"].keys_left, state.versions.states[0], state.versions.generations[0]) == (2, 9, 0)
    state.state_key_written("t", 0, 10)
    assert (state.deletions["t"].keys_left, state.versions.states[0], state.versions.generations[0]) == (2, 10, 1)
    state.purge_last_partition("t")
    state.state_key_written("t", 0, 11)
    assert list(state.reducing.purged) == [1]
    state.state_key_written("t", 1, 0)
    assert state.deletions["t"].keys_left == 2
    assert state.reducing.purged == {}


def test_numbers_of_notifications_are_above_those_that_were_seen() -> None:
    changes = World().state.changes
    changes.seen(4)
    changes.seen(2)
    assert changes.next_number == 5
    changes.seen(5)
    assert changes.next_number == 6


def test_what_is_loaded_is_known() -> None:
    state = World().state
    state.load_entity_config(ConfigEntity("brokers", "1"), {"a": "b"})
    state.load_admitted(1, 77)
    state.load_dying({2: 70})
    state.load_unread_broker(3, 71)
    state.load_change_number(9)
    assert state.broker_config("1") == {"a": "b"}
    assert state.admitted == {1: 77}
    assert (state.dying, state.unread) == ({2: 70}, {3: 71})
    assert state.changes.next_number == 9


def test_a_registration_is_live_under_the_epoch_that_was_admitted_or_if_none_was() -> None:
    state = World().state
    state.load_admitted(1, 77)
    state.load_admitted(2, 70)
    registrations = [Broker(BrokerRegistration(broker), 77) for broker in (1, 2, 3)]
    assert [state.load_broker(one) for one in registrations] == [True, False, True]
    assert sorted(state.brokers) == [1, 3]
    for broker in (1, 2, 4):
        state.load_unread_broker(broker, 77)
    assert state.unread == {1: 77, 4: 77}


def test_state_keys_of_a_topic_are_left_until_their_deletion_is_committed() -> None:
    """Also those that this batch is about to write; of other keys of the batch none counts."""
    state = world_of_two().state
    state.start_deletion("t")
    assert state.state_keys_left("t") == 2
    state.state_key_written("t", 0, 0)
    assert state.state_keys_left("t") == 1
    state.state_key_written("t", 1, 0)
    assert state.state_keys_left("t") == 0
    state.batch.dirty_keys[("state", 1)] = None
    state.batch.dirty_keys[("topic", 0)] = None
    assert state.state_keys_left("t") == 1


def test_only_a_topic_of_this_term_is_new() -> None:
    state = world_of_two().state
    assert [state.is_new(name) for name in ("t", "none")] == [False, False]
    state.topics["t"].is_new = True
    assert state.is_new("t")


def test_marked_owners_are_named_by_kind_in_order() -> None:
    """Those of which nothing is to be removed are not."""
    throttles = World().state.throttles
    assert throttles.told() == {}
    throttles.marks["topics"] = {"u": OwnerMark(None), "t": OwnerMark()}
    assert throttles.told() == {"topics": ["t", "u"]}
    to_stay = OwnerMark({"c": ConfigMark(None, (), (), ("5",))})
    throttles.marks["brokers"] = {"10": OwnerMark(), "9": OwnerMark(), "11": to_stay}
    assert throttles.told() == {"topics": ["t", "u"], "brokers": ["9", "10"]}


def test_a_key_of_intents_that_is_empty_is_deleted_by_this_commit() -> None:
    state = World().state
    apply(state, r.IntentsKeyEmptied(7, 3))
    assert list(state.batch.dirty_keys) == [("intents done", (7, 3))]


def test_numbers_of_a_batch_are_used_up_by_its_commit() -> None:
    changes = World().state.changes
    changes.seen(4)
    one, two = ConfigEntity("topics", "t"), ConfigEntity("brokers", "1")
    assert [changes.tell(entity) for entity in (one, two, one)] == [True, True, False]
    assert (changes.number(one), changes.number(two)) == (5, 6)
    changes.take_back(two)
    changes.committed()
    assert changes.next_number == 6
    assert changes.tell(one)
    assert changes.number(one) == 6


def test_the_first_notification_has_the_number_0() -> None:
    """As ZooKeeper's own sequence gives it."""
    assert World().state.changes.next_number == 0
