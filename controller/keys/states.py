"""The keys of partitions. An unreadable one is a problem of that partition alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from ...stores.base import Entry, Op
from ..codec import BadValue, keys, partition_state
from ..codec.text import parse
from ..model.events import Event, StateKeyRead
from ..model.records import KeyVersion
from ..model.values import LEADER_DURING_DELETE, Partition, Replicas, TopicPartition, without_state
from ..state.rows import ABSENT
from .base import GONE, PATH_BYTES, Content, KeyContext, KeyKind, op_of
from .unreadable import STATE

STATE_KEY_BYTES_MAX: Final = PATH_BYTES + partition_state.FIXED_BYTES_MAX  # without names, ids and unknown fields


class StateKeys(KeyKind):
    """`key_id`: the number of a partition."""

    unreadable = (STATE,)
    name, read_event = "state", (StateKeyRead, "")

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = [TopicPartition(*key_id) for path in paths if (key_id := keys.partition_of(path)) is not None]
        return read_states(self.context, found, now_ms)

    def reread(self, key_ids: Sequence[int], now_ms: int) -> list[Event]:
        rows = self.state.rows
        found = [row.tp for key_id in key_ids if key_id < len(rows) and (row := rows[key_id]) is not None]
        return read_states(self.context, found, now_ms)

    def key_id_of(self, event: StateKeyRead) -> int | None:
        return self.state.number(event.topic, event.partition)

    def cost_max(self, key_id: int) -> int:
        partition = self.context.row(key_id)
        return PATH_BYTES + len(partition.topic) + partition_state.state_bytes_max(partition)

    def key(self, key_id: int) -> str:
        partition = self.context.row(key_id)
        return keys.state(partition.topic, partition.partition)

    def content(self, key_id: int) -> Content:
        partition = self.context.row(key_id)
        if key_id in self.state.reducing.purged:
            return GONE
        if not partition.has_state:
            return GONE if partition.leader == LEADER_DURING_DELETE else None
        return partition_state.encode(partition, self.state.controller_epoch)

    def op(self, key_id: int, key: str) -> Op | None:
        return op_of(key, self.content(key_id), self.state.versions.states[key_id])

    def committed(self, key_id: int, key: str, version: int) -> None:  # noqa: ARG002
        self.state.state_key_written(self.context.row(key_id).topic, key_id, version)


def read_states(context: KeyContext, partitions: Sequence[TopicPartition], now_ms: int) -> list[Event]:
    if not partitions:
        return []
    entries = context.current([keys.state(tp.topic, tp.partition) for tp in partitions])
    return [_read(context, tp, entry, now_ms) for tp, entry in zip(partitions, entries, strict=True)]


def _read(context: KeyContext, tp: TopicPartition, entry: Entry | None, now_ms: int) -> StateKeyRead:
    known = context.state.partition(tp.topic, tp.partition)
    replicas = () if known is None else known.replicas
    found, problem = partition_in(entry, tp.topic, tp.partition, replicas, now_ms)
    is_read = entry is not None and problem is None
    return StateKeyRead(now_ms, tp.topic, tp.partition, found if is_read else None, problem, version_in(entry))


def partition_in(
    entry: Entry | None, topic: str, number: int, replicas: Replicas, now_ms: int
) -> tuple[Partition, str | None]:
    """The partition, without a state if the key is absent or unreadable; and the problem."""
    problem = None
    if entry is not None:
        try:
            return partition_state.decode(parse(entry.value), topic, number, replicas, now_ms), None
        except BadValue as error:
            problem = problem_of(entry, error)
    return without_state(topic, number, replicas), problem


def version_in(entry: Entry | None) -> KeyVersion:
    return ABSENT if entry is None else KeyVersion(entry.version, entry.generation)


def problem_of(entry: Entry, error: BadValue) -> str:
    """The text for such a key that cannot be read."""
    return f"{entry.key}: {error}"
