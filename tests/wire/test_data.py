"""Produce, Fetch and ListOffsets on simulated brokers, as clients see them on the wire."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kedge import DeletePartitions
from tests.kit.waiting import until
from tests.wire.asking import fetch, offset_of, produce, values
from tests.wire.living import TIME_MS, Living, records
from tests.wire.served import DEADLINE_S, RawClient


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("orders", [[1, 2, 3]] * 50)
        yield opened


def end_of(client: RawClient, epoch: int, version: int) -> int:
    """Where the records of a leader epoch end, as consumers ask after a change of leaders."""
    topics = [{"topic": "orders", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": epoch}]}]
    answer = client.ask("OffsetForLeaderEpoch", version, replica_id=-1, topics=topics).topics[0].partitions[0]
    assert answer.error_code == 0
    return int(answer.end_offset)


@pytest.mark.parametrize("version", range(3, 12))
def test_what_is_produced_in_any_version_is_fetched_in_any_version(client: RawClient, version: int) -> None:
    partition = 30 + version
    answer = produce(client, records(b"a", b"b"), partition=partition, version=version)
    assert (answer.error_code, answer.base_offset) == (0, 0)
    produce(client, records(b"c"), partition=partition, version=version)
    fetched = fetch(client, 0, partition=partition, version=max(4, version))
    assert values(fetched) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert (fetched.high_watermark, fetched.last_stable_offset) == (3, 3)


@pytest.mark.parametrize("version", range(1, 10))
def test_offsets_are_given_in_every_version(client: RawClient, version: int) -> None:
    partition = 12 + version
    produce(client, records(b"a", b"b", b"c"), partition=partition)
    asked: dict[str, Any] = {"version": version, "partition": partition}
    assert offset_of(client, -1, **asked).offset == 3
    assert offset_of(client, -2, **asked).offset == 0
    found = offset_of(client, TIME_MS + 1, **asked)
    assert (found.offset, found.timestamp) == (1, TIME_MS + 1)
    assert (offset_of(client, TIME_MS + 3, **asked).offset) == -1
    if version >= 7:
        assert offset_of(client, -3, **asked).offset == 2


def test_produce_in_a_version_of_before_batches_is_refused(client: RawClient) -> None:
    assert produce(client, records(b"a"), version=2).error_code == 35


def test_acks_0_has_no_answer_and_the_next_request_has(client: RawClient) -> None:
    part = {"index": 1, "records": records(b"unheard")}
    topics = [{"name": "orders", "partition_data": [part]}]
    client.begin("Produce", 9, acks=0, timeout_ms=1000, transactional_id=None, topic_data=topics)
    assert values(fetch(client, 0, partition=1, wait_ms=5000)) == [(0, b"unheard")]


@pytest.mark.parametrize(
    "payload, error",
    [
        (None, 2),
        (b"", 2),
        (records(b"a")[:-1], 2),
        (records(b"a") + records(b"b"), 87),
        (b"\0" * 16 + b"\1" + records(b"a")[17:], 87),
        (records(b"a")[:8] + struct.pack(">i", -5) + records(b"a")[12:], 2),
        (records(b"a")[:57] + struct.pack(">i", 7) + records(b"a")[61:], 87),
    ],
)
def test_what_is_no_batch_is_refused_and_nothing_is_written(
    client: RawClient, payload: bytes | None, error: int
) -> None:
    assert produce(client, payload, partition=2).error_code == error
    assert offset_of(client, -1, partition=2).offset == 0


@pytest.mark.parametrize(
    "options, error",
    [
        ({"topic": "none"}, 3),
        ({"partition": 99}, 3),
        ({"acks": 2}, 21),
    ],
)
def test_what_cannot_be_written_is_refused(client: RawClient, options: dict[str, Any], error: int) -> None:
    assert produce(client, records(b"a"), **options).error_code == error


def test_fetching_what_is_not_there(client: RawClient) -> None:
    produce(client, records(b"a", b"b"), partition=3)
    end = offset_of(client, -1, partition=3).offset
    assert fetch(client, end + 1, partition=3).error_code == 1
    assert fetch(client, 0, topic="none").error_code == 3
    assert fetch(client, 0, partition=3, current_leader_epoch=7).error_code == 75
    assert offset_of(client, -1, partition=3, current_leader_epoch=7).error_code == 75
    assert values(fetch(client, end, partition=3)) == []


def test_a_session_is_not_begun_and_none_is_known(client: RawClient) -> None:
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000, "topics": []}
    begun = client.ask("Fetch", 12, session_id=0, session_epoch=0, **fields)
    assert (begun.error_code, begun.session_id) == (0, 0)
    assert client.ask("Fetch", 12, session_id=5, session_epoch=1, **fields).error_code == 70


def test_a_fetch_waits_for_records(living: Living, client: RawClient) -> None:
    with RawClient(living.address) as other:
        answers: list[Any] = []
        reader = threading.Thread(target=lambda: answers.append(fetch(other, 0, partition=4, wait_ms=20_000)))
        reader.start()
        produce(client, records(b"a"), partition=4)
        reader.join(DEADLINE_S)
    assert values(answers[0]) == [(0, b"a")]


def test_only_the_leader_serves(living: Living) -> None:
    """A broker's own address answers for what it leads, the common one for the leader."""
    with RawClient(living.address) as client:
        answer = client.ask("Metadata", 12, topics=[])
        ports = {broker.node_id: broker for broker in answer.brokers}
    with RawClient(ports[2]) as follower, RawClient(ports[1]) as leader:
        assert produce(follower, records(b"a"), partition=6).error_code == 6
        assert fetch(follower, 0, partition=6).error_code == 6
        assert offset_of(follower, -1, partition=6).error_code == 6
        assert produce(leader, records(b"a"), partition=6).error_code == 0


