"""Records about topics: created, expanded, changed, deleted."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..values import Partition, Replicas, Topic
from .base import KeyVersions, Record


@attrs.frozen
class TopicCreated(Record):
    """A topic exists: its key, its configs, and R of each partition. State keys follow. Its commit fails if the
    deletion of a topic of this name is requested."""

    topic: Topic
    assignments: tuple[Replicas, ...]
    configs: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class PartitionsAdded(Record):
    """Partitions `first`, `first + 1`, ... of a topic exist. State keys follow."""

    topic: Topic
    first: int
    assignments: tuple[Replicas, ...]


@attrs.frozen
class TopicFound(Record):
    """An unknown topic was found in the store, with these partitions (in the order of their ids)."""

    topic: Topic
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]
    versions: KeyVersions


@attrs.frozen
class TopicChanged(Record):
    """Fields of a topic's key other than its partitions changed. `ours`: this controller changed them (a topic_id, or a
    move that Kafka began); otherwise another program did."""

    before: Topic
    after: Topic
    cause: str
    ours: bool = False


@attrs.frozen
class TopicDeletionStarted(Record):
    """The deletion of a topic began. This commit writes its key under /admin/delete_topics, unless it is there."""

    topic: Topic


@attrs.frozen
class TopicDeleted(Record):
    """Nothing of a topic remains: its key, its configs and the key under /admin/delete_topics are deleted."""

    topic: Topic


@attrs.frozen
class DeletionKeyLost(Record):
    """Another program removed the key under /admin/delete_topics of a topic that is being deleted: it is written again.
    Not in the journal."""

    topic: str


@attrs.frozen
class DeletionRefused(Record):
    """A key under /admin/delete_topics is removed, because the topic does not exist or may not be deleted. In the
    journal: ForeignChange."""

    topic: str
    detail: str


@attrs.frozen
class KeysRewritten(Record):
    """A topic's key is written again, with the R that has grown meanwhile."""

    topic: str
