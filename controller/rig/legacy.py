"""An outside client of the rig's cluster that knows nothing but the legacy key `/admin/reassign_partitions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.codec import BadValue, keys, legacy
from controller.model.legacy import LegacyEntry
from controller.model.values import TopicPartition
from controller.rig.parts import Parts
from controller.rig.server import write


def submit_by_key(rig: Parts, targets: Mapping[TopicPartition, Sequence[int]]) -> None:
    """The key holds a plan for `targets`, whatever stood there."""
    for tp, target in targets.items():
        rig.asked_targets.setdefault(tp, set()).add(tuple(target))
    entries = [LegacyEntry(tp.topic, tp.partition, tuple(target)) for tp, target in targets.items()]
    write_key(rig, legacy.encode(entries))


def write_key(rig: Parts, value: bytes | None) -> None:
    """The key holds `value`, whatever stood there; None: it is gone."""
    write(rig.server, keys.REASSIGN_PARTITIONS, value)


def targets_by_key(rig: Parts, tp: TopicPartition) -> set[tuple[int, ...]]:
    """What the key, as it stands, asks for the partition."""
    row = rig.server.table.rows.get(keys.REASSIGN_PARTITIONS)
    if row is None:
        return set()
    try:
        entries = legacy.decode(row[0], row[1]).entries
    except BadValue:
        return set()
    return {entry.target for entry in entries if entry.name == (tp.topic, tp.partition)}


def is_key_there(rig: Parts) -> bool:
    """Whether the key is in the store."""
    return keys.REASSIGN_PARTITIONS in rig.server.table.rows
