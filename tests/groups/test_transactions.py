"""Offsets that are committed with a transaction: they are valid when that is committed."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.coordinators.records import Producer
from kedge.controller.groups.records import Committed, OffsetRecord
from kedge.controller.groups.requests import Commit, DeleteGroup, DeleteOffsets, FetchOffsets
from kedge.controller.model.values import TopicPartition
from tests.groups.driving import TP, Driven

OTHER = TopicPartition("orders", 1)
NONE, UNSTABLE = CoordinatorError.NONE, "unstable"


def commit(driven: Driven, offset: int, producer_id: int = -1, **fields: Any) -> Any:
    producer = None if producer_id < 0 else Producer(producer_id, 0)
    answer = driven.ask(Commit("g", {TP: Committed(offset)}, producer=producer, **fields))
    return None if answer is None else answer.errors[TP]


def end(driven: Driven, producer_id: int, *, is_commit: bool = True) -> None:
    driven.coordinator.transaction_ended(producer_id, driven.now_ms, is_commit=is_commit)


def stable(driven: Driven) -> Any:
    found = driven.ask(FetchOffsets("g", (TP,), requires_stable=True))
    committed = found.offsets[TP]
    return UNSTABLE if TP in found.unstable else None if committed is None else committed.offset


def test_offset_is_valid_when_the_transaction_is_committed() -> None:
    driven = Driven()
    assert commit(driven, 5, 7) is NONE
    assert (driven.committed(), stable(driven)) == (None, UNSTABLE)
    end(driven, 7)
    assert (driven.committed(), stable(driven)) == (5, 5)


def test_offset_of_an_aborted_transaction_is_dropped_with_its_memory() -> None:
    driven = Driven()
    commit(driven, 3)
    before = driven.coordinator.held.bytes
    commit(driven, 5, 7)
    assert driven.coordinator.held.bytes > before
    end(driven, 7, is_commit=False)
    assert (stable(driven), driven.coordinator.held.bytes) == (3, before)


def test_offset_of_a_transaction_replaces_no_later_one() -> None:
    driven = Driven()
    commit(driven, 5, 7)
    commit(driven, 9)
    end(driven, 7)
    assert driven.committed() == 9


def test_later_transaction_counts_whichever_ends_first() -> None:
    driven = Driven()
    commit(driven, 10, 7)
    commit(driven, 20, 8)
    end(driven, 8)
    end(driven, 7)
    assert driven.committed() == 20


@pytest.mark.parametrize("first", [7, 8])
def test_restored_transactions_count_in_the_order_of_the_log(first: int) -> None:
    driven = Driven([OffsetRecord("g", TP, Committed(10), 7), OffsetRecord("g", TP, Committed(20), 8)])
    for producer_id in (first, 15 - first):
        end(driven, producer_id)
    assert driven.committed() == 20


def test_offset_on_its_way_is_not_stable() -> None:
    """Its transaction may be committed before another member reads where the group is."""
    driven = Driven()
    driven.holds = True
    assert commit(driven, 5, 7) is None
    assert stable(driven) is UNSTABLE


def test_group_with_an_open_transaction_does_not_expire() -> None:
    driven = Driven(offsets_retention_ms=1_000, offsets_check_ms=100)
    commit(driven, 3)
    commit(driven, 5, 7)
    driven.wait(5_000)
    assert (driven.committed(), "g" in driven.coordinator.groups) == (3, True)
    end(driven, 7)
    driven.wait(5_000)
    assert "g" not in driven.coordinator.groups


def test_offset_for_a_topic_that_is_gone_is_not_committed() -> None:
    driven = Driven()
    commit(driven, 5, 7)
    driven.forget({TP: driven.now_ms + 1})
    end(driven, 7)
    assert driven.committed() is None


def test_deleted_offset_is_not_committed_again() -> None:
    driven = Driven()
    commit(driven, 5, 7)
    assert driven.ask(DeleteOffsets("g", (TP,))).errors == {TP: NONE}
    end(driven, 7)
    assert driven.committed() is None
    commit(driven, 6, 8)
    assert driven.ask(DeleteGroup("g")).error is NONE
    assert driven.log[-2:] == [OffsetRecord("g", TP, None), driven.log[-1]]


def test_old_producers_name_no_member_of_the_group() -> None:
    driven = Driven()
    ids = driven.stable("a")
    assert commit(driven, 5, 7) is NONE
    assert commit(driven, 5, 7, generation=0, member_id=ids["a"]) is CoordinatorError.ILLEGAL_GENERATION
    assert commit(driven, 5, 7, generation=1, member_id="stranger") is CoordinatorError.UNKNOWN_MEMBER_ID
