from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.rig import Log, Run
from kedge.controller.simulated.log import truncation_offset


def _log(*runs: tuple[int, int]) -> Log:
    """A log of (count, leader epoch) after each other; a record's id is its offset and its epoch."""
    log = Log()
    for count, epoch in runs:
        start = log.end_offset
        log.append([Run(start, count, epoch, epoch * 1_000_000 + start, 10)])
    return log


def test_neighbours_that_go_on_with_each_other_are_one_run() -> None:
    log = Log()
    log.append([Run(0, 5, 1, 100, 10), Run(5, 3, 1, 105, 10), Run(8, 1, 2, 108, 10)])
    assert log.runs == [Run(0, 8, 1, 100, 10), Run(8, 1, 2, 108, 10)]
    assert (log.end_offset, log.size_bytes, log.last_epoch) == (9, 90, 2)


def test_a_run_that_does_not_follow_is_refused() -> None:
    with pytest.raises(ValueError, match="does not follow on offset 4"):
        _log((4, 0)).append([Run(5, 1, 0, 0, 10)])


def test_reading_gives_whole_records_up_to_a_number_of_bytes() -> None:
    log = _log((5, 0), (5, 1))
    assert log.read(3, 35) == [Run(3, 2, 0, 3, 10), Run(5, 1, 1, 1_000_005, 10)]
    assert log.read(3, 9) == []
    assert log.read(10) == []
    assert sum(run.count for run in log.read(0)) == 10


def test_truncating_takes_the_high_watermark_along() -> None:
    log = _log((5, 0), (5, 1))
    log.high_watermark = 9
    assert log.truncate(7) == 3
    assert (log.end_offset, log.high_watermark, log.size_bytes) == (7, 7, 70)
    assert log.truncate(7) == 0
    assert log.truncate(0) == 7
    assert log.runs == []


def test_the_end_of_an_epoch_is_that_of_the_highest_not_above_it() -> None:
    log = _log((5, 1), (3, 4))
    assert log.end_of_epoch(0) == (-1, 0)
    assert log.end_of_epoch(1) == (1, 5)
    assert log.end_of_epoch(3) == (1, 5)
    assert log.end_of_epoch(9) == (4, 8)


@pytest.mark.parametrize(
    "follower,leader,kept",
    [
        (_log(), _log((5, 0)), 0),
        (_log((5, 0)), _log((8, 0)), 5),
        (_log((8, 0)), _log((5, 0)), 5),
        (_log((5, 0), (3, 1)), _log((5, 0), (4, 2)), 5),
        (_log((5, 0), (3, 1), (2, 3)), _log((5, 0), (2, 1), (4, 4)), 7),
        (_log((2, 1)), _log((2, 0), (2, 2)), 0),
    ],
    ids=["empty", "behind", "ahead", "diverged", "missed epochs", "nothing in common"],
)
def test_a_follower_keeps_what_the_leader_has_too(follower: Log, leader: Log, kept: int) -> None:
    assert truncation_offset(follower, leader) == kept


@given(
    common=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), max_size=4),
    mine=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([3, 5, 7])), max_size=3),
    theirs=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([4, 6, 8])), max_size=3),
)
def test_what_is_kept_is_the_common_beginning(
    common: list[tuple[int, int]], mine: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> None:
    beginning = sorted(common, key=lambda run: run[1])
    by_epoch = [sorted(tail, key=lambda run: run[1]) for tail in (mine, theirs)]
    follower, leader = (_log(*beginning, *tail) for tail in by_epoch)
    shared = sum(count for count, _ in beginning)
    follower.truncate(truncation_offset(follower, leader))
    assert follower.end_offset == shared
    assert all(leader.holds(run) for run in follower.runs)


def test_a_log_knows_which_runs_it_holds() -> None:
    log = _log((5, 0), (5, 1))
    assert log.holds(Run(2, 3, 0, 2, 10))
    assert not log.holds(Run(2, 3, 0, 3, 10))
    assert not log.holds(Run(8, 5, 1, 1_000_008, 10))


def test_run_is_cut_to_what_is_between() -> None:
    run = Run(5, 4, 1, 105, 10)
    assert run.between(0, 7) == Run(5, 2, 1, 105, 10)
    assert run.between(6, 8) == Run(6, 2, 1, 106, 10)
    assert run.between(7, 20) == Run(7, 2, 1, 107, 10)
    assert run.between(0, 5) is run.between(9, 20) is run.between(7, 7) is None


def test_what_is_deleted_at_the_beginning_moves_start_and_high_watermark() -> None:
    log = _log((5, 0), (5, 1))
    log.high_watermark = 4
    log.delete_before(7)
    assert log.runs == [Run(7, 3, 1, 1_000_007, 10)]
    assert (log.start_offset, log.high_watermark, log.end_offset, log.size_bytes) == (7, 7, 10, 30)
    log.delete_before(6)
    assert (log.start_offset, log.high_watermark, log.size_bytes) == (7, 7, 30)
    log.delete_before(15)
    assert log.runs == []
    assert (log.start_offset, log.high_watermark, log.end_offset, log.size_bytes) == (15, 15, 15, 0)


def test_log_that_is_truncated_below_its_start_begins_there() -> None:
    log = _log((5, 0), (5, 1))
    log.delete_before(7)
    assert log.truncate(3) == 7
    assert (log.start_offset, log.end_offset, log.high_watermark, log.size_bytes) == (3, 3, 3, 0)


def test_records_are_found_by_their_offsets() -> None:
    log = _log((5, 0))
    log.append([Run(5, 5, 1, 700, 20)])
    log.delete_before(2)
    assert [log.id_at(offset) for offset in (1, 2, 4, 5, 9, 10)] == [None, 2, 4, 700, 704, None]
    assert [log.record_bytes_at(offset) for offset in (4, 5, 9, 10)] == [10, 20, 20, 0]
    assert log.within(0, 4) == [Run(2, 2, 0, 2, 10)]
    assert log.within(3, 7) == [Run(3, 2, 0, 3, 10), Run(5, 2, 1, 700, 20)]
    assert log.within(5, 6) == [Run(5, 1, 1, 700, 20)]
    assert log.within(4, 5) == [Run(4, 1, 0, 4, 10)]
    assert log.within(5, 5) == log.within(10, 20) == []


def test_records_get_other_sizes_where_others_say_so() -> None:
    """Only below the end, and only those that are there; the rest stays as it is."""
    log = _log((6, 0), (4, 1))
    log.delete_before(1)
    log.resize([Run(0, 3, 0, 0, 3), Run(3, 5, 0, 3, 1)], 5)
    assert log.runs == [Run(1, 2, 0, 1, 3), Run(3, 2, 0, 3, 1), Run(5, 1, 0, 5, 10), Run(6, 4, 1, 1_000_006, 10)]
    assert log.size_bytes == 6 + 2 + 10 + 40
    before = list(log.runs)
    log.resize([Run(20, 5, 0, 3, 1)], 30)
    assert (log.runs, log.size_bytes) == (before, 58)
