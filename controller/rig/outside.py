"""What other programs and operators do in the store of a rig: the legacy key, and throttles that are set by hand.

Once nothing is being reassigned and nothing is marked any more, there is a throttle only where an operator set one,
with the last value (of a list of replicas, its elements). Which ones are an operator's: `operators`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from ..codec import BadValue, keys, legacy
from ..model.legacy import LegacyEntry
from ..model.throttles import MarkKind
from ..model.values import TopicPartition
from .operators import MARKS
from .parts import Parts
from .server import write


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
        entries = legacy.decode(row[0]).entries
    except BadValue:
        return set()
    return {entry.target for entry in entries if entry.name == (tp.topic, tp.partition)}


def is_key_there(rig: Parts) -> bool:
    return keys.REASSIGN_PARTITIONS in rig.server.table.rows


THEIR_RATES: Final = ("770000", "7700000")  # no request uses these; fast enough for all to catch up
THEIR_ELEMENTS: Final = ("90:90", "91:91")


def is_marked(rig: Parts) -> bool:
    return any(key in rig.server.table.rows for key in MARKS)


def _key(kind: MarkKind, name: str) -> str:
    return keys.topic_config(name) if kind == "topics" else keys.broker_config(name)


def configs(rig: Parts, kind: MarkKind, name: str) -> dict[str, str]:
    """The own settings of a topic or a broker, in the store."""
    row = rig.server.table.rows.get(_key(kind, name))
    return {} if row is None else dict(json.loads(row[0])["config"])


def set_by_hand(rig: Parts, kind: MarkKind, name: str, values: Mapping[str, str | None]) -> None:
    """An operator sets these configs (None: deletes), and leaves the others as they are."""
    after = {config: value for config, value in configs(rig, kind, name).items() if config not in values}
    after |= {config: value for config, value in values.items() if value is not None}
    write(rig.server, _key(kind, name), json.dumps({"version": 1, "config": after}).encode())
