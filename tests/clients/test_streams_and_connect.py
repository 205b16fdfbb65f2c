"""Kafka Streams and Kafka Connect, unmodified, on brokers that keep records: what builds on consumer groups."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import kafka
import pytest

from kedge.controller.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tests import kafka_jars
from tests.clients import machine
from tests.kit.waiting import until
from tests.wire.living import Living

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

TIMEOUT_S: Final = 30
DEADLINE_S: Final = 120.0
CONNECT: Final = "org.apache.kafka.connect.cli.ConnectStandalone"


@pytest.fixture
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": 1}) as opened:
        yield opened


@contextmanager
def program(jars: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Java program; ended by SIGTERM if it still runs."""
    command = [kafka_jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-cp", kafka_jars.kafka_classpath(jars)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*command, *arguments], stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.terminate()


def produce(living: Living, topic: str, values: Sequence[str]) -> None:
    """To two partitions in turn, acknowledged."""
    producer = kafka.KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    for number, value in enumerate(values):
        producer.send(topic, value.encode(), partition=number % 2)
    producer.flush(TIMEOUT_S)
    producer.close()


class Counts:
    """What the word count has written, read as committed."""

    def __init__(self, living: Living) -> None:
        self.found: dict[str, list[int]] = {}
        options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        self._consumer = kafka.KafkaConsumer("counts", bootstrap_servers=living.bootstrap, **options)

    def has(self, word: str, times: int) -> bool:
        for records in self._consumer.poll(100).values():
            for record in records:
                self.found.setdefault(record.key.decode(), []).append(int(record.value))
        return self.last(word) >= times

    def last(self, word: str) -> int:
        return self.found.get(word, [0])[-1]

    def close(self) -> None:
        self._consumer.close()


def kill_leader(living: Living, topic: str) -> int:
    """Of partition 0; returns the broker."""
    found = living.cluster.controller.query(lambda view: getattr(view.partition(topic, 0), "leader", -1))
    broker = int(found.result(TIMEOUT_S))
    living.cluster.kill_broker(broker)
    return broker


@pytest.mark.parametrize(
    "guarantee, led",
    [("at_least_once", (OFFSETS_TOPIC,)), ("exactly_once_v2", (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "counts"))],
)
def test_streams_count_words_over_kills_of_a_client_and_of_brokers(
    living: Living, tmp_path: Path, guarantee: str, led: tuple[str, ...]
) -> None:
    """At least once, no word is missed; exactly once, none is counted again, and no count is read that was not
    committed."""
    for topic in ("lines", "counts"):
        living.topic(topic, [[1, 2, 3], [2, 3, 1]])
    counts = Counts(living)
    words = (str(machine.HERE / "java" / "WordCount.java"), living.bootstrap, str(tmp_path), guarantee)
    with program(kafka_jars.STREAMS, *words) as first:
        produce(living, "lines", ["a b a"] * 20)
        until(lambda: counts.has("a", 40), timeout_s=DEADLINE_S)
        first.kill()
    with program(kafka_jars.STREAMS, *words):
        produce(living, "lines", ["a c"] * 20)
        until(lambda: counts.has("a", 60) and counts.has("c", 20), timeout_s=DEADLINE_S)
        for topic in led:
            killed = kill_leader(living, topic)
            produce(living, "lines", ["d"] * 20)
            times = counts.last("d") + 20
            until(lambda times=times: counts.has("d", times), timeout_s=DEADLINE_S)  # type: ignore[misc]
            living.cluster.restart_broker(killed)
    counts.close()
    assert counts.last("b") >= 20
    if guarantee == "exactly_once_v2":
        assert {word: counts.last(word) for word in "abcd"} == {"a": 60, "b": 20, "c": 20, "d": 60}
        assert all(found == sorted(set(found)) for found in counts.found.values())


def test_a_file_sink_of_connect_goes_on_where_it_stopped(living: Living, tmp_path: Path) -> None:
    living.topic("orders", [[1, 2, 3], [2, 3, 1]])
    sink = tmp_path / "sink.txt"
    worker, connector = tmp_path / "worker.properties", tmp_path / "sink.properties"
    worker.write_text(
        f"bootstrap.servers={living.bootstrap}\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
        f"offset.storage.file.filename={tmp_path / 'offsets'}\n"
        "offset.flush.interval.ms=500\nlisteners=http://127.0.0.1:0\n"
    )
    connector.write_text(
        "name=file-sink\nconnector.class=org.apache.kafka.connect.file.FileStreamSinkConnector\ntasks.max=2\n"
        f"topics=orders\nfile={sink}\n"
    )

    def written() -> list[int]:
        return sorted(int(line) for line in sink.read_text().split()) if sink.exists() else []

    for start, stop in ((0, 30), (30, 40)):
        produce(living, "orders", [str(number) for number in range(start, stop)])
        with program(kafka_jars.CONNECT, CONNECT, str(worker), str(connector)) as running:
            until(lambda stop=stop: len(written()) >= stop, timeout_s=DEADLINE_S)  # type: ignore[misc]
            running.terminate()  # commits what it has written
            running.wait(TIMEOUT_S)
    assert written() == [*range(40)]
