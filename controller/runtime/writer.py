"""Marks -> ops: each dirty key encoded once, from the state, however many records touched it.

`cost_max` says, before anything is encoded, what a mark may add to a commit at most, so that a batch is closed before
it outgrows what the store declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from controller.codec import keys, legacy, partition_state, small
from controller.codec import topic as topic_codec
from controller.model.records import DeleteIntended, PartitionRecord, PartitionsAdded, Record, StateFound, TopicChanged
from controller.model.values import Partition
from controller.state import Batch, ClusterState, Mark
from controller.state.intents import KeyId
from controller.state.rows import Admitted, TopicRow
from stores.base import ABSENT, OP_BYTES_FIXED, Delete, Expect, Op, Put, Version

FIXED_BYTES: Final = 400  # the two ops of the fence
FIXED_OPS: Final = 2


class Budget:
    """How much of what the store declares a batch has used."""

    def __init__(self, writer: Writer, ops_max: int, bytes_max: int) -> None:
        self._writer = writer
        self._ops_left = ops_max - FIXED_OPS
        self._bytes_left = bytes_max - FIXED_BYTES
        self._intent_bytes: dict[int, int] = {}

    def take(self, log: Sequence[tuple[Record, object, list[Mark]]]) -> bool:
        """Count what the records of one Decision add; False if the batch would outgrow the store by it."""
        for record, _, fresh in log:
            self._ops_left -= len(fresh)
            self._bytes_left -= sum(map(self._writer.cost_max, fresh)) if fresh else _growth_max(record)
            if type(record) is DeleteIntended:
                size = small.intent_bytes_max(record.intent)
                self._bytes_left -= size
                used = self._intent_bytes.get(record.intent.broker, 0) + size
                self._intent_bytes[record.intent.broker] = used
                if used > small.INTENTS_BYTES_MAX:
                    return False
        return self._ops_left >= 0 and self._bytes_left >= 0


def _growth_max(record: Record) -> int:
    """What a record may add to keys that the batch writes anyhow; their bounds were reckoned before it."""
    if type(record) is StateFound:
        exact = partition_state.state_bytes_max(record.after) - partition_state.state_bytes_max(record.before)
        return max(0, exact) + 11 * max(0, len(record.after.replicas) - len(record.before.replicas))
    if isinstance(record, PartitionRecord):
        before, after = record.before, record.after
        ids = max(0, len(after.isr) - len(before.isr)) + max(0, len(after.replicas) - len(before.replicas))
        if after.move is before.move or after.move is None:
            return 11 * ids
        return 11 * (ids + len(after.move.target) + len(after.move.origin))
    if type(record) is PartitionsAdded:
        return sum(12 + 11 * len(replicas) for replicas in record.assignments)
    if type(record) is TopicChanged:
        return max(0, topic_codec.topic_bytes_max(record.after, ()) - topic_codec.topic_bytes_max(record.before, ()))
    return 0


class Writer:
    """Turns the batch of a state into ops, and the versions of a commit into versions of the state."""

    def __init__(self, state: ClusterState, intents_seq_offset: int = 0) -> None:
        self._state = state
        self._offset = intents_seq_offset
        self.found: dict[str, Version | None] = {}  # small keys that stand otherwise than the state knows

    def cost_max(self, mark: Mark) -> int:
        """An upper bound of the bytes that `mark` adds to a commit."""
        kind, of = mark
        if kind == "state":
            partition = self._row(of)
            return OP_BYTES_FIXED + 60 + len(partition.topic) + partition_state.state_bytes_max(partition)
        if kind == "topic":
            name = cast(str, of)
            row = self._state.topics[name]
            value = topic_codec.topic_bytes_max(row.topic, ()) + self._assignments_bytes_max(row)
            return OP_BYTES_FIXED + 30 + len(name) + value
        if kind == "config":
            name = cast(str, of)
            return OP_BYTES_FIXED + 30 + len(name) + len(small.encode_config(self._state.topics[name].configs))
        if kind == "legacy":
            return (
                OP_BYTES_FIXED
                + 30
                + legacy.bytes_max(self._state.legacy.entries.values(), self._state.legacy.key.extra)
            )
        if kind == "consumed":
            return OP_BYTES_FIXED + len(cast(str, of))
        return OP_BYTES_FIXED + 120  # of intents, each record adds its own bytes

    def _assignments_bytes_max(self, row: TopicRow) -> int:
        """What R of all partitions takes in the topic's key at most."""
        rows = self._state.rows
        ids = sum([len(p.replicas) for number in row.numbers if (p := rows[number]) is not None])
        return 12 * len(row.numbers) + 11 * ids

    def key(self, mark: Mark, seq: int) -> str:
        """The path of the key that `mark` names, in a commit with number `seq`."""
        kind, of = mark
        if kind == "state":
            partition = self._row(of)
            return keys.state(partition.topic, partition.partition)
        if kind == "topic":
            return keys.topic(cast(str, of))
        if kind == "config":
            return keys.topic_config(cast(str, of))
        if kind == "admitted":
            return keys.admitted(cast(int, of))
        if kind == "legacy":
            return keys.REASSIGN_PARTITIONS
        if kind == "intents":
            return keys.replica_deletions(cast(int, of), self.intents_seq(seq))
        if kind == "consumed":
            return cast(str, of)
        return keys.replica_deletions(*cast(KeyId, of))

    def intents_seq(self, seq: int) -> int:
        """The number in the key of new intents: the commit's; above all that were found, if somebody removed the
        token and with it the count."""
        return seq + self._offset

    def ops(self, batch: Batch, seq: int) -> tuple[list[Mark], list[Op]]:
        """The marks that there is something to write for, and their ops, aligned."""
        marks: list[Mark] = []
        ops: list[Op] = []
        for mark in batch.marks:
            op = self._op(mark, self.key(mark, seq))
            if op is not None:
                marks.append(mark)
                ops.append(op)
        return marks, ops

    def _op(self, mark: Mark, key: str) -> Op | None:
        kind, of = mark
        state = self._state
        if kind == "state":
            partition = self._row(of)
            version = state.versions[cast(int, of)]
            value = partition_state.encode(partition, state.controller_epoch) if partition.has_state else b""
            return Put(key, value, _expect(version)) if value else None
        if kind == "topic":
            row = state.topics[cast(str, of)]
            value = topic_codec.encode(row.topic, state.assignments(row.topic.name))
            return Put(key, value, _expect(row.version))
        if kind == "config":
            row = state.topics[cast(str, of)]
            return Put(key, small.encode_config(row.configs), self._small(key, row.config_version))
        if kind == "admitted":
            return self._admitted(cast(int, of), key)
        if kind == "legacy":
            return self._legacy(key)
        if kind == "intents":
            waiting = state.intents.undurable(cast(int, of))
            return Put(key, small.encode_intents(waiting), self._small(key, 0)) if waiting else None
        if kind == "consumed":
            return Delete(key, Version(state.consumed[key]))
        known = state.intents.keys.get(cast(KeyId, of))
        if known is None or self.found.get(key, known.version) is None:
            return None  # somebody else removed it
        return Delete(key, self._small(key, known.version))

    def _admitted(self, broker: int, key: str) -> Op | None:
        live = self._state.brokers.get(broker)
        if live is None:
            return None  # it came and went within the batch: the next birth writes it
        known = self._state.admitted.get(broker)
        return Put(key, small.encode_admitted(live.epoch), self._small(key, 0 if known is None else known.version))

    def _legacy(self, key: str) -> Op | None:
        """The entries in force; without any the key goes."""
        held = self._state.legacy
        version = held.key.version
        if held.entries:
            return Put(key, legacy.encode(held.ordered(), held.key.extra, held.key.format), _expect(version))
        return Delete(key, Version(version)) if version else None

    def _small(self, key: str, version: int) -> Expect:
        if key in self.found:
            found = self.found[key]
            return ABSENT if found is None else found
        return _expect(version)

    def _row(self, number: object) -> Partition:
        partition = self._state.rows[cast(int, number)]
        assert partition is not None
        return partition

    def committed(self, marks: Sequence[Mark], ops: Sequence[Op], versions: Sequence[Version | None], seq: int) -> None:
        """The commit of `marks` left `versions`: the state knows where its keys stand now."""
        for mark, op, version in zip(marks, ops, versions, strict=True):
            self._stands(mark, version or 0, seq)
            if self.found:
                self.found.pop(op.key, None)

    def _stands(self, mark: Mark, version: int, seq: int) -> None:
        kind, of = mark
        state = self._state
        if kind == "state":
            number = cast(int, of)
            state.generations[number] = state.generations[number] + 1 if state.versions[number] else 0
            state.versions[number] = version
        elif kind == "topic":
            row = state.topics[cast(str, of)]
            row.generation = row.generation + 1 if row.version else 0
            row.version = version
        elif kind == "config":
            state.topics[cast(str, of)].config_version = version
        elif kind == "admitted":
            broker = cast(int, of)
            state.admitted[broker] = Admitted(version, state.brokers[broker].epoch)
        elif kind == "legacy":
            state.legacy.stands(version)
        elif kind == "intents":
            state.intents.durable(cast(int, of), self.intents_seq(seq), version)
        elif kind == "consumed":
            state.consumed.pop(cast(str, of))
        else:
            state.intents.keys.pop(cast(KeyId, of), None)


def _expect(version: int) -> Expect:
    return Version(version) if version else ABSENT
