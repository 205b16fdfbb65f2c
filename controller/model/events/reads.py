"""What was found in the store: keys that somebody else wrote, orders of others."""

from __future__ import annotations

from collections.abc import Mapping

from controller.model.events.base import Event, KeyRead
from controller.model.frozen import frozen
from controller.model.legacy import LegacyKey
from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import DeleteIntent, Move, Partition, Replicas, Topic, TopicPartition


@frozen
class DeletionKeyRead(KeyRead):
    """A key under /admin/delete_topics was read; it stands at `version` (0: it is absent;
    UNREAD: it is there and may not be read)."""

    topic: str
    version: int


@frozen
class KafkaMoveFound(Event):
    """Kafka's own adding_replicas and removing_replicas of one partition; `replicas`: what the key lists for it."""

    topic: str
    partition: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas


@frozen
class ForeignTargetFound(Event):
    """A move from before a controller led here that is none of Kedge's."""

    topic: str
    partition: int
    move: Move


@frozen
class StrayIsrFound(Event):
    """I has members outside R and T."""

    topic: str
    partition: int


@frozen
class TopicIdMissing(Event):
    """A topic of an older Kafka has no id: it gets this one."""

    topic: str
    topic_id: str


@frozen
class IntentsDue(Event):
    """Look at the open intents of a broker and at their keys: some may be void, some empty."""

    broker: int


@frozen
class IntentDue(Event):
    """Look at one open intent: it may be void."""

    intent: DeleteIntent


@frozen
class IntentsKeyDue(Event):
    """Look at one key of intents: nothing in it may be open."""

    broker: int
    seq: int


@frozen
class StateKeyRead(KeyRead):
    """A state key was read again, since somebody else wrote it. `found` None: it is absent (version 0), or `problem`
    says why it cannot be read."""

    topic: str
    partition: int
    found: Partition | None
    problem: str | None
    at: KeyVersion


@frozen
class TopicKeyRead(KeyRead):
    """A topic's key was read, since somebody else wrote it. `found` None: it is absent (version 0), or `problem` says
    why it cannot be read. `partitions` and `versions`: all that the store has of the topic; `state_problems`: why state
    keys of partitions cannot be read; `id_is_new`: the key has no topic_id, `found` has one that was drawn for it."""

    name: str
    found: Topic | None
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]
    versions: KeyVersions
    kafka_moves: tuple[KafkaMoveFound, ...]
    problem: str | None
    state_problems: Mapping[int, str]
    id_is_new: bool = False


# --- the legacy key


@frozen
class LegacyKeyRead(KeyRead):
    """The legacy key was read, since it was written or deleted, by us or by somebody else."""

    found: LegacyKey


@frozen
class LegacyPlanDue(Event):
    """A takeover found a legacy key, and every broker that is registered is live: go on with its entries."""


@frozen
class LegacyEntryDue(Event):
    """Begin the move that an entry of the legacy key asks for."""

    topic: str
    partition: int


@frozen
class LegacyKeyDue(Event):
    """The legacy key is behind its entries for long enough, or cannot be read and nothing runs any more."""


@frozen
class ConfigKeyRead(KeyRead):
    """The config key of a topic was read: `version` 0 = it is absent."""

    topic: str
    configs: Mapping[str, str]
    version: int


@frozen
class BrokerConfigRead(KeyRead):
    """`/config/brokers/<name>` was read (a broker's id in decimal, or "<default>"): `version` 0 = it is absent."""

    name: str
    configs: Mapping[str, str]
    version: int


# --- notifications: keys that others put for the controller to work off


@frozen
class PreferredElectionPut(Event):
    """`/admin/preferred_replica_election` was read at `version`."""

    key: str
    version: int
    partitions: tuple[TopicPartition, ...]


@frozen
class LogDirNotified(Event):
    """A notification was read at `version`: something happened to a disk of `broker`."""

    key: str
    version: int
    broker: int


@frozen
class NotificationDone(Event):
    """All that it asked for was decided. `notes`: what of it was passed over. `problem`: why it could not be read."""

    key: str
    version: int
    notes: tuple[str, ...] = ()
    problem: str | None = None
