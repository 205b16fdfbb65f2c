"""The read-only view of the state for rules, by Kafka's names. It does not show how the state stores its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from .legacy import LegacyEntry, LegacyKey, LegacyName
from .records import KeyAt, KeyVersion
from .reductions import Retirements
from .throttles import MarkKind, Marks, ThrottlePlan
from .values import Broker, ConfigEntity, DeleteIntent, Partition, Settings, Topic


class LegacyView(Protocol):
    """The legacy key, and its entries in force."""

    @property
    def key(self) -> LegacyKey:
        """Its last known content in the store; it may name entries that are no longer in force."""

    @property
    def entries(self) -> Mapping[LegacyName, LegacyEntry]:
        """The entries in force: their moves run, or are about to begin."""

    @property
    def is_there(self) -> bool:
        """Whether the key exists, after everything decided so far."""

    @property
    def is_behind(self) -> bool:
        """Whether the key names entries that are no longer in force."""


class ThrottlesView(Protocol):
    """The throttles that are marked for removal, and the requests that are being carried out."""

    @property
    def marks(self) -> Mapping[MarkKind, Marks]: ...

    @property
    def running(self) -> Collection[ThrottlePlan]:
        """The requests between their first and their last Decision."""

    @property
    def is_marked(self) -> bool:
        """Whether throttles are marked, or a key of marks exists, perhaps an unreadable one."""


class ClusterView(Protocol):
    """The state for rules, including everything decided so far in this batch."""

    @property
    def controller_id(self) -> int: ...

    @property
    def controller_epoch(self) -> int: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """The live brokers by id: registered, and admitted by this controller."""

    @property
    def dying(self) -> Mapping[int, int]:
        """Brokers whose death is still being processed: id -> the epoch that died."""

    @property
    def unread(self) -> Mapping[int, int]:
        """Registered brokers whose registration cannot be read: id -> its `created`. They count as neither live nor
        dead: they are sent nothing, elected for nothing and given nothing, and lose nothing."""

    @property
    def shutting_down(self) -> Mapping[int, int]:
        """Live brokers in a controlled shutdown: id -> the epoch under which they requested it. In memory only."""

    def brokers_named(self) -> Iterable[int]:
        """All brokers that a partition names, or named."""

    def admitted_brokers(self) -> Iterable[int]:
        """All brokers that were ever admitted, dead or alive, and not forgotten."""

    def admitted_epoch(self, broker: int) -> int | None:
        """The latest broker epoch that was admitted, as stored in /kedge/brokers/<id>."""

    def topic(self, name: str) -> Topic | None: ...

    def topic_names(self) -> Iterable[str]: ...

    def topic_config(self, name: str) -> Mapping[str, str]:
        """The topic's own configs, empty where it has none; UnreadConfigs where they cannot be read."""

    def broker_config(self, name: str) -> Mapping[str, str]:
        """The own configs of a broker (its id in decimal) or of all brokers ("<default>"): /config/brokers/<name>.
        Empty where there are none; UnreadConfigs where they cannot be read."""

    def entity_config(self, entity: ConfigEntity) -> Mapping[str, str]:
        """The own configs of a broker, a user or a client id, as `broker_config`."""

    def configured_brokers(self) -> Iterable[str]:
        """All names of `broker_config` that have such a key, or had one in this term."""

    def client_configs(self) -> dict[ConfigEntity, Mapping[str, str]]:
        """Of all users and client ids that have any: quotas, and passwords of Kafka's users. A copy."""

    @property
    def broker_defaults(self) -> Mapping[str, str]:
        """The defaults of all brokers, broker_config("<default>")."""

    def partition_count(self, topic: str) -> int:
        """0 for an unknown topic."""

    def partition(self, topic: str, partition: int) -> Partition | None: ...

    def partitions_of(self, topic: str) -> Iterable[Partition]: ...

    def partitions(self) -> Iterable[Partition]:
        """All partitions. Only for rare checks, since there may be many."""

    def partitions_on(self, broker: int) -> list[Partition]:
        """All partitions with `broker` in R, the ISR or T."""

    def moving(self) -> Iterable[Partition]:
        """All partitions that are being reassigned, in the order in which their moves were accepted."""

    @property
    def legacy(self) -> LegacyView: ...

    @property
    def throttles(self) -> ThrottlesView: ...

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment runs: the legacy key exists, or some partition has a T."""

    def partition_epoch(self, partition: Partition) -> int:
        """The generation of the state key after this batch is committed; -1 if it has no state key."""

    def is_known(self, at: KeyAt) -> bool:
        """Whether the content of a key counts already as it was read there."""

    def key_version(self, topic: str, partition: int) -> KeyVersion:
        """The last known version of a partition's state key."""

    def unreadable(self, topic: str, partition: int | None = None) -> str | None:
        """Why the topic's key, or the partition's state key, cannot be read; None if it can."""

    def is_new(self, topic: str) -> bool:
        """Whether this controller created the topic in this term."""

    def has_trouble(self) -> bool:
        """Whether any topic is being deleted or reduced, or has an unreadable key. If not, no topic needs to be checked
        for that."""

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic of this name is being deleted; true until the commit that removes the last of it."""

    def left_to_stop(self, topic: str) -> int:
        """How many partitions of a topic that is being deleted are not stopped yet."""

    def state_keys_left(self, topic: str) -> int:
        """How many state keys a topic that is being deleted has, as committed; when none is left, how many this batch
        removes."""

    @property
    def keys_at_once(self) -> int:
        """How many keys one Decision may write: the limit of a commit without the fence."""

    def reductions(self) -> Iterable[str]:
        """The topics with a reduction."""

    def reduction(self, topic: str) -> Retirements:
        """The partitions that the topic's reduction removes; empty without one."""

    def purged(self, topic: str) -> Collection[int]:
        """The partitions of the topic that this batch purges."""

    def open_intents_of_partition(self, topic_id: str, partition: int) -> int:
        """How many replicas of a partition still have to be deleted, members of it or not."""

    def open_intents_of(self, topic_id: str) -> int:
        """How many replicas of a topic still have to be deleted."""

    def disk_gone(self, partition: Partition, broker: int) -> bool:
        """Whether `broker` reported that its disk for this partition failed."""

    @property
    def has_gone_disks(self) -> bool:
        """Whether any disk is reported as failed."""

    def open_intents(self, broker: int) -> Iterable[DeleteIntent]:
        """The replicas that `broker` still has to delete."""

    def open_intent(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None: ...

    def empty_intent_keys(self, broker: int) -> Collection[int]:
        """The seq of all keys of `broker`'s intents that have no open intent."""

    def colliding_topic(self, name: str) -> str | None:
        """Another topic whose name differs from `name` only in '.' and '_'."""


def is_up(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` serves now: its broker is live, its disk has not failed."""
    return broker in view.brokers and not view.disk_gone(partition, broker)


def all_alive(view: ClusterView, brokers: Iterable[int]) -> bool:
    """Whether all `brokers` are alive for every partition. False may mean that it depends on the partition."""
    return not view.shutting_down and not view.has_gone_disks and set(brokers).issubset(view.brokers)


def is_kept(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` keeps its leadership and its place in the ISR: it is up, or its
    broker has an unreadable registration."""
    return is_up(view, partition, broker) or (broker in view.unread and not view.disk_gone(partition, broker))


def is_alive(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` may be elected or join the ISR: it is up, and its broker is not
    shutting down."""
    return is_up(view, partition, broker) and broker not in view.shutting_down
