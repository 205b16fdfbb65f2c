"""What clients of live logs are answered: brokers and followers are moved by hand, and no time passes by itself."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import attrs
import pytest

from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    UpdateMetadataRequest,
)
from kedge.controller.model.logs import Appended, Batch, EpochEnd, Fetched, FetchFrom, LogBounds, LogError
from kedge.controller.model.values import ALL_BROKERS, BrokerRegistration, TopicPartition
from kedge.controller.rig import Broker, NodeClock, VirtualClock
from kedge.controller.server.logs import LiveLogs
from kedge.controller.server.shelves import Shelves
from kedge.controller.simulated.broker import Life
from kedge.controller.simulated.replica import Replica

TP: Final = TopicPartition("t", 0)
LED: Final = LeaderAndIsrPartition("t", "id", 0, 1, 3, (1, 2, 3), 5, (1, 2, 3), None, True, 0, 0)


class Tried:
    """t-0 on brokers 1, 2 and 3, led by 1 under the epoch 3. `settings`: by kind and name."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self.clock = clock or VirtualClock()
        self.brokers = {b: Broker(BrokerRegistration(b), NodeClock(self.clock)) for b in LED.replicas}
        self.settings: dict[tuple[str, str], dict[str, str]] = {}
        shelves = Shelves(self.brokers, self.settings)
        self.logs = LiveLogs(
            self.brokers, self.settings, self._soon, lambda _: None, shelves, clock=self.clock.monotonic_s
        )
        self._said = LED
        self.tell()

    def _soon(self, call: Callable[[], None]) -> None:
        """As the thread that steps does it."""
        call()
        self.logs.answer()

    def tell(self, **changes: Any) -> None:
        """All brokers obey an order with these changes, and know it."""
        self._said = said = attrs.evolve(self._said, partition_epoch=self._said.partition_epoch + 1, **changes)
        known = (said.topic, said.topic_id, 0, said.leader, said.leader_epoch, said.isr, said.partition_epoch)
        metadata = PartitionMetadata(*known, said.replicas, (), said.status_code)
        for broker_id, broker in self.brokers.items():
            assert not broker.leader_and_isr(LeaderAndIsrRequest(broker_id, 1, 9, 1, False, (said,), ())).errors
            broker.update_metadata(UpdateMetadataRequest(broker_id, 1, 9, 1, False, (), (metadata,)))

    @property
    def leader(self) -> Replica:
        return self.brokers[self._said.leader].replicas["id", 0]

    def fetched(self, end: int, *followers: int) -> None:
        """The followers have fetched up to there."""
        for follower in followers:
            self.leader.fetched(follower, end, self.clock.now_ms())

    def append(self, records: int = 1, *, acks: int = 1, timeout_ms: int = 1_000, **batch: Any) -> Future[Appended]:
        return self.logs.append(None, TP, Batch(b"x" * 100, records, 0, **batch), acks=acks, timeout_ms=timeout_ms)

    def appended(self, records: int = 1, **more: Any) -> Appended:
        return self.append(records, **more).result(0)

    def bounds(self, **options: Any) -> LogBounds:
        return self.logs.bounds(None, TP, **options).result(0)

    def deleted(self, before: int) -> LogBounds:
        return self.logs.delete_records(None, TP, before).result(0)

    def fetch(self, offset: int, **options: Any) -> Future[dict[TopicPartition, Fetched]]:
        given = {"bytes_max": 1_000, "bytes_min": 1, "wait_ms": 0, **options}
        return self.logs.fetch(None, {TP: FetchFrom(offset, 1_000)}, **given)


# --- writing


def test_batch_is_acknowledged_when_all_in_sync_have_it() -> None:
    tried = Tried()
    tried.appended(4)
    waiting = tried.append(3, acks=-1)
    tried.fetched(7, 2)
    for end in (4, 6, 7):
        assert not waiting.done()
        assert tried.logs.is_waited_for
        tried.fetched(end, 3)
        tried.logs.step()
    assert waiting.result(0) == Appended(LogError.NONE, 4, 0)
    assert not tried.logs.is_waited_for


def test_leader_alone_acknowledges_what_it_has() -> None:
    tried = Tried()
    for acks in (0, 1):
        assert tried.appended(2, acks=acks) == Appended(LogError.NONE, 2 * acks, 0)
    assert not tried.logs.is_waited_for