def test_a_follower_reports_the_end_of_its_own_log_to_a_debugging_client() -> None:
    """Replica id -2, as Kafka's: each broker answers for the log that it has, also above the high watermark."""
    with Living(copy_rate_bytes_s=1) as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2]])
        assert produce(client, records(b"a" * 50), acks=1).error_code == 0
        answer = client.ask("Metadata", 12, topics=[])
        ports = {broker.node_id: broker for broker in answer.brokers}
        asked: dict[str, Any] = {"timestamp": -1, "replica_id": -2}
        found = {}
        for broker, port in ports.items():
            with RawClient(port) as other:
                said = offset_of(other, **asked)
                found[broker] = (said.error_code, said.offset)
        assert found == {1: (0, 1), 2: (0, 0), 3: (6, -1)}
        assert offset_of(client, **asked).offset == 1  # the common address: whichever leads
        assert offset_of(client, -1).offset == 0  # a consumer reads what is committed


@pytest.mark.parametrize("version", range(5))
def test_producers_get_ids_and_their_batches_are_there_once(client: RawClient, version: int) -> None:
    asked = {"transactional_id": None, "transaction_timeout_ms": 1000}
    first = client.ask("InitProducerId", version, **asked)
    other = client.ask("InitProducerId", version, **asked)
    assert (first.error_code, first.producer_epoch) == (0, 0)
    assert first.producer_id != other.producer_id
    payload = records(b"a", b"b", producer=(first.producer_id, 0, 0))
    partition = 25 + version
    offsets = [produce(client, payload, partition=partition).base_offset for _ in range(2)]
    assert offsets == [0, 0]
    late = records(b"c", producer=(first.producer_id, 0, 7))
    assert produce(client, late, partition=partition).error_code == 45
    if version >= 3:
        resumed = {"producer_id": first.producer_id, "producer_epoch": 0, **asked}
        again = client.ask("InitProducerId", version, **resumed)
        assert (again.producer_id, again.producer_epoch) == (first.producer_id, 1)


@pytest.mark.slow
def test_acks_all_waits_for_followers_and_tells_when_they_are_too_slow() -> None:
    """A record that is not on all in sync is not seen, and becomes seen as soon as it is."""
    with Living(copy_rate_bytes_s=1) as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2]])
        assert produce(client, records(b"a" * 50), timeout_ms=100).error_code == 7
        assert produce(client, records(b"b"), acks=1).error_code == 0
        fetched = fetch(client, 0)
        assert (fetched.high_watermark, values(fetched)) == (0, [])
        living.cluster.copying.rate_bytes_s = None
        assert values(fetch(client, 0, wait_ms=20_000))[0] == (0, b"a" * 50)


def test_partitions_that_are_read_only_are_read_and_take_nothing() -> None:
    """KIP-694: a producer hears an error that it does not try again, and why; a consumer reads on. A batch that was
    taken before is acknowledged to a producer that sends it again."""
    with Living() as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2], [2, 3]])
        taken = records(b"a", producer=(7, 0, 0))
        assert produce(client, taken, partition=1).error_code == 0
        living.cluster.controller.admin.delete_partitions({"orders": DeletePartitions(1)}).all().result(DEADLINE_S)
        # The leader hears of it a moment later, and takes what comes before.
        until(lambda: produce(client, records(b"b"), partition=1).error_code == 44)
        found = values(fetch(client, 0, partition=1))
        assert found[0] == (0, b"a")
        again, more = (produce(client, sent, partition=1) for sent in (taken, records(b"c", producer=(7, 0, 1))))
        assert (again.error_code, again.base_offset) == (0, 0)
        assert (more.error_code, "read-only" in more.error_message) == (44, True)
        client.ask("ApiVersions", 4, client_software_name="kafka-python")
        codes = [
            produce(client, records(b"c", producer=by), partition=1).error_code for by in ((7, 0, 1), (-1, -1, -1))
        ]
        assert codes == [47, 44]  # only its idempotent producer would end with 44
        assert values(fetch(client, 0, partition=1)) == found
        assert produce(client, records(b"c"), partition=0).error_code == 0


