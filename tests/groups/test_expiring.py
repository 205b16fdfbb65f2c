"""Committed offsets that expire, and groups of which nothing remains."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord, Record, StoredGroup
from kedge.controller.groups.replies import GroupError, State
from kedge.controller.groups.requests import Describe
from kedge.controller.model.values import TopicPartition
from tests.groups.driving import TP, Driven

KEPT_MS: Final = 1_000_000
CHECK_MS: Final = 10_000
OTHER: Final = TopicPartition("payments", 3)


def driven(**settings: Any) -> Driven:
    return Driven(offsets_retention_ms=KEPT_MS, offsets_check_ms=CHECK_MS, **settings)


def test_offsets_of_group_expire_when_it_was_empty_for_long() -> None:
    """Counted from the end of its last member, not from the commit."""
    tried = driven()
    ids = tried.stable("a")
    tried.commit(5, generation=1, member_id=ids["a"])
    for _ in range(KEPT_MS * 9 // 10 // 5_000):
        tried.wait(5_000)
        assert tried.beat(ids["a"], 1) is GroupError.NONE
    tried.leave(ids["a"])
    tried.wait(KEPT_MS - CHECK_MS)
    assert tried.committed() == 5
    tried.wait(2 * CHECK_MS)
    assert tried.committed() is None
    assert tried.log[-2:] == [OffsetRecord("g", TP, None), GroupRecord("g", None)]
    assert "g" not in tried.coordinator.groups
    assert tried.reloaded().committed() is None


def test_offsets_of_group_with_members_stay_while_they_subscribe() -> None:
    tried = driven()
    ids = tried.stable("a")
    for tp in (TP, OTHER):
        tried.commit(5, tp=tp, generation=1, member_id=ids["a"])
    for _ in range(2 * KEPT_MS // 5_000):
        tried.wait(5_000)
        assert tried.beat(ids["a"], 1) is GroupError.NONE
    assert (tried.committed(), tried.committed(OTHER)) == (5, None)


def test_nothing_expires_during_a_rebalance() -> None:
    """What the members will subscribe to is not known; once they are there again, it is."""
    tried = driven()
    ids = tried.stable("a")
    tried.commit(5, tp=OTHER, generation=1, member_id=ids["a"])
    for _ in range(KEPT_MS // 5_000 - 1):
        tried.wait(5_000)
        tried.beat(ids["a"], 1)
    tried.join("b")
    for _ in range(4):
        tried.wait(5_000)
        tried.beat(ids["a"], 1)
    assert tried.committed(OTHER) == 5
    answer = tried.join("a", ids["a"])
    tried.sync("b", "b-id2", answer.generation)
    tried.sync("a", ids["a"], answer.generation, a=b"x")
    tried.wait(9_000)
    tried.beat(ids["a"], answer.generation)
    tried.beat("b-id2", answer.generation)
    tried.wait(CHECK_MS - 9_000)
    assert tried.committed(OTHER) is None


def test_nothing_expires_where_a_subscription_cannot_be_read() -> None:
    tried = driven()
    ids = tried.stable("a", protocols=[("range", b"")])
    tried.commit(5, tp=OTHER, generation=1, member_id=ids["a"])
    for _ in range(2 * KEPT_MS // 5_000):
        tried.wait(5_000)
        assert tried.beat(ids["a"], 1) is GroupError.NONE
    assert tried.committed(OTHER) == 5


def test_offsets_of_clients_without_protocol_expire_one_by_one() -> None:
    tried = driven()
    tried.commit(5)
    tried.wait(KEPT_MS // 2)
    tried.commit(6, tp=OTHER)
    tried.wait(KEPT_MS // 2 + CHECK_MS)
    assert (tried.committed(), tried.committed(OTHER)) == (None, 6)
    tried.commit(7, tp=OTHER)
    tried.wait(KEPT_MS - CHECK_MS)
    assert tried.committed(OTHER) == 7
    tried.wait(2 * CHECK_MS)
    assert tried.committed(OTHER) is None
    assert not tried.coordinator.groups


def test_new_coordinator_counts_from_when_the_group_became_empty() -> None:
    tried = driven()
    ids = tried.stable("a")
    tried.commit(5, generation=1, member_id=ids["a"])
    tried.leave(ids["a"])
    tried.wait(KEPT_MS - CHECK_MS)
    later = Driven(tried.log, offsets_retention_ms=KEPT_MS, offsets_check_ms=CHECK_MS)
    later.wait(tried.now_ms - later.now_ms)
    assert later.committed() == 5
    later.wait(2 * CHECK_MS)
    assert later.committed() is None


@pytest.mark.parametrize("state_ms, expires_ms", [(-1, 500_000 + KEPT_MS), (0, KEPT_MS), (700_000, 700_000 + KEPT_MS)])
def test_offsets_of_group_count_from_their_commit_where_the_time_at_which_it_became_empty_is_missing(
    state_ms: int, expires_ms: int
) -> None:
    """Kafka before 2.1 did not write it; -1 stands there."""
    group = StoredGroup("consumer", 2, None, None, state_ms)
    records: list[Record] = [GroupRecord("g", group), OffsetRecord("g", TP, Committed(5, commit_ms=500_000))]
    tried = Driven(records, offsets_retention_ms=KEPT_MS, offsets_check_ms=CHECK_MS)
    tried.wait(expires_ms - tried.now_ms - 1)
    assert tried.committed() == 5
    tried.wait(CHECK_MS)
    assert tried.committed() is None


def test_offset_that_is_being_written_does_not_expire() -> None:
    tried = driven()
    tried.commit(5)
    tried.holds = True
    tried.wait(KEPT_MS - 1_000)
    tried.commit(6, ticket="held")
    tried.wait(CHECK_MS)
    tried.settle()
    assert tried.committed() == 6


def test_empty_group_whose_first_offset_is_being_written_stays() -> None:
    tried = driven()
    tried.leave(*tried.stable("a").values())
    tried.holds = True
    tried.commit(6, ticket="held")
    tried.wait(CHECK_MS)
    tried.settle()
    assert (tried.committed(), tried.ask(Describe("g")).protocol_type) == (6, "consumer")
    assert GroupRecord("g", None) not in tried.log


def test_empty_group_without_offsets_goes_at_the_next_check() -> None:
    tried = driven()
    tried.leave(*tried.stable("a").values())
    assert tried.ask(Describe("g")).state is State.EMPTY
    tried.wait(CHECK_MS)
    assert tried.ask(Describe("g")).state is State.DEAD
    assert tried.log[-1] == GroupRecord("g", None)


def test_member_that_is_to_join_keeps_its_group() -> None:
    tried = driven()
    asked = tried.join("a", requires_member_id=True, session_timeout_ms=2 * CHECK_MS)
    tried.wait(CHECK_MS)
    tried.join("a", asked.member_id, session_timeout_ms=2 * CHECK_MS)
    assert tried.heard["a"].generation == 1
