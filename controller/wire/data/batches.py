"""Headers of record batches (format 2, since Kafka 0.11): the fields that are read and written here.

    base offset i64, length i32 (of what follows), leader epoch i32, magic i8, crc u32, attributes i16, last offset
    delta i32, first timestamp i64, highest timestamp i64, producer id i64, its epoch i16, base sequence i32, count i32

The crc covers what follows it, so offset and leader epoch are written without changing it. Rules for a new batch, as in
Kafka's brokers:

* Its crc, the number of its records and their offsets must be right. Its own offset is 0, and with a producer id it has
  a sequence number. It is no control batch: brokers write those.
* The highest timestamp of the header is that of the records, whatever the producer wrote there.
* What no consumer could read is refused: a codec that Kafka does not have, bytes that are not of the codec, and more
  records than the bytes have room for.
* A batch that is not read here (`Unread`) is taken by its header.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

import attrs

from ...model.logs import NO_PRODUCER, Batch, EndMarker, LogError, StoredBatch
from ...runtime.turns import Work
from ..codec import MemoryRecordsBuilder, calc_crc32c, decode_varint
from .unpacking import UNPACKED_BYTES_MAX, Unread, packed_gzip, unpacked, unpacked_gzip

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PLACE: Final = struct.Struct(">qii")
# The place of fields in the header.
_LENGTH, _CRC, _ATTRIBUTES, _FIRST_MS, _NEWEST_MS, _PRODUCER, _EPOCH, _COUNT = 1, 4, 5, 7, 8, 9, 10, 12
_CHECKED_AT: Final = 21  # where the bytes begin that the crc is about
_BEFORE_LENGTH: Final = 12  # bytes that the length field does not count
_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_LOG_APPEND_TIME: Final = 0x08
_CODECS, _PLAIN = 0x07, 0
_BATCH_BYTES: Final = 100 * 1024 * 1024  # how much one batch may take is the log's business
_RECORD_BYTES: Final = 7  # of the smallest record: its size, attributes, time, offset, key, value and headers
_RECORDS_MAX: Final = 200_000  # of one batch; a producer's has some thousands
_BRIEF_BYTES, _BRIEF_RECORDS = 4096, 100  # what is checked in a fraction of a millisecond
_SLICE: Final = 128  # records that are read between two yields

Unpacked: TypeAlias = Callable[[int, bytes], Iterator[bytes]]


class Entry(NamedTuple):
    """A record in a batch. `offset`: behind the first one of the batch; `raw`: all of its bytes."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    raw: bytes


def read_batch(payload: bytes | None) -> Batch | LogError:
    """The one batch of a producer for a partition. INVALID_RECORD for several batches, CORRUPT_MESSAGE for none."""
    if payload is None or len(payload) < _HEADER.size:
        return LogError.CORRUPT_MESSAGE
    fields = _HEADER.unpack_from(payload)
    base, length, _, magic, _, attributes, last, _, newest_ms, producer, epoch, sequence, count = fields
    if magic != _MAGIC:
        return LogError.INVALID_RECORD
    if length + _BEFORE_LENGTH != len(payload):
        is_longer = _HEADER.size - _BEFORE_LENGTH <= length < len(payload) - _BEFORE_LENGTH
        return LogError.INVALID_RECORD if is_longer else LogError.CORRUPT_MESSAGE
    if attributes & _CONTROL or count < 1 or last != count - 1 or base != 0:
        return LogError.INVALID_RECORD
    is_transactional = bool(attributes & _TRANSACTIONAL)
    if sequence < 0 and (is_transactional or producer > NO_PRODUCER):
        return LogError.INVALID_RECORD
    return Batch(bytes(payload), count, newest_ms, producer, epoch, sequence, is_transactional=is_transactional)


def written(stored: StoredBatch) -> bytes:
    """The batch as a consumer gets it, with its place in the log."""
    payload = stored.batch.payload
    length = len(payload) - _BEFORE_LENGTH
    return _PLACE.pack(stored.base_offset, length, stored.leader_epoch) + payload[_PLACE.size :]


