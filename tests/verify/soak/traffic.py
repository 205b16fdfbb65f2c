"""Stock clients that write numbers and read them in a group; what was acknowledged, and what was read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Self

import confluent_kafka as ck

TOPIC: Final = "orders"
GROUP: Final = "readers"
PARTITIONS: Final = 12
READERS: Final = 2
PAUSE_S: Final = 0.005
STUCK_S: Final = 60.0
POLL_S: Final = 30.0  # between two calls of a member; the default of 300 s is how long a stuck one stops its group
VALUE: Final = b"%09d" + b"." * 91


def values_of(settings: Mapping[str, Any], topic: str, partitions: int) -> Iterator[bytes]:
    """What a new consumer reads of all partitions, from their beginnings to their ends."""
    client = ck.Consumer({**settings, "group.id": "check", "enable.partition.eof": True})
    client.assign([ck.TopicPartition(topic, p, ck.OFFSET_BEGINNING) for p in range(partitions)])
    ended: set[int] = set()
    while len(ended) < partitions:
        for message in client.consume(1_000, 1.0):
            error = message.error()
            if error is None:
                yield message.value()
            elif error.code() == ck.KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                ended.add(message.partition())
    client.close()


class Reader:
    """A member of the group, in a thread of its own. `take` gets what it read, before that is committed."""

    def __init__(self, settings: Mapping[str, Any], goes_on: threading.Event, take: Callable[[set[int]], None]) -> None:
        self._settings, self._goes_on, self._take = settings, goes_on, take
        self.beat_s = time.monotonic()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def is_stuck(self) -> bool:
        return time.monotonic() - self.beat_s > STUCK_S

    def _run(self) -> None:
        client = ck.Consumer(dict(self._settings))
        client.subscribe([TOPIC])
        while self._goes_on.is_set():
            self.beat_s = time.monotonic()
            found = {int(m.value()[:9]) for m in client.consume(500, 0.2) if m.error() is None}
            if found:
                self._take(found)
                with suppress(ck.KafkaException):  # without a coordinator; the next commit says more
                    client.commit(asynchronous=False)
        client.close()


class Traffic:
    """`with Traffic(bootstrap) as traffic:` one producer with acks=all and a group of two, each in a thread."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.acknowledged: set[int] = set()
        self.refused = self.replaced = 0
        self.read: set[int] = set()
        self._lock = threading.Lock()
        self._writes, self._reads = threading.Event(), threading.Event()
        self._writer = threading.Thread(target=self._write)
        self._readers: list[Reader] = []

    def __enter__(self) -> Self:
        for event in (self._writes, self._reads):
            event.set()
        self._writer.start()
        self._readers = [self._reader() for _ in range(READERS)]
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_writing()
        self._reads.clear()
        for reader in self._readers:
            reader.thread.join(STUCK_S)

    def _reader(self) -> Reader:
        group = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        times = {"session.timeout.ms": 6_000, "max.poll.interval.ms": int(POLL_S * 1_000)}
        return Reader({**self._basis, **group, **times}, self._reads, self._take)

    def _take(self, found: set[int]) -> None:
        with self._lock:
            self.read |= found

    def look_after(self) -> None:
        """Replace a reader that is stuck, as a supervisor restarts a process: in librdkafka 2.16 a synchronous commit
        was seen to wait for ever after its coordinator had died (confluent-kafka-python, issue 1801)."""
        for place, reader in enumerate(self._readers):
            if reader.is_stuck:
                self._readers[place] = self._reader()
                self.replaced += 1

    def stop_writing(self) -> None:
        """Returns once every record was acknowledged or refused."""
        self._writes.clear()
        self._writer.join()

    @property
    def is_all_read(self) -> bool:
        """Whether the group has read every acknowledged record."""
        return self.acknowledged <= self.read

    @property
    def unread(self) -> int:
        """How many acknowledged records the group has not read. Of millions it takes a second, in which none is."""
        return len(self.acknowledged - self.read)

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

    def there(self) -> set[int]:
        """What a new consumer reads of all partitions, from the beginning."""
        return {int(value[:9]) for value in values_of(self._basis, TOPIC, PARTITIONS)}

    @property
    def _basis(self) -> dict[str, Any]:
        return {"bootstrap.servers": self._bootstrap, "log_level": 0}
