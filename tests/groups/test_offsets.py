"""Offsets: committed, read, deleted, and what of them survives."""

from __future__ import annotations

import pytest

from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import Answered, FetchedOffsets, GroupError, OffsetErrors, State
from kedge.controller.groups.requests import Commit, DeleteGroup, DeleteOffsets, Describe, FetchOffsets
from kedge.controller.model.values import TopicPartition
from tests.groups.driving import TP, Driven

OTHER = TopicPartition("payments", 3)


def test_member_commits_in_its_generation() -> None:
    driven = Driven()
    ids = driven.stable("a")
    assert driven.commit(5, generation=1, member_id=ids["a"]) is GroupError.NONE
    assert driven.commit(6, generation=2, member_id=ids["a"]) is GroupError.ILLEGAL_GENERATION
    assert driven.commit(6, generation=1, member_id="other") is GroupError.UNKNOWN_MEMBER_ID
    assert driven.commit(6) is GroupError.UNKNOWN_MEMBER_ID
    assert driven.committed() == 5
    assert driven.reloaded().committed() == 5


def test_offset_counts_when_it_is_written() -> None:
    driven = Driven()
    driven.commit(1)
    driven.holds = True
    assert driven.commit(2, ticket="held") is None
    assert driven.committed() == 1
    driven.settle()
    assert (driven.heard["held"], driven.committed()) == (OffsetErrors({TP: GroupError.NONE}), 2)


def test_later_commit_stays_whichever_is_written_first() -> None:
    driven = Driven()
    driven.holds = True
    driven.commit(5, ticket="first")
    driven.commit(4, ticket="second")
    driven.under_way.reverse()
    driven.settle()
    assert driven.committed() == 4


def test_offset_that_is_not_written_does_not_count() -> None:
    driven = Driven()
    driven.commit(1)
    driven.holds = True
    driven.commit(2, ticket="held")
    driven.settle(GroupError.COORDINATOR_NOT_AVAILABLE)
    assert driven.heard["held"] == OffsetErrors({TP: GroupError.COORDINATOR_NOT_AVAILABLE})
    assert driven.committed() == 1


def test_client_outside_of_the_protocol_commits_to_empty_group() -> None:
    driven = Driven()
    for generation in (3, 0):
        assert driven.commit(7, generation=generation) is GroupError.ILLEGAL_GENERATION
        assert driven.coordinator.listed() == []
    assert driven.commit(7) is GroupError.NONE
    assert driven.commit(9, generation=0) is GroupError.UNKNOWN_MEMBER_ID
    assert driven.commit(8, tp=OTHER) is GroupError.NONE
    everything = driven.reloaded().ask(FetchOffsets("g", None)).offsets
    assert {tp: found.offset for tp, found in everything.items()} == {TP: 7, OTHER: 8}


def test_member_may_commit_while_others_join() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.join("b")
    assert driven.commit(5, generation=1, member_id=ids["a"]) is GroupError.NONE
    driven.join("a", ids["a"])
    assert driven.commit(6, generation=2, member_id=ids["a"]) is GroupError.REBALANCE_IN_PROGRESS


def test_metadata_of_an_offset_are_bounded() -> None:
    driven = Driven(metadata_bytes_max=3)
    long = Commit("g", {TP: Committed(1, metadata="four"), OTHER: Committed(1, metadata="tri")})
    assert driven.ask(long).errors == {TP: GroupError.OFFSET_METADATA_TOO_LARGE, OTHER: GroupError.NONE}
    alone = Commit("g", {TP: Committed(1, metadata="vier")})
    assert driven.ask(alone).errors == {TP: GroupError.OFFSET_METADATA_TOO_LARGE}


def test_nothing_is_committed_in_an_unknown_group() -> None:
    assert Driven().ask(FetchOffsets("g", (TP,))) == FetchedOffsets({TP: None})
    assert Driven().ask(FetchOffsets("g", None)) == FetchedOffsets({})


# --- deleting


def test_empty_group_is_deleted_with_its_offsets() -> None:
    driven = Driven()
    ids = driven.stable("a")
    driven.commit(5, generation=1, member_id=ids["a"])
    assert driven.ask(DeleteGroup("g")) == Answered(GroupError.NON_EMPTY_GROUP)
    driven.leave(ids["a"])
    assert driven.ask(DeleteGroup("g")) == Answered(GroupError.NONE)
    assert driven.ask(DeleteGroup("g")) == Answered(GroupError.GROUP_ID_NOT_FOUND)
    assert driven.ask(Describe("g")).state is State.DEAD
    assert driven.reloaded().coordinator.listed() == []


def test_group_is_not_deleted_if_that_cannot_be_written() -> None:
    driven = Driven()
    driven.commit(5)
    driven.holds = True
    assert driven.ask(DeleteGroup("g"), "held") is None
    assert driven.join("a").error is GroupError.COORDINATOR_NOT_AVAILABLE
    driven.settle(GroupError.COORDINATOR_NOT_AVAILABLE)
    assert driven.heard["held"] == Answered(GroupError.COORDINATOR_NOT_AVAILABLE)
    assert driven.committed() == 5


