"""Batches that logs make: the ends of transactions; and for topics that are compacted, batches without some of their
records. Kafka's rules for what stays as it was:

* A record keeps its offset, timestamp, headers and compression.
* A batch keeps its first and its last offset, so that a consumer that has read it continues behind it, and it keeps the
  producer's id, epoch and sequence.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from typing import Final, Protocol, runtime_checkable

from ...model.logs import NO_TIME, Batch, BatchCodec, EndMarker, RecordKey, StoredBatch, UnreadableBatch
from ...runtime.turns import Work
from .batches import entries, packed, stamped, transactional, with_records

_KIND: Final = struct.Struct(">hh")
_COORDINATOR: Final = struct.Struct(">hi")


@runtime_checkable
class Compacting(Protocol):
    def begin(self, codec: BatchCodec) -> None:
        """Compact from now on."""


class BatchRecords:
    """A `BatchCodec`."""

    def keys(self, stored: StoredBatch) -> Iterator[RecordKey | None]:
        base = stored.base_offset
        try:
            for entry in entries(stored.batch):
                yield None if entry is None else RecordKey(base + entry.offset, entry.key, entry.value is None)
        except Exception as error:
            raise UnreadableBatch(f"the batch at {base}") from error

    def stamped(self, batch: Batch, now_ms: int) -> Batch:
        """All records have the time of appending."""
        return stamped(batch, now_ms)

    def end(self, producer_id: int, producer_epoch: int, marker: EndMarker, now_ms: int) -> Batch:
        """Kafka's control record: the key has its version and its kind, the value the coordinator's epoch."""
        key, value = _KIND.pack(0, int(marker.is_commit)), _COORDINATOR.pack(0, marker.coordinator_epoch)
        return transactional(packed([(key, value)], now_ms), producer_id, producer_epoch, marker)

    def only(self, stored: StoredBatch, offsets: Container[int]) -> Work[Batch]:
        raw, newest_ms = [], NO_TIME
        for entry in entries(stored.batch):
            if entry is None:
                yield
            elif stored.base_offset + entry.offset in offsets:
                raw.append(entry.raw)
                newest_ms = max(newest_ms, entry.timestamp_ms)
        return (yield from with_records(stored.batch, raw, newest_ms))
