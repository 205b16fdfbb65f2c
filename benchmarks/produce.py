"""Records that a stock producer writes with acks=all to `kedge serve`, alone and while 1,000 partitions move."""

from __future__ import annotations

from contextlib import closing
from time import perf_counter

import kafka

from benchmarks.figures import rate
from kedge.testing import Server

MOVES, BROKERS, RECORDS, RECORD_BYTES, TOPIC = 1_000, 6, 20_000, 100, "load"


def run() -> None:
    topics = ["--topic", f"{TOPIC}:10:3", "--topic", f"moving:{MOVES}:3"]
    with Server(BROKERS, options=topics) as server:
        _measure(server.bootstrap_servers)


def _measure(bootstrap: str) -> None:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
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
