"""The legacy key that a takeover finds: begun, not begun, done, or written without a leader."""

from __future__ import annotations

import pytest

from kedge import Settings
from tests.runtime.plans import KEY, Told, plan


def _no_leader_left(told: Told) -> None:
    for controller in told.cluster.controllers:
        controller.close()
    told.cluster.controllers.clear()


@pytest.mark.checklist(119, 120)
def test_key_written_without_a_leader_wins_over_t_and_the_rest_continues() -> None:
    told = Told()
    told.cluster.done(told.cluster.move([4, 5], "t", 0))
    told.cluster.done(told.cluster.move([4, 5], "t", 1))
    _no_leader_left(told)
    told.submit({("t", 0): [5, 6]}, run=False)
    told.cluster.another(2)
    told.cluster.run()
    assert (told.target(0), told.target(1)) == ([5, 6], [4, 5])
    told.finish(0, 1, 2, 3, 5, 6)
    assert told.named() is None
    told.finish(1, 1, 2, 3, 4, 5)
    assert told.cluster.controller.describe().reassigning_partitions == 0


def test_the_journal_says_with_how_many_entries_a_term_begins() -> None:
    told = Told()
    told.submit({("t", 0): [4, 5], ("t", 1): [4, 5]})
    told.fail_over()
    assert [row["detail"].get("legacy_entries") for row in told.rows("Takeover")] == [None, 2]
    assert [row["detail"]["entries"] for row in told.rows("LegacySubmitted")] == [2]


@pytest.mark.parametrize("commits", range(1, 12))
def test_a_crash_in_the_middle_of_a_plan_loses_none_of_it(commits: int) -> None:
    """One Decision per commit; the next controller continues from the key."""
    told = Told(partitions=8, settings=Settings(commit_decisions_max=1))
    told.submit({("t", p): [4, 5] if p % 2 else [2, 1, 3] for p in range(8)}, run=False)
    for _ in range(commits):
        told.cluster.controller.poll_once()
    told.cluster.controllers.clear()
    told.cluster.server.expire(told.cluster.store.session.session_id)
    told.cluster.another(2)
    told.cluster.run()
    assert [told.target(p) for p in range(8)] == [None, [4, 5]] * 4
    assert {told.cluster.partition("t", p).replicas for p in range(0, 8, 2)} == {(2, 1, 3)}
    told.cluster.wait(1_100)
    assert set(told.named() or ()) == {("t", p) for p in range(1, 8, 2)}


@pytest.mark.full
def test_a_plan_as_large_as_a_key_can_hold_is_obeyed_in_many_commits_and_survives_a_crash() -> None:
    """14,000 entries: as many events, none of which is split, and a controller that dies between them."""
    count = 14_000
    told = Told(partitions=1)
    told.cluster.create("m", *[(1, 2, 3)] * count)
    value = plan({("m", p): [1, 2, 4] for p in range(count)})
    told.cluster.put(KEY, value)
    for _ in range(20):
        told.cluster.controller.poll_once()
    begun = sum(b"targetReplicas" in v for v in told.cluster.keys("/brokers/topics/m").values())
    assert 0 < begun < count
    told.cluster.controllers.clear()
    told.cluster.server.expire(told.cluster.store.session.session_id)
    told.cluster.another(2)
    told.cluster.run()
    assert told.cluster.controller.describe().reassigning_partitions == count
    assert len(told.named() or ()) == count
