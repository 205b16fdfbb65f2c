"""What is checked of a new batch: its crc, and its records by its header."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from kafka.record import MemoryRecords
from kafka.record.util import calc_crc32c

from kedge.controller.model.logs import Batch, LogError
from kedge.controller.runtime.turns import finished
from kedge.controller.wire.data.batches import checked, is_brief, read_batch
from kedge.controller.wire.data.checksums import checksum
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import GZIP, LZ4, SNAPPY, ZSTD, compressed, packed, with_crc, with_records
from tests.wire.served import RawClient
from tests.wire.test_data import fetch, produce

CORRUPT_MESSAGE: Final = 2
INVALID_RECORD: Final = 87
CODECS: Final = [0, GZIP, SNAPPY, LZ4, ZSTD]
NEWEST_AT, COUNT_AT, LAST_AT = 35, 57, 23
FORGED_MS: Final = TIME_MS + 10**9


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("orders", [[1, 2]] * 30)
        yield opened


def check(payload: bytes) -> Batch | LogError:
    batch = read_batch(payload)
    assert isinstance(batch, Batch)
    return finished(checked(batch))


def with_newest(payload: bytes, newest_ms: int) -> bytes:
    """The batch with another highest timestamp in its header."""
    return with_crc(payload[:NEWEST_AT] + struct.pack(">q", newest_ms) + payload[NEWEST_AT + 8 :])


def with_count(payload: bytes, count: int) -> bytes:
    head = bytearray(payload)
    struct.pack_into(">i", head, LAST_AT, count - 1)
    struct.pack_into(">i", head, COUNT_AT, count)
    return with_crc(bytes(head))


@pytest.mark.parametrize("size", [1, 100_000], ids=["brief", "long"])
@pytest.mark.parametrize("codec", [0, GZIP])
def test_a_batch_with_a_wrong_crc_is_refused_and_not_stored(client: RawClient, size: int, codec: int) -> None:
    payload = packed(records(b"x" * size, b"y"), codec)
    place = len(payload) - 1
    damaged = payload[:place] + bytes([payload[place] ^ 1])
    partition = 2 * (size > 1) + (codec > 0)
    assert produce(client, damaged, partition=partition).error_code == CORRUPT_MESSAGE
    assert fetch(client, 0, partition=partition).high_watermark == 0
    assert produce(client, payload, partition=partition).error_code == 0


@pytest.mark.parametrize("codec", CODECS)
def test_a_forged_highest_timestamp_becomes_that_of_the_records(client: RawClient, codec: int) -> None:
    """So a search for a later time reads no batch; and readers find a right crc."""
    partition = 4 + codec
    forged = with_newest(packed(records(b"a", b"b", b"c"), codec), FORGED_MS)
    assert produce(client, forged, partition=partition).error_code == 0
    (read,) = iter(MemoryRecords(bytes(fetch(client, 0, partition=partition).records)).next_batch, None)
    assert (read.max_timestamp, read.validate_crc()) == (TIME_MS + 2, True)
    part = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": TIME_MS + 3}
    topics = [{"name": "orders", "partitions": [part]}]
    found = client.ask("ListOffsets", 5, replica_id=-1, isolation_level=0, topics=topics)
    assert found.topics[0].partitions[0].offset == -1


def _cut(rest: bytes) -> bytes:
    return rest[:-1]


def _longer(rest: bytes) -> bytes:
    return rest + b"\0"


def _with_a_larger_size(rest: bytes) -> bytes:
    return bytes([rest[0] + 2]) + rest[1:]


def _with_another_offset(rest: bytes) -> bytes:
    return rest[:3] + b"\2" + rest[4:]


def _with_a_longer_value(rest: bytes) -> bytes:
    return rest[:5] + bytes([rest[5] + 2]) + rest[6:]


def _with_headers_of_no_name(rest: bytes) -> bytes:
    return bytes([rest[0] + 4]) + rest[1:7] + b"\2\3\1" + rest[8:]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "change",
    [_cut, _longer, _with_a_larger_size, _with_another_offset, _with_a_longer_value, _with_headers_of_no_name],
)
def test_records_that_are_not_as_they_say_are_refused(codec: int, change: Callable[[bytes], bytes]) -> None:
    whole = records(b"a", b"b")
    rest = whole[61:]
    assert rest[3:8] == b"\0\1\2a\0"  # the first one: its offset, no key, a value of a byte, no headers
    broken = with_records(whole, compressed(change(rest), codec) if codec else change(rest), codec)
    assert check(broken) is LogError.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_records_than_the_header_has_is_refused(client: RawClient, codec: int, count: int) -> None:
    payload = with_count(packed(records(b"a", b"b"), codec), count)
    assert produce(client, payload, partition=20).error_code == INVALID_RECORD
    assert fetch(client, 0, partition=20).high_watermark == 0


def test_what_is_checked_says_of_its_records_what_topics_ask_for() -> None:
    found = check(records(b"a", b"b", key=b"k", step_ms=-7))
    assert isinstance(found, Batch)
    assert (list(found.times), found.lacks_key) == ([TIME_MS, TIME_MS - 7], False)
    keyless = check(records(b"a"))
    assert isinstance(keyless, Batch)
    assert keyless.lacks_key


@pytest.mark.parametrize("codec", [7, GZIP])
def test_a_batch_that_is_not_read_is_taken_by_its_header(codec: int) -> None:
    """Of an unknown compression, or with bytes that are not compressed."""
    payload = with_newest(with_records(records(b"a", b"b"), b"none", codec), FORGED_MS)
    found = check(payload)
    assert isinstance(found, Batch)
    assert (found.payload, found.max_timestamp_ms, list(found.times)) == (payload, FORGED_MS, [TIME_MS, FORGED_MS])


@pytest.mark.parametrize("size", [0, 1, 32 * 1024, 32 * 1024 + 1, 100_001])
def test_a_checksum_in_slices_is_that_of_the_whole(size: int) -> None:
    data = bytes(n * n % 251 for n in range(size))
    assert finished(checksum(data)) == calc_crc32c(data)


def test_only_small_plain_batches_are_checked_on_the_loop() -> None:
    def brief(payload: bytes) -> bool:
        batch: Any = read_batch(payload)
        return is_brief(batch)

    few = records(b"a", b"b")
    assert brief(few)
    assert not brief(packed(few, GZIP))
    assert not brief(records(b"a" * 5000))
    assert not brief(records(*[b""] * 101))
