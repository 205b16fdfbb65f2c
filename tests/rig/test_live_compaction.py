"""What remains of a partition that is compacted, and when it is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge.controller.model.logs import NO_PRODUCER, Batch, StoredBatch
from kedge.controller.rig import Log, Rig
from kedge.controller.runtime.turns import finished
from kedge.controller.server.compacting import Progress, Rules, compacted
from kedge.controller.server.compaction import Compaction
from kedge.controller.server.logs import LiveLogs
from kedge.controller.server.record_store import RecordStore, shrunk
from kedge.controller.server.rows import Row
from kedge.controller.server.shelves import Shelves
from kedge.controller.wire.data.batches import read_batch, written
from kedge.controller.wire.data.compacting import BatchRecords

CODEC: Final = BatchRecords()
NOW_MS: Final = 1_000_000
AT_ONCE: Final = Rules(hold_ms=0, segment_bytes=2**40, lag_ms=0, lag_max_ms=2**62, ratio=0.0, tombstones_ms=1_000)
GZIP: Final = 1

Pairs = Sequence[tuple[bytes, bytes | None]]
KEYS: Final = st.sampled_from([b"a", b"b", b"c", b"d"])
VALUES: Final = st.one_of(st.none(), st.binary(max_size=5))
BATCHES: Final = st.lists(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=5), min_size=1, max_size=12)


def batch(pairs: Sequence[tuple[bytes | None, bytes | None]], *, codec: int = 0, first_ms: int = 0) -> Batch:
    """As a producer sends it, a millisecond between two records, each with a header."""
    named = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=10**6, **named)
    for place, (key, value) in enumerate(pairs):
        builder.append(timestamp=first_ms + place, key=key, value=value, headers=[("place", str(place).encode())])
    builder.close()
    found = read_batch(bytes(builder.buffer()))
    assert isinstance(found, Batch)
    return found


def filled(*batches: Batch) -> tuple[RecordStore, Log]:
    """A leader's log with the batches, all of them committed."""
    shelf, log = RecordStore(), Log()
    for one in batches:
        log.append(shelf.put(one, log, 0))
    log.high_watermark = log.end_offset
    return shelf, log


def compact(shelf: RecordStore, rows: Sequence[Row], rules: Rules = AT_ONCE, now_ms: int = NOW_MS) -> list[Row]:
    """These rows, in as many steps as it takes."""
    remaining = finished(compacted(rows, CODEC, rules, now_ms))
    shelf.replace(rows, remaining)
    return remaining


def content(shelf: RecordStore, log: Log, since: int = 0) -> list[tuple[int, int, bytes, bytes | None, object]]:
    """Offset, time, key, value and headers of all records."""
    stored = [each for each in shelf.read(log, since, 2**40) if each.end_offset > since]
    found = [record for each in stored for one in read(each) for record in one]
    return [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in found]


def read(stored: StoredBatch) -> Iterator[Any]:
    """The batch as a client reads it."""
    return iter(MemoryRecords(written(stored)).next_batch, None)


def pairs(shelf: RecordStore, log: Log) -> list[tuple[int, bytes, bytes | None]]:
    return [(offset, key, value) for offset, _, key, value, _ in content(shelf, log)]


@pytest.mark.slow
@given(BATCHES, st.data())
def test_newest_value_of_each_key_stays_at_its_offset(written: list[Pairs], data: st.DataObject) -> None:
    shelf, log = filled(*[batch(each, codec=data.draw(st.sampled_from([0, GZIP]))) for each in written])
    before = content(shelf, log)
    for cut in sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=3))):
        edge = sum(len(each) for each in written[:cut])
        compact(shelf, [row for row in shelf.rows(log) if row.stored.end_offset <= edge])
        after = content(shelf, log)
        assert [each for each in before if each[0] >= edge] == [each for each in after if each[0] >= edge]
        assert [each for each in before if each in after] == after
        keys = [key for offset, _, key, *_ in after if offset < edge]
        assert len(keys) == len(set(keys))
        assert {key: (offset, value) for offset, _, key, value, _ in before} == {
            key: (offset, value) for offset, _, key, value, _ in after
        }
    assert shelf.size_bytes == sum(row.size_bytes for row in shelf.rows(log))


