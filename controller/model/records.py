"""Records: small immutable values that say what changed. Nouns in the past tense, the journal's event names.

A record holds what stood before and what stands after, so that it can be undone without asking anyone. Most are about
one partition and differ only in name: `PartitionRecord`. How a record is applied, undone and journalled, and which keys
and brokers it makes dirty, stands in the tables of `controller.state.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from controller.model.legacy import LegacyEntry, LegacyKey
from controller.model.values import Broker, DeleteIntent, Partition, Replicas, Topic


@attrs.frozen(weakref_slot=False)
class Record:
    """Root of all records."""


@attrs.frozen(weakref_slot=False)
class PartitionRecord(Record):
    """A partition was `before` and is `after`. `cause`: why, where the name alone does not say it."""

    before: Partition
    after: Partition
    cause: str | None = None


class LeaderElected(PartitionRecord):
    """The leader changed or a partition got its first one; I may have shrunk with it."""


class IsrChanged(PartitionRecord):
    """I changed: as the leader told (`alter_isr`), or a dead follower was taken out."""


class TargetSet(PartitionRecord):
    """A reassignment was accepted."""


class TargetReplaced(PartitionRecord):
    """A running reassignment got another target, or another deadline."""


class ReplicasGrown(PartitionRecord):
    """R grew by members of T that entered I. The topic key is rewritten later (`reassignment.md`)."""


class ReplicasChanged(PartitionRecord):
    """R was replaced: a completing move (R := T), or what was found in the store."""


class TargetCleared(PartitionRecord):
    """The reassignment ended. `cause`: completed, cancelled, deadline, offline, topic deleted."""


class IsrShrunk(PartitionRecord):
    """I := I and T, the last row of a completed move."""


class StateFound(PartitionRecord):
    """Somebody else wrote the state key; `cause` says what was taken over. In the journal: ForeignChange."""


@attrs.frozen(weakref_slot=False)
class KeyVersion:
    """Where a key stands: its version (0: it is absent) and its generation."""

    version: int
    generation: int


@attrs.frozen(weakref_slot=False)
class KeyVersions:
    """Where the keys of a topic stand: its own, and the state key of each partition."""

    topic: KeyVersion
    states: tuple[KeyVersion, ...]
    config: int  # version of the config key, 0 where there is none


@attrs.frozen(weakref_slot=False)
class TopicCreated(Record):
    """A topic exists: its key, its config, and R of each partition. State keys follow."""

    topic: Topic
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(weakref_slot=False)
class PartitionsAdded(Record):
    """Partitions `first`, `first + 1`, ... of a topic exist. State keys follow."""

    topic: Topic
    first: int
    assignments: tuple[Replicas, ...]


@attrs.frozen(weakref_slot=False)
class TopicFound(Record):
    """A topic that was not known stands in the store, with these partitions (in the order of their ids)."""

    topic: Topic
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]
    versions: KeyVersions


@attrs.frozen(weakref_slot=False)
class TopicChanged(Record):
    """What a topic's key says beside its partitions changed. `ours`: by ourselves (it got a topic_id, Kafka's move of a
    partition was taken over); otherwise somebody else's fields were."""

    before: Topic
    after: Topic
    cause: str
    ours: bool = False


@attrs.frozen(weakref_slot=False)
class TopicDeletionStarted(Record):
    """A topic is being deleted from now on. `version`: of its key under /admin/delete_topics, which somebody else
    wrote; 0: it is written with this."""

    topic: Topic
    version: int


class PartitionStopped(PartitionRecord):
    """A partition of a topic that is being deleted has no leader any more (`LEADER_DURING_DELETE`), for good: whoever
    may hold a log of it is told to delete. Not in the journal, which has a DeleteIntended for each."""


@attrs.frozen(weakref_slot=False)
class StateKeyRemoved(Record):
    """Every log of a topic that is being deleted is gone, and so is the state key of this partition. Not in the
    journal."""

    before: Partition
    after: Partition


@attrs.frozen(weakref_slot=False)
class TopicDeleted(Record):
    """Nothing is left of a topic: its key goes, and its settings, and the key under /admin/delete_topics."""

    topic: Topic


@attrs.frozen(weakref_slot=False)
class DeletionKeyFound(Record):
    """Somebody else wrote the key under /admin/delete_topics of a topic that is being deleted, which stands at the
    version `found`; or removed it (0): it is written again."""

    topic: str
    found: int
    before: int


@attrs.frozen(weakref_slot=False)
class DeletionRefused(Record):
    """A key under /admin/delete_topics is removed, for there is no such topic, or topics may not be deleted. In the
    journal: ForeignChange."""

    topic: str
    version: int
    detail: str


