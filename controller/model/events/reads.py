"""Events about what was read from the store: keys that other programs wrote, and requests in keys."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..legacy import LegacyKey
from ..records import KeyAt, KeyVersion, KeyVersions
from ..values import BROKERS, ConfigEntity, DeleteIntent, Move, Partition, Replicas, Topic, TopicPartition
from .base import Event, KeyRead


@attrs.define
class DeletionKeyRead(KeyRead):
    """A key under /admin/delete_topics was read."""

    topic: str
    at: KeyAt


@attrs.define
class KafkaMoveFound(Event):
    """Kafka's own adding_replicas and removing_replicas of one partition; `replicas`: what the key lists for it."""

    topic: str
    partition: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas


@attrs.define
class ForeignTargetFound(Event):
    """A move from before this term that Kedge did not begin."""

    topic: str
    partition: int
    move: Move


@attrs.define
class TopicIdMissing(Event):
    """A topic of an older Kafka has no id and gets this one."""

    topic: str
    topic_id: str


@attrs.define
class IntentsDue(Event):
    """Check the open delete intents of a broker, and their keys: intents may be void, keys may be empty."""

    broker: int


@attrs.define
class IntentDue(Event):
    """Check one open delete intent: it may be void."""

    intent: DeleteIntent


@attrs.define
class IntentsKeyDue(Event):
    """Check one key of delete intents: it may be empty."""

    broker: int
    seq: int


@attrs.define
class StateKeyRead(KeyRead):
    """A state key was read again after another program wrote it. `found` None: it is absent (version 0), or unreadable
    (`problem` says why)."""

    topic: str
    partition: int
    found: Partition | None
    problem: str | None
    at: KeyVersion


@attrs.define
class TopicKeyRead(KeyRead):
    """A topic's key was read after another program wrote it. `found` None: it is absent (version 0), or unreadable
    (`problem` says why). `partitions` (their keys: `states`) and `configs` (their key: `config_at`): what else the
    store has of the topic; `state_problems`: why state keys of partitions cannot be read; `id_is_new`: the key has no
    topic_id, and `found` has one that was drawn for it."""

    name: str
    at: KeyAt
    found: Topic | None
    partitions: tuple[Partition, ...]
    states: KeyVersions
    configs: Mapping[str, str]
    config_at: KeyAt
    kafka_moves: tuple[KafkaMoveFound, ...]
    problem: str | None
    state_problems: Mapping[int, str]
    id_is_new: bool = False


# --- the legacy key


@attrs.define
class LegacyKeyRead(KeyRead):
    """The legacy key was read, since this controller or another program wrote or deleted it."""

    at: KeyAt
    found: LegacyKey


@attrs.define
class LegacyPlanDue(Event):
    """A takeover found a legacy key, and all registered brokers are live: continue with its entries."""


@attrs.define
class LegacyKeyDue(Event):
    """The legacy key has differed from its entries for long enough, or it is unreadable and no move runs: write it."""


@attrs.define
class ConfigKeyRead(KeyRead):
    topic: str
    configs: Mapping[str, str]
    at: KeyAt


@attrs.define
class BrokerConfigRead(KeyRead):
    """`/config/brokers/<name>` was read (a broker's id in decimal, or "<default>"), or the key of a user or client id
    (`kind`)."""

    name: str
    configs: Mapping[str, str]
    at: KeyAt
    kind: str = BROKERS

    @property
    def entity(self) -> ConfigEntity:
        return ConfigEntity(self.kind, self.name)


# --- notifications: keys that brokers and tools write for the controller


@attrs.define
class PreferredElectionPut(Event):
    """`/admin/preferred_replica_election` was read."""

    at: KeyAt
    partitions: tuple[TopicPartition, ...]


@attrs.define
class LogDirNotified(Event):
    """A notification was read: a disk of `broker` changed its state."""

    at: KeyAt
    broker: int


@attrs.define
class NotificationDone(Event):
    """Everything that a notification requested was decided. `notes`: what was skipped. `problem`: why it is
    unreadable."""

    at: KeyAt
    notes: tuple[str, ...] = ()
    problem: str | None = None
