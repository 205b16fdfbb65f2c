"""Rows about something else than the values of one partition: the Takeover, intents, topics, brokers, the legacy key.

What such a row leaves out is not checked: for example, a topic may be deleted whose deletion began in a former term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from .partitions import partition_row
from .standing import (
    PartitionState,
    Row,
    broken,
    brokers,
    detail,
    listed,
    number,
    read_standing,
    topic_id_of,
    word,
)
from .term import ReplayedTerm, Slot, slot_of
from .throttles import throttle_given_back, throttle_set


def take_over(term: ReplayedTerm, row: Row) -> None:
    """Take in everything that is in flight at the begin of the term. `deleting`: names of topics under deletion."""
    said = detail(row)
    for move in listed(said, "moves"):
        _running(term, move)
    for intent in listed(said, "intents"):
        if not isinstance(intent, Mapping):
            broken("shape", "an object for each intent", f"{intent!r:.80}")
        term.intents[slot_of(intent)] = number(intent, "leader_epoch")
    term.deleting.update(name for name in listed(said, "deleting") if isinstance(name, str))


def _running(term: ReplayedTerm, move: Any) -> None:
    if not isinstance(move, Mapping):
        broken("shape", "an object for each move", f"{move!r:.80}")
    now = read_standing(move)
    if now.target is None:
        broken("move", f"a target of {now.topic}-{now.partition}, which is listed as moving", "none")
    if now.leader_epoch < term.past_epoch(now):
        broken("leader epoch", f"at least {term.past_epoch(now)} of {now.topic}-{now.partition}", now.leader_epoch)
    term.stand(now)


# --- intents


def intended(term: ReplayedTerm, row: Row) -> None:
    slot, epoch = slot_of(row), number(row, "leader_epoch")
    term.commit.owed.pop(slot, None)
    now = _standing(term, slot)
    if slot in term.intents and slot[3] not in term.forgotten:
        broken("intent", "no second intent for this replica", f"one with leader epoch {term.intents[slot]} is open")
    term.intents[slot] = epoch
    if now is None or now.topic in term.deleting or now.status == 1:
        return
    if slot[3] in now.members:
        broken("intent", f"no member of R and T {list(now.members)}", slot[3])
    if epoch != now.leader_epoch:
        broken("intent", f"the leader epoch {now.leader_epoch} of its partition", epoch)


def closed(term: ReplayedTerm, row: Row) -> None:
    """An intent is acknowledged or dropped."""
    slot, epoch = slot_of(row), number(row, "leader_epoch")
    held = term.intents.pop(slot, None)
    if held != epoch and (held is not None or term.is_whole):
        got = "none is open" if held is None else f"one with leader epoch {held} is"
        broken("open intent", f"an open intent of broker {slot[3]} with leader epoch {epoch}", got)
    if row["event"] == "IntentDropped":
        _dropped(term, row, slot)


def _dropped(term: ReplayedTerm, row: Row, slot: Slot) -> None:
    now = _standing(term, slot)
    if row.get("cause") == "superseded":
        term.commit.owed[slot] = "has a newer intent"
    if row.get("cause") == "member again" and now is not None and slot[3] not in now.members:
        broken("intent", f"a member of R and T {list(now.members)}, because the intent is dropped", slot[3])


def _standing(term: ReplayedTerm, slot: Slot) -> PartitionState | None:
    """The partition of an intent, if it is still the one that the intent was written for."""
    now = term.partitions.get((slot[0], slot[2]))
    return now if now is not None and (now.topic_id or slot[1]) == slot[1] else None


# --- topics


def created(term: ReplayedTerm, row: Row) -> None:
    name, topic_id = word(row, "topic"), topic_id_of(row)
    if name in term.topics:
        broken("topic", f"a free name, or a deletion before {name} is created again", "it exists")
    _add(term, name, topic_id, 0, listed(detail(row), "assignments"), is_fresh=True)


def added(term: ReplayedTerm, row: Row) -> None:
    name, topic_id = word(row, "topic"), term.topic_id(row)
    said = detail(row)
    first, count = number(said, "first"), term.counts.get(name)
    if count is not None and first != count:
        broken("topic", f"new partitions from {count} on", first)
    _add(term, name, topic_id, first, listed(said, "assignments"), is_fresh=False)


def _add(term: ReplayedTerm, name: str, topic_id: str, first: int, assignments: list[Any], *, is_fresh: bool) -> None:
    for partition, replicas in enumerate(assignments, first):
        standing = PartitionState(name, partition, topic_id, brokers(replicas, "replicas"), is_fresh=is_fresh)
        term.partitions[standing.key] = standing
    term.topics[name] = topic_id
    term.counts[name] = first + len(assignments)


def purged(term: ReplayedTerm, row: Row) -> None:
    """A reduction removed the last partition of a topic."""
    name, partition, topic_id = word(row, "topic"), number(row, "partition"), term.topic_id(row)
    now, count = term.partitions.pop((name, partition), None), term.counts.get(name)
    if count is not None:
        term.counts[name] = partition
        if partition != count - 1:
            broken("purge", f"partition {count - 1}, the last one of {name}", partition)
    if now is not None and now.isr and now.status != 1:
        broken("purge", f"{name}-{partition} to be offline", f"status {now.status}")
    holders = sorted(slot[3] for slot in term.intents if slot[:3] == (name, topic_id, partition))
    if [b for b in holders if b not in term.forgotten]:
        broken("purge", f"no broker that still has to delete {name}-{partition}", holders)


def deletion_started(term: ReplayedTerm, row: Row) -> None:
    term.topic_id(row)
    term.deleting.add(word(row, "topic"))


def deleted(term: ReplayedTerm, row: Row) -> None:
    term.topic_id(row)
    name = word(row, "topic")
    held = [standing for standing in term.partitions.values() if standing.topic == name]
    _forget_topic(term, name)
    moving = [standing.partition for standing in held if standing.target is not None]
    if moving:
        broken("topic", f"no running move of {name} when it is deleted", f"partitions {moving[:20]} move")


def _forget_topic(term: ReplayedTerm, name: str) -> None:
    for key in [key for key in term.partitions if key[0] == name]:
        del term.partitions[key]
    for known in (term.topics, term.counts):
        known.pop(name, None)
    for past in [past for past in term.epochs if past[0] == name]:
        del term.epochs[past]
    term.deleting.discard(name)


def foreign(term: ReplayedTerm, row: Row) -> None:
    """Another program changed a partition (with its values), a whole topic, or a key that is then written again."""
    if "replicas" in row:
        partition_row(term, row)
        return
    if "topic" not in row:
        _legacy_again(term)
        return
    topic_id, said = term.topic_id(row), detail(row)
    if said.get("what") == "topic found":
        for move in listed(said, "moves"):
            _running(term, move)
        term.topics[word(row, "topic")] = topic_id
        term.counts[word(row, "topic")] = len(listed(said, "assignments"))
    elif "partition" in row:  # the key is written again, possibly after a deletion: its epoch as a key restarts
        held = term.partitions.get((word(row, "topic"), number(row, "partition")))
        if held is not None:
            term.stand(attrs.evolve(held, partition_epoch=None))


def key_of_topic(term: ReplayedTerm, row: Row) -> None:
    """A row that names a topic without values of its partitions, or names no topic at all."""
    if "topic" in row:
        topic_id = term.topic_id(row)
        if topic_id:
            term.topics[word(row, "topic")] = topic_id
    else:
        _legacy_again(term)


def config_changed(term: ReplayedTerm, row: Row) -> None:
    """The configs of a topic changed; configs of brokers have no consequence here."""
    if "topic" in row:
        key_of_topic(term, row)


# --- brokers


def registered(term: ReplayedTerm, row: Row) -> None:
    broker, said = number(row, "broker"), detail(row)
    epoch = number(said, "broker_epoch") if "broker_epoch" in said else None
    held = term.brokers.get(broker)
    term.brokers[broker] = epoch
    term.left.discard(broker)
    term.forgotten.discard(broker)
    if held is not None and epoch is not None and held != epoch:
        broken("broker", f"BrokerLeft before an epoch other than {held}", epoch)


def left(term: ReplayedTerm, row: Row) -> None:
    broker = number(row, "broker")
    gone = broker in term.left
    term.brokers.pop(broker, None)
    term.left.add(broker)
    if gone:
        broken("broker", f"broker {broker} registered again before it leaves again", "it has left already")


def forgotten(term: ReplayedTerm, row: Row) -> None:
    """A broker is forgotten: its intents are dropped before this row or after it."""
    broker = number(row, "broker")
    lives = broker in term.brokers
    term.forgotten.add(broker)
    if lives:
        broken("broker", f"broker {broker} to leave before it is forgotten", "it is registered")


# --- the legacy key


def _legacy_again(term: ReplayedTerm) -> None:
    """Another program wrote the key, or it cannot be read: it may exist, whatever was removed before."""
    term.legacy_key = None


def legacy_submitted(term: ReplayedTerm, row: Row) -> None:
    term.legacy_key = True


def legacy_entry_removed(term: ReplayedTerm, row: Row) -> None:
    if term.legacy_key is False:
        broken("legacy key", "a legacy key from which an entry is removed", "the key was removed")


def legacy_key_removed(term: ReplayedTerm, row: Row) -> None:
    was, term.legacy_key = term.legacy_key, False
    if was is False:
        broken("legacy key", "a legacy key that is removed", "the key was removed before")


def _nothing(term: ReplayedTerm, row: Row) -> None:
    """Accepts the row: it has no consequence."""


TABLE: Final[Mapping[str, Callable[[ReplayedTerm, Row], None]]] = {
    "DeleteIntended": intended,
    "ReplicaDeleted": closed,
    "IntentDropped": closed,
    "TopicCreated": created,
    "PartitionsAdded": added,
    "PartitionPurged": purged,
    "TopicDeletionStarted": deletion_started,
    "TopicDeleted": deleted,
    "ForeignChange": foreign,
    "KeysRewritten": key_of_topic,
    "BadKey": key_of_topic,
    "ConfigChanged": config_changed,
    "BrokerRegistered": registered,
    "BrokerLeft": left,
    "BrokerForgotten": forgotten,
    "LegacySubmitted": legacy_submitted,
    "LegacyEntryRemoved": legacy_entry_removed,
    "LegacyKeyRemoved": legacy_key_removed,
    "ThrottleSet": throttle_set,
    "ThrottleRemoved": throttle_given_back,
    "ThrottleRestored": throttle_given_back,
    "Resigned": _nothing,
    "Conflict": _nothing,
}
