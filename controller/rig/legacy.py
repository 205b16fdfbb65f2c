"""An outside client of the rig's cluster that only knows the legacy key `/admin/reassign_partitions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.codec import BadValue, keys, legacy
from controller.model.legacy import LegacyEntry
from controller.model.values import TopicPartition
from controller.rig.parts import Parts
from controller.rig.server import write


def submit_by_key(rig: Parts, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
    """Write a plan for `targets` to the key, whatever its value was."""
    for tp, target in targets.items():
        rig.asked_targets.setdefault(tp, set()).add(tuple(target))
    entries = [LegacyEntry(tp.topic, tp.partition, tuple(target)) for tp, target in targets.items()]
    write_key(rig, legacy.encode(entries))


def write_key(rig: Parts, value: bytes | None) -> None:
    """Write `value` to the key, whatever its value was; None: delete it."""
    write(rig.server, keys.REASSIGN_PARTITIONS, value)


def targets_by_key(rig: Parts, tp: TopicPartition) -> set[tuple[int, ...]]:
    """The targets of the partition in the present key."""
    row = rig.server.table.rows.get(keys.REASSIGN_PARTITIONS)
    if row is None:
        return set()
    try:
        entries = legacy.decode(row[0], row[1]).entries
    except BadValue:
        return set()
    return {entry.target for entry in entries if entry.name == (tp.topic, tp.partition)}


def is_key_there(rig: Parts) -> bool:
    """Whether the key exists."""
    return keys.REASSIGN_PARTITIONS in rig.server.table.rows
