"""Consumer groups of stock clients, unmodified, on brokers that keep records."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import chain
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest
from confluent_kafka import admin

from tests.clients.driven import JavaTools
from tests.clients.producing import fill
from tests.kit.waiting import until
from tests.wire.living import Living

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

PARTITIONS: Final = 12
RECORDS: Final = 120
TIMEOUT_S: Final = 30


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """Topic orders, with ten records in each of its partitions."""
    with Living(groups={"offsets_partitions": 4}) as opened:
        fill(opened, PARTITIONS, RECORDS)
        yield opened


class Member:
    """A consumer with a thread that polls it, as members of a group have. Polled in turn by one thread, they join again
    and again.

    `polled` takes the consumer and returns the values of a poll and the assigned partitions.
    """

    def __init__(self, consumer: Any, polled: Callable[[Any], tuple[list[int], list[int]]]) -> None:
        self._consumer = consumer
        self._polled = polled
        self._is_over = threading.Event()
        self.values: list[int] = []
        self.partitions: list[int] = []
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._is_over.is_set():
            values, self.partitions = self._polled(self._consumer)
            self.values += values

    def close(self) -> None:
        if not self._is_over.is_set():
            self._is_over.set()
            self._thread.join()
            self._consumer.close()


# --- kafka-python


def of_kafka_python(consumer: Any) -> tuple[list[int], list[int]]:
    values = [int(r.value) for records in consumer.poll(200).values() for r in records]
    return values, [tp.partition for tp in consumer.assignment()]


def consumer(living: Living, group: str, **options: Any) -> Any:
    settings = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 200, "group_id": group, **options}
    made = kafka.KafkaConsumer("orders", bootstrap_servers=living.bootstrap, **settings)
    _OPENED.append(made)
    return made


_OPENED: list[Any] = []


@pytest.fixture(autouse=True)
def consumers_of_failed_tests_end() -> Iterator[None]:
    """One that goes on would look for its cluster for ever, and leave sockets to all tests after it."""
    yield
    while _OPENED:
        _OPENED.pop().close(autocommit=False)  # again does nothing


def read(consumer: Any, count: int = RECORDS) -> list[int]:
    """The values of so many records, or of as many as come."""
    values: list[int] = []
    end_s = time.monotonic() + TIMEOUT_S
    while len(values) < count and time.monotonic() < end_s:
        values += [int(r.value) for records in consumer.poll(200).values() for r in records]
    return values


def test_kafka_python_members_share_partitions(living: Living) -> None:
    with ExitStack() as stack:
        members = [Member(consumer(living, "shared"), of_kafka_python) for _ in range(3)]
        for member in members:
            stack.callback(member.close)

        def shared() -> bool:
            held = [[*member.partitions] for member in members]
            return [len(each) for each in held] == [4, 4, 4] and sorted(chain(*held)) == [*range(PARTITIONS)]

        until(shared)


def test_kafka_python_static_member_comes_back_without_rebalance(living: Living) -> None:
    static = {"group_instance_id": "instance", "session_timeout_ms": 20_000}
    first = consumer(living, "static", **static)
    read(first)
    first.commit()
    first.close()
    generation = described(living, "static")
    second = consumer(living, "static", **static)
    assert second.partitions_for_topic("orders")  # or it might join before it knows them, and join again
    # A poll that ends before its join is answered has the next one join again, which the leader of a group may not.
    until(lambda: second.poll(2000) == {} and len(second.assignment()) == PARTITIONS)
    assert described(living, "static") == generation
    second.close()


def described(living: Living, group: str) -> list[Any]:
    """Instance and generation of a group, as its coordinator has them."""
    with living.cluster.lock:
        leds = living.cluster.groups._led.values()  # noqa: SLF001 - no answer to a client has a generation
        found = [led.coordinator.groups[group] for led in leds if group in led.coordinator.groups]
        return [(each.generation, [*each.static]) for each in found]


def test_kafka_python_admin_resets_and_deletes(living: Living) -> None:
    reading = consumer(living, "admin-python")
    read(reading)
    reading.close()
    client = kafka.KafkaAdminClient(bootstrap_servers=living.bootstrap)
    try:
        assert "admin-python" in {each["group_id"] for each in client.list_groups()}
        offsets = client.list_group_offsets("admin-python")["admin-python"]
        assert sum(each["offset"] if isinstance(each, dict) else each.offset for each in offsets.values()) == RECORDS
        client.delete_groups(["admin-python"])
        assert "admin-python" not in {each["group_id"] for each in client.list_groups()}
    finally:
        client.close()


# --- librdkafka


def of_librdkafka(consumer: Any) -> tuple[list[int], list[int]]:
    message = consumer.poll(0.05)
    values = [] if message is None or message.error() else [int(message.value())]
    return values, [tp.partition for tp in consumer.assignment()]


def librdkafka_member(living: Living, group: str, **options: Any) -> Member:
    settings = {
        "bootstrap.servers": living.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "heartbeat.interval.ms": 200,
        "session.timeout.ms": 6000,
        "log_level": 0,
    }
    consumer = ck.Consumer(settings | {k.replace("_", "."): v for k, v in options.items()})
    consumer.subscribe(["orders"])
    return Member(consumer, of_librdkafka)


@pytest.mark.checklist(260)
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_librdkafka_members_share_partitions(living: Living, strategy: str) -> None:
    with ExitStack() as stack:
        members = [librdkafka_member(living, strategy, partition_assignment_strategy=strategy) for _ in range(3)]
        for member in members:
            stack.callback(member.close)
        until(lambda: sorted(len(member.partitions) for member in members) == [4, 4, 4])
        until(lambda: {value for member in members for value in member.values} == {*range(RECORDS)})
        members[0].close()
        until(lambda: sorted(len(member.partitions) for member in members[1:]) == [6, 6])


def test_librdkafka_closes_at_once(living: Living) -> None:
    member = librdkafka_member(living, "closing")
    until(lambda: member.partitions)
    began_s = time.monotonic()
    member.close()
    assert time.monotonic() - began_s < 5


def test_librdkafka_admin_sees_and_deletes(living: Living) -> None:
    member = librdkafka_member(living, "admin-librdkafka")
    until(lambda: len(member.values) == RECORDS)
    client: Any = admin.AdminClient({"bootstrap.servers": living.bootstrap})
    seen = client.describe_consumer_groups(["admin-librdkafka"])["admin-librdkafka"].result(TIMEOUT_S)
    assert (seen.state.name, [len(m.assignment.topic_partitions) for m in seen.members]) == ("STABLE", [PARTITIONS])
    member.close()
    asked = [ck.ConsumerGroupTopicPartitions("admin-librdkafka")]
    found = client.list_consumer_group_offsets(asked)["admin-librdkafka"].result(TIMEOUT_S)
    assert sum(each.offset for each in found.topic_partitions) == RECORDS
    client.delete_consumer_groups(["admin-librdkafka"])["admin-librdkafka"].result(TIMEOUT_S)
    listed = client.list_consumer_groups().result(TIMEOUT_S).valid
    assert "admin-librdkafka" not in {each.group_id for each in listed}


# --- Java


@pytest.mark.checklist(259)
def test_console_consumer_reads_without_and_with_group(java: JavaTools, living: Living) -> None:
    asked = ("--topic", "orders", "--from-beginning", "--max-messages", str(RECORDS), "--timeout-ms", "20000")
    for more in ((), ("--group", f"console-{java.version}")):
        said = java("consumer", *asked, *more, at=living.bootstrap).done
        assert sorted(int(line) for line in said.split()) == [*range(RECORDS)]


@pytest.mark.checklist(262)
def test_consumer_groups_describes_resets_and_deletes(java: JavaTools, living: Living) -> None:
    group = f"tool-{java.version}"
    reading = consumer(living, group)
    read(reading)

    def groups(*words: str) -> str:
        return java("groups", *words, at=living.bootstrap).done

    assert group in groups("--list")
    members = groups("--describe", "--group", group, "--members").splitlines()
    assert [line.split()[-1] for line in members if line.startswith(group)] == [str(PARTITIONS)]
    reading.close()
    assert offsets_of(groups("--describe", "--group", group), group) == {(n, 10) for n in range(PARTITIONS)}
    groups("--reset-offsets", "--group", group, "--topic", "orders", "--to-offset", "3", "--execute")
    groups("--delete-offsets", "--group", group, "--topic", "orders:0")
    assert offsets_of(groups("--describe", "--group", group), group) == {(n, 3) for n in range(1, PARTITIONS)}
    assert "successful" in groups("--delete", "--group", group)
    assert group not in groups("--list")


def offsets_of(said: str, group: str) -> set[tuple[int, int]]:
    """Partition and committed offset of each row."""
    rows = [line.split() for line in said.splitlines() if line.startswith(group)]
    return {(int(row[2]), int(row[3])) for row in rows}


@pytest.mark.checklist(263)
def test_kafkas_formatter_reads_the_log_of_groups(java: JavaTools, living: Living) -> None:
    group = f"dumped-{java.version}"
    reading = consumer(living, group)
    read(reading)
    reading.close()
    asked = ("--topic", "__consumer_offsets", "--from-beginning", "--timeout-ms", "2000", "--formatter")
    said = java("consumer", *asked, "org.apache.kafka.tools.consumer.OffsetsMessageFormatter", at=living.bootstrap)
    rows = [row for row in decoded(said.out) if row["key"]["data"]["group"] == group]
    offsets = {row["key"]["data"]["partition"]: row["value"]["data"]["offset"] for row in rows}
    assert offsets == dict.fromkeys(range(PARTITIONS), RECORDS // PARTITIONS)
    assert {row["value"]["version"] for row in rows} == {3}


def decoded(text: str) -> Iterator[Any]:
    """JSON objects one after the other, without anything between them."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        with suppress(ValueError):
            found, place = decoder.raw_decode(text, place)
            yield found
            continue
        place += 1
