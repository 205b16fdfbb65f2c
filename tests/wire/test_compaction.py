"""Compacted topics on simulated brokers, as stock clients see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import confluent_kafka as ck
import kafka
import kafka.errors
import pytest

from tests.kit.waiting import until
from tests.wire.asking import produce
from tests.wire.living import Living, records
from tests.wire.served import RawClient

pytestmark = pytest.mark.slow

TIMEOUT_S: Final = 30
OFTEN: Final = {"cleanup_policy": "compact", "segment_bytes": "200", "min_cleanable_dirty_ratio": "0"}
"""Configs of a topic that is compacted up to the newest `ACTIVE` records, if each is a batch of 70 to 99 bytes."""
ACTIVE: Final = 3

Pairs = list[tuple[str, str | None]]
Read = list[tuple[int, str, str | None]]


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("state", [[1, 2, 3]], **OFTEN)
        yield opened


def written(living: Living, topic: str, pairs: Pairs) -> int:
    """Each record in a batch of its own; returns the end of the log."""
    producer = kafka.KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    ends = []
    for key, value in pairs:
        future = producer.send(topic, key=key.encode(), value=None if value is None else value.encode(), partition=0)
        ends.append(int(future.get(TIMEOUT_S).offset) + 1)
    producer.close()
    return ends[-1]


def compacted(pairs: Pairs) -> Read:
    """What remains of records with offsets from 0 on."""
    rows = [(offset, key, value) for offset, (key, value) in enumerate(pairs)]
    newest = {key: (offset, key, value) for offset, key, value in rows[:-ACTIVE]}
    return sorted([*newest.values(), *rows[-ACTIVE:]])


def read_python(living: Living, topic: str, end: int) -> Read:
    """Offset, key and value of everything up to the offset `end`, from the beginning, as kafka-python reads it."""
    tp = kafka.TopicPartition(topic, 0)
    consumer = kafka.KafkaConsumer(bootstrap_servers=living.bootstrap, auto_offset_reset="earliest")
    consumer.assign([tp])
    consumer.seek_to_beginning(tp)
    found: list[Any] = []

    def is_at_end() -> bool:
        found.extend(record for records in consumer.poll(100).values() for record in records)
        return bool(consumer.position(tp) == end)

    try:
        until(is_at_end)
    finally:
        consumer.close()
    return [(r.offset, r.key.decode(), None if r.value is None else r.value.decode()) for r in found]


def read_librdkafka(living: Living, topic: str, end: int) -> Read:
    """The same by librdkafka, which tells of the end of the partition."""
    settings = {"bootstrap.servers": living.bootstrap, "group.id": "unused", "enable.partition.eof": True}
    consumer = ck.Consumer({**settings, "auto.offset.reset": "earliest", "check.crcs": True, "log_level": 0})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: Read = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error():
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()  # noqa: SLF001 - its name
            assert message.offset() == end
            consumer.close()
            return found
        key, value = message.key(), message.value()
        assert key is not None
        found.append((message.offset(), key.decode(), None if value is None else value.decode()))


@pytest.mark.checklist(265)
def test_newest_value_of_each_key_is_read_and_older_ones_are_gone(living: Living) -> None:
    pairs: Pairs = [(f"key {n % 3}", f"value {n}") for n in range(30)]
    pairs += [("once", "only"), ("gone", "value"), ("gone", None)]
    pairs += [(f"key {n % 3}", f"value {n}") for n in range(30, 60)]
    end = written(living, "state", pairs)
    until(lambda: read_python(living, "state", end) == compacted(pairs))
    assert read_librdkafka(living, "state", end) == compacted(pairs)


def test_new_leader_and_new_replica_have_what_is_compacted() -> None:
    with Living() as living:
        (tp,) = living.topic("moved", [[1, 2]], **OFTEN)
        pairs: Pairs = [("first", "value")]
        pairs += [(f"key {n % 3}", f"value {n}") for n in range(60)]
        end = written(living, "moved", pairs)
        until(lambda: read_python(living, "moved", end) == compacted(pairs))
        living.move(tp, [3, 2])
        until(lambda: not living.is_moving)
        living.cluster.kill_broker(2)
        assert read_python(living, "moved", end) == compacted(pairs)
        assert written(living, "moved", [("first", "again")]) == end + 1
        assert read_python(living, "moved", end + 1)[-1] == (end, "first", "again")
        held = living.cluster.brokers[3].replica(tp)
        assert held is not None
        assert (held.log.start_offset, held.log.high_watermark, held.log.end_offset) == (0, end + 1, end + 1)
        with living.cluster.lock:
            assert held.log.size_bytes == living.cluster.logs.shelves.of(held).size_bytes


def test_retention_deletes_the_oldest_of_what_is_compacted(living: Living, caplog: pytest.LogCaptureFixture) -> None:
    (tp,) = living.topic("both", [[1, 2, 3]], **{**OFTEN, "cleanup_policy": "compact,delete"}, retention_bytes="250")
    pairs: Pairs = [(f"key {n}", f"value {n}") for n in range(30)]
    end = written(living, "both", pairs)

    def start() -> int:
        return living.cluster.logs.bounds(None, tp).result(TIMEOUT_S).start_offset

    until(lambda: start() == end - 4)
    until(lambda: read_python(living, "both", end) == [(n, *pairs[n]) for n in range(end - 4, end)])
    assert written(living, "both", [("key 29", "again")]) == end + 1
    until(lambda: start() == end - 3)
    assert [
        record for record in caplog.records if record.levelname == "ERROR" and record.name.startswith("controller")
    ] == []


def test_record_without_a_key_is_refused_at_once(living: Living) -> None:
    living.topic("keyed", [[1, 2, 3]], cleanup_policy="compact,delete")
    with RawClient(living.address) as client:
        until(lambda: ("topics", "keyed") in living.cluster.network.settings)
        answer = produce(client, records(b"x"), topic="keyed")
        assert (answer.error_code, "without a key" in answer.error_message) == (87, True)
        assert produce(client, records(b"x", key=b"key"), topic="keyed").error_code == 0
    producer = kafka.KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    with pytest.raises(kafka.errors.InvalidRecordError, match="without a key"):
        producer.send("keyed", b"value").get(TIMEOUT_S)
    producer.close()
    errors: list[Any] = []
    stock = ck.Producer({"bootstrap.servers": living.bootstrap, "log_level": 0})
    stock.produce("keyed", b"value", on_delivery=lambda error, _: errors.append(error))
    assert stock.flush(TIMEOUT_S) == 0
    assert [error.code() for error in errors] == [ck.KafkaError.INVALID_RECORD]


def test_topic_that_is_only_compacted_keeps_more_than_the_retention_of_the_process() -> None:
    with Living(retention_bytes=2_000) as living, RawClient(living.address) as client:
        living.topic("state", [[1]], cleanup_policy="compact")
        until(lambda: ("topics", "state") in living.cluster.network.settings)
        for number in range(3):
            payload = records(b"x" * 700, key=str(number).encode())
            assert produce(client, payload, topic="state").error_code == 0
        assert living.cluster.logs.shelves.size_bytes > 2_000
        assert [key for _, key, _ in read_python(living, "state", 3)] == ["0", "1", "2"]
        codes = [produce(client, records(b"x" * 700, key=b"more %d" % n), topic="state").error_code for n in range(5)]
        assert codes[-1] == 56  # every key is needed, and there is no more room
