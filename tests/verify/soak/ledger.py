"""Stock clients with transactions. One writes each number to three partitions, or aborts; another one copies what is
committed, with its place in the same transaction. So each number is there three times or not at all, in both topics."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, Self

import confluent_kafka as ck

from tests.verify.soak.traffic import values_of

LEDGER: Final = "ledger"
COPIES: Final = "copies"
PARTITIONS: Final = 6
TIMES: Final = 3
COMMITTED: Final = {"isolation.level": "read_committed"}
WAIT_S: Final = 30.0
TIMEOUT_S: Final = 20
"""After it a coordinator aborts a transaction, and fences its producer."""
SHOWN_MAX: Final = 10


class Ledger:
    """`with Ledger(bootstrap, seed) as ledger:` both clients, each in a thread. `unknown`: numbers whose client did not
    hear how their transaction ended. `restarts`: how often a client began again, by its last deed, the error, and
    whether the transaction was older than its timeout."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._basis = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._chance = random.Random(seed)
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.unknown: set[int] = set()
        self.restarts: Counter[str] = Counter()
        self._ending = "abort"
        self._next = 0
        self._transaction = threading.local()  # of the client in each thread
        self._writes, self._copies = threading.Event(), threading.Event()
        self._writer = threading.Thread(target=self._again_while, args=(self._writes, self._write))
        self._copier = threading.Thread(target=self._again_while, args=(self._copies, self._copy))

    def __enter__(self) -> Self:
        for event, thread in ((self._writes, self._writer), (self._copies, self._copier)):
            event.set()
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_writing()
        self._copies.clear()
        self._copier.join()

    def stop_writing(self) -> None:
        """Returns once the last transaction has ended."""
        self._writes.clear()
        self._writer.join()

    def found(self) -> tuple[Counter[int], Counter[int]]:
        """How often each number can be read in the ledger, and among the copies."""
        return self._read(LEDGER), self._read(COPIES)

    def wrong(self, ledger: Mapping[int, int], copies: Mapping[int, int]) -> list[str]:
        """Numbers that are not there as often as they must be; the first of many."""
        right = {number: {TIMES} for number in self.committed} | {number: {0} for number in self.aborted}
        right |= {number: {0, TIMES} for number in self.unknown}
        numbers = sorted({*right, *ledger, *copies})
        said = [
            f"{number}: {ledger.get(number, 0)} times, {copies.get(number, 0)} copies"
            for number in numbers
            if ledger.get(number, 0) not in right.get(number, {0}) or copies.get(number, 0) != ledger.get(number, 0)
        ]
        return said[:SHOWN_MAX]

    # --- the clients

    def _again_while(self, goes_on: threading.Event, work: Callable[[threading.Event], None]) -> None:
        """New clients under the same id take over from those that met an error, as a supervisor restarts a process."""
        while goes_on.is_set():
            try:
                work(goes_on)
            except ck.KafkaException as error:
                deed = self._ending if work == self._write else "copy"
                is_late = time.monotonic() - self._transaction.began_s > TIMEOUT_S
                self.restarts[f"{deed}: {error.args[0].name()}{' after its timeout' * is_late}"] += 1

    def _begin(self, client: ck.Producer) -> None:
        self._transaction.began_s = time.monotonic()
        client.begin_transaction()

    def _write(self, goes_on: threading.Event) -> None:
        client = self._producer("ledger")
        while goes_on.is_set():
            self._next += 1
            number = self._next
            self.unknown.add(number)
            self._begin(client)
            for partition in self._chance.sample(range(PARTITIONS), TIMES):
                client.produce(LEDGER, b"%d" % number, partition=partition)
            self._ending = "abort" if self._chance.random() < 0.2 else "commit"
            if self._ending == "abort":
                client.abort_transaction(WAIT_S)
                self.aborted.add(number)
            else:
                client.commit_transaction(WAIT_S)
                self.committed.add(number)
            self.unknown.remove(number)

    def _copy(self, goes_on: threading.Event) -> None:
        client = self._producer("copier")
        with self._source() as source:
            source.subscribe([LEDGER])
            while goes_on.is_set():
                found = [message for message in source.consume(200, 0.2) if message.error() is None]
                if not found:
                    continue
                self._begin(client)
                for message in found:
                    client.produce(COPIES, message.value(), partition=message.partition())
                place = source.position(source.assignment())
                client.send_offsets_to_transaction(place, source.consumer_group_metadata(), WAIT_S)
                client.commit_transaction(WAIT_S)

    def _producer(self, name: str) -> ck.Producer:
        self._transaction.began_s = time.monotonic()
        settings = {**self._basis, "transactional.id": name, "transaction.timeout.ms": TIMEOUT_S * 1000}
        client = ck.Producer(settings)
        client.init_transactions(WAIT_S)
        return client

    @contextmanager
    def _source(self) -> Iterator[ck.Consumer]:
        """It begins where the last copies ended."""
        group = {"group.id": "copiers", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        client = ck.Consumer({**self._basis, **COMMITTED, **group, "session.timeout.ms": 6_000})
        try:
            yield client
        finally:
            with suppress(ck.KafkaException):
                client.close()

    def _read(self, topic: str) -> Counter[int]:
        return Counter(map(int, values_of({**self._basis, **COMMITTED}, topic, PARTITIONS)))