def test_batches_are_acknowledged_in_the_order_of_the_log() -> None:
    """Also where the later one has its replicas when it comes, because the isr has shrunk to the leader."""
    tried = Tried()
    tried.settings["topics", "t"] = {"min.insync.replicas": "1"}
    heard: list[int] = []
    first = tried.append(2, acks=-1)
    first.add_done_callback(lambda done: heard.append(done.result().base_offset))
    tried.tell(isr=(1,))
    assert tried.logs.is_waited_for
    second = tried.append(1, acks=-1)
    second.add_done_callback(lambda done: heard.append(done.result().base_offset))
    assert heard == [0, 2]
    assert not tried.logs.is_waited_for


def test_batch_that_is_not_on_all_in_time_is_in_the_log_and_unacknowledged() -> None:
    tried = Tried()
    waiting = tried.append(acks=-1, timeout_ms=500)
    tried.clock.advance(499)
    tried.logs.step()
    assert not waiting.done()
    tried.clock.advance(1)
    tried.logs.step()
    assert waiting.result(0) == Appended(LogError.REQUEST_TIMED_OUT)
    assert tried.bounds().end_offset == 1


def test_sender_that_no_longer_waits_is_forgotten() -> None:
    tried = Tried()
    waiting, reading = tried.append(acks=-1), tried.fetch(0, wait_ms=1_000)
    assert waiting.cancel()
    assert reading.cancel()
    tried.logs.step()
    assert not tried.logs.is_waited_for


@pytest.mark.parametrize(
    "topic, everywhere, isr, error",
    [
        (None, None, (1,), 0),
        ("2", None, (1,), 19),
        ("2", None, (1, 2), 0),
        (None, "2", (1,), 19),
        ("1", "3", (1, 2), 0),
        ("3", "1", (1, 2), 19),
    ],
)
def test_isr_that_is_too_small_takes_no_batch_for_all(
    topic: str | None, everywhere: str | None, isr: tuple[int, ...], error: int
) -> None:
    """A topic's own setting comes before that of all brokers. A batch that the leader alone acknowledges is taken."""
    tried = Tried()
    for place, value in ((("topics", "t"), topic), (("brokers", ALL_BROKERS), everywhere)):
        if value is not None:
            tried.settings[place] = {"min.insync.replicas": value}
    tried.tell(isr=isr)
    waiting = tried.append(acks=-1)
    tried.fetched(1, 2)
    tried.logs.step()
    assert waiting.result(0).error == error
    assert tried.appended().base_offset == (0 if error else 1)


def test_isr_that_is_too_small_by_then_is_said_with_the_place_of_the_batch() -> None:
    tried = Tried()
    tried.settings["topics", "t"] = {"min.insync.replicas": "2"}
    tried.appended(3)
    waiting = tried.append(acks=-1)
    tried.tell(isr=(1,))
    tried.logs.step()
    assert waiting.result(0) == Appended(LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 3, 0)


@pytest.mark.parametrize(
    "topic, everywhere, error", [("99", None, 10), ("100", None, 0), ("100", "99", 0), (None, "99", 10)]
)
def test_batch_may_be_as_large_as_the_setting_says(topic: str | None, everywhere: str | None, error: int) -> None:
    tried = Tried()
    if topic is not None:
        tried.settings["topics", "t"] = {"max.message.bytes": topic}
    if everywhere is not None:
        tried.settings["brokers", ALL_BROKERS] = {"message.max.bytes": everywhere}
    assert tried.appended().error == error
    assert tried.bounds().end_offset == (0 if error else 1)


def test_waiting_batch_of_a_leader_that_is_none_any_more_is_not_acknowledged() -> None:
    """At once, not only when another leader is known to have written there."""
    tried = Tried()
    waiting = tried.append(acks=-1)
    tried.tell(leader=2, leader_epoch=4)
    tried.logs.step()
    assert waiting.result(0) == Appended(LogError.NOT_LEADER_OR_FOLLOWER)


