"""What a rule may see of the state: read-only, by Kafka's names. How rows are packed is the state's secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from controller.model.legacy import LegacyEntry, LegacyKey, LegacyName
from controller.model.records import KeyVersion
from controller.model.reductions import Retirements
from controller.model.throttles import MarkKind, MarkSlot, ThrottleMark, ThrottlePlan
from controller.model.values import Broker, DeleteIntent, Partition, Settings, Topic


class LegacyView(Protocol):
    """The legacy key, and what of it is in force."""

    @property
    def key(self) -> LegacyKey:
        """As it was last known to stand in the store: it may still name entries that are not in force any more."""

    @property
    def entries(self) -> Mapping[LegacyName, LegacyEntry]:
        """The entries in force: their moves run, or are about to begin."""

    @property
    def is_there(self) -> bool:
        """Whether the key is there, by what was decided so far."""

    @property
    def is_behind(self) -> bool:
        """Whether the key names entries that are not in force any more."""


class ThrottlesView(Protocol):
    """Which throttles are marked for removal, and what is being done about them."""

    @property
    def marks(self) -> Mapping[MarkSlot, ThrottleMark]: ...

    @property
    def request(self) -> ThrottlePlan | None:
        """What is between its first and its last Decision."""

    @property
    def is_removing(self) -> bool: ...

    @property
    def is_left_over(self) -> bool:
        """Whether a removal left something marked, since configs could not be read."""

    @property
    def is_marked(self) -> bool:
        """Whether anything is marked, or a key stands there that nobody can read and that may be removed."""

    def mark(self, kind: MarkKind) -> ThrottleMark:
        """Our own mark."""

    def old(self, kind: MarkKind) -> ThrottleMark:
        """The one under the other name."""

    def owners(self, kind: MarkKind) -> tuple[str, ...]:
        """Whoever is marked, by either."""

    def has_marked(self, kind: MarkKind, owner: str) -> bool:
        """Whether the owner is marked, by either."""


class ClusterView(Protocol):
    """The state as rules read it: everything decided so far in this batch included."""

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
        """Brokers whose death is being worked off: id -> the epoch that died."""

    @property
    def unread(self) -> Mapping[int, int]:
        """Brokers that are registered, but neither live nor dead here, since their registration cannot be read: id ->
        its `created`. They are not called, elected or given anything, and lose nothing."""

    @property
    def shutting_down(self) -> Mapping[int, int]:
        """Live brokers that asked for a controlled shutdown: id -> the epoch under which they did. In memory only."""

    def brokers_named(self) -> Iterable[int]:
        """Every broker that some partition names or named."""

    def admitted_brokers(self) -> Iterable[int]:
        """Whoever was admitted ever, dead or alive, and not forgotten."""

    def admitted_epoch(self, broker: int) -> int | None:
        """The broker epoch that was admitted last, durably: /kedge/brokers/<id>."""

    def topic(self, name: str) -> Topic | None: ...

    def topic_names(self) -> Iterable[str]: ...

    def topic_config(self, name: str) -> Mapping[str, str]:
        """The topic's own configs, empty where it has none; UnreadConfigs where they cannot be read."""

    def config_version(self, name: str) -> int:
        """At which version the topic's config key is known to stand; 0 where there is none."""

    def broker_config(self, name: str) -> Mapping[str, str]:
        """The own configs of a broker (its id in decimal) or of all brokers ("<default>"): /config/brokers/<name>.
        Empty where there are none; UnreadConfigs where they cannot be read."""

    def broker_config_version(self, name: str) -> int:
        """At which version that key is known to stand; 0 where there is none."""

    def configured_brokers(self) -> Iterable[str]:
        """Every name that has such a key, or had one in this term."""

    @property
    def broker_defaults(self) -> Mapping[str, str]:
        """The configs of all brokers that do not say otherwise, broker_config("<default>")."""

    def partition_count(self, topic: str) -> int:
        """0 for an unknown topic."""

    def partition(self, topic: str, partition: int) -> Partition | None: ...

    def partitions_of(self, topic: str) -> Iterable[Partition]: ...

    def partitions(self) -> Iterable[Partition]:
        """Every partition there is: for what looks at all of them once in a long while."""

    def partitions_on(self, broker: int) -> list[Partition]:
        """Every partition that has `broker` in R, I or T."""

    def moving(self) -> Iterable[Partition]:
        """Every partition that is being reassigned, in the order in which the moves were accepted."""

    @property
    def legacy(self) -> LegacyView: ...

    @property
    def throttles(self) -> ThrottlesView: ...

    @property
    def migration_version(self) -> int:
        """Where the marker of a move to this store stands, whose leader epochs are not all raised yet; 0: there is
        none."""

    @property
    def is_reassigning(self) -> bool:
        """Whether a reassignment runs: the legacy key is there, or some partition has a T."""

    def partition_epoch(self, partition: Partition) -> int:
        """The generation that the state key has once this batch is committed; -1 where it has no state key."""

    def key_version(self, topic: str, partition: int | None) -> KeyVersion:
        """Where the state key of a partition (partition None: the topic's key) was last known to stand."""

    def unreadable(self, topic: str, partition: int | None = None) -> str | None:
        """Why the topic's key, or the partition's state key, cannot be read; None where it can."""

    def is_new(self, topic: str) -> bool:
        """Whether this controller made the topic, in this term."""

    def has_trouble(self) -> bool:
        """Whether any topic is being deleted or reduced, or has a key that cannot be read: if not, none need be asked
        for."""

    def is_deleting(self, topic: str) -> bool:
        """Whether a topic of this name is being deleted: until nothing of it is left, as committed."""

    def deletion_version(self, topic: str) -> int:
        """Where the key under /admin/delete_topics stands of a topic that is being deleted; 0: not written yet."""

    def left_to_stop(self, topic: str) -> int:
        """How many partitions of a topic that is being deleted have not been stopped."""

    def state_keys_left(self, topic: str) -> int:
        """How many state keys of a topic that is being deleted there are, as committed. When there is none: how many
        this batch is about."""

    @property
    def keys_at_once(self) -> int:
        """How many keys one Decision may write: as many as the store takes in one commit, the fence left out."""

    def reductions(self) -> Iterable[str]:
        """The topics that a reduction takes partitions from."""

    def reduction(self, topic: str) -> Retirements:
        """Which partitions of a topic go; empty where none does."""

    def reduction_version(self, topic: str) -> int:
        """Where the key of the topic's reduction is known to stand; 0: there is none, or it is not written yet."""

    def purged(self, topic: str) -> Collection[int]:
        """Which partitions of the topic this batch purges."""

    def open_intents_of_partition(self, topic_id: str, partition: int) -> int:
        """How many replicas of a partition are yet to be deleted, members of it or not."""

    def open_intents_of(self, topic_id: str) -> int:
        """How many replicas of a topic are yet to be deleted."""

    def disk_gone(self, partition: Partition, broker: int) -> bool:
        """Whether `broker` reported its disk for this partition as gone."""

    @property
    def has_gone_disks(self) -> bool:
        """Whether any disk is reported as gone."""

    def open_intents(self, broker: int) -> Iterable[DeleteIntent]:
        """What `broker` has yet to delete."""

    def open_intent(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None: ...

    def empty_intent_keys(self, broker: int) -> Collection[int]:
        """The seq of every key of intents of `broker` in which nothing is open."""

    def colliding_topic(self, name: str) -> str | None:
        """Another topic whose name differs from `name` only in '.' against '_'."""


def is_up(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` serves just now: its broker is live, its disk is not gone."""
    return broker in view.brokers and not view.disk_gone(partition, broker)


def all_alive(view: ClusterView, brokers: Iterable[int]) -> bool:
    """Whether `brokers` are all alive, by what holds of every partition; False may mean that it depends on the
    partition."""
    return not view.shutting_down and not view.has_gone_disks and set(brokers).issubset(view.brokers)


def is_kept(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` keeps the lead, and its place in the isr: it is up, or its broker
    is registered and nothing can be read of that."""
    return is_up(view, partition, broker) or (broker in view.unread and not view.disk_gone(partition, broker))


def is_alive(view: ClusterView, partition: Partition, broker: int) -> bool:
    """Whether the replica of `partition` on `broker` can be counted on: it is up, and its broker is not about to shut
    down. Whoever is elected, or joins the isr, is alive in this sense."""
    return is_up(view, partition, broker) and broker not in view.shutting_down