@pytest.mark.slow
@given(BATCHES, st.data())
def test_reader_at_any_offset_gets_all_that_follows(written: list[Pairs], data: st.DataObject) -> None:
    """Batches follow each other without overlap, and the next offset after a batch is behind all that it had."""
    shelf, log = filled(*[batch(each) for each in written])
    cut = data.draw(st.integers(0, len(written) - 1))  # the newest batch always stays
    compact(shelf, [*shelf.rows(log)][:cut])
    since = data.draw(st.integers(0, log.end_offset))
    read = [*shelf.read(log, since, 2**40)]
    ends = [each.end_offset for each in read]
    assert all(each.base_offset >= end for each, end in zip(read[1:], ends, strict=False))
    assert ends[-1:] == ([log.end_offset] if since < log.end_offset else [])
    wanted = [each for each in content(shelf, log) if each[0] >= since]
    assert [each for each in content(shelf, log, since) if each[0] >= since] == wanted


@pytest.mark.slow
@given(BATCHES, st.data())
def test_every_log_of_the_partition_shrinks_and_keeps_its_records(written: list[Pairs], data: st.DataObject) -> None:
    shelf, leader = filled(*[batch(each) for each in written])
    follower = Log()
    follower.append(leader.within(0, data.draw(st.integers(0, leader.end_offset))))
    ids = [follower.id_at(offset) for offset in range(leader.end_offset)]
    remaining = compact(shelf, [*shelf.rows(leader)])
    runs = shrunk(leader, remaining, leader.end_offset)
    for log in (leader, follower):
        end = log.end_offset
        log.resize(runs, end)
        assert log.end_offset == end
        assert log.size_bytes == sum(run.count * run.record_bytes for run in log.runs)
    assert leader.size_bytes == shelf.size_bytes
    assert [follower.id_at(offset) for offset in range(leader.end_offset)] == ids
    follower.append(leader.read(follower.end_offset))
    follower.high_watermark = follower.end_offset
    assert follower.size_bytes == leader.size_bytes
    assert content(shelf, follower) == content(shelf, leader)


def test_rules_of_a_topic_are_its_configs_and_else_kafkas_defaults() -> None:
    """No longer held than the longest lag, and in no larger segments than the cluster's."""
    never = 2**63 - 1
    assert Rules.of({}, 1000) == Rules(604_800_000, 1000, 0, never, 0.5, 86_400_000)
    configs = {"segment.ms": "5", "segment.bytes": "7", "min.compaction.lag.ms": "3", "max.compaction.lag.ms": "9"}
    configs |= {"min.cleanable.dirty.ratio": "0.1", "delete.retention.ms": "4"}
    assert Rules.of(configs, 1000) == Rules(5, 7, 3, 9, 0.1, 4)
    assert Rules.of({"max.compaction.lag.ms": "2", "segment.bytes": "2000"}, 1000) == Rules(
        2, 1000, 0, 2, 0.5, 86_400_000
    )


