"""Tables keyed by record type: how a record is applied, how it is undone, which keys it makes dirty.

Applying gives a token, whatever undoing needs beside the record. What a record makes dirty is read after it was
applied.
Every record type stands in the table (a test holds it to that).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from controller.model import records as r
from controller.model.values import Partition, without_state
from controller.state.batch import LEGACY, Batch, Mark
from controller.state.cluster import ClusterState, Deleted

Apply = Callable[[ClusterState, Any], object]
Undo = Callable[[ClusterState, Any, object], None]
Dirty = Callable[[ClusterState, Any, object], list[Mark]]


def _nothing(state: ClusterState, record: r.Record) -> None:
    """For the journal only."""


def _undo_nothing(state: ClusterState, record: r.Record, token: object) -> None:
    """Nothing was applied."""


def _no_keys(state: ClusterState, record: r.Record, token: object) -> list[Mark]:
    return []


# --- partitions


def _put(state: ClusterState, record: r.PartitionRecord | r.StateKeyRemoved) -> int:
    number = _number(state, record.after)
    state.put_row(number, record.before, record.after)
    return number


def _put_back(state: ClusterState, record: r.PartitionRecord | r.StateKeyRemoved, number: object) -> None:
    assert isinstance(number, int)
    state.put_row(number, record.after, record.before)


def _number(state: ClusterState, partition: Partition) -> int:
    number = state.number(partition.topic, partition.partition)
    assert number is not None, f"{partition.topic}-{partition.partition} is not in the state"
    return number


def _state_key(_: ClusterState, __: r.PartitionRecord, token: object) -> list[Mark]:
    return [("state", token)]  # what `_put` gave back: the number


def _both_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    after = record.after
    if after.move is None or record.before.replicas != after.replicas:
        return [("state", token), ("topic", after.topic)]
    return [("state", token)]


def _isr_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """A member that R grew by and that leaves I again must stand in the topic key: the loader would lose it from R,
    which it grows by T and I only."""
    after, move = record.after, record.after.move
    if move is not None:
        left = [b for b in record.before.isr if b not in after.isr]
        if left and any(b in after.replicas and b not in move.origin for b in left):
            return [("state", token), ("topic", after.topic)]
    return [("state", token)]


def _override_keys(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """What R grew by under the old T cannot be derived from the new one: the topic key says it. A new deadline alone
    changes nothing of that."""
    marks = _state_key(state, record, token)
    if record.before.target_replicas != record.after.target_replicas:
        marks.append(("topic", record.after.topic))
    return marks


def _late_topic_key(state: ClusterState, record: r.PartitionRecord, token: object) -> list[Mark]:
    """R of a moving partition can be derived from T and I: the topic key, which holds a whole topic, is written
    later (`Batch.late_topics`)."""
    return []


# --- topics


def _create_topic(state: ClusterState, record: r.TopicCreated) -> None:
    row = state.add_topic(record.topic, dict(record.configs))
    row.is_new = True
    for partition, replicas in enumerate(record.assignments):
        state.add_partition(row, without_state(record.topic.name, partition, replicas))


def _drop_topic(state: ClusterState, record: r.TopicCreated | r.TopicFound, token: object) -> None:
    row = state.topics[record.topic.name]
    for _ in range(len(row.numbers)):
        state.remove_last_partition(row)
    state.remove_topic(record.topic.name)


def _created_keys(state: ClusterState, record: r.TopicCreated, token: object) -> list[Mark]:
    return [("config", record.topic.name), ("topic", record.topic.name)]


def _add_partitions(state: ClusterState, record: r.PartitionsAdded) -> None:
    row = state.topics[record.topic.name]
    for i, replicas in enumerate(record.assignments):
        state.add_partition(row, without_state(record.topic.name, record.first + i, replicas))


def _drop_partitions(state: ClusterState, record: r.PartitionsAdded, token: object) -> None:
    row = state.topics[record.topic.name]
    for _ in record.assignments:
        state.remove_last_partition(row)


def _find_topic(state: ClusterState, record: r.TopicFound) -> None:
    state.load_topic(record.topic, record.partitions, record.configs, record.versions)


def _change_topic(state: ClusterState, record: r.TopicChanged) -> None:
    state.topics[record.after.name].topic = record.after


def _unchange_topic(state: ClusterState, record: r.TopicChanged, token: object) -> None:
    state.topics[record.before.name].topic = record.before


def _topic_key(state: ClusterState, record: r.PartitionsAdded, token: object) -> list[Mark]:
    return [("topic", record.topic.name)]


# --- topics that are deleted


def _start_deletion(state: ClusterState, record: r.TopicDeletionStarted) -> None:
    state.start_deletion(record.topic.name, record.version)


def _unstart_deletion(state: ClusterState, record: r.TopicDeletionStarted, token: object) -> None:
    del state.deletions[record.topic.name]


def _started_key(state: ClusterState, record: r.TopicDeletionStarted, token: object) -> list[Mark]:
    return [] if record.version else [("deletion", record.topic.name)]


def _stopped_keys(state: ClusterState, record: r.PartitionStopped, token: object) -> list[Mark]:
    """One without a state key is held to have none; the empty parent that it may have left goes."""
    marks = _state_key(state, record, token)
    return marks if record.after.has_state else [*marks, _parent(record.after)]


def _removed_keys(state: ClusterState, record: r.StateKeyRemoved, token: object) -> list[Mark]:
    return [("state", token), _parent(record.after)]


def _parent(partition: Partition) -> Mark:
    return ("parent", (partition.topic, partition.partition))


def _delete_topic(state: ClusterState, record: r.TopicDeleted) -> object:
    return state.delete_topic(record.topic.name)


def _undelete_topic(state: ClusterState, record: r.TopicDeleted, token: object) -> None:
    assert isinstance(token, Deleted)
    state.undelete_topic(token)


def _deleted_keys(state: ClusterState, record: r.TopicDeleted, token: object) -> list[Mark]:
    """In the order in which they go."""
    name = record.topic.name
    return [("parent", (name, None)), ("topic", name), ("config", name), ("deletion", name)]


def _find_deletion(state: ClusterState, record: r.DeletionKeyFound) -> None:
    state.deletions[record.topic].version = record.found


def _unfind_deletion(state: ClusterState, record: r.DeletionKeyFound, token: object) -> None:
    state.deletions[record.topic].version = record.before


def _found_key(state: ClusterState, record: r.DeletionKeyFound, token: object) -> list[Mark]:
    return [] if record.found else [("deletion", record.topic)]


def _refuse_deletion(state: ClusterState, record: r.DeletionRefused) -> object:
    before = state.refused.get(record.topic)
    state.refused[record.topic] = record.version
    return before


def _unrefuse_deletion(state: ClusterState, record: r.DeletionRefused, token: object) -> None:
    if isinstance(token, int):
        state.refused[record.topic] = token
    else:
        del state.refused[record.topic]


# --- brokers


def _register(state: ClusterState, record: r.BrokerRegistered) -> list[int]:
    broker_id = record.broker.broker_id
    state.brokers[broker_id] = record.broker
    return [] if record.before is not None else _disks_back(state, broker_id)


def _disks_back(state: ClusterState, broker: int) -> list[int]:
    """A broker that comes anew has told nothing of its disks yet."""
    numbers = state.disks_gone(broker)
    for number in numbers:
        state.set_disk(number, broker, gone=False)
    return numbers


def _unregister(state: ClusterState, record: r.BrokerRegistered, disks: object) -> None:
    assert isinstance(disks, list)
    if record.before is None:
        del state.brokers[record.broker.broker_id]
    else:
        state.brokers[record.broker.broker_id] = record.before
    for number in disks:
        state.set_disk(number, record.broker.broker_id, gone=True)


def _admitted_key(state: ClusterState, record: r.BrokerRegistered, token: object) -> list[Mark]:
    fresh = state.admitted_epoch(record.broker.broker_id) != record.broker.epoch
    return [("admitted", record.broker.broker_id)] if fresh else []


def _leave(state: ClusterState, record: r.BrokerLeft) -> int | None:
    del state.brokers[record.broker.broker_id]
    state.dying[record.broker.broker_id] = record.broker.epoch
    return state.shutting_down.pop(record.broker.broker_id, None)


def _unleave(state: ClusterState, record: r.BrokerLeft, token: object) -> None:
    del state.dying[record.broker.broker_id]
    state.brokers[record.broker.broker_id] = record.broker
    if isinstance(token, int):
        state.shutting_down[record.broker.broker_id] = token


def _shut_down(state: ClusterState, record: r.BrokerShutsDown) -> None:
    state.shutting_down[record.broker_id] = record.epoch


def _unshut(state: ClusterState, record: r.BrokerShutsDown, token: object) -> None:
    del state.shutting_down[record.broker_id]


def _death_over(state: ClusterState, record: r.DeathWorkedOff) -> None:
    del state.dying[record.broker_id]


def _death_again(state: ClusterState, record: r.DeathWorkedOff, token: object) -> None:
    state.dying[record.broker_id] = record.epoch


def _set_disk(state: ClusterState, record: r.DiskGone) -> None:
    number = state.number(record.topic, record.partition)
    assert number is not None
    state.set_disk(number, record.broker, gone=record.gone)


def _unset_disk(state: ClusterState, record: r.DiskGone, token: object) -> None:
    number = state.number(record.topic, record.partition)
    assert number is not None
    state.set_disk(number, record.broker, gone=not record.gone)


# --- intents


def _open(state: ClusterState, record: r.DeleteIntended) -> None:
    state.intents.open(record.intent)


def _unopen(state: ClusterState, record: r.DeleteIntended, token: object) -> None:
    state.intents.unopen(record.intent)


def _intent_key(state: ClusterState, record: r.DeleteIntended, token: object) -> list[Mark]:
    return [("intents", record.intent.broker)]


def _close(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped) -> object:
    return state.intents.close(record.intent)


def _reopen(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped, token: object) -> None:
    assert isinstance(token, tuple)
    state.intents.reopen(record.intent, token[0])


def _finished_key(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped, token: object) -> list[Mark]:
    assert isinstance(token, tuple)
    return [] if token[1] is None else [("intents done", token[1])]


def _emptied_key(state: ClusterState, record: r.IntentsKeyEmptied, token: object) -> list[Mark]:
    return [("intents done", (record.broker, record.seq))]


# --- what was found


def _set_version(state: ClusterState, record: r.KeyVersionFound) -> None:
    _move_version(state, record, record.found)


def _unset_version(state: ClusterState, record: r.KeyVersionFound, token: object) -> None:
    _move_version(state, record, record.before)


def _move_version(state: ClusterState, record: r.KeyVersionFound, at: r.KeyVersion) -> None:
    row = state.topics[record.topic]
    if record.partition is None:
        row.version, row.generation = at.version, at.generation
    else:
        state.state_key_stands(record.topic, row.numbers[record.partition], at)


def _foreign_key(state: ClusterState, record: r.ForeignChange, token: object) -> list[Mark]:
    if not record.is_rewritten:
        return []
    if record.partition is None:
        return [("topic", record.topic)]
    number = state.number(record.topic, record.partition)
    return [] if number is None else [("state", number)]


def _set_problem(state: ClusterState, record: r.BadKey) -> None:
    state.set_problem(record.topic, record.partition, record.problem)


def _unset_problem(state: ClusterState, record: r.BadKey, token: object) -> None:
    state.set_problem(record.topic, record.partition, record.before)


# --- the legacy key


def _load_legacy(state: ClusterState, record: r.LegacySubmitted | r.LegacyKeyBroken) -> None:
    state.legacy.load(record.after)


def _unload_legacy(state: ClusterState, record: r.LegacySubmitted | r.LegacyKeyBroken, token: object) -> None:
    state.legacy.unload(record.before)


def _remove_entry(state: ClusterState, record: r.LegacyEntryRemoved) -> None:
    del state.legacy.entries[record.entry.name]


def _put_entry_back(state: ClusterState, record: r.LegacyEntryRemoved, token: object) -> None:
    state.legacy.entries[record.entry.name] = record.entry


def _entry_key(state: ClusterState, record: r.LegacyEntryRemoved, token: object) -> list[Mark]:
    return [LEGACY] if record.at_once else []


def _remove_legacy(state: ClusterState, record: r.LegacyKeyRemoved) -> None:
    state.legacy.is_there = False


def _unremove_legacy(state: ClusterState, record: r.LegacyKeyRemoved, token: object) -> None:
    state.legacy.is_there = True


def _change_legacy(state: ClusterState, record: r.LegacyKeyChanged) -> None:
    state.legacy.key = record.after


def _unchange_legacy(state: ClusterState, record: r.LegacyKeyChanged, token: object) -> None:
    state.legacy.key = record.before


def _legacy_key(state: ClusterState, record: r.Record, token: object) -> list[Mark]:
    return [LEGACY]


def _set_config(state: ClusterState, record: r.ConfigChanged) -> None:
    row = state.topics[record.topic]
    row.configs, row.config_version = record.after, record.version


def _unset_config(state: ClusterState, record: r.ConfigChanged, token: object) -> None:
    row = state.topics[record.topic]
    row.configs, row.config_version = record.before, record.version_before


# --- keys of others


def _consume(state: ClusterState, record: r.KeyConsumed) -> int | None:
    known = state.consumed.get(record.key)
    state.consumed[record.key] = record.version
    return known


def _unconsume(state: ClusterState, record: r.KeyConsumed, token: object) -> None:
    if isinstance(token, int):
        state.consumed[record.key] = token
    else:
        del state.consumed[record.key]


_PARTITION: Final = (_put, _put_back)

TABLE: Final[dict[type[r.Record], tuple[Apply, Undo, Dirty]]] = {
    r.LeaderElected: (*_PARTITION, _isr_keys),
    r.IsrChanged: (*_PARTITION, _isr_keys),
    r.TargetSet: (*_PARTITION, _both_keys),
    r.TargetReplaced: (*_PARTITION, _override_keys),
    r.ReplicasGrown: (*_PARTITION, _late_topic_key),
    r.ReplicasChanged: (*_PARTITION, _both_keys),
    r.TargetCleared: (*_PARTITION, _both_keys),
    r.IsrShrunk: (*_PARTITION, _state_key),
    r.StateFound: (*_PARTITION, _isr_keys),
    r.TopicCreated: (_create_topic, _drop_topic, _created_keys),
    r.PartitionsAdded: (_add_partitions, _drop_partitions, _topic_key),
    r.TopicFound: (_find_topic, _drop_topic, _no_keys),
    r.TopicChanged: (_change_topic, _unchange_topic, lambda _, record, __: [("topic", record.after.name)]),
    r.TopicDeletionStarted: (_start_deletion, _unstart_deletion, _started_key),
    r.PartitionStopped: (*_PARTITION, _stopped_keys),
    r.StateKeyRemoved: (*_PARTITION, _removed_keys),
    r.TopicDeleted: (_delete_topic, _undelete_topic, _deleted_keys),
    r.DeletionKeyFound: (_find_deletion, _unfind_deletion, _found_key),
    r.DeletionRefused: (_refuse_deletion, _unrefuse_deletion, lambda _, record, __: [("deletion", record.topic)]),
    r.BrokerForgotten: (_nothing, _undo_nothing, lambda _, record, __: [("forgotten", record.broker_id)]),
    r.KeysRewritten: (_nothing, _undo_nothing, lambda _, record, __: [("topic", record.topic)]),
    r.BrokerRegistered: (_register, _unregister, _admitted_key),
    r.BrokerLeft: (_leave, _unleave, _no_keys),
    r.BrokerShutsDown: (_shut_down, _unshut, _no_keys),
    r.DeathWorkedOff: (_death_over, _death_again, _no_keys),
    r.DiskGone: (_set_disk, _unset_disk, _no_keys),
    r.DeleteIntended: (_open, _unopen, _intent_key),
    r.ReplicaDeleted: (_close, _reopen, _finished_key),
    r.IntentDropped: (_close, _reopen, _finished_key),
    r.IntentsKeyEmptied: (_nothing, _undo_nothing, _emptied_key),
    r.KeyVersionFound: (_set_version, _unset_version, _no_keys),
    r.ForeignChange: (_nothing, _undo_nothing, _foreign_key),
    r.BadKey: (_set_problem, _unset_problem, _no_keys),
    r.LegacySubmitted: (_load_legacy, _unload_legacy, _no_keys),
    r.LegacyEntryRemoved: (_remove_entry, _put_entry_back, _entry_key),
    r.LegacyKeyRewritten: (_nothing, _undo_nothing, _legacy_key),
    r.LegacyKeyRemoved: (_remove_legacy, _unremove_legacy, _legacy_key),
    r.LegacyKeyChanged: (_change_legacy, _unchange_legacy, _legacy_key),
    r.LegacyKeyBroken: (_load_legacy, _unload_legacy, _no_keys),
    r.ConfigChanged: (_set_config, _unset_config, _no_keys),
    r.BrokerAskedAgain: (_nothing, _undo_nothing, _no_keys),
    r.KeyConsumed: (_consume, _unconsume, lambda _, record, __: [("consumed", record.key)]),
}


def apply(state: ClusterState, record: r.Record) -> None:
    """The state is as `record` says; the batch knows it."""
    do, _, dirty = TABLE[type(record)]
    token = do(state, record)
    state.batch.note(record, token, dirty(state, record, token))


def apply_all(state: ClusterState, records: Sequence[r.Record]) -> None:
    """The state is as the records of one Decision say, in their order; the batch knows each.

    A completing move has five records of one partition: its row and indexes are put once, as the last of them leaves
    it. Each is undone alone all the same.
    """
    first: r.PartitionRecord | None = None
    last: r.PartitionRecord | None = None
    number = -1  # of the run
    for record in records:
        do, _, dirty = TABLE[type(record)]
        if not isinstance(record, r.PartitionRecord):
            token = do(state, record)
            state.batch.note(record, token, dirty(state, record, token))
            continue
        if last is None or record.before is not last.after:
            if first is not None and last is not None:
                state.put_row(number, first.before, last.after)
            first, number = record, _number(state, record.after)
        last = record
        state.batch.note(record, number, dirty(state, record, number))
    if first is not None and last is not None:
        state.put_row(number, first.before, last.after)


def undo_to(state: ClusterState, length: int) -> None:
    """Undo the last records of the batch until `length` of them are left."""
    while len(state.batch) > length:
        record, token = state.batch.take_back()
        TABLE[type(record)][1](state, record, token)


def start_batch(state: ClusterState) -> Batch:
    """The batch so far, done with; a new one begins."""
    done, state.batch = state.batch, Batch()
    return done
