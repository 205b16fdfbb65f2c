"""Events: what the machine decides on. Small values that carry all that a rule needs from outside: the time, ids and
random starts are drawn by the runtime and stand in the event, so that a rule asks nobody.

One event is about one partition, one topic or one broker. What concerns many is an event that *expands* into those.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs

from controller.model.errors import ApiError
from controller.model.legacy import LegacyKey
from controller.model.records import KeyVersion, KeyVersions, Record
from controller.model.values import Broker, DeleteIntent, Partition, Replicas, Topic, TopicPartition


@attrs.frozen(weakref_slot=False)
class Event:
    """Root of all events. `now_ms`: Unix milliseconds, by the runtime's clock."""

    now_ms: int


@attrs.frozen(weakref_slot=False)
class Decision:
    """What a rule answers: the records, in order; the reply (a value, or an ApiError); the events that follow, which
    are decided later, each in a Decision of its own."""

    records: tuple[Record, ...] = ()
    reply: object = None
    expand: tuple[Event, ...] = ()


class _Later(enum.Enum):
    LATER = "later"


LATER: Final = _Later.LATER
"""As the reply of a Decision: whoever asked is answered by the last event that follows from it."""


@attrs.frozen(weakref_slot=False)
class LastOf(Event):
    """What ends a large event: decided after all that follows from it, also what has to wait for a key."""

    def waits_for(self, other: Event) -> bool:
        """Whether `other`, which is not decided yet, belongs to the same large event."""
        raise NotImplementedError


def refuse(error: ApiError) -> Decision:
    """Nothing changes, the caller gets `error`."""
    return Decision(reply=error)


# --- requests


@attrs.frozen(weakref_slot=False)
class AlterReassignment(Event):
    """Set, replace or cancel (target None) the reassignment of one partition. `to_origin`: the target is the origin of
    the move that runs. `policy_message`: what the host's policy has against it."""

    topic: str
    partition: int
    target: Replicas | None
    move_timeout_ms: int | None = None
    allow_replication_factor_change: bool = True
    force: bool = False
    to_origin: bool = False
    policy_message: str | None = None


@attrs.frozen(weakref_slot=False)
class ElectLeader(Event):
    """Elect the preferred leader of a partition, or (`unclean`) one for a partition that has none."""

    topic: str
    partition: int
    unclean: bool = False


@attrs.frozen(weakref_slot=False)
class CreateTopic(Event):
    """`assignments` None: placed by rack from `start` and `shift`, drawn by the runtime, as `topic_id` is."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[Replicas, ...] | None
    configs: Mapping[str, str]
    validate_only: bool
    topic_id: str
    start: int
    shift: int
    policy_message: str | None = None


@attrs.frozen(weakref_slot=False)
class CreatePartitions(Event):
    topic: str
    total_count: int
    assignments: tuple[Replicas, ...] | None
    validate_only: bool = False


@attrs.frozen(weakref_slot=False)
class DeleteTopic(Event):
    topic: str


@attrs.frozen(weakref_slot=False)
class ForgetBroker(Event):
    """A broker will never come back. Its open intents were dropped before, one by one (`ForgetIntent`)."""

    broker: int


@attrs.frozen(weakref_slot=False)
class ForgetIntent(Event):
    """One open intent of a broker that is being forgotten."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class AlterIsr(Event):
    """A leader says who is in sync (KIP-497's shape)."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    new_isr: Replicas
    broker_epoch: int
    leader_recovery_state: int = 0


# --- brokers


@attrs.frozen(weakref_slot=False)
class BrokerGone(Event):
    """The registration `epoch` of a live broker is no more."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class ReplicaDied(Event):
    """One partition of a broker's death, or of its disk's."""

    topic: str
    partition: int
    broker: int


@attrs.frozen(weakref_slot=False)
class DeathDone(LastOf):
    """Every partition of a death was decided."""

    broker_id: int
    epoch: int

    def waits_for(self, other: Event) -> bool:
        return type(other) is ReplicaDied and other.broker == self.broker_id


@attrs.frozen(weakref_slot=False)
class ShutdownAsked(Event):
    """A live broker asks for a controlled shutdown."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class ReplicaLeaves(Event):
    """One partition of a controlled shutdown."""

    topic: str
    partition: int
    broker: int


@attrs.frozen(weakref_slot=False)
class ShutdownDecided(LastOf):
    """Every partition of a controlled shutdown was decided."""

    broker_id: int
    epoch: int

    def waits_for(self, other: Event) -> bool:
        return type(other) is ReplicaLeaves and other.broker == self.broker_id


@attrs.frozen(weakref_slot=False)
class BrokerCame(Event):
    """A broker is registered that is not live; nothing of its former death is left to do."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class BrokerRedescribed(Event):
    """A live broker says other endpoints or another rack under the same epoch, or was found live by a takeover and
    has to be admitted."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class DiskReported(Event):
    """A broker answered for a partition: its disk is gone (error 56), or it is there."""

    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.frozen(weakref_slot=False)
class DeletionAcknowledged(Event):
    """A broker deleted replicas that it was told to."""

    intents: tuple[DeleteIntent, ...]


# --- the machine's own


@attrs.frozen(weakref_slot=False)
class PartitionDue(Event):
    """Look at this partition again: a first leader, a leader for a leaderless one, a move to go on with."""

    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class MoveDeadline(Event):
    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class TopicKeyDue(Event):
    """The topic's key is behind the R of its partitions for long enough."""

    topic: str


