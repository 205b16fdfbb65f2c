"""The state: every cache of the controller, with its indexes. Read by rules through `ClusterView`, changed by records.

Bulk loads (`load_topic`, `Intents.load`) come before the first record of a term. Keys' versions move when a commit was
applied, never before.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.model.records import KeyVersion, KeyVersions
from controller.model.values import (
    LEADER_DURING_DELETE,
    Broker,
    DeleteIntent,
    Partition,
    Replicas,
    Settings,
    Topic,
    TopicPartition,
)
from controller.state.batch import Batch
from controller.state.intents import Intents
from controller.state.legacy import Legacy
from controller.state.rows import ABSENT, Admitted, BrokerIndex, Deletion, TopicRow, brokers_of


class Deleted(NamedTuple):
    """What was taken out of the state with a topic. `twin`: under whose name names that collide with it are known."""

    row: TopicRow
    partitions: list[tuple[int, Partition | None]]
    disks: set[tuple[int, int]]
    twin: str | None


class ClusterState:
    """Everything the controller knows of the cluster, under one controller epoch."""

    def __init__(self, controller_id: int, controller_epoch: int, settings: Settings) -> None:
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.settings = settings
        self.brokers: dict[int, Broker] = {}
        self.dying: dict[int, int] = {}
        self.shutting_down: dict[int, int] = {}
        self.worked_off: dict[str, int] = {}  # errands that the next commit deletes: key -> version
        self.admitted: dict[int, Admitted] = {}
        self.broker_defaults: Mapping[str, str] = {}
        self.broker_defaults_version = 0
        self.rows: list[Partition | None] = []
        self.versions = array("q")
        self.generations = array("q")
        self.topics: dict[str, TopicRow] = {}
        self.moves: dict[int, TopicPartition] = {}
        self.listing: dict[TopicPartition, Partition] = {}  # what moves, ready to be copied for whoever asks
        self.intents = Intents()
        self.legacy = Legacy()
        self.problems: dict[tuple[str, int | None], str] = {}
        self.deletions: dict[str, Deletion] = {}
        self.refused: dict[str, int] = {}  # keys under /admin/delete_topics that this batch removes, by their version
        self.batch = Batch()
        self._deleted_rows = 0
        self._gone: set[tuple[int, int]] = set()
        self._index: dict[int, BrokerIndex] = {}
        self._names: dict[str, str] = {}  # names with '.' or '_', by what they are in names of metrics

    # --- ClusterView

    def admitted_brokers(self) -> Iterable[int]:
        return self.admitted

    def admitted_epoch(self, broker: int) -> int | None:
        known = self.admitted.get(broker)
        return None if known is None else known.epoch

    def topic(self, name: str) -> Topic | None:
        row = self.topics.get(name)
        return None if row is None else row.topic

    def topic_names(self) -> Iterable[str]:
        return self.topics.keys()

    def topic_config(self, name: str) -> Mapping[str, str]:
        row = self.topics.get(name)
        return {} if row is None else row.configs

    def config_version(self, name: str) -> int:
        row = self.topics.get(name)
        return 0 if row is None else row.config_version

    def colliding_topic(self, name: str) -> str | None:
        return self._names.get(name.replace(".", "_"))

    def partition_count(self, topic: str) -> int:
        row = self.topics.get(topic)
        return 0 if row is None else len(row.numbers)

    def number(self, topic: str, partition: int) -> int | None:
        """The dense number of a partition, None if there is none such."""
        row = self.topics.get(topic)
        if row is None or not 0 <= partition < len(row.numbers):
            return None
        return row.numbers[partition]

    def partition(self, topic: str, partition: int) -> Partition | None:
        number = self.number(topic, partition)
        return None if number is None else self.rows[number]

    def partitions_of(self, topic: str) -> Iterable[Partition]:
        row = self.topics.get(topic)
        found = () if row is None else (self.rows[number] for number in row.numbers)
        return tuple(p for p in found if p is not None)

    def partitions(self) -> Iterator[Partition]:
        """Every partition, by number."""
        return (p for p in self.rows if p is not None)

    def partition_total(self) -> int:
        """How many partitions there are. Numbers of deleted ones are not used again: sends that are under way may
        name them."""
        return len(self.rows) - self._deleted_rows

    def numbers_on(self, broker: int) -> list[int]:
        """The numbers of every partition that has `broker` in R, I or T."""
        index = self._index.get(broker)
        if index is None:
            return []
        index.compact(broker, self.rows)
        return index.of(broker, self.rows)

    def partitions_on(self, broker: int) -> list[Partition]:
        found = (self.rows[number] for number in self.numbers_on(broker))
        return [p for p in found if p is not None]

    def brokers_named(self) -> list[int]:
        """Every broker that some partition names or named, in the order of the ids."""
        return sorted(self._index)

    def moving(self) -> list[Partition]:
        found = (self.rows[number] for number in self.moves)
        return [p for p in found if p is not None]

    @property
    def is_reassigning(self) -> bool:
        return bool(self.moves) or self.legacy.is_there

    def partition_epoch(self, partition: Partition) -> int:
        number = self.number(partition.topic, partition.partition)
        if number is None:
            return ABSENT.generation
        return self.generations[number] + (("state", number) in self.batch.marks)

    def key_version(self, topic: str, partition: int | None) -> KeyVersion:
        if partition is None:
            row = self.topics.get(topic)
            return ABSENT if row is None else KeyVersion(row.version, row.generation)
        number = self.number(topic, partition)
        return ABSENT if number is None else KeyVersion(self.versions[number], self.generations[number])

    def unreadable(self, topic: str, partition: int | None = None) -> str | None:
        return self.problems.get((topic, partition)) if self.problems else None

    def is_new(self, topic: str) -> bool:
        row = self.topics.get(topic)
        return row is not None and row.is_new

    def is_deleting(self, topic: str) -> bool:
        return topic in self.deletions

    def deletion_version(self, topic: str) -> int:
        return self.deletions[topic].version

    def left_to_stop(self, topic: str) -> int:
        return self.deletions[topic].left_to_stop

    def state_keys_left(self, topic: str) -> int:
        left = self.deletions[topic].keys_left
        row = self.topics.get(topic)
        if left or row is None:
            return left
        return sum(("state", number) in self.batch.marks for number in row.numbers)

    def open_intents_of(self, topic_id: str) -> int:
        return self.intents.count_of(topic_id)

    def disk_gone(self, partition: Partition, broker: int) -> bool:
        if not self._gone:
            return False
        number = self.number(partition.topic, partition.partition)
        return (number, broker) in self._gone

    def open_intents(self, broker: int) -> Sequence[DeleteIntent]:
        return self.intents.of(broker)

    def open_intent(self, broker: int, topic_id: str, partition: int) -> DeleteIntent | None:
        return self.intents.get(broker, topic_id, partition)

    def empty_intent_keys(self, broker: int) -> list[int]:
        return [seq for owner, seq in self.intents.finished_keys() if owner == broker]

    # --- loading and changing rows (records come here through `tables`)

    def load_topic(
        self, topic: Topic, partitions: Sequence[Partition], configs: Mapping[str, str], versions: KeyVersions
    ) -> None:
        """Take in a topic as it stands in the store."""
        row = self.add_topic(topic, configs)
        row.version, row.generation = versions.topic.version, versions.topic.generation
        row.config_version = versions.config
        for partition, at in zip(partitions, versions.states, strict=True):
            self.add_partition(row, partition, at.version, at.generation)

    def add_topic(self, topic: Topic, configs: Mapping[str, str]) -> TopicRow:
        row = self.topics[topic.name] = TopicRow(topic, configs)
        if "." in topic.name or "_" in topic.name:
            self._names.setdefault(topic.name.replace(".", "_"), topic.name)
        return row

    def remove_topic(self, name: str) -> None:
        """Undo `add_topic`; its partitions are gone already."""
        del self.topics[name]
        if self._names.get(name.replace(".", "_")) == name:
            del self._names[name.replace(".", "_")]

    def add_partition(
        self, row: TopicRow, partition: Partition, version: int = ABSENT.version, generation: int = ABSENT.generation
    ) -> None:
        """The next partition of a topic, with the next number."""
        number = len(self.rows)
        row.numbers.append(number)
        self.rows.append(partition)
        self.versions.append(version)
        self.generations.append(generation)
        replicas = partition.replicas
        named: Iterable[int] = replicas
        if partition.isr is not replicas or partition.move is not None:
            named = brokers_of(partition)
        for broker in named:
            self.index(broker).add(number)
        if partition.move is not None:
            self._list(number, partition)

    def remove_last_partition(self, row: TopicRow) -> None:
        """Undo `add_partition`."""
        number = row.numbers.pop()
        assert number == len(self.rows) - 1, "partitions are taken back in the order opposite to their making"
        partition = self.rows.pop()
        self.versions.pop()
        self.generations.pop()
        self._unlist(number)
        for broker in () if partition is None else brokers_of(partition):
            self.index(broker).leave(broker, self.rows)

    def index(self, broker: int) -> BrokerIndex:
        found = self._index.get(broker)
        if found is None:
            found = self._index[broker] = BrokerIndex()
        return found

    def put_row(self, number: int, before: Partition, after: Partition) -> None:
        """`after` stands where `before` stood; indexes follow."""
        self.rows[number] = after
        if LEADER_DURING_DELETE in (after.leader, before.leader) and after.topic in self.deletions:
            self.deletions[after.topic].left_to_stop -= after.is_stopped - before.is_stopped
        if before.replicas is not after.replicas or before.move is not after.move or before.isr is not after.isr:
            old, new = brokers_of(before), brokers_of(after)
            for broker in sorted(new - old):
                self.index(broker).add(number)
            for broker in old - new:
                self.index(broker).leave(broker, self.rows)
        if after.move is not None:
            self._list(number, after)
        elif before.move is not None:
            self._unlist(number)

    def _list(self, number: int, partition: Partition) -> None:
        tp = self.moves.get(number)
        if tp is None:
            tp = self.moves[number] = partition.tp
        self.listing[tp] = partition

    def _unlist(self, number: int) -> None:
        tp = self.moves.pop(number, None)
        if tp is not None:
            del self.listing[tp]

    def set_disk(self, number: int, broker: int, *, gone: bool) -> None:
        if gone:
            self._gone.add((number, broker))
        else:
            self._gone.discard((number, broker))

    def disks_gone(self, broker: int) -> list[int]:
        """The numbers of the partitions whose disk on `broker` is gone."""
        return sorted(number for number, owner in self._gone if owner == broker)

    def gone_copy(self) -> frozenset[tuple[str, int, int]]:
        """Topic, partition and broker of every disk that is gone."""
        found = ((self.rows[number], broker) for number, broker in self._gone)
        return frozenset((row.topic, row.partition, broker) for row, broker in found if row is not None)

    def set_problem(self, topic: str, partition: int | None, problem: str | None) -> None:
        if problem is None:
            self.problems.pop((topic, partition), None)
        else:
            self.problems[topic, partition] = problem

    # --- topics that are deleted

    def start_deletion(self, name: str, version: int) -> None:
        """A topic is being deleted; `version`: where its key under /admin/delete_topics stands, 0: not written yet."""
        numbers = self.topics[name].numbers
        rows = (self.rows[number] for number in numbers)
        left = sum(row is not None and not row.is_stopped for row in rows)
        self.deletions[name] = Deletion(version, left, sum(self.versions[number] != 0 for number in numbers))

    def state_key_stands(self, topic: str, number: int, at: KeyVersion) -> None:
        """The state key with this number stands at `at`."""
        before, self.versions[number], self.generations[number] = self.versions[number], at.version, at.generation
        if topic in self.deletions:
            self.deletions[topic].keys_left += (at.version != 0) - (before != 0)

    def delete_topic(self, name: str) -> Deleted:
        """The topic and its partitions are gone, all but where its keys stand; what `undelete_topic` needs."""
        row = self.topics[name]
        deletion = self.deletions[name]
        deletion.topic_version, deletion.config_version = row.version, row.config_version
        numbers = frozenset(row.numbers)
        disks = {(number, broker) for number, broker in self._gone if number in numbers} if self._gone else set()
        partitions = [(number, self.rows[number]) for number in row.numbers]
        for number, partition in partitions:
            self.rows[number] = None
            self._unlist(number)
            for broker in () if partition is None else brokers_of(partition):
                self.index(broker).leave(broker, self.rows)
        self._gone -= disks
        self._deleted_rows += len(partitions)
        metric = name.replace(".", "_")
        twin = self._names.get(metric)
        self.remove_topic(name)
        if twin == name:  # two names that collide may have been found in the store
            other = next((t for t in self.topics if t.replace(".", "_") == metric and t != metric), None)
            if other is not None:
                self._names[metric] = other
        return Deleted(row, partitions, disks, twin)

    def undelete_topic(self, deleted: Deleted) -> None:
        """Undo `delete_topic`."""
        name = deleted.row.topic.name
        self.topics[name] = deleted.row
        if deleted.twin is not None:
            self._names[name.replace(".", "_")] = deleted.twin
        for number, partition in deleted.partitions:
            self.rows[number] = partition
            for broker in () if partition is None else brokers_of(partition):
                self.index(broker).add(number)  # compacted meanwhile, perhaps; entries that repeat do no harm
        self._gone |= deleted.disks
        self._deleted_rows -= len(deleted.partitions)

    def assignments(self, topic: str) -> tuple[Replicas, ...]:
        """R of every partition of a topic, by id."""
        return tuple(p.replicas for p in self.partitions_of(topic))