def test_memory_is_bounded_and_consumers_hear_where_the_log_begins() -> None:
    """Old batches go on all replicas; a replica that is added later begins where the leader's log does."""
    with Living(retention_bytes=10_000) as living, RawClient(living.address) as client:
        (tp,) = living.topic("orders", [[1, 2]])
        for _ in range(50):
            assert produce(client, records(b"x" * 900)).error_code == 0
        start = offset_of(client, -2).offset
        assert 35 < start < 50
        assert fetch(client, 0).error_code == 1
        assert len(values(fetch(client, start))) == 50 - start
        living.move(tp, [3, 1])
        until(lambda: not living.is_moving)
        held = living.cluster.brokers[3].log(tp)
        assert held is not None
        assert (held.start_offset, held.end_offset) == (start, 50)
        assert held.size_bytes < 10_000


def test_what_was_acknowledged_is_read_from_the_next_leader() -> None:
    with Living() as living, RawClient(living.address) as client:
        (tp,) = living.topic("orders", [[1, 2, 3]])
        assert produce(client, records(b"a")).error_code == 0
        before = living.cluster.logs.bounds(None, tp).result(DEADLINE_S).leader_epoch
        living.cluster.kill_broker(1)
        until(lambda: produce(client, records(b"b")).error_code == 0)
        assert values(fetch(client, 0)) == [(0, b"a"), (1, b"b")]
        assert fetch(client, 0, current_leader_epoch=before).error_code == 74
        now = living.cluster.logs.bounds(None, tp).result(DEADLINE_S).leader_epoch
        for version in range(5):
            assert [end_of(client, epoch, version) for epoch in (before, now, now + 1)] == [1, 2, -1]
        living.cluster.restart_broker(1)
        until(lambda: living.cluster.controller.describe().live_brokers == (1, 2, 3))
        (held,) = [b.log(tp) for b in (living.cluster.brokers[1],)]
        until(lambda: held is not None and held.end_offset == 2)


@pytest.mark.slow
def test_a_topic_that_is_deleted_is_forgotten_with_its_records() -> None:
    with Living() as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2]])
        produce(client, records(b"a"))
        living.cluster.controller.admin.delete_topics(["orders"]).all().result(DEADLINE_S)
        until(lambda: produce(client, records(b"b")).error_code == 3)
        until(lambda: living.cluster.logs.shelves.size_bytes == 0)
        living.topic("orders", [[1, 2]])
        assert values(fetch(client, 0)) == []


@pytest.mark.checklist(265)
def test_records_are_deleted_up_to_the_high_watermark() -> None:
    """Not up to the end of the log: what followers lack may be written again under the same offset."""
    with Living() as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2]])
        for value in (b"a", b"b", b"c"):
            produce(client, records(value))
        living.cluster.copying.rate_bytes_s = 1
        assert produce(client, records(b"d" * 50), acks=1).error_code == 0
        assert offset_of(client, -1, replica_id=-2).offset == 4

        def deleted(before: int, version: int = 2) -> tuple[int, int]:
            topics = [{"name": "orders", "partitions": [{"partition_index": 0, "offset": before}]}]
            answer = client.ask("DeleteRecords", version, topics=topics, timeout_ms=5000)
            row = answer.topics[0].partitions[0]
            return row.error_code, row.low_watermark

        assert deleted(1, version=0) == (0, 1)
        assert values(fetch(client, 1)) == [(1, b"b"), (2, b"c")]
        assert fetch(client, 0).error_code == 1
        assert deleted(0, version=1) == (0, 1)
        assert deleted(4) == (1, -1)
        assert deleted(-1) == (0, 3)
        assert offset_of(client, -2).offset == 3


def test_offset_of_a_time_comes_with_the_leader_epoch_of_its_record() -> None:
    with Living() as living, RawClient(living.address) as client:
        (tp,) = living.topic("orders", [[1, 2, 3]])
        produce(client, records(b"a", b"b"))
        epoch = living.cluster.logs.bounds(None, tp).result(DEADLINE_S).leader_epoch
        living.cluster.kill_broker(1)
        until(lambda: produce(client, records(b"c", first_ms=TIME_MS + 9)).error_code == 0)
        found = offset_of(client, TIME_MS + 1)
        assert (found.offset, found.leader_epoch) == (1, epoch)
        assert offset_of(client, -3).leader_epoch > epoch


@pytest.mark.slow
@pytest.mark.checklist(265)
def test_old_records_go_where_their_topic_says_so(living: Living, client: RawClient) -> None:
    living.topic("short", [[1, 2, 3]], retention_ms="1000")
    living.topic("kept", [[1, 2, 3]], retention_ms="1000", cleanup_policy="compact")
    now_ms = time.time_ns() // 1_000_000
    for topic in ("short", "kept"):
        for first_ms in (TIME_MS, now_ms + 600_000, TIME_MS):
            payload = records(b"x", b"y", key=b"key", first_ms=first_ms)
            until(lambda topic=topic, payload=payload: not produce(client, payload, topic=topic).error_code)  # type: ignore[misc]
    until(lambda: fetch(client, 2, topic="short").log_start_offset == 2)
    assert [offset for offset, _ in values(fetch(client, 2, topic="short"))] == [2, 3, 4, 5]
    assert fetch(client, 0, topic="kept").log_start_offset == 0
