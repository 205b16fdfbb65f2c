"""What the logs of a partition say of producers and of their transactions."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.model.logs import Aborted, Batch, EndMarker, Guard, LogError, StoredBatch
from kedge.controller.rig import Log, Run
from kedge.controller.runtime.turns import finished
from kedge.controller.server.producers import PRODUCERS_MAX, Producers
from kedge.controller.server.record_store import RecordStore
from tests.rig.test_live_shelf import batch, filled


def test_a_batch_that_is_sent_again_is_found_and_one_that_is_out_of_order_is_refused() -> None:
    first, second = (
        batch(producer_id=7, producer_epoch=0, base_sequence=0),
        batch(producer_id=7, producer_epoch=0, base_sequence=3),
    )
    shelf, log = filled(first, second)
    found = shelf.producers.sent_before(first, log)
    assert not isinstance(found, LogError)
    assert found is not None
    assert found.base_offset == 0
    due = batch(producer_id=7, producer_epoch=0, base_sequence=6)
    assert shelf.producers.sent_before(due, log) is None
    missing = batch(producer_id=7, producer_epoch=0, base_sequence=9)
    assert shelf.producers.sent_before(missing, log) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert shelf.producers.sent_before(batch(producer_id=8, producer_epoch=0, base_sequence=9), log) is None


def test_the_sequences_of_a_new_epoch_are_not_those_of_an_older_one() -> None:
    """A producer that starts over after an error: what it sends then was not sent before."""
    older, newer = (
        [batch(producer_id=7, producer_epoch=epoch, base_sequence=sequence) for sequence in (0, 3)] for epoch in (0, 1)
    )
    shelf, log = filled(*older, newer[0])
    assert shelf.producers.sent_before(newer[1], log) is None


def test_a_leader_that_lacks_a_batch_takes_it_again() -> None:
    first, second = (
        batch(producer_id=7, producer_epoch=0, base_sequence=0),
        batch(producer_id=7, producer_epoch=0, base_sequence=3),
    )
    shelf, log = filled(first, second)
    log.truncate(5)
    assert shelf.producers.sent_before(second, log) is None


def test_a_newer_process_of_a_producer_begins_at_0_and_fences_the_older_one() -> None:
    shelf, log = filled(batch(producer_id=7, producer_epoch=1, base_sequence=0))
    older = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    assert shelf.producers.sent_before(older, log) is LogError.INVALID_PRODUCER_EPOCH
    assert shelf.producers.sent_before(batch(producer_id=7, producer_epoch=2, base_sequence=0), log) is None
    begun = batch(producer_id=7, producer_epoch=2, base_sequence=3)
    assert shelf.producers.sent_before(begun, log) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_begin_again_after_the_highest() -> None:
    shelf, log = filled(batch(producer_id=7, producer_epoch=0, base_sequence=2**31 - 2))
    assert shelf.producers.sent_before(batch(producer_id=7, producer_epoch=0, base_sequence=1), log) is None


def test_so_many_producers_are_remembered() -> None:
    many = [batch(1, 1, producer_id=i, producer_epoch=0, base_sequence=0) for i in range(PRODUCERS_MAX + 1)]
    shelf, log = filled(*many)
    assert shelf.producers.sent_before(many[0], log) is None
    assert shelf.producers.sent_before(many[1], log) is not None


# --- transactions


def data(producer: int, sequence: int = 0, *, epoch: int = 0, records: int = 3) -> Batch:
    named = {"producer_id": producer, "producer_epoch": epoch, "base_sequence": sequence}
    return batch(records, **named, is_transactional=True)


def end(producer: int, *, commits: bool = True, epoch: int = 0, coordinator: int = 0) -> Batch:
    named: dict[str, Any] = {
        "producer_id": producer,
        "producer_epoch": epoch,
        "marker": EndMarker(commits, coordinator),
    }
    return batch(1, **named, is_transactional=True)


def append(shelf: RecordStore, log: Log, *batches: Batch) -> None:
    """Appended by the leader of the log, and not committed."""
    for one in batches:
        log.append(shelf.put(one, log, 0))


def copied(log: Log, *, below: int) -> Log:
    """The log of a follower."""
    follower = Log()
    follower.append(Run(run.start, run.count, 0, run.first_id, run.record_bytes) for run in log.read(0))
    follower.truncate(below)
    follower.high_watermark = follower.end_offset
    return follower


def test_the_last_stable_offset_is_where_the_first_open_transaction_begins() -> None:
    shelf, log = filled(batch(), data(7), data(8), data(7, 3), end(8))
    assert shelf.producers.stable_offset(log) == 3
    append(shelf, log, end(7))
    log.high_watermark = log.end_offset
    assert shelf.producers.stable_offset(log) == log.end_offset


def test_transaction_is_over_when_its_marker_is_below_the_high_watermark() -> None:
    shelf, log = filled(data(7), data(8), end(8), end(7))
    for high_watermark, stable in ((1, 0), (7, 0), (8, 8)):
        log.high_watermark = high_watermark
        assert shelf.producers.stable_offset(log) == stable
    shelf, log = filled(data(7), end(7), data(8), end(8))
    log.high_watermark = 7
    assert shelf.producers.stable_offset(log) == 4


def test_aborted_transactions_are_those_with_records_in_what_was_read() -> None:
    shelf, log = filled(data(7), data(8), end(7, commits=False), end(8), data(7, 3), end(7, commits=False), batch())
    assert shelf.producers.aborted(log, 0, 3) == (Aborted(7, 0),)
    assert shelf.producers.aborted(log, 0, 20) == (Aborted(7, 0), Aborted(7, 8))
    assert shelf.producers.aborted(log, 6, 9) == (Aborted(7, 0), Aborted(7, 8))  # the marker at 6 belongs to the first
    assert shelf.producers.aborted(log, 7, 8) == ()
    assert shelf.producers.aborted(log, 12, 20) == ()


def test_an_aborted_transaction_around_others_is_found_from_any_of_its_offsets() -> None:
    shelf, log = filled(data(7), data(8), end(8), data(8, 3), end(8), end(7, commits=False))
    for since in range(log.end_offset):
        assert shelf.producers.aborted(log, since, since + 1) == (Aborted(7, 0),)


def test_new_leader_without_the_marker_has_an_open_transaction_and_takes_another_marker() -> None:
    shelf, log = filled(data(7), end(7, commits=False))
    follower = copied(log, below=3)
    assert shelf.producers.stable_offset(follower) == 0
    append(shelf, follower, end(7))
    follower.high_watermark = follower.end_offset
    assert shelf.producers.stable_offset(follower) == 4
    assert shelf.producers.aborted(follower, 0, 4) == ()
    assert shelf.producers.aborted(log, 0, 4) == (Aborted(7, 0),)


def test_new_leader_without_the_first_batch_has_no_transaction() -> None:
    shelf, log = filled(batch(), data(7))
    follower = copied(log, below=3)
    assert shelf.producers.stable_offset(follower) == 3
    append(shelf, follower, data(8))
    assert shelf.producers.stable_offset(follower) == 3
    assert shelf.producers.guard(8, 0, follower, 1) is None
    assert shelf.producers.guard(7, 0, follower, 1) is not None


def test_leader_that_was_a_follower_meanwhile_counts_what_the_other_wrote() -> None:
    shelf, log = filled(batch(), data(7))
    other = copied(log, below=6)
    assert shelf.producers.stable_offset(log) == 3
    append(shelf, other, end(7), data(8))
    log.append(other.read(6))
    log.high_watermark = log.end_offset
    assert shelf.producers.stable_offset(log) == 7


def test_guard_changes_with_a_marker_and_with_the_leader_epoch() -> None:
    shelf, log = filled(batch())
    before = shelf.producers.guard(7, 0, log, 0)
    assert before == shelf.producers.guard(7, 0, log, 0) != shelf.producers.guard(7, 0, log, 1)
    append(shelf, log, end(7))
    after = shelf.producers.guard(7, 0, log, 0)
    assert isinstance(after, Guard)
    assert after != before
    append(shelf, log, data(7))
    assert shelf.producers.guard(7, 0, log, 0) is None
    assert shelf.producers.guard(7, 1, log, 0) is not None  # of another process of the producer


def test_marker_with_a_newer_epoch_fences_and_begins_sequences_again() -> None:
    shelf, log = filled(data(7), end(7, epoch=1))
    assert shelf.producers.sent_before(data(7, 3), log) is LogError.INVALID_PRODUCER_EPOCH
    assert shelf.producers.sent_before(data(7, 3, epoch=1), log) is LogError.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert shelf.producers.sent_before(data(7, 0, epoch=1), log) is None
    assert shelf.producers.sent_before(end(7), log) is LogError.INVALID_PRODUCER_EPOCH


def test_sequences_go_on_behind_a_marker_of_the_same_epoch() -> None:
    shelf, log = filled(data(7), *[end(7)] * 12)
    assert shelf.producers.sent_before(data(7, 3), log) is None
    assert shelf.producers.sent_before(data(7, 0), log) is not None


def test_marker_of_an_older_coordinator_is_refused() -> None:
    shelf, log = filled(data(7), end(7, coordinator=4), data(7, 3))
    assert shelf.producers.sent_before(end(7, coordinator=3), log) is LogError.TRANSACTION_COORDINATOR_FENCED
    assert shelf.producers.sent_before(end(7, coordinator=4), log) is None
    assert shelf.producers.sent_before(end(8, coordinator=3), log) is None


def test_records_of_a_coordinator_have_no_sequence() -> None:
    shelf, log = filled(data(7, -1), data(7, -1))
    assert shelf.producers.sent_before(data(7, -1), log) is None
    assert finished(shelf.producers.active(log))[0].last_sequence == -1


def test_active_producers_are_described_with_their_transactions() -> None:
    shelf, log = filled(batch(), data(7), data(8, epoch=2), end(8, epoch=3, coordinator=5))
    seven, eight = finished(shelf.producers.active(log))
    assert (seven.producer_id, seven.producer_epoch, seven.last_sequence, seven.coordinator_epoch) == (7, 0, 2, -1)
    assert seven.transaction_offset == 3
    assert (eight.producer_epoch, eight.last_sequence, eight.coordinator_epoch) == (3, -1, 5)
    assert eight.transaction_offset == -1


def test_producers_are_described_in_slices() -> None:
    """Other requests have their turn after each 50 producers."""
    shelf, log = filled(*(batch(1, producer_id=number, producer_epoch=0, base_sequence=0) for number in range(500)))
    assert len(list(shelf.producers.active(log))) == 10


def test_transactions_whose_records_are_gone_are_forgotten_and_open_ones_are_not() -> None:
    shelf, log = filled(data(6), *[one for _ in range(1001) for one in (data(7), end(7, commits=False))], data(8))
    shelf.delete_before(2000, log)
    log.delete_before(2000)
    assert shelf.producers.stable_offset(log) == 2000
    assert len(shelf.producers.aborted(log, 2000, log.end_offset)) == 502
    append(shelf, log, end(6))
    log.high_watermark = log.end_offset
    assert shelf.producers.stable_offset(log) == 4007


def test_transaction_that_deletion_cut_and_passed_is_over_for_every_leader() -> None:
    shelf, log = filled(data(7), batch(), end(7), batch(), batch())
    follower = copied(log, below=log.end_offset)
    for offset in (2, 10):
        shelf.delete_before(offset, log)
        for each in (log, follower):
            each.delete_before(offset)
    assert shelf.producers.stable_offset(follower) == follower.end_offset
    append(shelf, follower, data(9), data(7, 3))
    follower.high_watermark = follower.end_offset
    assert shelf.producers.stable_offset(follower) == 13


def test_what_is_known_of_a_log_is_kept_while_another_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, log = filled(data(7))
    follower = copied(log, below=3)
    assert shelf.producers.stable_offset(log) == shelf.producers.stable_offset(follower) == 0
    monkeypatch.setattr(Producers, "_found", None)
    assert shelf.producers.stable_offset(log) == 0


def test_producer_with_an_open_transaction_is_remembered() -> None:
    others = [batch(1, 1, producer_id=i, producer_epoch=0, base_sequence=0) for i in range(100, 101 + PRODUCERS_MAX)]
    shelf, log = filled(data(7), *others)
    assert isinstance(shelf.producers.sent_before(data(7), log), StoredBatch)
    assert shelf.producers.sent_before(others[0], log) is None
