"""Stock clients against `kedge serve` while partitions move: nothing is lost, nothing is there twice, order is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import attrs
import kafka
import pytest
from kafka.producer.future import FutureRecordMetadata

from tests.kit.waiting import until
from tests.serve.processes import DEADLINE_S, serving

TOPIC = "orders"
MOVES: tuple[Sequence[int], ...] = ((4, 5, 1), (2, 3, 4), (5, 1, 2), (3, 4, 5), (1, 2, 3))


@attrs.define
class Writer:
    """Writes numbers into each partition with acks=all, without a pause, until it is stopped."""

    producer: kafka.KafkaProducer
    partitions: int
    sent: list[list[FutureRecordMetadata]] = attrs.field(factory=list)
    _ended: threading.Event = attrs.field(factory=threading.Event)

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.sent = [[] for _ in range(self.partitions)]
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(DEADLINE_S)
        self.producer.flush(DEADLINE_S)

    @property
    def count(self) -> int:
        """How many were acknowledged so far."""
        return sum(future.succeeded() for sent in self.sent for future in list(sent))

    def until_more(self, count: int) -> None:
        """So many more are acknowledged."""
        wanted = self.count + count
        until(lambda: self.count >= wanted)

    def _write(self) -> None:
        while not self._ended.is_set():
            for partition, sent in enumerate(self.sent):
                # The first ones are large, so that moves take their time, whatever else the machine does.
                value = b"%08d" % len(sent) + b"." * (50_000 if len(sent) < 40 else 500)
                sent.append(self.producer.send(TOPIC, value, partition=partition))
            self._ended.wait(0.002)


def moved(admin: kafka.KafkaAdminClient, targets: dict[kafka.TopicPartition, Sequence[int]]) -> None:
    """The moves are accepted, and have ended."""
    answers = admin.alter_partition_reassignments({tp: list(target) for tp, target in targets.items()})
    assert answers == dict.fromkeys(targets)
    end = time.monotonic() + DEADLINE_S
    while admin.list_partition_reassignments():
        assert time.monotonic() < end, "the moves do not end"


@pytest.mark.server
@pytest.mark.slow
def test_nothing_is_lost_while_stock_clients_move_what_they_write() -> None:
    """Each partition is moved five times, each time to another leader and other brokers, while it is written
    without a pause; what was acknowledged is read back by a consumer that was assigned by hand: all, once, in order."""
    options = (
        "--broker-count",
        "5",
        "--racks",
        "a,b,c",
        "--copy-rate",
        "10MB",
        "--seed",
        "1",
        "--topic",
        f"{TOPIC}:3:3",
    )
    with serving(*options) as at, closing(kafka.KafkaAdminClient(bootstrap_servers=at["bootstrap"])) as admin:
        tps = [kafka.TopicPartition(TOPIC, partition) for partition in range(3)]
        producer = kafka.KafkaProducer(bootstrap_servers=at["bootstrap"], acks="all", linger_ms=5)
        with closing(producer):
            writer = Writer(producer, len(tps))
            meanwhile = 0
            with writer.writing():
                for turn in range(len(MOVES)):
                    writer.until_more(200 if turn == 0 else 1)
                    before = writer.count
                    moved(admin, {tp: MOVES[(turn + tp.partition) % len(MOVES)] for tp in tps})
                    meanwhile += writer.count - before
            offsets = [[future.get(0).offset for future in sent] for sent in writer.sent]
        assert all(offsets)
        assert meanwhile > 0, "nothing was written while they moved"
        assert offsets == [list(range(len(found))) for found in offsets]
        read = values(at["bootstrap"], tps, [len(found) for found in offsets])
        assert read == [list(range(len(found))) for found in offsets]
        described = {p["partition_index"]: p for p in admin.describe_topics([TOPIC])[0]["partitions"]}
        last = {tp.partition: MOVES[(len(MOVES) - 1 + tp.partition) % len(MOVES)] for tp in tps}
        assert {partition: p["replica_nodes"] for partition, p in described.items()} == {
            p: list(r) for p, r in last.items()
        }
        assert all(sorted(p["isr_nodes"]) == sorted(p["replica_nodes"]) for p in described.values())


def values(bootstrap: str, tps: Sequence[kafka.TopicPartition], counts: Sequence[int]) -> list[list[int]]:
    """The numbers that a consumer reads from the beginning, by partition."""
    found: list[list[int]] = [[] for _ in tps]
    with closing(kafka.KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)) as consumer:
        consumer.assign(tps)
        consumer.seek_to_beginning(*tps)
        assert consumer.end_offsets(tps) == dict(zip(tps, counts, strict=True))
        end = time.monotonic() + DEADLINE_S
        while [len(one) for one in found] != list(counts):
            assert time.monotonic() < end, [len(one) for one in found]
            for tp, records in consumer.poll(timeout_ms=500).items():
                found[tp.partition] += [int(record.value[:8]) for record in records]
        assert consumer.poll(timeout_ms=100) == {}
    return found