def test_batch_that_was_taken_before_is_acknowledged_again_where_it_is() -> None:
    tried = Tried()
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    tried.appended(3)
    assert tried.appended(2, **sent).base_offset == 3
    assert tried.appended(4).base_offset == 5
    again = tried.append(2, acks=-1, **sent)
    tried.fetched(4, 2, 3)
    tried.logs.step()
    assert not again.done()
    tried.fetched(5, 2, 3)
    tried.logs.step()
    assert again.result(0) == Appended(LogError.NONE, 3, 0)
    assert tried.bounds().end_offset == 9


def test_batch_that_is_committed_under_a_later_epoch_is_not_acknowledged() -> None:
    """Both happened since the last step: another leader may have been between the two epochs."""
    tried = Tried()
    waiting = tried.append(acks=-1)
    tried.tell(leader_epoch=4, isr=(1,))
    assert tried.leader.log.high_watermark == 1
    assert not waiting.done()
    tried.logs.step()
    assert waiting.result(0).error is LogError.NOT_LEADER_OR_FOLLOWER


# --- reading


def test_fetch_waits_for_so_many_bytes_below_the_high_watermark() -> None:
    tried = Tried()
    waiting = tried.fetch(0, bytes_min=200, wait_ms=1_000)
    tried.append(2)
    tried.append(3)
    for end in (2, 4):
        tried.fetched(end, 2, 3)
        tried.logs.step()
        assert not waiting.done()
    tried.fetched(5, 2, 3)
    tried.logs.step()
    found = waiting.result(0)[TP]
    assert (found.error, found.high_watermark, found.log_start_offset) == (0, 5, 0)
    assert [stored.base_offset for stored in found.batches] == [0, 2]


def test_fetch_is_answered_with_what_there_is_when_its_time_is_over() -> None:
    tried = Tried()
    tried.append(2)
    tried.append(3)
    tried.fetched(2, 2, 3)
    waiting = tried.fetch(0, bytes_min=101, wait_ms=500)
    tried.clock.advance(499)
    tried.logs.step()
    assert not waiting.done()
    tried.clock.advance(1)
    tried.logs.step()
    assert [stored.base_offset for stored in waiting.result(0)[TP].batches] == [0]


@pytest.mark.parametrize("offset, error", [(2, 1), (3, 0), (9, 0), (10, 0), (11, 1)])
def test_fetch_begins_within_the_log(offset: int, error: int) -> None:
    """From 3, where it begins, to 10, where it ends; the high watermark is at 5. An error is answered at once."""
    tried = Tried()
    tried.append(5)
    tried.append(5)
    tried.fetched(5, 2, 3)
    tried.deleted(3)
    found = tried.fetch(offset, bytes_min=0, wait_ms=1_000).result(0)[TP]
    assert (found.error, found.high_watermark, found.log_start_offset) == (error, 5, 3)
    assert tried.fetch(offset, wait_ms=1_000).done() == (bool(error) or offset < 5)


def test_fetch_of_several_partitions_shares_the_bytes_and_reads_one_batch_at_least() -> None:
    """The first batch that is found counts as that, in whichever partition."""
    tried = Tried()
    other = TopicPartition("u", 0)
    tried.append(1)
    tried.fetched(1, 2, 3)

    def found(bytes_max: int, *first: TopicPartition) -> dict[str, int]:
        wanted = {tp: FetchFrom(0, 1_000) for tp in dict.fromkeys((*first, TP))}
        read = tried.logs.fetch(None, wanted, bytes_max=bytes_max, bytes_min=0, wait_ms=0).result(0)
        return {tp.topic: one.size_bytes for tp, one in read.items()}

    assert found(1) == {"t": 100}
    assert found(1, other) == {"u": 0, "t": 100}
    assert tried.logs.fetch(None, {other: FetchFrom(0, 9)}, bytes_max=1, bytes_min=1, wait_ms=9_000).done()


@pytest.mark.parametrize("epoch, error", [(2, 74), (3, 0), (4, 75), (-1, 0)])
def test_client_with_another_leader_epoch_is_refused(epoch: int, error: int) -> None:
    assert Tried().bounds(leader_epoch=epoch).error == error


def test_broker_that_does_not_lead_answers_only_a_debugging_client() -> None:
    tried = Tried()
    tried.append(2)
    bounds = tried.logs.bounds
    assert [bounds(broker, TP).result(0).error for broker in (1, 2, 9)] == [0, 6, 6]
    asked = [bounds(broker, TP, is_debugging=True).result(0) for broker in (1, 2, 9)]
    assert [(one.error, one.end_offset) for one in asked] == [(0, 2), (0, 0), (6, -1)]
    assert bounds(None, TopicPartition("t", 1)).result(0).error == 3
    tried.brokers[1].life = Life.PAUSED
    assert [bounds(broker, TP).result(0).error for broker in (None, 1)] == [6, 6]