def is_brief(batch: Batch) -> bool:
    """Whether `checked` takes only a moment."""
    codec = _HEADER.unpack_from(batch.payload)[_ATTRIBUTES] & _CODECS
    return len(batch.payload) <= _BRIEF_BYTES and batch.records <= _BRIEF_RECORDS and codec == _PLAIN


def checked(batch: Batch) -> Work[Batch | LogError]:
    """The batch with what its records say: their timestamps, the highest of these also in its header, and whether one
    has no key. CORRUPT_MESSAGE for a wrong crc, INVALID_RECORD for records that are not as the header says."""
    fields = _HEADER.unpack_from(batch.payload)
    # At once, however long it is: a millisecond a megabyte, in which the package lets other threads go on.
    if calc_crc32c(memoryview(batch.payload)[_CHECKED_AT:]) != fields[_CRC]:
        return LogError.CORRUPT_MESSAGE
    times, lacks_key = array("q"), False
    try:
        for entry in entries(batch, unpacked):
            if entry is None:
                yield
                continue
            if entry.offset != len(times):
                return LogError.INVALID_RECORD
            times.append(entry.timestamp_ms)
            lacks_key = lacks_key or entry.key is None
    except Unread:
        return attrs.evolve(batch, times=(fields[_FIRST_MS], fields[_NEWEST_MS]))
    except (ValueError, IndexError, OverflowError):
        return LogError.INVALID_RECORD
    newest_ms = max(times)
    if newest_ms != batch.max_timestamp_ms:
        batch = _with_time(batch, fields[_ATTRIBUTES], newest_ms)
    return attrs.evolve(batch, times=times, lacks_key=lacks_key)


def entries(batch: Batch, unpacks: Unpacked = unpacked_gzip) -> Iterator[Entry | None]:
    """The records of the batch; None between two slices of the work. `unpacks`: what may be read of compressed batches.
    Raises Unread, and ValueError, IndexError or OverflowError for records that are not as the header says."""
    fields = _HEADER.unpack_from(batch.payload)
    records, codec = batch.payload[_HEADER.size :], fields[_ATTRIBUTES] & _CODECS
    if codec != _PLAIN:
        _require_room(fields[_COUNT], UNPACKED_BYTES_MAX)
        records = yield from _unpacked(records, codec, unpacks)
    _require_room(fields[_COUNT], len(records))
    if batch.records > _RECORDS_MAX:
        raise Unread("too many records to be read")
    yield from _entries(records, fields)


def _unpacked(packed: bytes, codec: int, unpacks: Unpacked) -> Generator[None, None, bytes]:
    records = bytearray()  # not a list of parts: of snappy, each may have a byte
    try:
        for part in unpacks(codec, packed):
            records += part
            yield
    except Unread:
        raise
    except (ImportError, NotImplementedError) as error:
        raise Unread(f"codec {codec} is not installed") from error
    except Exception as error:
        raise ValueError(f"the records are not of codec {codec}") from error
    return bytes(records)


def _require_room(count: int, size: int) -> None:
    if count * _RECORD_BYTES > size:
        raise ValueError(f"{count} records have no room in {size} bytes")


def _entries(records: bytes, fields: tuple[int, ...]) -> Iterator[Entry | None]:
    first_ms, newest_ms = fields[_FIRST_MS], fields[_NEWEST_MS]
    has_own_time = not fields[_ATTRIBUTES] & _LOG_APPEND_TIME
    at = 0
    for number in range(fields[_COUNT]):
        if number % _SLICE == 0:
            yield None
        begin = at
        size, at = decode_varint(records, at)
        end = at + size
        ms, at = decode_varint(records, at + 1)  # behind the attributes, which have no meaning yet
        offset, at = decode_varint(records, at)
        key_bytes, key_at = decode_varint(records, at)
        value_bytes, value_at = decode_varint(records, key_at + max(0, key_bytes))
        headers, at = decode_varint(records, value_at + max(0, value_bytes))
        for header in range(headers):
            if header % _SLICE == _SLICE - 1:
                yield None
            name_bytes, at = decode_varint(records, at)
            if name_bytes < 0:
                raise ValueError(f"a header with a name of {name_bytes} bytes")
            content_bytes, at = decode_varint(records, at + name_bytes)
            at += max(0, content_bytes)
        if at != end or headers < 0 or end > len(records):
            raise ValueError(f"a record of {size} bytes has {at - end} more")
        key = None if key_bytes < 0 else records[key_at : key_at + key_bytes]
        value = None if value_bytes < 0 else records[value_at : value_at + value_bytes]
        yield Entry(offset, first_ms + ms if has_own_time else newest_ms, key, value, records[begin:end])
    if at != len(records):
        raise ValueError(f"{len(records) - at} bytes behind the last record")


