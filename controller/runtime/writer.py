"""Marks -> ops: each dirty key encoded once, from the state, however many records touched it.

`cost_max` says, before anything is encoded, what a mark may add to a commit at most, so that a batch is closed before
it outgrows what the store declares.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final, cast

from controller.codec import partition_state, small
from controller.codec import topic as topic_codec
from controller.model.records import (
    UNREAD,
    ConfigsAltered,
    DeleteIntended,
    PartitionRecord,
    PartitionsAdded,
    Record,
    StateFound,
    TopicChanged,
)
from controller.runtime.written import Ground, kinds_of
from controller.state import Batch, ClusterState, Mark
from stores.base import Entry, Op, Version

FIXED_BYTES: Final = 400  # the two ops of the fence
FIXED_OPS: Final = 2


class Budget:
    """How much of what the store declares a batch has used."""

    def __init__(self, writer: Writer, ops_max: int, bytes_max: int) -> None:
        self._cost_max = writer.cost_max
        self._ops_left = ops_max - FIXED_OPS
        self._bytes_left = bytes_max - FIXED_BYTES
        self._intent_bytes: dict[int, int] = {}

    def take(self, log: Sequence[tuple[Record, object, Sequence[Mark]]]) -> bool:
        """Count what the records of one Decision add; False if the batch would outgrow the store by it."""
        for record, _, fresh in log:
            if fresh:
                self._ops_left -= len(fresh)
                for mark in fresh:
                    self._bytes_left -= self._cost_max(mark)
            elif isinstance(record, PartitionRecord):
                self._bytes_left -= _partition_growth_max(record)
            if type(record) is DeleteIntended:
                size = small.intent_bytes_max(record.intent)
                self._bytes_left -= size
                used = self._intent_bytes.get(record.intent.broker, 0) + size
                self._intent_bytes[record.intent.broker] = used
                if used > small.INTENTS_BYTES_MAX:
                    return False
            elif not isinstance(record, PartitionRecord):
                self._bytes_left -= _own_bytes_max(record, is_fresh=bool(fresh))
        return self._ops_left >= 0 and self._bytes_left >= 0


def _partition_growth_max(record: PartitionRecord) -> int:
    """What a record may add to keys that the batch writes anyhow; their bounds were reckoned before it."""
    before, after = record.before, record.after
    if type(record) is StateFound:
        exact = partition_state.state_bytes_max(after) - partition_state.state_bytes_max(before)
        return max(0, exact) + 11 * max(0, len(after.replicas) - len(before.replicas))
    ids = 0
    if after.isr is not before.isr:
        ids += max(0, len(after.isr) - len(before.isr))
    if after.replicas is not before.replicas:
        ids += max(0, len(after.replicas) - len(before.replicas))
    if after.move is not before.move and after.move is not None:
        ids += len(after.move.target) + len(after.move.origin)
    return 11 * ids


def _own_bytes_max(record: Record, *, is_fresh: bool) -> int:
    """The same, of a record of another kind (`is_fresh`: some of its keys were reckoned with it); and what a key holds
    of it that says nothing of that in its bound."""
    if isinstance(record, ConfigsAltered):  # its key may have been dirty before
        return len(small.encode_config(record.after))
    if is_fresh:
        return 0
    if type(record) is PartitionsAdded:
        return sum(12 + 11 * len(replicas) for replicas in record.assignments)
    if type(record) is TopicChanged:
        return max(0, topic_codec.topic_bytes_max(record.after, ()) - topic_codec.topic_bytes_max(record.before, ()))
    return 0


class Writer:
    """Turns the batch of a state into ops, and the versions of a commit into versions of the state."""

    def __init__(self, state: ClusterState, intents_seq_offset: int = 0, *, parents_stay: bool = False) -> None:
        self._state = state
        ground = Ground(state, intents_seq_offset, parents_stay)
        self._kinds = kinds_of(ground)
        self.found = ground.found

    def cost_max(self, mark: Mark) -> int:
        """An upper bound of the bytes that `mark` adds to a commit."""
        kind, of = mark
        return self._kinds[kind].cost_max(of)

    def key(self, mark: Mark, seq: int) -> str:
        """The path of the key that `mark` names, in a commit with number `seq`."""
        kind, of = mark
        return self._kinds[kind].key(of, seq)

    def ops(self, batch: Batch, seq: int) -> tuple[list[Mark], list[Op]]:
        """The marks that there is something to write for, and their ops, aligned."""
        marks: list[Mark] = []
        ops: list[Op] = []
        for mark in batch.marks:
            kind = self._kinds[mark[0]]
            op = kind.op(mark[1], kind.key(mark[1], seq))
            if op is not None:
                marks.append(mark)
                ops.append(op)
        return marks, ops

    def forget_unread(self, forbidden: Container[str]) -> None:
        """Nothing is known any more of small keys that could not be read, and can be."""
        for key in [key for key, found in self.found.items() if found == UNREAD and key not in forbidden]:
            del self.found[key]

    def is_next(self, mark: Mark, entry: Entry) -> bool:
        """Whether the key of a partition or topic was written just once since: by the commit that is looked up."""
        kind, of = mark
        if kind == "state":
            number = cast(int, of)
            return entry.generation == _next(self._state.versions[number], self._state.generations[number])
        row = self._state.topics.get(cast(str, of)) if kind == "topic" else None
        return row is None or entry.generation == _next(row.version, row.generation)

    def committed(self, marks: Sequence[Mark], ops: Sequence[Op], versions: Sequence[Version | None], seq: int) -> None:
        """The commit of `marks` left `versions`: the state knows where its keys stand now."""
        for (kind, of), op, version in zip(marks, ops, versions, strict=True):
            self._kinds[kind].stands(of, version or 0, seq)
            if self.found:
                self.found.pop(op.key, None)


def _next(version: int, generation: int) -> int:
    """The generation that our write leaves of a key that stands so, or is not there."""
    return generation + 1 if version else 0
