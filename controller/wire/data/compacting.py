"""Batches without some of their records, for logs that compact topics. Kafka's rules for what stays as it was:

* A record keeps its offset, timestamp, headers and compression.
* A batch keeps its first and its last offset, so that a consumer that has read it continues behind it, and it keeps the
  producer's id, epoch and sequence.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Protocol, runtime_checkable

from ...model.logs import NO_TIME, Batch, BatchCodec, RecordKey, StoredBatch, UnreadableBatch
from ...runtime.turns import Work
from .batches import entries, stamped, with_records


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

    def only(self, stored: StoredBatch, offsets: Container[int]) -> Work[Batch]:
        raw, newest_ms = [], NO_TIME
        for entry in entries(stored.batch):
            if entry is None:
                yield
            elif stored.base_offset + entry.offset in offsets:
                raw.append(entry.raw)
                newest_ms = max(newest_ms, entry.timestamp_ms)
        return (yield from with_records(stored.batch, raw, newest_ms))
