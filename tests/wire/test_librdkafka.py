"""librdkafka against brokers that keep records: what it compresses and sends twice is read back as it was."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.wire.living import TIME_MS, Living
from tests.wire.served import DEADLINE_S

COUNT = 200


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_it_produces_it_consumes(codec: str, *, idempotent: bool) -> None:
    wanted = [b"%d" % i for i in range(COUNT)]
    with Living() as living:
        living.topic("orders", [[1, 2, 3]])
        options = {"bootstrap.servers": living.bootstrap, "compression.type": codec, "enable.idempotence": idempotent}
        producer, errors = Producer(options), []
        for value in wanted:
            producer.produce("orders", value, partition=0, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(DEADLINE_S) == 0
        assert errors == [None] * COUNT
        consumer = Consumer({"bootstrap.servers": living.bootstrap, "group.id": "none", "enable.auto.commit": False})
        consumer.assign([TopicPartition("orders", 0, OFFSET_BEGINNING)])
        found: list[bytes | None] = []
        end = time.monotonic() + DEADLINE_S
        while len(found) < COUNT and time.monotonic() < end:
            found += [message.value() for message in consumer.consume(COUNT, timeout=1.0) if message.error() is None]
        consumer.close()
        assert found == wanted


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_it_finds_the_offset_of_a_time_in_what_it_compressed(codec: str) -> None:
    with Living() as living:
        living.topic("orders", [[1, 2, 3]])
        options = {"bootstrap.servers": living.bootstrap, "compression.type": codec, "linger.ms": 100}
        producer = Producer(options)
        for place in range(COUNT):
            producer.produce("orders", b"the same", partition=0, timestamp=TIME_MS + 10 * place)
        assert producer.flush(DEADLINE_S) == 0
        consumer = Consumer({"bootstrap.servers": living.bootstrap, "group.id": "none"})
        (found,) = consumer.offsets_for_times([TopicPartition("orders", 0, TIME_MS + 1441)], DEADLINE_S)
        consumer.close()
    assert found.offset == 145
