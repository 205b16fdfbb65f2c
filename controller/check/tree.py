"""The keys of a cluster as a controller loads them, and what no controller keeps of them. The rules read it; it has no
notion of right or wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ...stores.base import Entry
from ...stores.recipes import LEADER_KEY
from ..codec import keys
from ..model.values import Broker, Partition, TopicPartition
from ..state import ClusterState


@attrs.define
class Tree:
    """`state`: everything that a takeover would load. `registered`: every broker whose registration can be read, live
    or not. `partitions`: those that a topic lists and whose state key can be read; `unlisted`: the other state keys, by
    topic and number (None: unreadable).

    `entries`: the other known keys, `values` their content where it can be read; neither has the keys of topics.
    `epochs`: the controller epoch in each state key."""

    state: ClusterState
    registered: Mapping[int, Broker]
    partitions: list[Partition] = attrs.field(init=False)
    unlisted: dict[str, dict[int, Partition | None]] = attrs.field(factory=dict)
    entries: dict[str, Entry] = attrs.field(factory=dict)
    values: dict[str, Any] = attrs.field(factory=dict)
    epochs: dict[str, object] = attrs.field(factory=dict)
    orphan_blocks: list[str] = attrs.field(factory=list)  # state keys with `reassignment` and no `targetReplicas`
    sizes: dict[str, int] = attrs.field(factory=dict)  # bytes of large values
    unknown: Counter[str] = attrs.field(factory=Counter)
    keys: int = 0

    def __attrs_post_init__(self) -> None:
        self.partitions = [partition for partition in self.state.partitions() if partition.has_state]

    @property
    def is_led(self) -> bool:
        """Whether there is a controller, so that pending work should be done."""
        return LEADER_KEY in self.entries

    def every_partition(self) -> Iterator[Partition]:
        yield from self.partitions
        yield from (found for of in self.unlisted.values() for found in of.values() if found is not None)

    def below(self, above: str) -> list[str]:
        return [key[len(above) + 1 :] for key in self.entries if key.startswith(above + "/")]

    def is_unreadable(self, topic: str) -> bool:
        return self.state.unreadable(topic) is not None

    def has_topic(self, name: str) -> bool:
        """Whether there is a topic key, readable or not."""
        return name in self.state.topics or self.is_unreadable(name)

    def may_have_partition(self, tp: TopicPartition) -> bool:
        """Whether the topic lists it, or may list it because the topic key is unreadable."""
        return self.state.partition(tp.topic, tp.partition) is not None or self.is_unreadable(tp.topic)

    def is_deleting(self, topic: str) -> bool:
        return keys.delete_topic(topic) in self.entries

    def is_reduced(self, topic: str, partition: int) -> bool:
        """Whether a reduction names the partition, or may name it because its key is unreadable."""
        key = keys.delete_partitions(topic)
        return key in self.entries and (key not in self.values or partition in self.values[key])

    def moving(self) -> set[TopicPartition]:
        of_kafka = (TopicPartition(name, p) for name, row in self.state.topics.items() for p in row.topic.kafka_moves)
        return {*self.state.moves.values(), *of_kafka}