@attrs.frozen(weakref_slot=False)
class RebalanceDue(Event):
    """Look how many of its preferred partitions each broker leads."""


@attrs.frozen(weakref_slot=False)
class PreferredDue(Event):
    """Nobody waits for the answer: the preferred leader leads, if it can. `key`: the key that asks for it."""

    topic: str
    partition: int
    key: str | None = None


@attrs.frozen(weakref_slot=False)
class TopicDeletionDue(Event):
    """Begin, or after a takeover go on, to delete a topic whose deletion is written down."""

    topic: str


@attrs.frozen(weakref_slot=False)
class PartitionDeletionDue(Event):
    """Stop a partition of a topic that is being deleted, and write down who has to delete it."""

    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class TopicLogsDue(Event):
    """Look whether every log of a topic that is being deleted is gone."""

    topic: str


@attrs.frozen(weakref_slot=False)
class StateKeyDue(Event):
    """Every log of the topic is gone: remove the state key of this partition."""

    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class TopicGoneDue(Event):
    """Look whether every state key of a topic that is being deleted is gone."""

    topic: str


# --- what was found in the store


@attrs.frozen(weakref_slot=False)
class DeletionKeyRead(Event):
    """A key under /admin/delete_topics was read; it stands at `version` (0: it is absent)."""

    topic: str
    version: int


@attrs.frozen(weakref_slot=False)
class KafkaMoveFound(Event):
    """Kafka's own adding_replicas and removing_replicas of one partition; `replicas`: what the key lists for it."""

    topic: str
    partition: int
    replicas: Replicas
    adding: Replicas
    removing: Replicas


@attrs.frozen(weakref_slot=False)
class StrayIsrFound(Event):
    """I has members outside R and T."""

    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class TopicIdMissing(Event):
    """A topic of an older Kafka has no id: it gets this one."""

    topic: str
    topic_id: str


@attrs.frozen(weakref_slot=False)
class IntentsDue(Event):
    """Look at the open intents of a broker and at their keys: some may be void, some empty."""

    broker: int


@attrs.frozen(weakref_slot=False)
class IntentDue(Event):
    """Look at one open intent: it may be void."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class IntentsKeyDue(Event):
    """Look at one key of intents: nothing in it may be open."""

    broker: int
    seq: int


@attrs.frozen(weakref_slot=False)
class StateKeyRead(Event):
    """A state key was read again, since somebody else wrote it. `found` None: it is absent (version 0), or `problem`
    says why it cannot be read."""

    topic: str
    partition: int
    found: Partition | None
    problem: str | None
    at: KeyVersion


@attrs.frozen(weakref_slot=False)
class TopicKeyRead(Event):
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


@attrs.frozen(weakref_slot=False)
class LegacyKeyRead(Event):
    """The legacy key was read, since it was written or deleted, by us or by somebody else."""

    found: LegacyKey


@attrs.frozen(weakref_slot=False)
class LegacyPlanDue(Event):
    """A takeover found a legacy key, and every broker that is registered is live: go on with its entries."""


@attrs.frozen(weakref_slot=False)
class LegacyEntryDue(Event):
    """Begin the move that an entry of the legacy key asks for."""

    topic: str
    partition: int


@attrs.frozen(weakref_slot=False)
class LegacyKeyDue(Event):
    """The legacy key is behind its entries for long enough, or cannot be read and nothing runs any more."""


@attrs.frozen(weakref_slot=False)
class ConfigKeyRead(Event):
    """The config key of a topic was read: `version` 0 = it is absent."""

    topic: str
    configs: Mapping[str, str]
    version: int


# --- keys that others put for the controller to work off


@attrs.frozen(weakref_slot=False)
class PreferredElectionPut(Event):
    """`/admin/preferred_replica_election` was read at `version`."""

    key: str
    version: int
    partitions: tuple[TopicPartition, ...]


@attrs.frozen(weakref_slot=False)
class LogDirNotified(Event):
    """A notification was read at `version`: something happened to a disk of `broker`."""

    key: str
    version: int
    broker: int


@attrs.frozen(weakref_slot=False)
class KeyWorkedOff(LastOf):
    """All that a key asked for was decided. `notes`: what of it was passed over. `problem`: it could not be read."""

    key: str
    version: int
    notes: tuple[str, ...] = ()
    problem: str | None = None

    def waits_for(self, other: Event) -> bool:
        return type(other) is PreferredDue and other.key == self.key
