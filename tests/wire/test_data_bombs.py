"""Batches whose records are more than their bytes, or no records: the offset of a time is answered without unpacking a
bomb."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zlib

import pytest

from kedge.controller.runtime.turns import finished
from kedge.controller.wire.data.times import Found, first_since, newest
from kedge.controller.wire.data.unpacking import Unread, unpacked
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import EPOCH, GZIP, LZ4, SNAPPY, ZSTD, bomb, compressed, packed, stored
from tests.wire.served import RawClient

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "rest",
    [b"", b"\x1f\x8b", b"none of these", gzip.compress(b"no record", mtime=0), b"\x82SNAPPY\0" + bytes(9), b"\xff" * 6],
    ids=["nothing", "a begin", "none", "no record", "a block of 0 bytes", "no size"],
)
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD, 7])
def test_broken_batch_is_answered_by_its_header(rest: bytes, codec: int) -> None:
    """A consumer begins a few records early, and misses none."""
    head = bytearray(records(b"a", b"b", b"c"))[:61]
    head[22] = codec
    struct.pack_into(">i", head, 8, 49 + len(rest))
    batch = stored(bytes(head) + rest)
    assert finished(first_since([batch], 0, TIME_MS + 1)) == Found(40, TIME_MS, EPOCH)
    assert finished(first_since([batch], 41, TIME_MS + 1)) == Found(41, TIME_MS, EPOCH)
    assert finished(newest([batch], 41)) == Found(42, TIME_MS + 2, EPOCH)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked() -> None:
    """It holds 256 MiB in 260 kB; no more memory is taken for it than for a batch that may be read."""
    batch = stored(bomb(256))
    tracemalloc.start()
    try:
        assert finished(first_since([batch], 0, TIME_MS)) == Found(40, TIME_MS, EPOCH)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * MIB


@pytest.mark.slow
@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_less_than_16_mib_is_unpacked(codec: int) -> None:
    """Zeros, which take the fewest bytes when they are compressed."""
    most = bytes(16 * MIB - 1)
    assert b"".join(unpacked(codec, compressed(most, codec))) == most
    with pytest.raises(Unread, match="too large"):
        list(unpacked(codec, compressed(most + b"x", codec)))


def test_a_batch_of_more_records_than_are_read_is_answered_by_its_first_offset() -> None:
    payload = bytearray(records(b"a", b"b"))
    struct.pack_into(">i", payload, 23, 1_000_000 - 1)
    struct.pack_into(">i", payload, 57, 1_000_000)
    assert finished(first_since([stored(bytes(payload))], 0, TIME_MS + 1)) == Found(40, TIME_MS, EPOCH)


@pytest.mark.slow
def test_clients_ask_for_a_time_in_a_bomb_and_go_on() -> None:
    with Living() as living, RawClient(living.address) as client:
        [tp] = living.topic("t", [[1]])
        for payload in (bomb(64), packed(records(b"a", b"b"), GZIP)):
            data = [{"name": tp.topic, "partition_data": [{"index": 0, "records": payload}]}]
            fields = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000, "topic_data": data}
            answer = client.ask("Produce", 7, **fields)
            assert answer.responses[0].partition_responses[0].error_code == 0
        for since_ms, offset in ((TIME_MS, 0), (TIME_MS + 1, 2)):
            part = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": since_ms}
            topics = [{"name": tp.topic, "partitions": [part]}]
            found = client.ask("ListOffsets", 5, replica_id=-1, isolation_level=0, topics=topics)
            assert found.topics[0].partitions[0].offset == offset


@pytest.mark.slow
def test_the_bomb_of_these_tests_is_one() -> None:
    payload = bomb(64)
    assert len(payload) < 100_000
    assert len(zlib.decompress(payload[61:], 31)) == 64 * MIB
