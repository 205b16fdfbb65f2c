"""Producers of stock clients, each asked in the same way: what became of the record of each key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, Self

import confluent_kafka as ck
import kafka
from kafka.errors import KafkaError

from tests.clients import driven
from tests.kit.waiting import until
from tests.wire.living import Living

Ended = list[int | str | None]
"""For each record the partition that took it, or the name of the error; None: nothing was heard of it in time."""

Send = Callable[[str, Sequence[str | None]], Ended]
"""A topic and a key for each record, which may be null, to how they ended."""

CLIENTS: Final = ("java", "librdkafka", "kafka-python", "franz-go", "sarama")
_IN_GO: Final = {"franz-go": "kgo", "sarama": "sarama"}
_TIMEOUT_S: Final = 30
_AT_ONCE: Final = 60  # numbers of a flow
_BATCH_BYTES: Final = 200  # so that records without a key go to several partitions


def fill(living: Living, partitions: int, records: int) -> None:
    """Topic orders, with numbers from 0 in its partitions in turn."""
    living.topic("orders", [[1, 2, 3]] * partitions)
    producer = kafka.KafkaProducer(bootstrap_servers=living.bootstrap, acks="all")
    for number in range(records):
        producer.send("orders", str(number).encode(), partition=number % partitions)
    producer.flush(_TIMEOUT_S)
    producer.close()


def produce(living: Living, partitions: int, numbers: Sequence[int], topic: str = "orders") -> None:
    """Each number into the partition that is its rest by their count, acknowledged and once."""
    producer = ck.Producer({"bootstrap.servers": living.bootstrap, "enable.idempotence": True, "log_level": 0})
    for number in numbers:
        producer.produce(topic, str(number).encode(), partition=number % partitions)
    assert producer.flush(_TIMEOUT_S) == 0


class Flow:
    """A thread that produces numbers from 0 to topic orders until it is stopped."""

    def __init__(self, living: Living, partitions: int) -> None:
        self._living, self._partitions = living, partitions
        self._is_over = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._produce)
        self._thread.start()

    def _produce(self) -> None:
        while not self._is_over.wait(0.05):
            produce(self._living, self._partitions, range(self.sent, self.sent + _AT_ONCE))
            self.sent += _AT_ONCE

    def goes_on(self, count: int = 600) -> range:
        """So many numbers that are produced from now on."""
        begin = self.sent + _AT_ONCE  # the next ones are on their way
        until(lambda: self.sent > begin + count)
        return range(begin, begin + count)

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()


@contextmanager
def producing(client: str, bootstrap: str, *, idempotent: bool) -> Iterator[Send]:
    """A producer of that client, with the settings that it has by itself."""
    with ExitStack() as stack:
        if client == "java":
            settings = {"bootstrap.servers": bootstrap, "enable.idempotence": idempotent, "batch.size": _BATCH_BYTES}
            process = stack.enter_context(driven.in_java("Producing"))
            yield lambda topic, keys: process(settings, topic, keys)
        elif client == "kafka-python":
            options = {"bootstrap_servers": bootstrap, "enable_idempotence": idempotent, "acks": "all"}
            yield stack.enter_context(_Python(options))
        elif client == "librdkafka":
            yield _Librdkafka({"bootstrap.servers": bootstrap, "enable.idempotence": idempotent})
        else:
            process = stack.enter_context(driven.in_go(_IN_GO[client], bootstrap))
            yield lambda topic, keys: process("SendEach", topic, keys, idempotent)


class _Python:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._producer = kafka.KafkaProducer(**settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.close(timeout=0)

    def __call__(self, topic: str, keys: Sequence[str | None]) -> Ended:
        sent = [self._sent(topic, key) for key in keys]
        self._producer.flush(_TIMEOUT_S)
        return [one if isinstance(one, str) else _heard(one) for one in sent]

    def _sent(self, topic: str, key: str | None) -> Any:
        try:
            return self._producer.send(topic, key=key and key.encode(), value=b"value")
        except KafkaError as error:  # a producer that has given up says so here
            return type(error).__name__


def _heard(future: Any) -> int | str:
    if future.failed():
        return type(future.exception).__name__
    return int(future.value.partition)


class _Librdkafka:
    def __init__(self, settings: dict[str, Any]) -> None:
        self._producer = ck.Producer(settings)

    def __call__(self, topic: str, keys: Sequence[str | None]) -> Ended:
        ended: Ended = [None] * len(keys)
        for place, key in enumerate(keys):

            def heard(error: Any, message: Any, place: int = place) -> None:
                ended[place] = message.partition() if error is None else error.name()

            self._producer.produce(topic, key=key, value=b"value", on_delivery=heard)
        self._producer.flush(_TIMEOUT_S)
        return ended
