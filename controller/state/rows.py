"""What stands beside the rows of partitions: of each topic and each broker the dense numbers of its partitions.

Names exist at the edge and numbers inside. A broker's array is only appended to: the row is the truth, an entry whose
row does not name the broker (any more), or was taken back, is stale and passed over, and the array is compacted when a
quarter of it may be.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

import attrs

from controller.model.records import KeyVersion
from controller.model.values import Partition, Topic
from controller.state.columns import Rows

ABSENT: Final = KeyVersion(0, -1)  # of a key that is not there; its first write makes generation 0


_STALE_MIN: Final = 1000  # stale entries of an index before a write looks whether they are a quarter


class Admitted(NamedTuple):
    """What /kedge/brokers/<id> holds, and the version at which it stands."""

    version: int
    epoch: int


class OwnConfigs(NamedTuple):
    """What /config/brokers/<name> holds, and the version at which it stands."""

    version: int
    configs: Mapping[str, str]


NO_SETTINGS: Final = OwnConfigs(0, {})


@attrs.define
class Deletion:
    """A topic that is being deleted. `version`: where its key under /admin/delete_topics stands, 0 before it is
    written. `left_to_stop`: partitions that may still be led, or of which
    not every holder has an intent; `keys_left`: state keys, as committed. Once the topic is
    out of the state, until the commit: where its other keys stand."""

    version: int
    left_to_stop: int
    keys_left: int
    topic_version: int = 0
    config_version: int = 0


class TopicRow:
    """A topic: the numbers of its partitions, where its keys stand, its settings."""

    __slots__ = ("config_version", "configs", "generation", "is_new", "numbers", "topic", "version")

    def __init__(self, topic: Topic, configs: Mapping[str, str]) -> None:
        self.topic = topic
        self.configs = configs
        self.numbers = array("I")
        self.version = ABSENT.version
        self.generation = ABSENT.generation
        self.config_version = ABSENT.version
        self.is_new = False  # made in this term: what stands under it is of a former topic of its name


class BrokerIndex:
    """Which partitions may name a broker: numbers, in the order in which it became a member."""

    __slots__ = ("numbers", "stale")

    def __init__(self) -> None:
        self.numbers = array("I")
        self.stale = 0

    def add(self, number: int) -> None:
        self.numbers.append(number)

    def leave(self, broker: int, rows: Rows) -> None:
        """One entry became stale. An index that nobody reads is compacted as well, at times."""
        self.stale += 1
        if self.stale >= _STALE_MIN:
            self.compact(broker, rows)

    def compact(self, broker: int, rows: Rows) -> None:
        """Drop stale and repeated entries if a quarter of all may be such."""
        if self.stale * 4 > len(self.numbers):
            self.numbers = array("I", self.of(broker, rows))
            self.stale = 0

    def of(self, broker: int, rows: Rows) -> list[int]:
        """The numbers whose rows name `broker`. A stale entry may name a row that was taken back; where none is stale,
        none repeats either, as a number comes again only after it left."""
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
