"""Records of a partition that are kept once for all of its replicas."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.model.logs import Batch
from kedge.controller.rig import Log, Run
from kedge.controller.runtime.turns import finished
from kedge.controller.server.record_store import RecordStore


def batch(records: int = 3, size: int = 100, **more: Any) -> Batch:
    return Batch(b"x" * size, records, more.pop("ms", 0), **more)


def filled(*batches: Batch) -> tuple[RecordStore, Log]:
    """A leader's log that holds the batches, all of them committed."""
    shelf, log = RecordStore(), Log()
    for one in batches:
        log.append(shelf.put(one, log, 0))
    log.high_watermark = log.end_offset
    return shelf, log


@pytest.mark.parametrize("records, size", [(1, 1), (3, 100), (7, 7), (10, 3)])
def test_the_sizes_of_records_add_up_to_that_of_the_batch(records: int, size: int) -> None:
    _, log = filled(batch(records, size), batch(records, size))
    assert (log.end_offset, log.size_bytes) == (2 * records, 2 * size)


def test_reading_begins_with_the_batch_that_has_the_offset_and_ends_with_what_fits() -> None:
    shelf, log = filled(batch(), batch(), batch())
    assert [stored.base_offset for stored in shelf.read(log, 4, 1000)] == [3, 6]
    assert [stored.base_offset for stored in shelf.read(log, 0, 200)] == [0, 3]
    assert [stored.base_offset for stored in shelf.read(log, 0, 1)] == [0]  # one at least
    assert list(shelf.read(log, 9, 1000)) == []


def test_what_is_above_the_high_watermark_is_not_read_nor_is_half_a_batch_below_it() -> None:
    shelf, log = filled(batch(), batch())
    log.high_watermark = 4
    assert [stored.base_offset for stored in shelf.read(log, 0, 1000)] == [0]


def test_a_batch_that_a_new_leader_has_half_of_is_a_gap() -> None:
    shelf, log = filled(batch(), batch())
    follower = Log()
    follower.append(Run(run.start, run.count, 0, run.first_id, run.record_bytes) for run in log.read(0))
    follower.truncate(4)
    follower.append(shelf.put(batch(2), follower, 1))
    follower.high_watermark = follower.end_offset
    assert [(s.base_offset, s.leader_epoch) for s in shelf.read(follower, 0, 1000)] == [(0, 0), (4, 1)]
    assert [(s.base_offset, s.leader_epoch) for s in shelf.read(log, 0, 1000)] == [(0, 0), (3, 0)]


def test_the_oldest_go_where_there_is_too_much_but_never_what_is_not_committed() -> None:
    shelf, log = filled(*[batch() for _ in range(10)])
    assert not shelf.trim(1000, log)
    log.high_watermark = 0
    assert not shelf.trim(500, log)
    log.high_watermark = 5
    assert shelf.trim(500, log)
    assert (shelf.size_bytes, shelf.start_offset) == (900, 3)
    log.high_watermark = log.end_offset
    assert shelf.trim(800, log)
    assert (shelf.size_bytes, shelf.start_offset) == (700, 9)
    assert shelf.trim(500, log)
    assert (shelf.size_bytes, shelf.start_offset) == (400, 18)
    log.delete_before(shelf.start_offset)
    assert (log.start_offset, log.size_bytes) == (shelf.start_offset, shelf.size_bytes)
    assert next(shelf.read(log, shelf.start_offset, 1)).base_offset == shelf.start_offset


def test_the_first_record_of_a_time_and_the_newest_are_found_among_what_is_committed() -> None:
    shelf, log = filled(batch(ms=5), batch(ms=9), batch(ms=7))
    assert [stored.base_offset for stored in finished(shelf.since(log, 6))] == [3, 6]
    assert [stored.base_offset for stored in finished(shelf.newest(log))] == [3]
    log.high_watermark = 3
    assert finished(shelf.since(log, 6)) == ()


def test_batch_with_deleted_records_may_hold_the_newest_as_well_as_the_newest_of_the_others() -> None:
    shelf, log = filled(batch(ms=9), batch(ms=5), batch(ms=7))
    shelf.delete_before(2, log)
    log.delete_before(2)
    assert [stored.base_offset for stored in finished(shelf.newest(log))] == [0, 6]
    assert [stored.base_offset for stored in finished(shelf.since(log, 6))] == [0, 6]


def test_batches_that_were_truncated_do_not_count_for_retention() -> None:
    shelf, leader = filled(batch(ms=100))
    shelf.put(batch(ms=1), leader, 0)  # of a former leader, and never copied
    leader.append(shelf.put(batch(ms=100), leader, 1))
    leader.high_watermark = leader.end_offset
    assert shelf.begins_by(50, leader) == 0
    assert shelf.begins_by(150, leader) == 6


def test_no_less_remains_than_retention_bytes() -> None:
    shelf, log = filled(*[batch() for _ in range(11)])
    assert shelf.begins_within(1_000, log) == 3
    assert shelf.begins_within(1_050, log) == 0
    shelf, log = filled(batch(size=1_500))
    assert shelf.begins_within(1_000, log) == 0
