"""What ends a group is decided after all of its parts, whatever happens to them in between."""

from __future__ import annotations

from collections import Counter

import pytest

from kedge.controller.model.events import DeathDone, Group, PartitionDue, Reason
from kedge.controller.runtime.jobs import Job, Parts, jobs_of
from kedge.controller.runtime.term import Term
from tests.runtime.world import Cluster
from tests.verify.explore import run_seed

SEEDS = (8, 12, 15, 21)
NAMES = [f"t{number}" for number in range(8)]


def died(partition: int) -> PartitionDue:
    return PartitionDue(0, "t", partition, Reason.DIED)


def done(broker: int) -> DeathDone:
    return DeathDone(0, broker, 1)


def test_jobs_stand_in_the_order_of_their_events_and_an_end_is_too_early_until_all_parts_are_settled() -> None:
    first, second, end = jobs_of([Group((died(0), died(1)), done(1))], "broker gone")
    assert [job.event for job in (first, second, end)] == [died(0), died(1), done(1)]
    assert end.is_too_early()
    first.mark_decided()
    assert end.is_too_early()
    second.mark_decided()
    assert not end.is_too_early()
    second.mark_decided(-1)
    assert end.is_too_early()


def test_an_event_that_two_groups_name_is_one_job_and_both_wait_for_it() -> None:
    both, one = died(0), died(1)
    jobs = jobs_of([both, one, Group((both, one), done(1)), Group((both,), done(2))], None)
    assert [job.event for job in jobs] == [both, one, done(1), done(2)]
    jobs[0].mark_decided()
    assert [job.is_too_early() for job in jobs] == [False, False, True, False]


def test_a_group_that_ends_another_one_waits_for_its_parts_and_has_parts_of_its_own() -> None:
    jobs = jobs_of([Group((died(0),), Group((died(1),), done(1)))], None)
    assert [job.is_too_early() for job in jobs] == [False, True, True]
    jobs[0].mark_decided()
    assert [job.is_too_early() for job in jobs] == [False, False, True]


def test_a_group_without_parts_ends_at_once() -> None:
    (job,) = jobs_of([Group((), done(1))], None)
    assert not job.is_too_early()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """After every batch what is left of each group is held against what waits. Gives the groups that were seen."""
    seen: set[int] = set()
    decide = Term._decide  # noqa: SLF001

    def held(term: Term) -> None:
        decide(term)
        work = term.work
        waiting: list[Job] = [*work.first, *work.fresh, *work.expanded, *work.delayed]
        left = Counter(id(parts) for job in waiting for parts in job.part_of)
        known: dict[int, Parts] = {id(parts): parts for job in waiting for parts in job.part_of}
        known.update((id(job.after), job.after) for job in waiting if job.after is not None)
        assert {name: parts.left for name, parts in known.items()} == {name: left[name] for name in known}
        seen.update(known)

    monkeypatch.setattr(Term, "_decide", held)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_of_a_group_is_what_waits(seed: int, counted: set[int]) -> None:
    """Parts whose commit met a conflict are left again."""
    assert run_seed(seed).error is None
    assert counted


def dying(**options: int) -> Cluster:
    """Broker 3 of six is in sync with many partitions, and goes."""
    cluster = Cluster(options=options)
    cluster.join(1, 2, 3, 4, 5, 6)
    for name in NAMES:  # one after the other: no batch is too large before the death
        cluster.create(name, *[(1, 2, 3)] * 10)
    cluster.leave(3)
    return cluster


def test_parts_that_did_not_fit_into_a_commit_are_left(counted: set[int]) -> None:
    cluster = dying(commit_bytes_max=6_000)
    assert all(3 not in cluster.partition(name, number).isr for name in NAMES for number in range(10))
    assert counted
