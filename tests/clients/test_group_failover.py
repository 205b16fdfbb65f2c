"""Groups of librdkafka go on while their partition of `__consumer_offsets` moves and its leader dies."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import confluent_kafka as ck
import pytest

from kedge import TopicPartition
from kedge.controller.groups.replies import FetchedOffsets
from kedge.controller.groups.requests import FetchOffsets
from tests.kit.waiting import until
from tests.wire.living import Living

pytestmark = [
    pytest.mark.full,
]

GROUP: Final = "g"
OFFSETS: Final = TopicPartition("__consumer_offsets", 0)
TIMEOUT_S: Final = 30


@pytest.fixture
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": 1}) as opened:
        opened.topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]])
        yield opened


class Running:
    """A producer and two consumers of it in one group, which commit after each few records."""

    def __init__(self, living: Living) -> None:
        self._living = living
        self._is_sent, self._is_over = threading.Event(), threading.Event()
        self.sent = 0
        self.seen: set[int] = set()
        self._producer = threading.Thread(target=self._produce)
        self._consumers = [threading.Thread(target=self._consume) for _ in range(2)]
        for thread in (self._producer, *self._consumers):
            thread.start()

    def _produce(self) -> None:
        settings = {"bootstrap.servers": self._living.bootstrap, "enable.idempotence": True, "log_level": 0}
        producer = ck.Producer(settings)
        while not self._is_sent.wait(0.02):
            for _ in range(10):
                producer.produce("orders", str(self.sent).encode(), partition=self.sent % 4)
                self.sent += 1
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0

    def _consume(self) -> None:
        consumer = ck.Consumer(
            {
                "bootstrap.servers": self._living.bootstrap,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 200,
                "session.timeout.ms": 6000,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.subscribe(["orders"])
        while not self._is_over.is_set():
            messages = consumer.consume(20, 0.1)
            self.seen |= {int(message.value()) for message in messages if not message.error()}
            if messages:
                with suppress(ck.KafkaException):  # while there is no coordinator: the next commit says more
                    consumer.commit(asynchronous=False)
        consumer.close()

    def finish(self) -> None:
        """All that was sent was read."""
        self._is_sent.set()
        self._producer.join()
        try:
            until(lambda: len(self.seen) == self.sent)
        finally:
            self._is_over.set()
            for thread in self._consumers:
                thread.join()


class Watched:
    """What a group has committed, which never goes back."""

    def __init__(self, living: Living, group: str = GROUP) -> None:
        self._living, self._group = living, group
        self.offsets: dict[TopicPartition, int] = {}

    def look(self) -> bool:
        """Whether there is a coordinator that answers."""
        answer = self._living.cluster.groups.ask(None, FetchOffsets(self._group, None)).result(TIMEOUT_S)
        if not isinstance(answer, FetchedOffsets):
            return False
        now = {tp: committed.offset for tp, committed in answer.offsets.items() if committed is not None}
        assert {tp: now.get(tp, -1) for tp, offset in self.offsets.items() if now.get(tp, -1) < offset} == {}
        self.offsets = now
        return True

    def goes_on(self, partitions: int = 4) -> None:
        """Every partition is committed further than before."""
        before = dict(self.offsets)
        until(lambda: self.look() and len(self.offsets) == partitions)
        until(lambda: self.look() and all(self.offsets[tp] > before.get(tp, 0) for tp in self.offsets))


def leader(living: Living) -> int:
    def ask(view: Any) -> int:
        return int(view.partition(OFFSETS.topic, OFFSETS.partition).leader)

    return living.cluster.controller.query(ask).result(TIMEOUT_S)


@pytest.mark.checklist(261)
def test_committed_offsets_never_go_back_and_nothing_is_skipped(living: Living) -> None:
    running, watched = Running(living), Watched(living)
    try:
        watched.goes_on()
        for _ in range(3):
            killed = leader(living)
            living.cluster.kill_broker(killed)
            watched.goes_on()
            living.cluster.restart_broker(killed)
            living.move(OFFSETS, [broker for broker in (1, 2, 3) if broker != leader(living)])
            until(lambda: not living.is_moving)
            watched.goes_on()
    finally:
        running.finish()
    watched.look()
    assert sum(watched.offsets.values()) <= running.sent
