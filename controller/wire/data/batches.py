"""Headers of record batches (format 2, since Kafka 0.11): the fields that are read and written here.

    base offset i64, length i32 (of what follows), leader epoch i32, magic i8, crc u32, attributes i16, last offset
    delta i32, first timestamp i64, highest timestamp i64, producer id i64, its epoch i16, base sequence i32, count i32

The crc covers what follows it, so offset and leader epoch are written without changing it. It is not verified: records
are passed on as they came, and their readers verify it. Only a time of appending changes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import attrs

from controller.model.logs import Batch, LogError, StoredBatch
from controller.wire.codec import MemoryRecords
from controller.wire.data.checksums import with_other_head
from controller.wire.data.unpacking import unpacked_gzip

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PLACE: Final = struct.Struct(">qii")
_LENGTH, _CRC, _ATTRIBUTES, _FIRST_MS, _NEWEST_MS = 1, 4, 5, 7, 8  # the place of these fields in the header
_CHECKED_AT: Final = 21  # where the bytes begin that the crc is about
_BEFORE_LENGTH: Final = 12  # bytes that the length field does not count
_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_LOG_APPEND_TIME: Final = 0x08
_CODECS, _PLAIN = 0x07, 0
_RECORDS_MAX: Final = 200_000  # of one batch; a producer's has some thousands


def read_batch(payload: bytes | None) -> Batch | LogError:
    """The one batch of a producer for a partition. INVALID_RECORD for several batches, CORRUPT_MESSAGE for none."""
    if payload is None or len(payload) < _HEADER.size:
        return LogError.CORRUPT_MESSAGE
    _, length, _, magic, _, attributes, last, _, newest_ms, producer, epoch, sequence, count = _HEADER.unpack_from(
        payload
    )
    if magic != _MAGIC:
        return LogError.INVALID_RECORD
    if length + _BEFORE_LENGTH != len(payload):
        is_longer = _HEADER.size - _BEFORE_LENGTH <= length < len(payload) - _BEFORE_LENGTH
        return LogError.INVALID_RECORD if is_longer else LogError.CORRUPT_MESSAGE
    if attributes & (_TRANSACTIONAL | _CONTROL) or count < 1 or last != count - 1:
        return LogError.INVALID_RECORD
    return Batch(bytes(payload), count, newest_ms, producer, epoch, sequence)


def written(stored: StoredBatch) -> bytes:
    """The batch as a consumer gets it, with its place in the log."""
    payload = stored.batch.payload
    length = len(payload) - _BEFORE_LENGTH
    return _PLACE.pack(stored.base_offset, length, stored.leader_epoch) + payload[_PLACE.size :]


def first_ms(stored: StoredBatch) -> int:
    """The time of the first record of the batch."""
    fields = _HEADER.unpack_from(stored.batch.payload)
    return int(fields[_NEWEST_MS if fields[_ATTRIBUTES] & _LOG_APPEND_TIME else _FIRST_MS])


def records_of(stored: StoredBatch, unpacked: Callable[[int, bytes], bytes] = unpacked_gzip) -> Iterator[Any]:
    """The records of the batch; `unpacked`: what it is compressed with may be read. Raises ValueError for a batch that
    is not read, and whatever the codec raises for arbitrary bytes."""
    for batch in iter(MemoryRecords(_plain(stored, unpacked)).next_batch, None):
        yield from batch


def timestamps(batch: Batch) -> list[int]:
    """Of every record. For a batch that is not read here (see `records_of`): of the first record, and the highest."""
    with suppress(Exception):
        return [record.timestamp for record in records_of(StoredBatch(0, 0, batch))]
    fields = _HEADER.unpack_from(batch.payload)
    return [fields[_FIRST_MS], fields[_NEWEST_MS]]


def stamped(batch: Batch, now_ms: int) -> Batch:
    """The batch with the time of appending, which then holds for each of its records. A wrong crc stays wrong."""
    before, records = batch.payload[: _HEADER.size], batch.payload[_HEADER.size :]
    fields = list(_HEADER.unpack(before))
    fields[_ATTRIBUTES] |= _LOG_APPEND_TIME
    fields[_NEWEST_MS] = now_ms
    after = _HEADER.pack(*fields)
    fields[_CRC] = with_other_head(fields[_CRC], before[_CHECKED_AT:], after[_CHECKED_AT:], len(records))
    return attrs.evolve(batch, payload=_HEADER.pack(*fields) + records, max_timestamp_ms=now_ms)


def _plain(stored: StoredBatch, unpacked: Callable[[int, bytes], bytes]) -> bytes:
    """The batch with its records as they were before compression."""
    if stored.batch.records > _RECORDS_MAX:
        raise ValueError("too many records to be read")
    payload = written(stored)
    fields = list(_HEADER.unpack_from(payload))
    codec = fields[_ATTRIBUTES] & _CODECS
    if codec == _PLAIN:
        return payload
    records = unpacked(codec, payload[_HEADER.size :])
    fields[_LENGTH] = _HEADER.size - _BEFORE_LENGTH + len(records)
    fields[_ATTRIBUTES] -= codec
    return _HEADER.pack(*fields) + records
