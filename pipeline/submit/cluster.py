"""The cluster as its store shows it to a submission: replicas, running reassignments, live brokers.

The order of reading matters: states first, then topics. A move that ends between two reads is then seen as running or
as done. With the topics first it would appear on its old replicas and not moving, like a cancelled one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import attrs

from ...controller.codec import bulk, keys
from ...controller.codec.text import BadValue
from ...controller.codec.topic import TopicKey
from ...controller.model import numerals
from ...controller.model.values import Replicas
from ...stores import MetadataStore
from ...stores.recipes import LEADER_KEY
from ..collect.gathered import Gathered
from ..collect.store import from_store, target_of

CALL_S: Final = 15.0
READ_ALL_S: Final = 120.0
Name: TypeAlias = tuple[str, int]
Replica: TypeAlias = tuple[Name, int]
"""A partition, and a broker."""


@attrs.frozen
class Seen:
    """A partition. `target` None: no reassignment. `problem`: why its state is unknown."""

    replicas: Replicas = ()
    target: Replicas | None = None
    isr: Replicas = ()
    leader: int = -1
    problem: str | None = None


NOT_THERE: Final = Seen(problem="the partition does not exist")
IS_OFFLINE: Final = "the partition is offline"
OFFLINE: Final = 1  # the status of a partition that is being deleted (KIP-694)


Look: TypeAlias = Mapping[Name, Seen]
"""Some partitions."""


def look(store: MetadataStore, names: Iterable[Name]) -> Look:
    """The state of these partitions, at least as new as the latest commit. Raises the store's errors."""
    store.get(LEADER_KEY, sync=True, timeout_s=CALL_S)
    wanted = sorted(set(names))
    topics = sorted({topic for topic, _ in wanted})
    states = store.get_many([keys.state(*name) for name in wanted], timeout_s=CALL_S)
    read = store.get_many([keys.topic(topic) for topic in topics], timeout_s=CALL_S)
    there = {topic: entry.value for topic, entry in zip(topics, read, strict=True) if entry is not None}
    reader = bulk.Bulk()
    known = dict(zip(there, reader.topics(list(there), list(there.values())), strict=True))
    said = reader.states([None if entry is None else entry.value for entry in states])
    return {name: _seen(name, known.get(name[0]), said, place) for place, name in enumerate(wanted)}


def has_marks(store: MetadataStore) -> bool:
    """Whether a throttle is still marked for removal. Raises the store's errors."""
    marks = store.get_many([keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL], timeout_s=CALL_S)
    return any(entry is not None for entry in marks)


def _seen(name: Name, topic: TopicKey | BadValue | None, said: bulk.States, place: int) -> Seen:
    if topic is None:
        return NOT_THERE
    if isinstance(topic, BadValue):
        return Seen(problem=str(topic))
    if name[1] >= len(topic.assignments):
        return NOT_THERE
    try:
        found = said.partition(place, *name, topic.assignments[name[1]], 0)
    except BadValue as error:
        return Seen(problem=str(error))
    if found.is_offline:
        return Seen(problem=IS_OFFLINE)
    return Seen(found.replicas, target_of(found, topic), found.isr, found.leader)


def moving_in(store: MetadataStore) -> frozenset[Name]:
    """All partitions of the cluster that are being reassigned. Raises the store's errors."""
    return frozenset(name for name, seen in _all(store) if seen.target is not None)


def under_replicated(store: MetadataStore) -> dict[Name, frozenset[int]]:
    """By partition that is not being reassigned, the replicas that are not in sync. Raises the store's errors."""
    return behind(_all(store))


def behind(seen: Iterable[tuple[Name, Seen]]) -> dict[Name, frozenset[int]]:
    """The same among these partitions."""
    found = {
        name: frozenset(one.replicas) - set(one.isr) for name, one in seen if one.target is None and one.problem is None
    }
    return {name: brokers for name, brokers in found.items() if brokers}


def _all(store: MetadataStore) -> list[tuple[Name, Seen]]:
    """Every partition that can be read."""
    gathered = Gathered()
    from_store(store, "store", gathered, timeout_s=READ_ALL_S)
    return [
        ((row[0], row[1]), Seen(row[2], row[6], row[3], problem=IS_OFFLINE if row[7] == OFFLINE else None))
        for row in gathered.partitions
    ]


def alive(store: MetadataStore) -> tuple[frozenset[int], bool]:
    """The registered brokers, and whether a controller leads."""
    names = store.children(keys.BROKER_IDS, timeout_s=CALL_S)
    ids = [broker for name in names if (broker := numerals.whole(name, 0, numerals.INT_MAX)) is not None]
    entries = store.get_many([keys.broker(broker) for broker in ids], timeout_s=CALL_S)
    there = frozenset(broker for broker, entry in zip(ids, entries, strict=True) if entry is not None)
    return there, store.get(LEADER_KEY, timeout_s=CALL_S) is not None
