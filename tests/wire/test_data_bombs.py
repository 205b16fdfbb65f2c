"""Batches whose records are more than their bytes: the offset of a time is answered without unpacking a bomb."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zlib

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from controller.model.logs import Batch, StoredBatch
from controller.wire.data.batches import first_since, read_batch
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import bomb, packed
from tests.wire.served import RawClient

MIB = 1024 * 1024
SNAPPY, ZSTD = 2, 4


def stored(payload: bytes, base: int = 40) -> StoredBatch:
    batch = read_batch(payload)
    assert isinstance(batch, Batch)
    return StoredBatch(base, 3, batch)


@pytest.mark.parametrize("codec", [0, 1])
def test_the_first_record_of_a_time_is_found_in_plain_and_in_gzip(codec: int) -> None:
    batch = stored(packed(records(b"a", b"b", b"c"), codec))
    assert [first_since(batch, TIME_MS + later) for later in (-5, 0, 1, 2)] == [
        (40, TIME_MS),
        (40, TIME_MS),
        (41, TIME_MS + 1),
        (42, TIME_MS + 2),
    ]


@pytest.mark.parametrize("codec", [SNAPPY, 3, ZSTD, 7])
def test_of_another_codec_the_first_offset_of_the_batch_is_the_answer(codec: int) -> None:
    """A consumer begins a few records early, and misses none."""
    payload = bytearray(records(b"a", b"b", b"c"))
    payload[22] = codec
    assert first_since(stored(bytes(payload)), TIME_MS + 1) == (40, TIME_MS + 2)


@pytest.mark.parametrize(
    "rest",
    [b"", b"\x1f\x8b", b"no gzip", gzip.compress(b"no record", mtime=0)],
    ids=["nothing", "a begin", "none", "no record"],
)
def test_of_a_broken_batch_the_first_offset_is_the_answer(rest: bytes) -> None:
    head = bytearray(records(b"a"))[:61]
    head[22] = 1
    struct.pack_into(">i", head, 8, 49 + len(rest))
    assert first_since(stored(bytes(head) + rest), TIME_MS) == (40, TIME_MS)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked() -> None:
    """It holds 256 MiB in 260 kB; no more memory is taken for it than for a batch that may be read."""
    batch = stored(bomb(256))
    tracemalloc.start()
    try:
        assert first_since(batch, TIME_MS) == (40, TIME_MS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * MIB


@pytest.mark.slow
def test_what_is_just_small_enough_is_read() -> None:
    one = records(b"x" * 900_000)
    batch = stored(packed(one, 1))
    assert len(batch.batch.payload) < 10_000
    assert first_since(batch, TIME_MS) == (40, TIME_MS)
    assert first_since(batch, TIME_MS + 1) == (40, TIME_MS)  # none is that new


def test_a_batch_of_more_records_than_are_read_is_answered_by_its_first_offset() -> None:
    payload = bytearray(records(b"a", b"b"))
    struct.pack_into(">i", payload, 23, 1_000_000 - 1)
    struct.pack_into(">i", payload, 57, 1_000_000)
    assert first_since(stored(bytes(payload)), TIME_MS + 1) == (40, TIME_MS + 1)


@pytest.mark.slow
def test_clients_ask_for_a_time_in_a_bomb_and_go_on() -> None:
    with Living() as living, RawClient(living.address) as client:
        [tp] = living.topic("t", [[1]])
        for payload in (bomb(64), packed(records(b"a", b"b"), 1)):
            data = [{"name": tp.topic, "partition_data": [{"index": 0, "records": payload}]}]
            fields = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000, "topic_data": data}
            answer = client.ask(ProduceRequest, ProduceResponse, 7, **fields)
            assert answer.responses[0].partition_responses[0].error_code == 0
        for since_ms, offset in ((TIME_MS, 0), (TIME_MS + 1, 2)):
            part = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": since_ms}
            topics = [{"name": tp.topic, "partitions": [part]}]
            found = client.ask(
                ListOffsetsRequest, ListOffsetsResponse, 5, replica_id=-1, isolation_level=0, topics=topics
            )
            assert found.topics[0].partitions[0].offset == offset


@pytest.mark.slow
def test_the_bomb_of_these_tests_is_one() -> None:
    payload = bomb(64)
    assert len(payload) < 100_000
    assert len(zlib.decompress(payload[61:], 31)) == 64 * MIB
