"""The readable part of a cluster's tree as values. The rules read it; it has no notion of right or wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import attrs

from ...stores.base import Entry
from ...stores.recipes import Token
from ..codec.migration import Marker
from ..codec.topic import TopicKey
from ..model.legacy import LegacyEntry
from ..model.reductions import Retirement
from ..model.values import DeleteIntent, Partition, Replicas, TopicPartition


@attrs.frozen(weakref_slot=False)
class State:
    """A state key that can be read. `is_listed`: the topic key can be read and lists the partition, so R is known.
    `has_orphan_block`: it has `reassignment` without `targetReplicas`."""

    key: str
    partition: Partition
    is_listed: bool
    controller_epoch: object
    has_orphan_block: bool


@attrs.frozen(weakref_slot=False)
class IntentKey:
    """A key of delete intents: the parts of its name, and its value."""

    key: str
    broker: int
    seq: int
    intents: tuple[DeleteIntent, ...]


@attrs.define
class Notices:
    """The numbered keys below a parent, and the counter in the parent's value (None: it has none)."""

    numbers: dict[str, int] = attrs.field(factory=dict)
    counter: int | None = None


@attrs.define
class Tree:
    """Every known key that can be read. Mappings are by topic name, partition id or broker id."""

    topics: dict[str, TopicKey] = attrs.field(factory=dict)
    unreadable_topics: set[str] = attrs.field(factory=set)
    states: dict[str, dict[int, State | None]] = attrs.field(factory=dict)  # None: unreadable
    configs: dict[str, str] = attrs.field(factory=dict)  # topic -> key
    registered: dict[int, Entry] = attrs.field(factory=dict)
    admitted: dict[int, int | None] = attrs.field(factory=dict)  # None: unreadable
    intents: list[IntentKey] = attrs.field(factory=list)
    moves: tuple[LegacyEntry, ...] | None = None  # of the legacy key
    has_legacy_key: bool = False
    elections: tuple[TopicPartition, ...] | None = None
    deleting: set[str] = attrs.field(factory=set)
    reductions: dict[str, dict[int, Retirement]] = attrs.field(factory=dict)
    unreadable_reductions: set[str] = attrs.field(factory=set)
    throttled_topics: dict[str, tuple[str, ...]] = attrs.field(factory=dict)  # by the key of the mark
    throttled_brokers: dict[str, Replicas] = attrs.field(factory=dict)
    notices: defaultdict[str, Notices] = attrs.field(factory=lambda: defaultdict(Notices))  # by parent
    leader: Entry | None = None
    held: Entry | None = None
    epoch: int | None = None
    has_epoch: bool = False
    token: Token | None = None
    has_token: bool = False
    has_kedge_keys: bool = False
    min_controller: int | None = None
    migration: Marker | None = None
    sizes: dict[str, int] = attrs.field(factory=dict)  # bytes of large values
    unknown: Counter[str] = attrs.field(factory=Counter)
    keys: int = 0

    @property
    def is_led(self) -> bool:
        """Whether there is a controller, so that pending work should be done."""
        return self.leader is not None

    def listed(self) -> Iterator[State]:
        """Every partition that its topic lists and whose state can be read."""
        return (state for state in self.every_state() if state.is_listed)

    def every_state(self) -> Iterator[State]:
        """Every readable state key."""
        return (state for states in self.states.values() for state in states.values() if state is not None)

    def state(self, topic: str, partition: int) -> State | None:
        """The state of a partition; None where it has none or an unreadable one."""
        return self.states.get(topic, _NO_STATES).get(partition)

    def has_partition(self, tp: TopicPartition) -> bool:
        """Whether the topic lists it, or may list it because the topic key is unreadable."""
        found = self.topics.get(tp.topic)
        return tp.topic in self.unreadable_topics if found is None else 0 <= tp.partition < len(found.assignments)

    def has_topic(self, name: str) -> bool:
        """Whether there is a topic key, readable or not."""
        return name in self.topics or name in self.unreadable_topics

    def is_running(self) -> bool:
        """Whether anything is being reassigned: by the legacy key, by a target, or by Kafka."""
        return self.has_legacy_key or self.count_moves() > 0

    def count_moves(self) -> int:
        """The number of partitions with a target, and of those that Kafka moves."""
        ours = {state.partition.tp for state in self.listed() if state.partition.move is not None}
        ours |= {TopicPartition(t, p) for t, found in self.topics.items() for p in found.topic.kafka_moves}
        return len(ours)


_NO_STATES: Mapping[int, State | None] = {}
