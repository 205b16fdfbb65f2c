"""What the controller knows of the cluster, as rules read it: every cache with its indexes. Nothing here changes it.

`ClusterState` holds the changes, a separate class since there is one way to read and many to change. Both are one
object, which saves the loop a call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..model.records import KeyAt, KeyVersion
from ..model.reductions import Retirements
from ..model.values import (
    ALL_BROKERS,
    BROKERS,
    Broker,
    ConfigEntity,
    DeleteIntent,
    Partition,
    Settings,
    Topic,
    TopicPartition,
)
from .batch import Batch
from .changes import Changes
from .columns import Rows
from .intents import Intents
from .legacy import Legacy
from .reductions import Reductions
from .rows import ABSENT, BrokerIndex, Deletion, TopicRow
from .tally import Tally
from .throttles import Throttles
from .versions import Versions

KEYS_AT_ONCE: Final = 60  # unless the store takes fewer in one commit


class Known:
    """The knowledge under one controller epoch: a `ClusterView`, and what else the runtime reads."""

    # Without slots, looking up attributes and methods of an object with so many attributes is slow.
    __slots__ = (
        "_deleted_rows", "_gone", "_index", "_names", "_relisted", "admitted", "batch", "brokers",
        "changes", "controller_epoch", "controller_id", "deletions", "dying", "entity_configs", "intents",
        "keys_at_once", "legacy", "listing", "moves", "problems", "reducing", "rows",
        "settings", "shutting_down", "tally", "throttles", "topics", "unread", "versions",
    )  # fmt: skip

    def __init__(
        self, controller_id: int, controller_epoch: int, settings: Settings, keys_at_once: int = KEYS_AT_ONCE
    ) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.settings = settings
        self.brokers: dict[int, Broker] = {}
        self.dying: dict[int, int] = {}
        self.unread: dict[int, int] = {}
        self.shutting_down: dict[int, int] = {}
        self.admitted: dict[int, int] = {}  # broker -> epoch
        self.entity_configs: dict[ConfigEntity, Mapping[str, str]] = {}  # of brokers, users and client ids
        self.changes = Changes()
        self.rows = Rows()
        self.versions = Versions()
        self.topics: dict[str, TopicRow] = {}
        self.moves: dict[int, TopicPartition] = {}
        self.listing: dict[TopicPartition, Partition] = {}  # the moving partitions, ready to be copied for queries
        self._relisted: dict[TopicPartition, None] = {}  # changed entries of the listing
        self.intents = Intents()
        self.legacy = Legacy()
        self.throttles = Throttles()
        self.problems: dict[tuple[str, int | None], str] = {}
        self.deletions: dict[str, Deletion] = {}
        self.reducing = Reductions()
        self.keys_at_once = keys_at_once
        self.batch = Batch()
        self.tally: Tally | None = None  # counts over all rows, if they are kept
        self._deleted_rows = 0
        self._gone: set[tuple[int, int]] = set()
        self._index = defaultdict[int, BrokerIndex](BrokerIndex)
        self._names: dict[str, str] = {}  # names with '.' or '_', by their form in names of metrics

    # --- ClusterView

    def admitted_brokers(self) -> Iterable[int]:
        return self.admitted

    def admitted_epoch(self, broker: int) -> int | None:
        return self.admitted.get(broker)

    def topic(self, name: str) -> Topic | None:
        row = self.topics.get(name)
        return None if row is None else row.topic

    def topic_names(self) -> Iterable[str]:
        return self.topics.keys()

    def topic_config(self, name: str) -> Mapping[str, str]:
        row = self.topics.get(name)
        return {} if row is None else row.configs

    def broker_config(self, name: str) -> Mapping[str, str]:
        return self.entity_config(ConfigEntity(BROKERS, name))

    def entity_config(self, entity: ConfigEntity) -> Mapping[str, str]:
        return self.entity_configs.get(entity, {})

    def configured_brokers(self) -> Iterable[str]:
        return [entity.name for entity in self.entity_configs if entity.kind == BROKERS]

    def client_configs(self) -> dict[ConfigEntity, Mapping[str, str]]:
        return {entity: configs for entity, configs in self.entity_configs.items() if entity.kind != BROKERS}

    @property
    def broker_defaults(self) -> Mapping[str, str]:
        return self.broker_config(ALL_BROKERS)

    def colliding_topic(self, name: str) -> str | None:
        return self._names.get(name.replace(".", "_"))

    def partition_count(self, topic: str) -> int:
        row = self.topics.get(topic)
        return 0 if row is None else len(row.numbers)

    def number(self, topic: str, partition: int) -> int | None:
        """The dense number of a partition, None if it does not exist."""
        try:
            number = self.topics[topic].numbers[partition]
        except LookupError:
            return None
        return number if partition >= 0 else None

    def partition(self, topic: str, partition: int) -> Partition | None:
        try:
            number = self.topics[topic].numbers[partition]  # `number`, inlined
        except LookupError:
            return None
        return self.rows[number] if partition >= 0 else None

    def partitions_of(self, topic: str) -> Iterable[Partition]:
        row = self.topics.get(topic)
        found = () if row is None else map(self.rows.read_uncached, row.numbers)
        return tuple(p for p in found if p is not None)

    def partitions(self) -> Iterator[Partition]:
        """All partitions, by number."""
        return (p for p in self.rows if p is not None)

    def partition_total(self) -> int:
        """How many partitions there are. Numbers of deleted ones are not reused, since running sends may name them."""
        return len(self.rows) - self._deleted_rows

    def numbers_on(self, broker: int) -> list[int]:
        """The numbers of all partitions with `broker` in R, the ISR or T."""
        index = self._index.get(broker)
        if index is None:
            return []
        index.compact(broker, self.rows)
        return index.of(broker, self.rows)

    def partitions_on(self, broker: int) -> list[Partition]:
        found = map(self.rows.read_uncached, self.numbers_on(broker))
        return [p for p in found if p is not None]

    def brokers_named(self) -> list[int]:
        """All brokers that a partition names or named, sorted."""
        return sorted(self._index)

    def moving(self) -> list[Partition]:
        found = map(self.rows.read_uncached, self.moves)
        return [p for p in found if p is not None]

    @property
    def is_reassigning(self) -> bool:
        return bool(self.moves) or self.legacy.is_there

    def partition_epoch(self, partition: Partition) -> int:
        number = self.number(partition.topic, partition.partition)
        if number is None:
            return ABSENT.generation
        return self.versions.generations[number] + (("state", number) in self.batch.dirty_keys)

    def is_known(self, at: KeyAt) -> bool:
        return self.versions.of(at.path) == at.version

    def key_version(self, topic: str, partition: int) -> KeyVersion:
        number, versions = self.number(topic, partition), self.versions
        return ABSENT if number is None else KeyVersion(versions.states[number], versions.generations[number])

    def unreadable(self, topic: str, partition: int | None = None) -> str | None:
        return self.problems.get((topic, partition)) if self.problems else None

    def is_new(self, topic: str) -> bool:
        row = self.topics.get(topic)
        return row is not None and row.is_new

    def has_trouble(self) -> bool:
        return bool(self.deletions or self.problems or self.reducing.of)

    def is_deleting(self, topic: str) -> bool:
        return topic in self.deletions

    def left_to_stop(self, topic: str) -> int:
        return self.deletions[topic].left_to_stop

    def state_keys_left(self, topic: str) -> int:
        left = self.deletions[topic].keys_left
        row = self.topics.get(topic)
        if left or row is None:
            return left
        return sum(("state", number) in self.batch.dirty_keys for number in row.numbers)

    def reductions(self) -> Iterable[str]:
        return tuple(self.reducing.of)

    def reduction(self, topic: str) -> Retirements:
        return self.reducing.entries(topic)

    def purged(self, topic: str) -> Collection[int]:
        return frozenset(p.partition for p in self.reducing.purged.values() if p.topic == topic)

    def open_intents_of_partition(self, topic_id: str, partition: int) -> int:
        return self.intents.count_of_partition(topic_id, partition)

    def open_intents_of(self, topic_id: str) -> int:
        return self.intents.count_of(topic_id)

    def disk_gone(self, partition: Partition, broker: int) -> bool:
        if not self._gone:
            return False
        number = self.number(partition.topic, partition.partition)
        return (number, broker) in self._gone

    @property
    def has_gone_disks(self) -> bool:
        return bool(self._gone)

    def open_intents(self, broker: int) -> Sequence[DeleteIntent]:
        return self.intents.of(broker)

    def open_intent(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None:
        return self.intents.get(broker, topic_id, partition)

    def empty_intent_keys(self, broker: int) -> list[int]:
        return [seq for owner, seq in self.intents.finished_keys() if owner == broker]

    # --- what else the runtime reads

    def disks_gone(self, broker: int) -> list[int]:
        """The numbers of the partitions whose disk on `broker` failed."""
        return sorted(number for number, owner in self._gone if owner == broker)

    def gone_copy(self) -> frozenset[tuple[str, int, int]]:
        """Topic, partition and broker of every failed disk."""
        found = ((self.rows[number], broker) for number, broker in self._gone)
        return frozenset((row.topic, row.partition, broker) for row, broker in found if row is not None)