@attrs.frozen(weakref_slot=False)
class BrokerForgotten(Record):
    """A broker will never come back: nothing is left that waits for it. Its key under /kedge/brokers goes."""

    broker_id: int


@attrs.frozen(weakref_slot=False)
class BrokerRegistered(Record):
    """A broker was admitted, or its endpoints or rack changed. `before`: what it was, None if it was not live."""

    broker: Broker
    before: Broker | None = None


@attrs.frozen(weakref_slot=False)
class BrokerLeft(Record):
    """A live broker's registration ended; its death is worked off partition by partition until DeathWorkedOff."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class BrokerShutsDown(Record):
    """A live broker is about to leave: nothing new is given to it. Kept in memory only; gone with its registration."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class DeathWorkedOff(Record):
    """Every partition of a dead broker was looked at: it may come again. Not in the journal."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class DiskGone(Record):
    """A broker reported the disk of a partition as gone, or back again. Kept in memory only."""

    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.frozen(weakref_slot=False)
class DeleteIntended(Record):
    """A removed replica must be deleted on its broker; durable in the same commit."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class ReplicaDeleted(Record):
    """The broker acknowledged the deletion."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class IntentDropped(Record):
    """An intent became void: its broker is a member of the partition again; or its broker was forgotten."""

    intent: DeleteIntent
    cause: str


@attrs.frozen(weakref_slot=False)
class IntentsKeyEmptied(Record):
    """Nothing in a key of intents is open (any more): it goes. Not in the journal."""

    broker: int
    seq: int


@attrs.frozen(weakref_slot=False)
class KeysRewritten(Record):
    """A topic's key is written again, with the R that grew since."""

    topic: str


@attrs.frozen(weakref_slot=False)
class KeyVersionFound(Record):
    """The key of a partition (of a topic: partition None) was read again and stands at `found`. Not in the
    journal."""

    topic: str
    partition: int | None
    found: KeyVersion
    before: KeyVersion


@attrs.frozen(weakref_slot=False)
class ForeignChange(Record):
    """Somebody else wrote a key of ours; `detail` says what was taken over and what is overwritten. The key is
    written again (`is_rewritten`), but for one of which another record says so."""

    topic: str
    partition: int | None
    detail: str
    is_rewritten: bool = True


@attrs.frozen(weakref_slot=False)
class BadKey(Record):
    """The key of a partition (of a topic: partition None) cannot be read: `problem`. None: it can again; `before` is
    the problem that it had."""

    topic: str
    partition: int | None
    problem: str | None
    before: str | None = None


@attrs.frozen(weakref_slot=False)
class LegacySubmitted(Record):
    """Somebody wrote a plan to the legacy key, and it was read: from now on the controller owns its content. `before`:
    the key was absent, or could not be read."""

    before: LegacyKey
    after: LegacyKey


@attrs.frozen(weakref_slot=False)
class LegacyEntryRemoved(Record):
    """An entry of the legacy key is not in force any more: its move ended, a later request took its place, or it was
    dropped (`reason`). `at_once`: the key is written in this commit; otherwise soon."""

    entry: LegacyEntry
    cause: str
    at_once: bool
    reason: str | None = None


@attrs.frozen(weakref_slot=False)
class LegacyKeyRewritten(Record):
    """The legacy key is written again with the entries that are in force. Not in the journal."""


@attrs.frozen(weakref_slot=False)
class LegacyKeyRemoved(Record):
    """The legacy key goes: with its last entry, or because it cannot be read."""


@attrs.frozen(weakref_slot=False)
class LegacyKeyChanged(Record):
    """Somebody else wrote or deleted the legacy key, which the controller owns: it is written again, or removed again.
    In the journal: ForeignChange."""

    before: LegacyKey
    after: LegacyKey
    detail: str


@attrs.frozen(weakref_slot=False)
class LegacyKeyBroken(Record):
    """The legacy key cannot be read, or (`after` is absent) somebody removed one that could not. In the journal:
    BadKey."""

    before: LegacyKey
    after: LegacyKey


@attrs.frozen(weakref_slot=False)
class ConfigChanged(Record):
    """The config key of a topic was read and is another: `after` at `version` (0: it is absent)."""

    topic: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    version_before: int
    version: int


@attrs.frozen(weakref_slot=False)
class BrokerAskedAgain(Record):
    """A broker says that something happened to its disks: it is told all its partitions again, and answers for those
    that are gone. Not in the journal."""

    broker_id: int


@attrs.frozen(weakref_slot=False)
class KeyConsumed(Record):
    """A key that others put for the controller, and that was read at `version`, is worked off: it goes, if it stands
    there still. `notes`: what of it was passed over, and why. `problem`: why it could not be read at all."""

    key: str
    version: int
    notes: tuple[str, ...] = ()
    problem: str | None = None
