"""Topics are made, expanded, changed, deleted."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from controller.model.frozen import frozen
from controller.model.records.base import KeyVersions, PartitionRecord, Record
from controller.model.values import Partition, Replicas, Topic


@frozen
class TopicCreated(Record):
    """A topic exists: its key, its config, and R of each partition. State keys follow. Its commit holds that nobody
    asks for the deletion of a topic of this name."""

    topic: Topic
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = attrs.field(factory=dict)


@frozen
class PartitionsAdded(Record):
    """Partitions `first`, `first + 1`, ... of a topic exist. State keys follow."""

    topic: Topic
    first: int
    assignments: tuple[Replicas, ...]


@frozen
class TopicFound(Record):
    """A topic that was not known stands in the store, with these partitions (in the order of their ids)."""

    topic: Topic
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]
    versions: KeyVersions


@frozen
class TopicChanged(Record):
    """What a topic's key says beside its partitions changed. `ours`: by ourselves (it got a topic_id, Kafka's move of a
    partition was taken over); otherwise somebody else's fields were."""

    before: Topic
    after: Topic
    cause: str
    ours: bool = False


@frozen
class TopicDeletionStarted(Record):
    """A topic is being deleted from now on. `version`: of its key under /admin/delete_topics, which somebody else
    wrote; 0: it is written with this."""

    topic: Topic
    version: int


class PartitionStopped(PartitionRecord):
    """A partition of a topic that is being deleted has no leader any more (`LEADER_DURING_DELETE`), for good: whoever
    may hold a log of it is told to delete, all at once or (`holders_left`) one part after the other. Not in the
    journal, which has a DeleteIntended for each."""


@frozen
class StateKeyRemoved(Record):
    """Every log of a topic that is being deleted is gone, and so is the state key of this partition. Not in the
    journal."""

    before: Partition
    after: Partition


@frozen
class TopicDeleted(Record):
    """Nothing is left of a topic: its key goes, and its configs, and the key under /admin/delete_topics."""

    topic: Topic


@frozen
class DeletionKeyFound(Record):
    """Somebody else wrote the key under /admin/delete_topics of a topic that is being deleted, which stands at the
    version `found`; or removed it (0): it is written again."""

    topic: str
    found: int
    before: int


@frozen
class DeletionRefused(Record):
    """A key under /admin/delete_topics is removed, for there is no such topic, or topics may not be deleted. In the
    journal: ForeignChange."""

    topic: str
    version: int
    detail: str


@frozen
class KeysRewritten(Record):
    """A topic's key is written again, with the R that grew since."""

    topic: str
