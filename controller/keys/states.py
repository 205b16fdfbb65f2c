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
from .base import GONE, PATH_BYTES, Content, Ground, KeyKind, op_of
from .unreadable import STATE

STATE_KEY_BYTES_MAX: Final = PATH_BYTES + partition_state.FIXED_BYTES_MAX  # without names, ids and unknown fields


class StateKeys(KeyKind):
    """`of`: the number of a partition."""

    unreadable = (STATE,)
    dirty, told = "state", (StateKeyRead, "")

    def look(self, paths: Collection[str], now_ms: int) -> list[Event]:
        found = [TopicPartition(*of) for path in paths if (of := keys.partition_of(path)) is not None]
        return read_states(self.ground, found, now_ms)

    def reread(self, ofs: Sequence[int], now_ms: int) -> list[Event]:
        rows = self.state.rows
        found = [row.tp for of in ofs if of < len(rows) and (row := rows[of]) is not None]
        return read_states(self.ground, found, now_ms)

    def told_of(self, event: StateKeyRead) -> int | None:
        return self.state.number(event.topic, event.partition)

    def cost_max(self, of: int) -> int:
        partition = self.ground.row(of)
        return PATH_BYTES + len(partition.topic) + partition_state.state_bytes_max(partition)

    def key(self, of: int) -> str:
        partition = self.ground.row(of)
        return keys.state(partition.topic, partition.partition)

    def content(self, of: int) -> Content:
        partition = self.ground.row(of)
        if of in self.state.reducing.purged:
            return GONE
        if not partition.has_state:
            return GONE if partition.leader == LEADER_DURING_DELETE else None
        return partition_state.encode(partition, self.state.controller_epoch)

    def op(self, of: int, key: str) -> Op | None:
        return op_of(key, self.content(of), self.state.versions.states[of])

    def committed(self, of: int, key: str, version: int) -> None:  # noqa: ARG002
        self.state.state_key_written(self.ground.row(of).topic, of, version)


def read_states(ground: Ground, partitions: Sequence[TopicPartition], now_ms: int) -> list[Event]:
    """The events for the content of state keys."""
    if not partitions:
        return []
    entries = ground.current([keys.state(tp.topic, tp.partition) for tp in partitions])
    return [_read(ground, tp, entry, now_ms) for tp, entry in zip(partitions, entries, strict=True)]


def _read(ground: Ground, tp: TopicPartition, entry: Entry | None, now_ms: int) -> StateKeyRead:
    known = ground.state.partition(tp.topic, tp.partition)
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
    """The version and generation of a state key."""
    return ABSENT if entry is None else KeyVersion(entry.version, entry.generation)


def problem_of(entry: Entry, error: BadValue) -> str:
    """The text for such a key that cannot be read."""
    return f"{entry.key}: {error}"
