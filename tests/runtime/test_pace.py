"""How many decisions a commit takes."""

from __future__ import annotations

from controller.runtime.pace import DECISIONS_FEW, DECISIONS_MANY, Pace


class Watch:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic_s(self) -> float:
        return self.seconds


def paced(pace: Pace, watch: Watch, deciding_s: float, commit_s: float) -> int:
    """A full batch that took so long to be decided, and so long to be committed; what the next one may take."""
    decisions = pace.decisions
    pace.begin()
    watch.seconds += deciding_s
    pace.decided()
    watch.seconds += commit_s
    pace.committed(decisions)
    return pace.decisions


def test_a_store_that_answers_at_once_gets_few() -> None:
    """A batch stays short, so that a listing waits shortly."""
    watch = Watch()
    pace = Pace(watch, 2000)
    assert [paced(pace, watch, 0.01, 0.001) for _ in range(3)] == [DECISIONS_FEW] * 3


def test_a_slow_store_gets_as_many_as_are_decided_while_it_commits() -> None:
    """Growing step by step, and never over the limit; falling at once when commits are quick again."""
    watch = Watch()
    pace = Pace(watch, 2000)
    assert [paced(pace, watch, pace.decisions / 32768, 0.015625) for _ in range(4)] == [200, 400, 512, 512]
    assert [paced(pace, watch, 0.001, 1.0) for _ in range(3)] == [1024, 2000, 2000]
    assert paced(pace, watch, 0.2, 0.0) == DECISIONS_FEW


def test_a_clock_that_stands_still_changes_nothing() -> None:
    """A simulation decides the same whatever the machine does."""
    watch = Watch()
    pace = Pace(watch, 2000)
    assert paced(pace, watch, 0.0, 5.0) == DECISIONS_FEW


def test_while_nobody_is_answered_there_are_many_until_somebody_may_be_again() -> None:
    """Whatever the store's latency; and no more than the setting says."""
    for most, many, few in ((2_000, DECISIONS_MANY, DECISIONS_FEW), (7, 7, 7)):
        pace = Pace(Watch(), most)
        pace.hurry()
        assert pace.decisions == many
        pace.too_many(many)
        assert pace.decisions == max(1, many // 2)
        pace.calm()
        assert pace.decisions == few


def test_a_batch_that_is_refused_for_its_size_is_halved() -> None:
    """Until something was committed; and the limit that was set is never exceeded."""
    watch = Watch()
    pace = Pace(watch, 10)
    assert pace.decisions == 10
    pace.too_many(10)
    assert pace.decisions == 5
    assert paced(pace, watch, 0.01, 0.01) in {5, 10}
    pace.too_many(1)
    assert pace.decisions == 1


def test_a_batch_is_full_with_ten_records_for_each_decision_that_it_may_take() -> None:
    """A Decision of many records, as a purge is, counts for as many as would have taken them."""
    pace = Pace(Watch(), 2000)
    assert (pace.decisions, pace.records) == (DECISIONS_FEW, 10 * DECISIONS_FEW)
    pace.too_many(2)
    assert (pace.decisions, pace.records) == (1, 10)  # one is decided in any case


def test_deciding_takes_no_longer_than_somebody_may_wait() -> None:
    """However long a commit takes: 30 ms of deciding, unless nobody is answered meanwhile."""
    watch = Watch()
    pace = Pace(watch, 2000)
    for _ in range(5):
        paced(pace, watch, pace.decisions / 10_000, 1.0)
    assert pace.decisions == 300
    pace.hurry()
    for _ in range(5):
        paced(pace, watch, pace.decisions / 10_000, 1.0)
    assert pace.decisions == 2000
