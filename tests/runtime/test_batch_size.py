"""How many decisions a commit takes."""

from __future__ import annotations

from kedge.controller.runtime.batch_size import DECISIONS_FEW, BatchSize


class Watch:
    """A clock that advances by a call."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic_s(self) -> float:
        return self.seconds


def paced(batch_size: BatchSize, watch: Watch, deciding_s: float, commit_s: float) -> int:
    """A full batch that took so long to be decided, and so long to be committed; what the next one may take."""
    decisions = batch_size.decisions
    batch_size.begin()
    watch.seconds += deciding_s
    batch_size.decided()
    watch.seconds += commit_s
    batch_size.committed(decisions)
    return batch_size.decisions


def test_a_store_that_answers_at_once_gets_few() -> None:
    """A batch stays short, so that a listing waits shortly."""
    watch = Watch()
    batch_size = BatchSize(watch, 2000)
    assert [paced(batch_size, watch, 0.01, 0.001) for _ in range(3)] == [DECISIONS_FEW] * 3


def test_a_slow_store_gets_as_many_as_are_decided_while_it_commits() -> None:
    """Growing step by step, and never over the limit; falling at once when commits are quick again."""
    watch = Watch()
    batch_size = BatchSize(watch, 2000)
    assert [paced(batch_size, watch, batch_size.decisions / 32768, 0.015625) for _ in range(4)] == [200, 400, 512, 512]
    assert [paced(batch_size, watch, 0.001, 1.0) for _ in range(3)] == [1024, 2000, 2000]
    assert paced(batch_size, watch, 0.2, 0.0) == DECISIONS_FEW


def test_a_clock_that_stands_still_changes_nothing() -> None:
    """A simulation decides the same whatever the machine does."""
    watch = Watch()
    batch_size = BatchSize(watch, 2000)
    assert paced(batch_size, watch, 0.0, 5.0) == DECISIONS_FEW


def test_a_batch_that_is_refused_for_its_size_is_halved() -> None:
    """Until something was committed; and the limit that was set is never exceeded."""
    watch = Watch()
    batch_size = BatchSize(watch, 10)
    assert batch_size.decisions == 10
    batch_size.too_many(10)
    assert batch_size.decisions == 5
    assert paced(batch_size, watch, 0.01, 0.01) in {5, 10}
    batch_size.too_many(1)
    assert batch_size.decisions == 1


def test_a_batch_is_full_with_ten_records_for_each_decision_that_it_may_take() -> None:
    """A Decision of many records, as a purge is, counts for as many as would have taken them."""
    batch_size = BatchSize(Watch(), 2000)
    assert (batch_size.decisions, batch_size.records) == (DECISIONS_FEW, 10 * DECISIONS_FEW)
    batch_size.too_many(2)
    assert (batch_size.decisions, batch_size.records) == (1, 10)  # one is decided in any case


def test_deciding_takes_no_longer_than_a_caller_may_wait() -> None:
    """However long a commit takes: 30 ms of deciding."""
    watch = Watch()
    batch_size = BatchSize(watch, 2000)
    for _ in range(5):
        paced(batch_size, watch, batch_size.decisions / 10_000, 1.0)
    assert batch_size.decisions == 300
