"""The state: every cache of the controller, with its indexes. Rules read it as `ClusterView`; records change it.

Bulk loads (`load_topic`, `Intents.load`, `stored`) come before the first record of a term. Versions of keys change only
after a commit was applied. No code outside this room assigns to the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..model.records import KeyVersions
from ..model.values import Partition, Topic
from .columns import PartitionColumns
from .rows import ABSENT, TopicRow, brokers_of
from .stored import Stored
from .tally import Tally


class Deleted(NamedTuple):
    """What was removed from the state with a topic. `twin`: the topic that holds the entry for its colliding names."""

    row: TopicRow
    partitions: list[tuple[int, Partition | None]]
    disks: set[tuple[int, int]]
    twin: str | None


class Purged(NamedTuple):
    """What was removed from the state with the last partition of a topic."""

    number: int
    disks: set[tuple[int, int]]


class ClusterState(Stored):
    """Everything that the controller knows of the cluster, and the changes by records (made by `Record.apply`)."""

    __slots__ = ()

    # --- loading and changing rows

    def load_topic(
        self, topic: Topic, partitions: PartitionColumns, configs: Mapping[str, str], versions: KeyVersions
    ) -> dict[int, Partition]:
        """Add a topic from the store, with the `versions` of its state keys. Returns the rows that are kept whole, by
        number."""
        row = self.add_topic(topic, configs)
        assert len(partitions.replicas) == len(versions.versions) == len(versions.generations)
        first = len(self.rows)
        whole = self.rows.load(topic.name, 0, partitions)
        row.numbers.extend(range(first, len(self.rows)))
        self.versions.states.extend(versions.versions)
        self.versions.generations.extend(versions.generations)
        indexes = self._index
        for number, replicas in enumerate(partitions.replicas, first):
            if number in whole:
                self._enter(number, whole[number])
            else:
                for broker in replicas:
                    indexes[broker].numbers.append(number)
        self._tally_all((self.rows[number] for number in row.numbers), 1)
        return whole

    def start_tally(self) -> None:
        """Keep the counts over all rows from now on."""
        self.tally = Tally.of(self.rows)

    def _tally_all(self, partitions: Iterable[Partition | None], by: int) -> None:
        if self.tally is not None:
            for partition in partitions:
                if partition is not None:
                    self.tally.count(partition, by)

    def add_topic(self, topic: Topic, configs: Mapping[str, str]) -> TopicRow:
        row = self.topics[topic.name] = TopicRow(topic, configs)
        if "." in topic.name or "_" in topic.name:
            self._names.setdefault(topic.name.replace(".", "_"), topic.name)
        return row

    def remove_topic(self, name: str) -> None:
        """Undo `add_topic`; its partitions are removed already."""
        del self.topics[name]
        if self._names.get(name.replace(".", "_")) == name:
            del self._names[name.replace(".", "_")]

    def add_partition(
        self, row: TopicRow, partition: Partition, version: int = ABSENT.version, generation: int = ABSENT.generation
    ) -> None:
        number = len(self.rows)
        row.numbers.append(number)
        self.rows.append(partition)
        self.versions.states.append(version)
        self.versions.generations.append(generation)
        self._enter(number, partition)
        self._tally_all((partition,), 1)

    def _enter(self, number: int, partition: Partition) -> None:
        """Add a new row to the indexes."""
        replicas = partition.replicas
        named: Iterable[int] = replicas
        if partition.isr is not replicas or partition.move is not None:
            named = brokers_of(partition)
        for broker in named:
            self._index[broker].add(number)
        if partition.move is not None:
            self._list(number, partition)

    def remove_last_partition(self, row: TopicRow) -> None:
        """Undo `add_partition`."""
        number = row.numbers.pop()
        assert number == len(self.rows) - 1, "partitions must be removed in the reverse order of their creation"
        partition = self.rows.pop()
        self._tally_all((partition,), -1)
        self.versions.states.pop()
        self.versions.generations.pop()
        self._unlist(number)
        for broker in () if partition is None else brokers_of(partition):
            self._index[broker].leave(broker, self.rows)

    def purge_last_partition(self, topic: str) -> Purged:
        """Remove the last partition of a topic; return what `unpurge` needs."""
        row = self.topics[topic]
        number = row.numbers.pop()
        partition = self.rows[number]
        assert partition is not None
        disks = {(n, broker) for n, broker in self._gone if n == number} if self._gone else set()
        self.reducing.purged[number] = partition
        self._tally_all((partition,), -1)
        self.rows[number] = None
        self._unlist(number)
        for broker in brokers_of(partition):
            self._index[broker].leave(broker, self.rows)
        self._gone -= disks
        self._deleted_rows += 1
        return Purged(number, disks)

    def unpurge(self, topic: str, purged: Purged) -> None:
        """Undo `purge_last_partition`."""
        partition = self.reducing.purged.pop(purged.number)
        self.topics[topic].numbers.append(purged.number)
        self._tally_all((partition,), 1)
        self.rows[purged.number] = partition
        for broker in brokers_of(partition):
            self._index[broker].add(purged.number)  # as in `undelete_topic`
        self._gone |= purged.disks
        self._deleted_rows -= 1

    def forget_index(self, broker: int) -> None:
        """Drop the index of a broker that no partition names any more."""
        if broker in self._index and not self.numbers_on(broker):
            self.batch.take(self._index, broker)

    def put_row(self, number: int, before: Partition, after: Partition) -> None:
        """Replace `before` by `after`, and update the indexes."""
        self.rows[number] = after
        if self.tally is not None:
            self.tally.swap(before, after)
        if self.deletions and after.topic in self.deletions:
            self.deletions[after.topic].left_to_stop -= after.is_stopped - before.is_stopped
        old_move, move, replicas, isr = before.move, after.move, after.replicas, after.isr
        if before.replicas is not replicas or before.isr is not isr or (old_move is not None and old_move is not move):
            old, new = brokers_of(before), replicas + isr if move is None else replicas + isr + move.target
            for broker in old.difference(new):
                self._index[broker].leave(broker, self.rows)
            if not old.issuperset(new):
                for broker in set(new) - old:
                    self._index[broker].numbers.append(number)
        elif old_move is not move is not None:  # it begins to move
            for broker in set(move.target).difference(replicas, isr):
                self._index[broker].numbers.append(number)
        if move is not None or old_move is not None:
            self._list(number, after)

    def _list(self, number: int, partition: Partition) -> None:
        if partition.move is None:
            self._unlist(number)
            return
        tp = self.moves.get(number)
        if tp is None:
            tp = self.moves[number] = partition.tp
        self.listing[tp] = partition
        self._relisted[tp] = None

    def _unlist(self, number: int) -> None:
        tp = self.moves.pop(number, None)
        if tp is not None:
            del self.listing[tp]
            self._relisted[tp] = None

    def set_disk(self, number: int, broker: int, *, gone: bool) -> None:
        (self.batch.add if gone else self.batch.discard)(self._gone, (number, broker))

    # --- topics that are deleted

    def delete_topic(self, name: str) -> Deleted:
        """Remove the topic and its partitions; return what `undelete_topic` needs."""
        row = self.topics[name]
        numbers = frozenset(row.numbers)
        disks = {(number, broker) for number, broker in self._gone if number in numbers} if self._gone else set()
        partitions = [(number, self.rows[number]) for number in row.numbers]
        self._tally_all((partition for _, partition in partitions), -1)
        for number, partition in partitions:
            self.rows[number] = None
            self._unlist(number)
            for broker in () if partition is None else brokers_of(partition):
                self._index[broker].leave(broker, self.rows)
        self._gone -= disks
        self._deleted_rows += len(partitions)
        metric = name.replace(".", "_")
        twin = self._names.get(metric)
        self.remove_topic(name)
        if twin == name:  # the store may have two topics whose names collide
            other = next((t for t in self.topics if t.replace(".", "_") == metric), None)
            if other is not None:
                self._names[metric] = other
        return Deleted(row, partitions, disks, twin)

    def undelete_topic(self, deleted: Deleted) -> None:
        """Undo `delete_topic`."""
        name = deleted.row.topic.name
        self.topics[name] = deleted.row
        if deleted.twin is not None:
            self._names[name.replace(".", "_")] = deleted.twin
        self._tally_all((partition for _, partition in deleted.partitions), 1)
        for number, partition in deleted.partitions:
            self.rows[number] = partition
            for broker in () if partition is None else brokers_of(partition):
                self._index[broker].add(number)  # maybe compacted meanwhile; repeated entries are harmless
        self._gone |= deleted.disks
        self._deleted_rows -= len(deleted.partitions)
