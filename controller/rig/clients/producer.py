"""A producer that chooses partitions: by key, in turn, by a partitioner of the caller's, or by the caller's choice.

The rules are those of KIP-694:
* Only online partitions are chosen, so records without a key go to the remaining ones, and the records of a key go to
  one of them: the hash of the key modulo their number. Naming a partition that is not online is an error.
* After a refusal by the leader it refreshes the metadata and chooses again, at once; after a second one the records
  wait, and are tried with every step. So removing a partition costs the producer no record.
* The keys of records are kept in `keys`, by partition and id: the rig's logs have no keys.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import attrs

from ...model.errors import InvalidRequest, UnknownTopicOrPartition
from ...model.reductions import ONLINE
from ...model.values import TopicPartition
from ..producers import Producers
from .metadata import ClientMetadata, PartitionInfo

Partitioner = Callable[[str | None, Sequence[PartitionInfo]], int]
"""The key, or None, and the online partitions -> the id of one of them."""


@attrs.define
class _Unsent:
    """Records that no leader has taken yet. `partition`: the caller's choice."""

    topic: str
    count: int
    key: str | None
    partition: int | None
    record_bytes: int


@attrs.define
class _Stream:
    topic: str
    records_per_s: float
    keys: tuple[str | None, ...]
    record_bytes: int
    owed: float = 0.0


@attrs.define(eq=False)
class Producer:
    """One producer. `sent_to`: the number of records taken by each partition. `waiting`: records not taken yet."""

    metadata: ClientMetadata
    producers: Producers
    partitioner: Partitioner | None = None
    sent_to: dict[TopicPartition, int] = attrs.field(factory=dict)
    refused: int = 0
    keys: dict[TopicPartition, list[tuple[int, int, str | None]]] = attrs.field(factory=dict)
    _turn: int = 0
    _unsent: list[_Unsent] = attrs.field(factory=list)
    _streams: list[_Stream] = attrs.field(factory=list)

    def send(
        self,
        topic: str,
        count: int = 1,
        *,
        key: str | None = None,
        partition: int | None = None,
        record_bytes: int = 1000,
    ) -> TopicPartition | None:
        """`count` records of one key go to one partition, which is returned; None: no leader takes them yet, they wait.

        Raises UnknownTopicOrPartition, and InvalidRequest for a `partition` that is not online: nothing is sent.
        """
        unsent = _Unsent(topic, count, key, partition, record_bytes)
        tp = self._try(unsent)
        if tp is None:
            self._unsent.append(unsent)
        return tp

    def stream(
        self, topic: str, records_per_s: float, keys: Sequence[str | None] = (None,), record_bytes: int = 1000
    ) -> None:
        """Send `records_per_s` records a second from now on, with `keys` in turn, as time passes."""
        self._streams.append(_Stream(topic, records_per_s, tuple(keys), record_bytes))

    def stop(self) -> None:
        """End all streams; waiting records are still sent."""
        self._streams.clear()

    @property
    def waiting(self) -> int:
        return sum(unsent.count for unsent in self._unsent)

    def step(self, ms: int) -> None:
        """Try the waiting records again, and continue the streams."""
        self._unsent, waiting = [], self._unsent
        for unsent in waiting:
            self._again(unsent)
        for stream in self._streams:
            stream.owed += stream.records_per_s * ms / 1000
            while stream.owed >= 1:
                stream.owed -= 1
                stream.keys = (*stream.keys[1:], stream.keys[0])
                self.send(stream.topic, key=stream.keys[-1], record_bytes=stream.record_bytes)

    def _again(self, unsent: _Unsent) -> None:
        try:
            if self._try(unsent) is None:
                self._unsent.append(unsent)
        except (InvalidRequest, UnknownTopicOrPartition):
            self.refused += unsent.count

    # --- one attempt

    def _try(self, unsent: _Unsent) -> TopicPartition | None:
        """By the known metadata; after a refusal, by refreshed metadata."""
        tp = self._give(unsent, self._choose(unsent))
        if tp is None and self.metadata.refresh():
            tp = self._give(unsent, self._choose(unsent))
        return tp

    def _choose(self, unsent: _Unsent) -> TopicPartition | None:
        if unsent.partition is not None:
            return self._named(TopicPartition(unsent.topic, unsent.partition))
        if not self.metadata.partitions(unsent.topic):
            raise UnknownTopicOrPartition(f"there is no topic {unsent.topic!r:.300}")
        online = self.metadata.online(unsent.topic)
        return TopicPartition(unsent.topic, self._partition(unsent.key, online)) if online else None

    def _named(self, tp: TopicPartition) -> TopicPartition:
        info = self.metadata.partition(tp)
        if info is None:
            raise UnknownTopicOrPartition(f"there is no partition {tp}")
        if info.status != ONLINE:
            raise InvalidRequest(f"partition {tp} takes no records: its status is {info.status}")
        return tp

    def _partition(self, key: str | None, online: Sequence[PartitionInfo]) -> int:
        if self.partitioner is not None:
            return self.partitioner(key, online)
        if key is not None:
            return online[zlib.crc32(key.encode()) % len(online)].partition
        led = [info for info in online if info.leader >= 0] or online
        self._turn += 1
        return led[self._turn % len(led)].partition

    def _give(self, unsent: _Unsent, tp: TopicPartition | None) -> TopicPartition | None:
        if tp is None:
            return None
        first_id = self.producers.next_id(tp)
        if not self.producers.write(tp, unsent.count, unsent.record_bytes):
            return None
        self.sent_to[tp] = self.sent_to.get(tp, 0) + unsent.count
        self.keys.setdefault(tp, []).append((first_id, unsent.count, unsent.key))
        return tp
