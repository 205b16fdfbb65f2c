"""A stock producer that writes with acks=all without a pause, and a stock consumer that reads all of it back."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

import kafka

DEADLINE_S: Final = 60.0
_SMALL: Final = b"." * 100


class Writer:
    """Numbers from 0 up, into the partitions of a topic in turn. `acknowledged`: by partition, in their order."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._bootstrap, self._topic, self._partitions = bootstrap, topic, partitions
        self.acknowledged: list[list[int]] = [[] for _ in range(partitions)]
        self._numbers = itertools.count()
        self._over = threading.Event()
        self.failures: list[BaseException] = []

    @property
    def count(self) -> int:
        """How many were acknowledged so far."""
        return sum(map(len, self.acknowledged))

    def fill(self, records: int, record_bytes: int) -> None:
        """So many are written into each partition, and acknowledged."""
        with self._producer() as producer:
            sent = [
                (number, self._send(producer, number, b"." * record_bytes))
                for number in itertools.islice(self._numbers, records * self._partitions)
            ]
            for number, future in sent:
                future.get(DEADLINE_S)
                self.acknowledged[number % self._partitions].append(number)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """It writes in a thread, one after the other is acknowledged, until the block ends."""
        thread = threading.Thread(target=self._write, name="writer")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(DEADLINE_S)

    def _write(self) -> None:
        try:
            with self._producer() as producer:
                for number in self._numbers:
                    self._send(producer, number, _SMALL).get(DEADLINE_S)
                    self.acknowledged[number % self._partitions].append(number)
                    if self._over.is_set():
                        return
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.failures.append(error)

    @contextmanager
    def _producer(self) -> Iterator[kafka.KafkaProducer]:
        producer = kafka.KafkaProducer(bootstrap_servers=self._bootstrap, acks="all", enable_idempotence=True)
        try:
            yield producer
        finally:
            producer.close(timeout=1)  # all was answered, or the test has failed

    def _send(self, producer: kafka.KafkaProducer, number: int, padding: bytes) -> kafka.producer.future.Future:
        return producer.send(self._topic, b"%08d%b" % (number, padding), partition=number % self._partitions)


def numbers_in(bootstrap: str, topic: str, counts: Sequence[int]) -> list[list[int]]:
    """What a consumer reads that was assigned the partitions by hand; `counts`: how much is there, in each."""
    found: list[list[int]] = [[] for _ in counts]
    tps = [kafka.TopicPartition(topic, partition) for partition in range(len(counts))]
    with closing(kafka.KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)) as consumer:
        consumer.assign(tps)
        consumer.seek_to_beginning(*tps)
        assert consumer.end_offsets(tps) == dict(zip(tps, counts, strict=True))
        deadline_s = time.monotonic() + DEADLINE_S
        while sum(map(len, found)) < sum(counts):
            assert time.monotonic() < deadline_s, [len(one) for one in found]
            for tp, records in consumer.poll(timeout_ms=500).items():
                found[tp.partition] += [int(record.value[:8]) for record in records]
    return found
