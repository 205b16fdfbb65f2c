"""Kafka Streams and Kafka Connect, unmodified, on brokers that keep records: what builds on consumer groups."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import kafka
import pytest

from kedge.controller.coordinators.partitions import OFFSETS_TOPIC
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


def test_streams_count_words_over_a_kill_and_the_death_of_the_coordinator(living: Living, tmp_path: Path) -> None:
    """At least once: no word is missed."""
    for topic in ("lines", "counts"):
        living.topic(topic, [[1, 2, 3], [2, 3, 1]])
    counts: dict[str, int] = {}
    consumer = kafka.KafkaConsumer("counts", bootstrap_servers=living.bootstrap, auto_offset_reset="earliest")

    def counted(word: str, times: int) -> bool:
        for records in consumer.poll(100).values():
            counts.update({r.key.decode(): int(r.value) for r in records})
        return counts.get(word, 0) >= times

    words = (str(machine.HERE / "java" / "WordCount.java"), living.bootstrap, str(tmp_path))
    with program(kafka_jars.STREAMS, *words) as first:
        produce(living, "lines", ["a b a"] * 20)
        until(lambda: counted("a", 40), timeout_s=DEADLINE_S)
        first.kill()
    with program(kafka_jars.STREAMS, *words):
        produce(living, "lines", ["a c"] * 20)
        until(lambda: counted("a", 60) and counted("c", 20), timeout_s=DEADLINE_S)
        killed = living.cluster.controller.query(
            lambda view: getattr(view.partition(OFFSETS_TOPIC, 0), "leader", -1)
        ).result(TIMEOUT_S)
        living.cluster.kill_broker(int(killed))
        produce(living, "lines", ["d"] * 20)
        until(lambda: counted("d", 20), timeout_s=DEADLINE_S)
    consumer.close()
    assert counts["b"] >= 20


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
