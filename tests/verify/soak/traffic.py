"""Stock clients that write numbers and read them in a group; what was acknowledged, and what was read."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Final, Self

import confluent_kafka as ck

TOPIC: Final = "orders"
GROUP: Final = "readers"
PARTITIONS: Final = 12
READERS: Final = 2
PAUSE_S: Final = 0.005
VALUE: Final = b"%09d" + b"." * 91


class Traffic:
    """`with Traffic(bootstrap) as traffic:` one producer with acks=all and a group of two, each in a thread."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.acknowledged: set[int] = set()
        self.refused = 0
        self.read: set[int] = set()
        self._lock = threading.Lock()
        self._writes, self._reads = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._write),
            *(threading.Thread(target=self._read) for _ in range(READERS)),
        ]

    def __enter__(self) -> Self:
        for event in (self._writes, self._reads):
            event.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_writing()
        self._reads.clear()
        for thread in self._threads:
            thread.join()

    def stop_writing(self) -> None:
        """Returns once every record was acknowledged or refused."""
        self._writes.clear()
        self._threads[0].join()

    @property
    def is_all_read(self) -> bool:
        """Whether the group has read every acknowledged record."""
        return self.acknowledged <= self.read

    def _write(self) -> None:
        client = ck.Producer({**self._basis, "acks": "all", "linger.ms": 5, "message.timeout.ms": 120_000})

        def said(error: Any, message: Any) -> None:
            if error is None:
                self.acknowledged.add(int(message.value()[:9]))
            else:
                self.refused += 1

        number = 0
        while self._writes.is_set():
            client.produce(TOPIC, VALUE % number, partition=number % PARTITIONS, callback=said)
            number += 1
            client.poll(PAUSE_S)
        client.flush()

    def _read(self) -> None:
        group = {"group.id": GROUP, "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
        client = ck.Consumer({**self._basis, **group, "enable.auto.commit": False})
        client.subscribe([TOPIC])
        while self._reads.is_set():
            found = [int(m.value()[:9]) for m in client.consume(500, 0.2) if m.error() is None]
            if found:
                with self._lock:
                    self.read.update(found)
                with suppress(ck.KafkaException):  # without a coordinator; the next commit says more
                    client.commit(asynchronous=False)
        client.close()

    def there(self) -> set[int]:
        """What a new consumer reads of all partitions, from the beginning."""
        client = ck.Consumer({**self._basis, "group.id": "check", "enable.partition.eof": True})
        client.assign([ck.TopicPartition(TOPIC, p, ck.OFFSET_BEGINNING) for p in range(PARTITIONS)])
        found: set[int] = set()
        ended: set[int] = set()
        while len(ended) < PARTITIONS:
            for message in client.consume(1_000, 1.0):
                error = message.error()
                if error is None:
                    found.add(int(message.value()[:9]))
                elif error.code() == ck.KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                    ended.add(message.partition())
        client.close()
        return found

    @property
    def _basis(self) -> dict[str, Any]:
        return {"bootstrap.servers": self._bootstrap, "log_level": 0}