def test_compacted_batch_keeps_its_place_its_producer_and_a_right_checksum() -> None:
    shelf, log = filled(batch([(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4")]), batch([(b"c", b"5")]))
    compact(shelf, [*shelf.rows(log)])
    first, _ = shelf.read(log, 0, 2**40)
    assert (first.base_offset, first.end_offset, first.batch.max_timestamp_ms) == (0, 4, 2)
    (found,) = read(first)
    assert found.validate_crc()
    assert (found.last_offset_delta, found.producer_id, found.base_sequence, found.records_count) == (3, 7, 0, 2)


def test_tombstone_goes_after_its_time_and_what_it_deletes_before() -> None:
    shelf, log = filled(batch([(b"a", b"1")]), batch([(b"a", None)]), batch([(b"b", b"2")]))
    horizons = [row.horizon_ms for row in compact(shelf, [*shelf.rows(log)])]
    assert pairs(shelf, log) == [(1, b"a", None), (2, b"b", b"2")]
    assert horizons == [NOW_MS + AT_ONCE.tombstones_ms, None]
    compact(shelf, [*shelf.rows(log)], now_ms=NOW_MS + AT_ONCE.tombstones_ms - 1)
    assert pairs(shelf, log) == [(1, b"a", None), (2, b"b", b"2")]
    compact(shelf, [*shelf.rows(log)], now_ms=NOW_MS + AT_ONCE.tombstones_ms)
    assert pairs(shelf, log) == [(2, b"b", b"2")]


def test_batch_that_cannot_be_read_stays_and_so_do_tombstones() -> None:
    """It might hold what they delete."""
    damaged = attrs.evolve(batch([(b"a", b"1")]), payload=b"no batch")
    shelf, log = filled(damaged, batch([(b"a", b"1")]), batch([(b"a", None)]), batch([(b"b", b"2")]))
    for now_ms in (NOW_MS, 2 * NOW_MS):
        compact(shelf, [*shelf.rows(log)], now_ms=now_ms)
        assert [row.stored.base_offset for row in shelf.rows(log)] == [0, 2, 3]


def test_records_without_a_key_go() -> None:
    shelf, log = filled(batch([(None, b"1"), (b"a", b"2")]), batch([(None, b"3")]))
    compact(shelf, [*shelf.rows(log)])
    assert pairs(shelf, log) == [(1, b"a", b"2")]


def test_what_is_deleted_while_it_is_compacted_stays_deleted() -> None:
    shelf, log = filled(*[batch([(bytes([n]), b"1")]) for n in range(4)])
    rows = [*shelf.rows(log)]
    shelf.delete_before(2, log)
    compact(shelf, rows)
    log.delete_before(2)
    assert [offset for offset, *_ in pairs(shelf, log)] == [2, 3]
    assert shelf.size_bytes == sum(row.size_bytes for row in shelf.rows(log))


# --- when


def looked_at(shelf: RecordStore, log: Log, rules: Rules, now_ms: int = NOW_MS) -> tuple[Progress, bool]:
    progress = Progress()
    progress.look(shelf, log, rules, now_ms)
    return progress, progress.is_worth_it(shelf, rules, now_ms)


def test_newest_batch_is_never_compacted() -> None:
    shelf, log = filled(batch([(b"a", b"1")]), batch([(b"a", b"2")]))
    progress, _ = looked_at(shelf, log, AT_ONCE)
    assert progress.ready_id == 1


def test_nothing_above_the_high_watermark_is_compacted() -> None:
    shelf, log = filled(*[batch([(b"a", b"1")]) for _ in range(4)])
    log.high_watermark = 3
    progress, _ = looked_at(shelf, log, AT_ONCE)
    assert progress.ready_id == 2


def test_active_part_is_what_is_young_and_among_the_newest_bytes() -> None:
    shelf, log = filled(*[batch([(b"a", b"1")], first_ms=ms) for ms in (0, 10, 20, 30, 40)])
    rules = attrs.evolve(AT_ONCE, hold_ms=NOW_MS - 10)
    assert looked_at(shelf, log, rules)[0].ready_id == 2
    size = shelf.size_bytes // 5
    assert looked_at(shelf, log, attrs.evolve(rules, segment_bytes=2 * size))[0].ready_id == 3
    lagging = attrs.evolve(rules, segment_bytes=0, lag_ms=NOW_MS)
    assert looked_at(shelf, log, lagging)[0].ready_id == 1


def test_compaction_waits_until_it_is_worth_it_or_overdue() -> None:
    shelf, log = filled(*[batch([(bytes([n]), b"1")], first_ms=n) for n in range(9)])
    rules = attrs.evolve(AT_ONCE, ratio=0.5)
    progress, is_due = looked_at(shelf, log, rules)
    assert is_due
    progress.done(compact(shelf, [*shelf.rows(log)][:-1]))
    assert not progress.is_worth_it(shelf, rules, NOW_MS)
    log.append(shelf.put(batch([(b"a", b"1")], first_ms=9), log, 0))
    log.high_watermark = log.end_offset
    progress.look(shelf, log, rules, NOW_MS)
    assert not progress.is_worth_it(shelf, rules, NOW_MS)
    assert progress.is_worth_it(shelf, attrs.evolve(rules, lag_max_ms=NOW_MS - 8), NOW_MS)


def test_compaction_is_due_when_tombstones_may_go() -> None:
    shelf, log = filled(batch([(b"a", None)]), batch([(b"b", b"1")]))
    progress, _ = looked_at(shelf, log, AT_ONCE)
    progress.done(compact(shelf, [*shelf.rows(log)][:-1]))
    assert not progress.is_worth_it(shelf, AT_ONCE, NOW_MS + AT_ONCE.tombstones_ms - 1)
    assert progress.is_worth_it(shelf, AT_ONCE, NOW_MS + AT_ONCE.tombstones_ms)


def test_configs_of_a_topic_bound_the_active_part() -> None:
    configs = {"segment.ms": "50", "segment.bytes": "100", "max.compaction.lag.ms": "20", "delete.retention.ms": "7"}
    rules = Rules.of(configs, 1000)
    assert (rules.hold_ms, rules.segment_bytes, rules.lag_ms, rules.tombstones_ms) == (20, 100, 0, 7)
    assert Rules.of({}, 1000).segment_bytes == 1000


# --- over the brokers of a rig


class Rigged:
    """Topic t of one partition on three brokers, with records that can be compacted."""

    def __init__(self, *first: Batch) -> None:
        self.rig = Rig(seed=1)
        configs = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}
        (self.tp,) = self.rig.create_topic("t", configs=configs)
        calls: list[Callable[[], None]] = []
        shelves = Shelves(self.rig.brokers, self.rig.network.settings)
        clock = self.rig.clock.monotonic_s
        self.logs = LiveLogs(
            self.rig.brokers, self.rig.network.settings, calls.append, lambda _: None, shelves, clock=clock
        )
        self.logs.begin(CODEC)
        self.compaction = Compaction(self.logs, lambda: NOW_MS)
        for each in (*first, *[batch([(b"a", b"%d" % number)]) for number in range(5)]):
            one = attrs.evolve(each, producer_id=NO_PRODUCER)
            self.logs.append(None, self.tp, one, acks=1, timeout_ms=0)
        for call in calls:
            call()
        self.logs.answer()
        self.rig.run(1_000)  # followers copy

    @property
    def size_bytes(self) -> int:
        return self.logs.shelves.size_bytes

    def leader(self) -> int:
        found = self.rig.leader(self.tp)
        assert found is not None
        return found.broker_id


def test_leader_compacts_up_to_the_newest_batch() -> None:
    rigged = Rigged()
    before = rigged.size_bytes
    rigged.compaction.clean()
    assert not rigged.compaction.step()
    assert rigged.size_bytes == before * 2 // 5
    logs = [rigged.rig.brokers[broker].log(rigged.tp) for broker in (1, 2, 3)]
    assert {(log.end_offset, log.high_watermark, log.size_bytes) for log in logs if log} == {(5, 5, rigged.size_bytes)}


def test_large_batch_is_compacted_in_many_steps() -> None:
    """A step takes some ms, however many records a batch has."""
    rigged = Rigged(batch([(b"%d" % (number % 900), b"v") for number in range(3_000)]))
    seconds = itertools.count(step=0.002)
    rigged.logs.clock = lambda: next(seconds)
    rigged.compaction.clean()
    steps = 1
    while rigged.compaction.step():
        steps += 1
    assert steps > 20
    replica = rigged.rig.brokers[rigged.leader()].replica(rigged.tp)
    assert replica is not None
    (first, *_) = rigged.logs.committed(replica)
    assert [record.offset for one in read(first) for record in one] == [*range(2_100, 3_000)]


def test_compaction_is_dropped_when_another_broker_leads_and_begins_again() -> None:
    rigged = Rigged()
    before, former = rigged.size_bytes, rigged.leader()
    rigged.compaction.clean()
    rigged.rig.mishaps.kill_broker(former)
    rigged.rig.until(lambda: rigged.rig.leader(rigged.tp) is not None and rigged.leader() != former, what="a leader")
    rigged.rig.run(1_000)
    rigged.compaction.step()
    assert rigged.size_bytes == before
    rigged.compaction.clean()
    rigged.compaction.step()
    assert rigged.size_bytes == before * 2 // 5


def test_compaction_is_dropped_when_the_policy_changes() -> None:
    rigged = Rigged()
    before = rigged.size_bytes
    rigged.compaction.clean()
    rigged.rig.network.config_changed("topics", "t", {"cleanup.policy": "delete"})
    for _ in range(2):
        rigged.compaction.step()
        rigged.compaction.clean()
    assert rigged.size_bytes == before


def test_config_that_cannot_be_read_compacts_nothing() -> None:
    rigged = Rigged()
    before = rigged.size_bytes
    rigged.rig.network.config_changed("topics", "t", {"cleanup.policy": "compact", "segment.ms": "soon"})
    rigged.compaction.clean()
    rigged.compaction.step()
    assert rigged.size_bytes == before
