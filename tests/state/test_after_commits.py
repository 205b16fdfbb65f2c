"""What the state knows of its keys after a commit: their versions, what they still hold, and that they are gone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kedge.controller.model import records as r
from kedge.controller.model.legacy import NO_KEY, LegacyEntry, LegacyKey
from kedge.controller.model.reductions import Retirement
from kedge.controller.model.throttles import ConfigMark, MarkKey, OwnerMark
from kedge.controller.model.values import Broker, BrokerRegistration, ConfigEntity, DeleteIntent, Partition
from kedge.controller.state import apply, undo_to
from kedge.controller.state.intents import Intents
from kedge.controller.state.reductions import Reduction
from kedge.controller.state.rows import ABSENT, Admitted, Deletion
from tests.rules.world import World

ENTRIES = {1: Retirement(900, immediate=False)}
EXTRA = {"more": 1}


def intent(partition: int, epoch: int = 3, broker: int = 7) -> DeleteIntent:
    return DeleteIntent(broker, "t", "id-of-t", partition, epoch)


def world_of_two() -> World:
    world = World()
    for partition in (0, 1):
        world.plant(Partition("t", partition, (1, 2), (1, 2), 1, 3))
    return world


def test_a_key_of_marks_keeps_its_fields_under_its_new_version_and_none_without_the_key() -> None:
    throttles = World().state.throttles
    throttles.load("brokers", "brokers", {}, MarkKey(3, EXTRA, 2))
    throttles.stands("brokers", 4)
    assert throttles.keys["brokers"] == MarkKey(4, EXTRA, 2)
    assert throttles.is_marked
    throttles.stands("brokers", 0)
    assert throttles.keys["brokers"] == MarkKey()
    assert not throttles.is_marked


def test_the_legacy_key_holds_the_entries_in_force_in_order() -> None:
    legacy = World().state.legacy
    one, two = LegacyEntry("t", 0, (1,)), LegacyEntry("t", 1, (2,))
    legacy.load(LegacyKey(3, (two, one, two), EXTRA, 2))
    behind = [legacy.is_behind]
    del legacy.entries[two.name]
    behind.append(legacy.is_behind)
    legacy.stands(4)
    behind.append(legacy.is_behind)
    assert behind == [False, True, False]
    assert legacy.key == LegacyKey(4, (one,), EXTRA, 2)
    legacy.stands(0)
    assert legacy.key == NO_KEY


@pytest.mark.parametrize("loaded", [(intent(0, 5), intent(0, 5)), (intent(0, 5), intent(0, 4))])
def test_of_intents_that_are_no_newer_the_first_counts(loaded: Sequence[DeleteIntent]) -> None:
    """The key of the other one holds nothing that is open, and may go."""
    intents = Intents()
    for seq, one in enumerate(loaded, 1):
        intents.load(7, seq, 10 + seq, [one])
    assert intents.of(7) == (loaded[0],)
    assert intents.seq_of(loaded[0]) == 1
    assert intents.finished_keys() == [(7, 2)]
    assert (intents.count_of("id-of-t"), intents.count_of_partition("id-of-t", 0)) == (1, 1)


def test_an_older_intent_in_a_key_hides_none_of_the_others_in_it() -> None:
    intents = Intents()
    intents.load(7, 1, 11, [intent(0, 5)])
    intents.load(7, 2, 12, [intent(0, 4), intent(1), intent(2)])
    assert set(intents.of(7)) == {intent(0, 5), intent(1), intent(2)}
    assert (intents.keys[7, 2].version, intents.keys[7, 2].open_count) == (12, 2)


def test_a_newer_intent_takes_the_place_of_an_older_one() -> None:
    intents = Intents()
    intents.load(7, 1, 11, [intent(0, 4), intent(1)])
    intents.load(7, 2, 12, [intent(0, 5)])
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
    intents.load(7, 1, 11, [intent(0)])
    intents.open(intent(1))
    intents.open(intent(2, broker=8))
    assert [intents.seq_of(one) for one in (intent(0), intent(1))] == [1, None]
    assert intents.undurable(7) == [intent(1)]
    intents.durable(7, 4, 21)
    assert [intents.seq_of(one) for one in (intent(0), intent(1), intent(2, broker=8))] == [1, 4, None]
    assert intents.undurable(7) == []
    assert (intents.keys[7, 4].version, intents.keys[7, 4].open_count) == (21, 1)
    intents.durable(7, 5, 22)  # nothing was left to write
    assert set(intents.keys) == {(7, 1), (7, 4)}


def test_the_key_of_a_reduction_that_is_found_changes_its_version_and_not_its_entries() -> None:
    state = world_of_two().state
    state.load_reduction("t", 3, ENTRIES, None)
    apply(state, r.ReductionKeyFound("t", 5, EXTRA))
    assert state.reducing.of["t"] == Reduction(5, ENTRIES, EXTRA)
    apply(state, r.ReductionChanged("t", {}))
    assert state.reducing.of["t"] == Reduction(5, {}, EXTRA)
    apply(state, r.ReductionKeyFound("t", 0))
    assert state.reducing.of == {}
    undo_to(state, 0)
    assert state.reducing.of["t"] == Reduction(3, ENTRIES, None)


def test_a_refused_reduction_keeps_what_is_known_of_its_own_topic() -> None:
    """Until its key is gone."""
    state = world_of_two().state
    state.load_reduction("t", 3, ENTRIES, EXTRA)
    apply(state, r.ReductionRefused("t", 6, "too many"))
    assert state.reducing.of["t"] == Reduction(6, ENTRIES, EXTRA)
    assert list(state.batch.dirty_keys) == [("reduction", "t")]
    state.reducing.stands("t", 7)
    assert state.reducing.of["t"].version == 7
    state.reducing.stands("t", 0)
    assert state.reducing.of == {}
    state.reducing.stands("t", 0)  # there is none any more


def test_a_reduction_without_entries_ends_with_its_key() -> None:
    state = world_of_two().state
    state.load_reduction("t", 3, {}, None)
    state.reducing.stands("t", 4)
    assert state.reducing.of == {}


def test_state_keys_that_are_written_count_for_a_deletion_and_purged_ones_do_not() -> None:
    state = world_of_two().state
    state.deletions["t"] = Deletion(1, 0, 2)
    state.state_key_written("t", 0, 0)
    assert (state.deletions["t"].keys_left, state.versions[0], state.generations[0]) == (1, 0, -1)
    state.state_key_written("t", 0, 9)
    assert (state.deletions["t"].keys_left, state.versions[0], state.generations[0]) == (2, 9, 0)
    state.state_key_written("t", 0, 10)
    assert (state.deletions["t"].keys_left, state.versions[0], state.generations[0]) == (2, 10, 1)
    state.purge_last_partition("t")
    state.state_key_written("t", 0, 11)
    assert list(state.reducing.purged) == [1]
    state.state_key_written("t", 1, 0)
    assert state.deletions["t"].keys_left == 2
    assert state.reducing.purged == {}


def test_a_topic_key_counts_how_often_it_was_written() -> None:
    state = world_of_two().state
    row = state.topics["t"]
    row.version = 0
    for version, generation in ((5, 0), (6, 1), (0, 2), (7, 0)):
        state.topic_key_stands("t", version)
        assert (row.version, row.generation) == (version, generation)
    state.config_stands("t", 8)
    assert row.config_version == 8
    for name in ("none", "gone"):  # deleted by the same commit
        state.topic_key_stands(name, 1)
        state.config_stands(name, 1)


def test_numbers_of_notifications_are_above_those_that_were_seen() -> None:
    changes = World().state.changes
    changes.seen(4)
    changes.seen(2)
    assert changes.next_number == 5
    changes.seen(5)
    assert changes.next_number == 6


def test_a_key_of_intents_that_is_gone_is_forgotten() -> None:
    """Twice changes nothing: another program may have removed it."""
    state = World().state
    state.intents.load(7, 1, 11, [])
    for _ in range(2):
        state.intents_are_gone((7, 1))
        assert state.intents.keys == {}


def test_what_is_loaded_is_known_under_its_version() -> None:
    state = World().state
    state.load_broker_config("1", 4, {"a": "b"})
    state.load_admitted(1, 5, 77)
    state.load_dying({2: 70})
    state.load_unread_broker(3, 71)
    state.load_migration(6)
    state.load_change_number(9)
    assert (state.broker_configs["1"].version, dict(state.broker_configs["1"].configs)) == (4, {"a": "b"})
    assert state.admitted[1] == Admitted(5, 77)
    assert (state.dying, state.unread) == ({2: 70}, {3: 71})
    assert (state.migration_version, state.changes.next_number) == (6, 9)


def test_a_notification_that_is_gone_is_no_longer_known() -> None:
    state = World().state
    state.worked_off |= {"/one": 1, "/two": 2}
    state.notification_is_gone("/one")
    assert list(state.worked_off) == ["/two"]


def test_a_deletion_ends_with_its_topic_and_has_its_version_until_then() -> None:
    state = world_of_two().state
    state.refused |= {"t": 1, "other": 2}
    state.start_deletion("t", 0)
    assert (state.deletions["t"].left_to_stop, state.deletions["t"].keys_left) == (2, 2)
    state.deletion_stands("t", 5)
    assert state.deletions["t"].version == 5
    assert list(state.refused) == ["other"]
    state.delete_topic("t")
    state.deletion_stands("t", 0)
    assert state.deletions == {}
    state.deletion_stands("none", 0)


def test_a_registration_is_live_under_the_epoch_that_was_admitted_or_if_none_was() -> None:
    state = World().state
    state.load_admitted(1, 1, 77)
    state.load_admitted(2, 1, 70)
    registrations = [Broker(BrokerRegistration(broker), 77) for broker in (1, 2, 3)]
    assert [state.load_broker(one) for one in registrations] == [True, False, True]
    assert sorted(state.brokers) == [1, 3]
    for broker in (1, 2, 4):
        state.load_unread_broker(broker, 77)
    assert state.unread == {1: 77, 4: 77}


def test_an_admission_is_of_the_epoch_of_its_broker_and_goes_with_its_key() -> None:
    world = World()
    world.plant_broker(1, epoch=78)
    world.state.admission_stands(1, 3)
    assert world.state.admitted[1] == Admitted(3, 78)
    for _ in range(2):
        world.state.admission_stands(1, 0)
        assert world.state.admitted == {}


def test_configs_of_a_broker_keep_their_values_under_a_new_version() -> None:
    state = World().state
    state.load_broker_config("1", 4, {"a": "b"})
    state.broker_config_stands("1", 5)
    assert (state.broker_configs["1"].version, dict(state.broker_configs["1"].configs)) == (5, {"a": "b"})


def test_state_keys_of_a_topic_are_left_until_their_deletion_is_committed() -> None:
    """Also those that this batch is about to write; of other keys of the batch none counts."""
    state = world_of_two().state
    state.start_deletion("t", 1)
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


def test_a_deletion_begins_at_the_version_of_its_key_and_is_undone() -> None:
    state = world_of_two().state
    apply(state, r.TopicDeletionStarted(state.topics["t"].topic, 7))
    assert state.deletion_version("t") == 7
    undo_to(state, 0)
    assert state.deletions == {}


def test_a_key_of_intents_that_is_empty_is_deleted_by_this_commit() -> None:
    state = World().state
    apply(state, r.IntentsKeyEmptied(7, 3))
    assert list(state.batch.dirty_keys) == [("intents done", (7, 3))]


def test_a_topic_that_is_not_there_has_no_versions() -> None:
    state = world_of_two().state
    state.config_stands("t", 5)
    assert [state.config_version(name) for name in ("t", "none")] == [5, 0]
    assert state.key_version("none", None) == state.key_version("t", 9) == state.key_version("none", 0) == ABSENT


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