def test_newer_of_two_leaders_answers_requests_for_either() -> None:
    """The former one has not heard of its successor yet."""
    tried = Tried()
    tried.append(2)
    former = tried.brokers.pop(1)
    tried.tell(leader=2, leader_epoch=4, isr=(2, 3))
    tried.brokers[1] = former
    assert tried.bounds().leader_epoch == 4
    assert tried.logs.bounds(1, TP).result(0).leader_epoch == 3


def test_end_of_an_epoch_is_where_its_records_end() -> None:
    """Of the newest epoch before it that has any; of one before all, where the log begins."""
    tried = Tried()
    tried.append(2)
    tried.tell(leader_epoch=6, isr=(1,))
    tried.append(3)
    tried.tell(leader_epoch=8)

    def end(epoch: int) -> EpochEnd:
        return tried.logs.end_of_epoch(None, TP, epoch).result(0)

    found = {epoch: (end(epoch).leader_epoch, end(epoch).end_offset) for epoch in range(-1, 10)}
    nothing, of_3, of_6 = (-1, -1), (3, 2), (6, 5)
    assert found == {
        -1: nothing,
        **{epoch: (epoch, 0) for epoch in (0, 1, 2)},
        **dict.fromkeys((3, 4, 5), of_3),
        **dict.fromkeys((6, 7), of_6),
        8: (8, 5),
        9: nothing,
    }


def test_ids_of_producers_count_up() -> None:
    tried = Tried()
    assert [tried.logs.new_producer_id().result(0) for _ in range(3)] == [1001, 1002, 1003]


def test_waiting_requests_are_sent_elsewhere_at_the_end() -> None:
    tried = Tried()
    waiting, reading = tried.append(acks=-1), tried.fetch(0, wait_ms=1_000)
    tried.logs.close()
    assert waiting.result(0).error is LogError.NOT_LEADER_OR_FOLLOWER
    assert reading.result(0) == {TP: Fetched(LogError.NOT_LEADER_OR_FOLLOWER)}
    assert not tried.logs.is_waited_for


def test_new_leader_gives_no_offsets_below_where_its_epoch_began() -> None:
    """Its high watermark may be behind what its predecessor has shown to consumers."""
    tried = Tried()
    tried.append(10)
    tried.fetched(5, 2, 3)
    assert tried.bounds() == LogBounds(LogError.NONE, 0, 5, 10, 3)
    tried.tell(leader_epoch=4, isr=(1, 2))
    for end in (5, 9):
        tried.fetched(end, 2)
        assert tried.leader.log.high_watermark == end
        assert tried.bounds().error is LogError.OFFSET_NOT_AVAILABLE
        assert tried.bounds(since_ms=0).error is LogError.OFFSET_NOT_AVAILABLE
        assert tried.bounds(is_debugging=True) == LogBounds(LogError.NONE, 0, end, 10, 4)
    tried.fetched(10, 2)
    assert tried.bounds() == LogBounds(LogError.NONE, 0, 10, 10, 4)


# --- deleting


@pytest.mark.parametrize("before, error", [(-2, 1), (6, 1), (10, 1), (11, 1), (5, 0), (3, 0), (0, 0)])
def test_records_are_deleted_up_to_the_high_watermark_at_most(before: int, error: int) -> None:
    """Here 5, of 10 in the log."""
    tried = Tried()
    tried.append(5)
    tried.append(5)
    tried.fetched(5, 2, 3)
    start = -1 if error else before
    assert tried.deleted(before) == LogBounds(LogError(error), start)
    assert tried.bounds().start_offset == max(start, 0)


def test_records_that_are_all_deleted_are_those_below_the_high_watermark() -> None:
    tried = Tried()
    tried.append(5)
    tried.append(5)
    tried.fetched(5, 2, 3)
    assert tried.deleted(-1) == LogBounds(LogError.NONE, 5)
    assert tried.bounds() == LogBounds(LogError.NONE, 5, 5, 10, 3)
