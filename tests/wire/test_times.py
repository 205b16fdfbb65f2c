"""The offset of a time: of the records that are not deleted, in every codec."""

from __future__ import annotations

import pytest

from kedge.controller.runtime.turns import finished
from kedge.controller.wire.data.times import Found, first_since, newest
from tests.wire.living import TIME_MS, records
from tests.wire.packed import EPOCH, GZIP, LZ4, SNAPPY, ZSTD, packed, packed_by_java, stored


def found(offset: int, later_ms: int, epoch: int = EPOCH) -> Found:
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
        found(40, 0),
        found(40, 0),
        found(41, 10),
        found(42, 20),
    ]
    assert finished(newest([batch], 0)) == found(42, 20)


@pytest.mark.parametrize("payload", BY_CODEC.values(), ids=BY_CODEC)
def test_deleted_records_are_not_the_answer(payload: bytes) -> None:
    batch = stored(payload)
    assert finished(first_since([batch], 41, TIME_MS)) == found(41, 10)
    assert finished(first_since([batch], 42, TIME_MS + 1)) == found(42, 20)


def test_next_batch_is_read_where_the_record_of_that_time_is_deleted() -> None:
    """The times descend, so what remains of the first batch is older."""
    first = stored(records(*VALUES, first_ms=TIME_MS + 50, step_ms=-10))
    later = stored(records(b"d", first_ms=TIME_MS + 45), base=43, epoch=EPOCH + 2)
    assert finished(first_since([first, later], 40, TIME_MS + 45)) == found(40, 50)
    assert finished(first_since([first, later], 41, TIME_MS + 45)) == found(43, 45, EPOCH + 2)
    assert finished(first_since([first], 41, TIME_MS + 45)) is None
    assert finished(newest([first, later], 40)) == found(40, 50)
    assert finished(newest([first, later], 41)) == found(43, 45, EPOCH + 2)
    assert finished(newest([first], 41)) == found(41, 40)


def test_first_of_equal_times_is_the_newest() -> None:
    assert finished(newest([stored(records(*VALUES, step_ms=0))], 41)) == found(41, 0)
