"""The offset of a time: of the records that are not deleted, in every codec, and without unpacking a bomb."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc

import pyarrow as pa
import pytest

from kedge.controller.runtime.turns import finished
from kedge.controller.wire.data.times import Found, first_since, newest
from kedge.controller.wire.data.unpacking import Unread, unpacked
from tests.wire.asking import offset_of, produce
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import EPOCH, GZIP, LZ4, SNAPPY, ZSTD, bomb, compressed, packed, packed_by_java, stored
from tests.wire.served import RawClient


def record(offset: int, later_ms: int, epoch: int = EPOCH) -> Found:
    return Found(offset, TIME_MS + later_ms, epoch)


VALUES = (b"a", b"b" * 500, b"c")
BY_CODEC = {
    "plain": packed(records(*VALUES, step_ms=10), 0),
    "gzip": packed(records(*VALUES, step_ms=10), GZIP),
    "snappy": packed(records(*VALUES, step_ms=10), SNAPPY),
    "snappy of Java": packed_by_java(records(*VALUES, step_ms=10), 100),
    "lz4": packed(records(*VALUES, step_ms=10), LZ4),
    "zstd": packed(records(*VALUES, step_ms=10), ZSTD),
}


@pytest.mark.parametrize("payload", BY_CODEC.values(), ids=BY_CODEC)
def test_record_of_a_time_has_its_own_offset_and_time(payload: bytes) -> None:
    batch = stored(payload)
    assert [finished(first_since([batch], 0, TIME_MS + later)) for later in (-5, 0, 1, 11)] == [
        record(40, 0),
        record(40, 0),
        record(41, 10),
        record(42, 20),
    ]
    assert finished(newest([batch], 0)) == record(42, 20)


@pytest.mark.parametrize("payload", BY_CODEC.values(), ids=BY_CODEC)
def test_deleted_records_are_not_the_answer(payload: bytes) -> None:
    batch = stored(payload)
    assert finished(first_since([batch], 41, TIME_MS)) == record(41, 10)
    assert finished(first_since([batch], 42, TIME_MS + 1)) == record(42, 20)


def test_next_batch_is_read_where_the_record_of_that_time_is_deleted() -> None:
    """The times descend, so what remains of the first batch is older."""
    first = stored(records(*VALUES, first_ms=TIME_MS + 50, step_ms=-10))
    later = stored(records(b"d", first_ms=TIME_MS + 45), base=43, epoch=EPOCH + 2)
    assert finished(first_since([first, later], 40, TIME_MS + 45)) == record(40, 50)
    assert finished(first_since([first, later], 41, TIME_MS + 45)) == record(43, 45, EPOCH + 2)
    assert finished(first_since([first], 41, TIME_MS + 45)) is None
    assert finished(newest([first, later], 40)) == record(40, 50)
    assert finished(newest([first, later], 41)) == record(43, 45, EPOCH + 2)
    assert finished(newest([first], 41)) == record(41, 40)


def test_first_of_equal_times_is_the_newest() -> None:
    assert finished(newest([stored(records(*VALUES, step_ms=0))], 41)) == record(41, 0)


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


def in_blocks(*blocks: bytes) -> bytes:
    head = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def test_blocks_of_snappy_are_read_one_by_one() -> None:
    """The second one is broken, which shows after the first."""
    parts = unpacked(SNAPPY, in_blocks(compressed(b"first", SNAPPY), b"\xff" * 6))
    assert next(parts) == b"first"
    with pytest.raises(ValueError, match="snappy"):
        next(parts)


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD])
@pytest.mark.parametrize("begin", [b"", b"first"])
def test_bytes_that_unpack_to_nothing_are_refused(codec: int, begin: bytes) -> None:
    empty = in_blocks(b"\0")[16:] if codec == SNAPPY else compressed(b"", codec)
    first = in_blocks(*[compressed(begin, codec)] * bool(begin)) if codec == SNAPPY else compressed(begin, codec)
    with pytest.raises(ValueError, match=r"nothing|cannot hold 0|behind the frame"):
        list(unpacked(codec, first + empty * 100_000))


def test_long_work_on_blocks_of_lz4_is_divided() -> None:
    """Each of them unpacks to nothing, in one frame."""
    frame = compressed(b"", LZ4)
    blocks = struct.pack("<iB", 1, 0) * 1000
    parts = list(unpacked(LZ4, frame[:-4] + blocks + frame[-4:]))
    assert (len(parts), b"".join(parts)) == (7, b"")


@pytest.mark.parametrize(
    "frame",
    [
        "04224d18604082040000003061626300000000",
        "04224d186440a7040000003061626300000000ff53d132",
        "04224d186840030000000000000087040000003061626300000000",
        "04224d187040ad0400000030616263c2cc790200000000",
        "04224d187c400300000000000000740400000030616263c2cc790200000000ff53d132",
    ],
    ids=["plain", "checksum of all", "size of all", "checksum of each block", "all of them"],
)
def test_a_frame_of_lz4_is_read_and_nothing_behind_it(frame: str) -> None:
    """Kafka's clients read one frame of a batch."""
    one = bytes.fromhex(frame)
    assert b"".join(unpacked(LZ4, one)) == b"abc"
    with pytest.raises(ValueError, match="behind the frame"):
        list(unpacked(LZ4, one + one))


def test_a_block_of_lz4_of_4_mib_is_unpacked() -> None:
    """It is read whole before anything of it is unpacked."""
    noise = random.Random(1).randbytes(4 * MIB - 100_000)
    block = bytes(pa.Codec("lz4_raw").compress(noise, asbytes=True))
    frame = bytes.fromhex("04224d18607073") + struct.pack("<I", len(block)) + block + bytes(4)
    assert b"".join(unpacked(LZ4, frame)) == noise


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_records_that_do_not_shrink_are_unpacked(codec: int) -> None:
    noise = random.Random(1).randbytes(MIB)
    assert b"".join(unpacked(codec, compressed(noise, codec))) == noise


def test_a_batch_of_more_records_than_are_read_is_answered_by_its_first_offset() -> None:
    payload = bytearray(records(b"a", b"b"))
    struct.pack_into(">i", payload, 23, 1_000_000 - 1)
    struct.pack_into(">i", payload, 57, 1_000_000)
    assert finished(first_since([stored(bytes(payload))], 0, TIME_MS + 1)) == Found(40, TIME_MS, EPOCH)


@pytest.mark.slow
def test_clients_ask_for_a_time_in_a_bomb_and_go_on() -> None:
    with Living() as living, RawClient(living.address) as client:
        living.topic("orders", [[1]])
        for payload in (bomb(64), packed(records(b"a", b"b"), GZIP)):
            assert produce(client, payload, timeout_ms=30_000).error_code == 0
        assert [offset_of(client, since_ms).offset for since_ms in (TIME_MS, TIME_MS + 1)] == [0, 2]