def test_offset_under_way_is_deleted_with_its_group() -> None:
    driven = Driven()
    driven.commit(5)
    driven.holds = True
    driven.commit(6, tp=OTHER, ticket="held")
    driven.ask(DeleteGroup("g"), "deleted")
    driven.settle()
    assert driven.heard["deleted"] == Answered(GroupError.NONE)
    assert driven.reloaded().coordinator.listed() == []


def test_offsets_of_subscribed_topics_are_not_deleted() -> None:
    driven = Driven()
    ids = driven.stable("a")
    for tp in (TP, OTHER):
        driven.commit(5, tp=tp, generation=1, member_id=ids["a"])
    errors = driven.ask(DeleteOffsets("g", (TP, OTHER))).errors
    assert errors == {TP: GroupError.GROUP_SUBSCRIBED_TO_TOPIC, OTHER: GroupError.NONE}
    assert (driven.committed(), driven.committed(OTHER), driven.reloaded().committed(OTHER)) == (5, None, None)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_offsets_of_a_group_that_was_empty_are_deleted_while_its_first_member_joins(is_loaded: bool) -> None:
    """No member subscribes to anything yet, in Kafka as well."""
    driven = Driven(initial_rebalance_delay_ms=1_000)
    driven.join("a")
    driven.wait(1_000)
    driven.sync("a", "a-id1", 1, a=b"x")
    driven.commit(5, generation=1, member_id="a-id1")
    driven.leave("a-id1")
    if is_loaded:
        driven = Driven(driven.log, initial_rebalance_delay_ms=1_000)
    driven.join("b")
    assert driven.coordinator.groups["g"].state is State.PREPARING
    assert driven.ask(DeleteOffsets("g", (TP,))).errors == {TP: GroupError.NONE}
    assert driven.committed() is None


def test_offsets_of_an_empty_group_are_deleted() -> None:
    driven = Driven()
    driven.commit(5)
    assert driven.ask(DeleteOffsets("g", (TP, OTHER))).errors == {TP: GroupError.NONE, OTHER: GroupError.NONE}
    assert driven.committed() is None
    assert driven.ask(DeleteOffsets("other", (TP,))) == Answered(GroupError.GROUP_ID_NOT_FOUND)


def test_partitions_that_do_not_exist_are_refused_and_the_others_deleted() -> None:
    """Also where none of the others has an offset, so that nothing is written."""
    driven = Driven()
    unknown = TopicPartition("gone", 1)
    refused = {unknown: GroupError.UNKNOWN_TOPIC_OR_PARTITION}
    for tp in (TP, OTHER):
        driven.commit(5, tp=tp)
    written = len(driven.log)
    for count in (1, 0):
        answer = driven.ask(DeleteOffsets("g", (TP, unknown), frozenset({unknown})))
        assert answer == OffsetErrors({TP: GroupError.NONE, **refused})
        written += count
        assert len(driven.log) == written
    assert (driven.committed(), driven.committed(OTHER)) == (None, 5)


def test_offset_that_is_committed_while_another_one_is_deleted_stays() -> None:
    driven = Driven()
    driven.commit(5)
    driven.holds = True
    driven.ask(DeleteOffsets("g", (TP,)), "deleted")
    driven.commit(6, ticket="held")
    driven.settle()
    assert driven.heard["deleted"] == OffsetErrors({TP: GroupError.NONE})
    assert driven.committed() == 6
    driven.ask(DeleteOffsets("g", (TP,)), "again")
    driven.settle(GroupError.COORDINATOR_NOT_AVAILABLE)
    assert driven.heard["again"] == OffsetErrors({TP: GroupError.COORDINATOR_NOT_AVAILABLE})
    assert driven.committed() == 6


def test_partitions_that_do_not_exist_are_not_committed() -> None:
    driven = Driven()
    unknown = TopicPartition("gone", 1)
    asked = Commit("g", {TP: Committed(1), unknown: Committed(2)}, unknown=frozenset({unknown}))
    assert driven.ask(asked) == OffsetErrors({unknown: GroupError.UNKNOWN_TOPIC_OR_PARTITION, TP: GroupError.NONE})
    assert driven.ask(FetchOffsets("g", None)).offsets.keys() == {TP}


def test_offset_is_read_as_it_was_committed() -> None:
    """With the leader epoch and the metadata of the client, and the coordinator's time where the client has none."""
    driven = Driven()
    driven.ask(Commit("g", {TP: Committed(1, 7, "mine"), OTHER: Committed(2, commit_ms=33)}))
    assert driven.ask(FetchOffsets("g", (OTHER, TP))).offsets == {
        OTHER: Committed(2, commit_ms=33),
        TP: Committed(1, 7, "mine", driven.now_ms),
    }


def test_offsets_of_other_kinds_of_groups_are_kept_while_it_has_members() -> None:
    driven = Driven()
    driven.stable("a")
    driven.coordinator.groups["g"].protocol_type = "connect"
    assert driven.ask(DeleteOffsets("g", (TP,))) == Answered(GroupError.NON_EMPTY_GROUP)


def test_offsets_of_a_former_topic_are_forgotten_and_later_ones_stay() -> None:
    driven = Driven()
    driven.ask(Commit("g", {TP: Committed(1, commit_ms=10)}))
    driven.forget({TP: 20})
    assert driven.committed() is None
    driven.ask(Commit("g", {TP: Committed(2, commit_ms=20)}))
    driven.forget({TP: 20})
    assert driven.committed() == 2
