from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.rig import Log, Run
from controller.simulated.log import truncation_offset


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
