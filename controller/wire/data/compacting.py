"""Batches without some of their records, for logs that compact topics. Kafka's rules for what stays as it was:

* A record keeps its offset, timestamp, headers and compression.
* A batch keeps its first and its last offset, so that a consumer that has read it continues behind it, and it keeps the
  producer's id, epoch and sequence.
"""

from __future__ import annotations

import struct
from collections.abc import Container
from typing import Final, Protocol, runtime_checkable

import attrs

from controller.model.logs import Batch, BatchCodec, RecordKey, StoredBatch
from controller.wire.codec import DefaultRecordBatch, DefaultRecordBatchBuilder, calc_crc32c
from controller.wire.data.batches import records_of, stamped, timestamps, written

_CRC: Final = struct.Struct(">I")
_CRC_AT: Final = DefaultRecordBatch.CRC_OFFSET
_CHECKED_AT: Final = DefaultRecordBatch.ATTRIBUTES_OFFSET
_LAST: Final = struct.Struct(">i")
_LAST_AT: Final = _CHECKED_AT + 2
_UNLIMITED: Final = 2**31 - 1


@runtime_checkable
class Compacting(Protocol):
    """Logs that compact topics."""

    def begin(self, codec: BatchCodec) -> None:
        """Compact from now on."""


class BatchRecords:
    """A `BatchCodec`, by kafka-python's codec."""

    def keys(self, stored: StoredBatch) -> list[RecordKey] | None:
        """Every record. None for arbitrary bytes, and for a batch that is not read: see `records_of`."""
        try:
            return [RecordKey(record.offset, record.key, record.value is None) for record in records_of(stored)]
        except Exception:  # noqa: BLE001 - whatever the codec raises
            return None

    def timestamps(self, batch: Batch) -> list[int]:
        """Of every record, or what the header has."""
        return timestamps(batch)

    def stamped(self, batch: Batch, now_ms: int) -> Batch:
        """All records have the time of appending."""
        return stamped(batch, now_ms)

    def only(self, stored: StoredBatch, offsets: Container[int]) -> Batch:
        """The records at these offsets."""
        before = DefaultRecordBatch(written(stored))
        builder = DefaultRecordBatchBuilder(
            magic=before.magic,
            compression_type=before.compression_type,
            is_transactional=False,
            producer_id=before.producer_id,
            producer_epoch=before.producer_epoch,
            base_sequence=before.base_sequence,
            batch_size=_UNLIMITED,
        )
        for record in before:
            if record.offset in offsets:
                place = record.offset - stored.base_offset
                builder.append(place, record.timestamp, record.key, record.value, record.headers)
        payload = builder.build()
        _LAST.pack_into(payload, _LAST_AT, before.last_offset_delta)
        _CRC.pack_into(payload, _CRC_AT, calc_crc32c(memoryview(payload)[_CHECKED_AT:]))
        newest_ms = DefaultRecordBatch(payload).max_timestamp
        return attrs.evolve(stored.batch, payload=bytes(payload), max_timestamp_ms=newest_ms)
