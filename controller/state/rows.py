"""What belongs to the rows of partitions: for each topic and each broker the dense numbers of its partitions.

Names are used at the edge and numbers inside. A broker's array is only appended to. The row is the truth: an entry
whose row does not name the broker (any more), or was undone, is stale and skipped. The array is compacted when a
quarter of it may be stale.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final

import attrs

from ..model.records import KeyVersion
from ..model.values import Partition, Topic
from .columns import Rows

ABSENT: Final = KeyVersion(0, -1)  # of an absent state key; its first write makes generation 0

_STALE_MIN: Final = 1000  # stale entries of an index before a write checks whether they are a quarter


@attrs.define
class Deletion:
    """A topic that is being deleted. `left_to_stop`: partitions that may still be led, or whose holders do not all have
    an intent; `keys_left`: state keys, as committed."""

    left_to_stop: int
    keys_left: int


class TopicRow:
    """A topic: the numbers of its partitions, and its configs."""

    __slots__ = ("configs", "is_new", "numbers", "topic")

    def __init__(self, topic: Topic, configs: Mapping[str, str]) -> None:
        self.topic = topic
        self.configs = configs
        self.numbers = array("I")
        self.is_new = False  # created in this term: old keys below its name belong to a former topic


class BrokerIndex:
    """The partitions that may name a broker: numbers, in the order in which it became a member."""

    __slots__ = ("numbers", "stale")

    def __init__(self) -> None:
        self.numbers = array("I")
        self.stale = 0

    def add(self, number: int) -> None:
        self.numbers.append(number)

    def leave(self, broker: int, rows: Rows) -> None:
        """One entry became stale. An index that is never read is compacted at times too."""
        self.stale += 1
        if self.stale >= _STALE_MIN:
            self.compact(broker, rows)

    def compact(self, broker: int, rows: Rows) -> None:
        """Drop stale and repeated entries if they may be a quarter of all."""
        if self.stale * 4 > len(self.numbers):
            self.numbers = array("I", self.of(broker, rows))
            self.stale = 0

    def of(self, broker: int, rows: Rows) -> list[int]:
        """The numbers whose rows name `broker`. A stale entry may name a row that was undone. Without stale entries
        none repeats, since a number is added again only after it left."""
        if not self.stale:
            return self.numbers.tolist()
        count, names = len(rows), rows.names
        return [number for number in dict.fromkeys(self.numbers) if number < count and names(number, broker)]


def brokers_of(partition: Partition) -> set[int]:
    """R, I and T together."""
    replicas, isr, move = partition.replicas, partition.isr, partition.move
    named = set(replicas)
    if isr is not replicas:
        named.update(isr)
    if move is not None:
        named.update(move.target)
    return named