def first_ms(stored: StoredBatch) -> int:
    fields = _HEADER.unpack_from(stored.batch.payload)
    return int(fields[_NEWEST_MS if fields[_ATTRIBUTES] & _LOG_APPEND_TIME else _FIRST_MS])


def packed(pairs: Iterable[tuple[bytes, bytes | None]], now_ms: int) -> Batch:
    """A batch of records with these keys and values."""
    builder, count = MemoryRecordsBuilder(magic=_MAGIC, compression_type=_PLAIN, batch_size=_BATCH_BYTES), 0
    for key, value in pairs:
        builder.append(timestamp=now_ms, key=key, value=value)
        count += 1
    builder.close()
    return Batch(bytes(builder.buffer()), count, now_ms)


def pairs(stored: StoredBatch) -> Iterator[tuple[bytes, bytes | None]]:
    """The keys and values of the records that have a key."""
    for entry in entries(stored.batch):
        if entry is not None and entry.key is not None:
            yield entry.key, entry.value


def stamped(batch: Batch, now_ms: int) -> Batch:
    """The batch with the time of appending, which then holds for each of its records."""
    return _with_time(batch, _HEADER.unpack_from(batch.payload)[_ATTRIBUTES] | _LOG_APPEND_TIME, now_ms)


def _with_time(batch: Batch, attributes: int, newest_ms: int) -> Batch:
    fields = list(_HEADER.unpack_from(batch.payload))
    fields[_ATTRIBUTES], fields[_NEWEST_MS] = attributes, newest_ms
    return _sealed(batch, fields, batch.payload[_HEADER.size :])


def with_records(batch: Batch, raw: list[bytes], newest_ms: int) -> Work[Batch]:
    """The batch with these records alone, in its compression: plain or gzip. It keeps its offsets and its producer."""
    fields = list(_HEADER.unpack_from(batch.payload))
    records = b"".join(raw)
    if fields[_ATTRIBUTES] & _CODECS != _PLAIN:
        parts = []
        for part in packed_gzip(records):
            parts.append(part)
            yield
        records = b"".join(parts)
    fields[_LENGTH] = _HEADER.size - _BEFORE_LENGTH + len(records)
    fields[_NEWEST_MS], fields[_COUNT] = newest_ms, len(raw)
    return _sealed(batch, fields, records)


def transactional(batch: Batch, producer_id: int, producer_epoch: int, marker: EndMarker | None = None) -> Batch:
    """The batch as part of a transaction; with `marker` as its end."""
    fields = list(_HEADER.unpack_from(batch.payload))
    fields[_ATTRIBUTES] |= _TRANSACTIONAL if marker is None else _TRANSACTIONAL | _CONTROL
    fields[_PRODUCER], fields[_EPOCH] = producer_id, producer_epoch
    return attrs.evolve(
        _sealed(batch, fields, batch.payload[_HEADER.size :]),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        marker=marker,
    )


def _sealed(batch: Batch, fields: list[int], records: bytes) -> Batch:
    fields[_CRC] = calc_crc32c(_HEADER.pack(*fields)[_CHECKED_AT:] + records)
    payload = _HEADER.pack(*fields) + records
    return attrs.evolve(batch, payload=payload, max_timestamp_ms=fields[_NEWEST_MS])
