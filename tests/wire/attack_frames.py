"""Requests of hundreds of thousands of elements, as frames with their size.

They are joined from bytes: the codec would need longer to write a million elements than a gateway to refuse them. Names
are distinct, so that a gateway can remember nothing about them.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

import attrs
from kafka.record.util import calc_crc32c

from tests.wire.living import TIME_MS

FORGED_MS: Final = TIME_MS + 10**12
"""The highest time in the header of a batch whose records are all of `TIME_MS`."""
BETWEEN_MS: Final = TIME_MS + 10**9
ANNOUNCED: Final = struct.pack(">i", 100 * 1024 * 1024) + bytes(10)
"""The begin of a frame of 100 MiB."""
_GZIP: Final = 1
_MINUTES_30_MS: Final = 1_800_000
_WAIT_MS: Final = 30_000


def request(key: int, version: int, body: bytes, client_id: bytes = b"") -> bytes:
    """The frame of a request with a header of version 1."""
    head = struct.pack(">hhih", key, version, 1, len(client_id)) + client_id
    return struct.pack(">i", len(head) + len(body)) + head + body


def fetch_topics(count: int) -> bytes:
    """Fetch of so many topics, none of them with a partition."""
    return request(1, 4, struct.pack(">iiiib", -1, 0, 0, 2**20, 0) + _named(count, bytes(4)))


def fetch_partitions(count: int) -> bytes:
    """Fetch of so many partitions of one topic."""
    partitions = (count, struct.pack(">iqi", 0, 0, 2**20) * count)
    return request(1, 4, struct.pack(">iiiibi", -1, 0, 0, 2**20, 0, 1) + _string(b"t") + _array(*partitions))


def metadata_names(count: int) -> bytes:
    """Metadata of so many topics, which are to be created."""
    return request(3, 4, _named(count) + b"\1")


def produce_topics(count: int) -> bytes:
    """Produce to so many topics, none of them with a partition."""
    return request(0, 3, struct.pack(">hhi", -1, -1, 1000) + _named(count, bytes(4)))


def produced(topic: str, records: bytes) -> bytes:
    """Produce of these records to partition 0."""
    part = struct.pack(">iii", 1, 0, len(records)) + records
    return request(0, 3, struct.pack(">hhii", -1, 1, 30_000, 1) + _string(topic.encode()) + part)


def offsets_of_time(topic: str, count: int) -> bytes:
    """ListOffsets of a time above that of all records, so often of partition 0. Its batches say that they have later
    ones."""
    part = struct.pack(">iiq", 0, -1, BETWEEN_MS)
    return request(2, 4, struct.pack(">ibi", -1, 0, 1) + _string(topic.encode()) + _array(count, part * count))


def polled(topic: str, partitions: Iterable[int]) -> bytes:
    """Fetch that waits as long as it may."""
    parts = [struct.pack(">iqi", partition, 0, 2**20) for partition in partitions]
    head = struct.pack(">iiiibi", -1, _WAIT_MS, 1, 2**20, 0, 1)
    return request(1, 4, head + _string(topic.encode()) + _array(len(parts), b"".join(parts)))


def joined(group: str, member_id: str = "", protocols: int = 1, client_bytes: int = 0) -> bytes:
    """JoinGroup with so many protocols. Without a member id the answer is a new one, which the client id begins."""
    head = _string(group.encode()) + struct.pack(">ii", _MINUTES_30_MS, _MINUTES_30_MS)
    body = head + _string(member_id.encode()) + _string(b"consumer") + _named(protocols, bytes(4))
    return request(11, 4, body, client_id=b"c" * client_bytes)


@cache
def batch(count: int, newest_ms: int = TIME_MS) -> bytes:
    """So many records of one key by gzip, at most 999,999, with a correct CRC."""
    packed = gzip.compress(b"".join(map(_record, range(count))), compresslevel=1, mtime=0)
    times = (TIME_MS, newest_ms)
    rest = struct.pack(">hiqqqhii", _GZIP, count - 1, *times, -1, -1, -1, count) + packed
    return struct.pack(">qiibI", 0, len(rest) + 9, -1, 2, calc_crc32c(rest)) + rest


def _record(offset: int) -> bytes:
    """Attributes, time, offset, key, value, no headers."""
    body = b"\0\0" + _varint(offset) + b"\2k\2v\0"
    return bytes((2 * len(body),)) + body


def _varint(number: int) -> bytes:
    """At most 3 bytes, zigzag."""
    number *= 2
    if number < 1 << 7:
        return bytes((number,))
    if number < 1 << 14:
        return bytes((number & 0x7F | 0x80, number >> 7))
    return bytes((number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14))


def _string(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def _array(count: int, elements: bytes) -> bytes:
    return struct.pack(">i", count) + elements


def _named(count: int, behind: bytes = b"") -> bytes:
    """A list of so many names, at most a million, with the same behind each."""
    return _array(count, b"".join([b"\0\6%06d" % number + behind for number in range(count)]))


@attrs.frozen
class Heavy:
    """A frame with `size` elements. `key`: of its API."""

    key: int
    size: int
    frame: Callable[[int], bytes]


def heavy(topic: str) -> Mapping[str, Heavy]:
    """Frames that a client may send without having asked before. `topic`: one that exists."""
    return {
        "fetch-topics": Heavy(1, 249_000, fetch_topics),
        "metadata-names": Heavy(3, 249_000, metadata_names),
        "produce-topics": Heavy(0, 249_000, produce_topics),
        "fetch-partitions": Heavy(1, 1_990_000, fetch_partitions),
        "compacted-batch": Heavy(0, 199_000, lambda size: produced(topic, batch(size))),
        "forged-time": Heavy(0, 199_000, lambda size: produced(topic, batch(size, FORGED_MS))),
        "offsets-of-time": Heavy(2, 100, lambda size: offsets_of_time(topic, size)),
        "many-protocols": Heavy(11, 300_000, lambda size: joined("attacked", protocols=size)),
    }
