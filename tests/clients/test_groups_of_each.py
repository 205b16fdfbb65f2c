"""A group of each stock client commits, its member dies, and the next one continues where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import confluent_kafka as ck
import kafka
import pytest
from kafka.structs import OffsetAndMetadata

from tests.clients import driven
from tests.clients.driven import JavaTools
from tests.clients.producing import fill
from tests.kit.waiting import until
from tests.wire.living import Living

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

PARTITIONS: Final = 4
RECORDS: Final = 40
FIRST: Final = 15

Reads = Callable[[str, str, int], list[int]]
"""A new member, at this address and in this group, reads so many records of orders, commits each, and dies."""


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """Topic orders, with ten records in each of its partitions."""
    with Living(groups={"offsets_partitions": 4}) as opened:
        fill(opened, PARTITIONS, RECORDS)
        yield opened


def kafka_python(bootstrap: str, group: str, count: int) -> list[int]:
    settings = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = kafka.KafkaConsumer("orders", bootstrap_servers=bootstrap, heartbeat_interval_ms=200, **settings)
    values: list[int] = []

    def has_read() -> bool:
        for tp, records in consumer.poll(200, max_records=count - len(values)).items():
            values.extend(int(record.value) for record in records)
            consumer.commit({tp: OffsetAndMetadata(records[-1].offset + 1, "", -1)})
        return len(values) == count

    until(has_read)
    consumer.close(autocommit=False)
    return values


def librdkafka(bootstrap: str, group: str, count: int) -> list[int]:
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    consumer = ck.Consumer({**settings, "enable.auto.commit": False, "heartbeat.interval.ms": 200})
    consumer.subscribe(["orders"])
    values: list[int] = []

    def has_read() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            value = message.value()
            assert value is not None
            values.append(int(value))
            consumer.commit(message, asynchronous=False)
        return len(values) == count

    until(has_read)
    consumer.close()
    return values


def kafkajs(bootstrap: str, group: str, count: int) -> list[int]:
    with driven.kafkajs(bootstrap) as client:
        return [int(value) for value in client("readGroup", group, "orders", count)]


def in_go(name: str) -> Reads:
    def reads(bootstrap: str, group: str, count: int) -> list[int]:
        with driven.in_go(name, bootstrap) as client:
            return [int(value) for value in client("ReadGroup", group, "orders", count)]

    return reads


CLIENTS: Final[dict[str, Reads]] = {
    "kafka-python": kafka_python,
    "librdkafka": librdkafka,
    "kafkajs": kafkajs,
    "sarama": in_go("sarama"),
    "franz-go": in_go("kgo"),
    "kafka-go": in_go("kafka-go"),
}


def continues(reads: Callable[[int], list[int]]) -> None:
    """What two members read one after the other is everything, once."""
    first = reads(FIRST)
    assert len(first) == FIRST
    assert sorted([*first, *reads(RECORDS - FIRST)]) == [*range(RECORDS)]


@pytest.mark.checklist(258)
@pytest.mark.parametrize("client", CLIENTS)
def test_group_continues_where_its_dead_member_was(living: Living, client: str) -> None:
    continues(lambda count: CLIENTS[client](living.bootstrap, client, count))


@pytest.mark.checklist(258)
def test_group_of_console_consumers_continues(java: JavaTools, living: Living) -> None:
    group = f"java-{java.version}"

    def reads(count: int) -> list[int]:
        asked = ("--topic", "orders", "--group", group, "--from-beginning", "--timeout-ms", "20000")
        said = java("consumer", *asked, "--max-messages", str(count), at=living.bootstrap).done
        return [int(line) for line in said.split()]

    continues(reads)
