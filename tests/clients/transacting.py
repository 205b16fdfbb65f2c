"""Transactions of stock clients, each driven by the same words. Topics have partition 0 alone.

open NAME ID TIMEOUT_MS        a producer with this transactional id
send NAME TOPIC VALUES         it begins a transaction and writes these values, acknowledged
end NAME commit|abort
pipe ID GROUP SOURCE TARGET COUNT commit|abort
                               a new member of the group reads so many values; a producer with this id writes them
                               to the target, its id before each, and ends that together with their offsets
read TOPIC LAST ISOLATION      the values up to this one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import attrs
import confluent_kafka as ck
import kafka
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.clients import driven, machine
from tests.kit.waiting import until

LONG_MS: Final = 60_000
_TIMEOUT_S: Final = 30


# A coordinator says PRODUCER_FENCED, which requests before KIP-588 (those of kafkajs) do not know. A leader of a
# partition only says that the epoch is old.
_IN_JAVA: Final = "ProducerFencedException|InvalidProducerEpochException"
CLIENTS: Final = {
    "librdkafka": "_FENCED",
    "kafka-python": "ProducerFencedError",
    **{
        f"java-{version}": "ProducerFencedException|InvalidProducerEpochException" for version in machine.KAFKA_VERSIONS
    },
    "kafkajs": "INVALID_PRODUCER_EPOCH",
    "franz-go": "PRODUCER_FENCED|INVALID_PRODUCER_EPOCH",
    "sarama": "Error code = 90",  # it knows the error, and has no words for it
}
"""What each calls the error of a producer that is not the newest with its id."""


@attrs.frozen
class Client:
    """`asks` raises Rejected."""

    name: str
    asks: Callable[..., Any]

    def __call__(self, verb: str, *words: Any) -> Any:
        return self.asks(verb, *words)

    @property
    def fenced(self) -> str:
        return CLIENTS[self.name]


@contextmanager
def transacting(name: str, bootstrap: str) -> Iterator[Client]:
    """The client of this name of `CLIENTS`."""
    with ExitStack() as stack:
        asks: Callable[..., Any]
        if name == "librdkafka":
            asks = _Librdkafka(bootstrap)
        elif name == "kafka-python":
            asks = _KafkaPython(bootstrap, stack)
        elif name == "kafkajs":
            asks = stack.enter_context(driven.kafkajs(bootstrap))
        elif name.startswith("java"):
            asks = stack.enter_context(driven.in_java("Transacting", name.removeprefix("java-"), bootstrap))
        else:
            process = stack.enter_context(driven.in_go(f"{name} transactions", bootstrap))
            asks = lambda verb, *words: process(verb.capitalize(), *words)  # noqa: E731
        yield Client(name, asks)


def _read(poll: Callable[[int], Sequence[bytes]], lacks: Callable[[list[str]], int]) -> list[str]:
    """`poll` takes how many values are lacking at least."""
    values: list[str] = []

    def has_read() -> bool:
        values.extend(value.decode() for value in poll(lacks(values)))
        return not lacks(values)

    until(has_read)
    return values


class _Librdkafka:
    def __init__(self, bootstrap: str) -> None:
        self._settings = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._producers: dict[str, ck.Producer] = {}

    def __call__(self, verb: str, *words: Any) -> Any:
        try:
            return getattr(self, verb)(*words)
        except ck.KafkaException as error:
            raise driven.Rejected(error.args[0].name()) from error

    def open(self, name: str, transactional_id: str, timeout_ms: int) -> None:
        settings = {"transactional.id": transactional_id, "transaction.timeout.ms": timeout_ms}
        self._producers[name] = ck.Producer({**self._settings, **settings})
        self._producers[name].init_transactions(_TIMEOUT_S)

    def send(self, name: str, topic: str, values: list[str]) -> None:
        producer, errors = self._producers[name], []
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0, on_delivery=lambda error, _: errors.append(error))
        producer.flush(_TIMEOUT_S)
        if any(errors):
            raise ck.KafkaException(errors[0])

    def end(self, name: str, how: str) -> None:
        getattr(self._producers[name], f"{how}_transaction")(_TIMEOUT_S)

    def pipe(self, name: str, group: str, source: str, target: str, count: int, how: str) -> None:  # noqa: PLR0917
        consumer = self._consumer(source, group)
        values = _read(lambda _: self._polled(consumer), lambda read: count - len(read))
        self.open(name, name, LONG_MS)
        self.send(name, target, [f"{name}:{value}" for value in values])
        offsets = consumer.position(consumer.assignment())
        self._producers[name].send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _TIMEOUT_S)
        self.end(name, how)
        consumer.close()

    def read(self, topic: str, last: str, isolation: str) -> list[str]:
        consumer = self._consumer(topic, f"{isolation} of {topic}", **{"isolation.level": isolation})
        values = _read(lambda _: self._polled(consumer), lambda read: read[-1:] != [last])
        consumer.close()
        return values

    def _consumer(self, topic: str, group: str, **more: str) -> ck.Consumer:
        settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = ck.Consumer({**self._settings, **settings, **more})
        consumer.subscribe([topic])
        return consumer

    @staticmethod
    def _polled(consumer: ck.Consumer) -> list[bytes]:
        message = consumer.poll(0.2)
        return [] if message is None or message.error() else [message.value() or b""]


class _KafkaPython:
    def __init__(self, bootstrap: str, stack: ExitStack) -> None:
        self._bootstrap = bootstrap
        self._stack = stack
        self._producers: dict[str, kafka.KafkaProducer] = {}

    def __call__(self, verb: str, *words: Any) -> Any:
        try:
            return getattr(self, verb)(*words)
        except KafkaError as error:
            raise driven.Rejected(type(error).__name__) from error

    def open(self, name: str, transactional_id: str, timeout_ms: int) -> None:
        settings = {"transactional_id": transactional_id, "transaction_timeout_ms": timeout_ms}
        producer = kafka.KafkaProducer(bootstrap_servers=self._bootstrap, **settings)
        self._stack.callback(producer.close, timeout=0)
        producer.init_transactions()
        self._producers[name] = producer

    def send(self, name: str, topic: str, values: list[str]) -> None:
        producer = self._producers[name]
        producer.begin_transaction()
        sent = [producer.send(topic, value.encode(), partition=0) for value in values]
        producer.flush(_TIMEOUT_S)
        for each in sent:
            each.get(_TIMEOUT_S)

    def end(self, name: str, how: str) -> None:
        getattr(self._producers[name], f"{how}_transaction")()

    def pipe(self, name: str, group: str, source: str, target: str, count: int, how: str) -> None:  # noqa: PLR0917
        consumer = self._consumer(source, group_id=group)
        values = _read(lambda lacks: self._polled(consumer, lacks), lambda read: count - len(read))
        self.open(name, name, LONG_MS)
        self.send(name, target, [f"{name}:{value}" for value in values])
        offsets = {tp: OffsetAndMetadata(consumer.position(tp), "", -1) for tp in consumer.assignment()}
        self._producers[name].send_offsets_to_transaction(offsets, consumer.group_metadata())
        self.end(name, how)
        consumer.close()

    def read(self, topic: str, last: str, isolation: str) -> list[str]:
        consumer = self._consumer(topic, isolation_level=isolation)
        values = _read(lambda lacks: self._polled(consumer, lacks), lambda read: read[-1:] != [last])
        consumer.close()
        return values

    def _consumer(self, topic: str, **more: str) -> kafka.KafkaConsumer:
        settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **more}
        consumer = kafka.KafkaConsumer(topic, bootstrap_servers=self._bootstrap, **settings)
        self._stack.callback(consumer.close, autocommit=False)  # again does nothing
        return consumer

    @staticmethod
    def _polled(consumer: kafka.KafkaConsumer, lacks: int) -> list[bytes]:
        return [r.value for records in consumer.poll(200, max_records=int(lacks)).values() for r in records]
