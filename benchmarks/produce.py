"""Records that a stock producer writes with acks=all to `kedge serve`, alone and while 1,000 partitions move."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import perf_counter
from typing import Final

import kafka

from benchmarks.figures import rate

MOVES, BROKERS, RECORDS, RECORD_BYTES, TOPIC = 1_000, 6, 20_000, 100, "load"
COMMAND: Final = "from controller.cli import main; main()"


def run() -> None:
    with _served() as bootstrap, closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=5)
        with closing(producer):
            _write(producer, "warm")
            _write(producer, "alone")
            targets = {("moving", n): [1 + (n + 3 + i) % BROKERS for i in range(3)] for n in range(MOVES)}
            began = perf_counter()
            admin.alter_partition_reassignments({kafka.TopicPartition(*tp): r for tp, r in targets.items()})
            _write(producer, f"while {MOVES} partitions begin to move")
            while admin.list_partition_reassignments():
                pass
            rate("moves of partitions with nothing in them", MOVES, perf_counter() - began)


def _write(producer: kafka.KafkaProducer, when: str) -> None:
    began = perf_counter()
    sent = [producer.send(TOPIC, b"." * RECORD_BYTES, partition=n % 10) for n in range(RECORDS)]
    producer.flush(120)
    assert all(future.succeeded() for future in sent)
    rate(f"records of {RECORD_BYTES} bytes from kafka-python, acks=all, {when}", RECORDS, perf_counter() - began)


@contextmanager
def _served() -> Iterator[str]:
    options = ["--listen", "127.0.0.1:0", "--brokers", str(BROKERS), "--racks", "a,b,c", "--no-status", "--json"]
    topics = ["--topic", f"{TOPIC}:10:3", "--topic", f"moving:{MOVES}:3"]
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", COMMAND, "serve", *options, *topics], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["bootstrap"]
    finally:
        process.terminate()
        process.communicate()
