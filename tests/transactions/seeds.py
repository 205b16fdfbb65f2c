"""Transactions in virtual time: clients that read, write and commit their place, stall and die; brokers and controllers
that fail; coordinators and partitions that move.

Invariants
* A read_committed reader gets all records of a transaction or none, in order, and each input once, whatever died, and
  whichever member of a group processed it.
* Nothing of an aborted transaction is read, and nothing that a fenced producer writes.
* The last stable offset never goes back while the high watermark does not.
* A committed offset is never followed by a lower one.
* Nothing waits for ever: once all is healed, all inputs are processed, and a transaction whose worker left is aborted.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Final

import attrs

from kedge.controller.coordinators import TRANSACTIONS_TOPIC
from kedge.controller.model.logs import Fetched, FetchFrom, StoredBatch
from kedge.controller.model.values import TopicPartition
from kedge.controller.wire.data.batches import pairs
from tests.coordinators.world import CLUSTER_MISHAPS, World
from tests.transactions.members import SHARED, Member
from tests.transactions.workers import INPUTS, OUT, TIMEOUT_MS, Client, Worker, outs, value

WORKERS: Final = 3
MEMBERS: Final = 2
OFTEN_LATE: Final = 0.02
SOURCES: Final = (*(TopicPartition("in", partition) for partition in range(WORKERS)), *SHARED)


@attrs.define(eq=False)
class Reader:
    """A read_committed consumer of one partition, as stock consumers read: it skips what belongs to transactions that
    the broker says were aborted."""

    world: World
    tp: TopicPartition
    offset: int = 0
    ends: tuple[int, int] = (0, 0)
    waits_for: Future[dict[TopicPartition, Fetched]] | None = None
    read: list[str] = attrs.field(factory=list)

    def step(self) -> None:
        """Take what is there."""
        if self.waits_for is not None and self.waits_for.done():
            self._heard(self.waits_for.result()[self.tp])
            self.waits_for = None
        if self.waits_for is None:
            wanted = {self.tp: FetchFrom(self.offset, 10**6, is_committed=True)}
            leader = self.world.leader(self.tp)
            self.waits_for = self.world.logs.fetch(leader, wanted, bytes_max=10**6, bytes_min=0, wait_ms=0)

    def _heard(self, fetched: Fetched) -> None:
        if fetched.error:
            return
        high_watermark, stable = self.ends
        assert fetched.stable_offset <= fetched.high_watermark
        if fetched.high_watermark >= high_watermark:
            assert fetched.stable_offset >= stable, (self.tp, self.ends, fetched)
            self.ends = (fetched.high_watermark, fetched.stable_offset)
        aborted = sorted(fetched.aborted, key=lambda each: each.first_offset)
        skipped: set[int] = set()
        for stored in fetched.batches:
            assert stored.end_offset <= fetched.stable_offset
            while aborted and aborted[0].first_offset <= stored.base_offset:
                skipped.add(aborted.pop(0).producer_id)
            self.offset = stored.end_offset
            self.read += self._shown(stored, skipped)

    @staticmethod
    def _shown(stored: StoredBatch, skipped: set[int]) -> Iterator[str]:
        if stored.batch.marker is not None:
            skipped.discard(stored.batch.producer_id)
        elif stored.batch.producer_id not in skipped:
            yield from ((value or b"").decode() for _, value in pairs(stored))


class Seed(World):
    """Workers and members, those that were thought dead and go on, and readers. `places`: what is committed, as
    far as any of them knows."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, "transactions", {"in": WORKERS, "shared": len(SHARED), "out": len(OUT)})
        self.places = dict.fromkeys(SOURCES, 0)
        self.readers = [Reader(self, tp) for tp in OUT]
        kinds: list[type[Client]] = [Worker] * WORKERS + [Member] * MEMBERS
        self.clients = [self._client(kind, number) for number, kind in enumerate(kinds)]
        self.zombies: list[Client] = []
        self.born = len(kinds)

    def _client(self, kind: type[Client], number: int) -> Client:
        return kind(self, number, self.chance.choice((0, 2)), self.places)

    def step(self) -> None:
        """A tick: all do what is due."""
        self.tick()
        for client in (*self.clients, *self.zombies):
            client.step()
        for reader in self.readers:
            reader.step()
        self.drain()
        self.clients = [
            self._client(type(client), client.number) if client.is_over and not client.is_done else client
            for client in self.clients
        ]

    @property
    def counts(self) -> tuple[int, int]:
        """Inputs whose transactions were acknowledged, and partitions of them."""
        return sum(self.places.values()), len(self.places)

    def any_mishap(self) -> None:
        """One of many, by chance."""
        kind = self.chance.choice((*CLUSTER_MISHAPS, "die", "stray", "stall"))
        at = self.chance.randrange(len(self.clients))
        client = self.clients[at]
        if kind == "stall":
            client.stalls_until_ms = self.now_ms + self.chance.randint(1_000, 15_000)
        elif kind in {"die", "stray"}:
            if kind == "stray":
                self.zombies.append(client)
            self.clients[at] = self._client(type(client), self._next_number(client))
        else:
            offsets, partition = client.offsets, self.chance.randrange(2)
            moved = self.chance.choice([*OUT, offsets, TopicPartition(TRANSACTIONS_TOPIC, partition)])
            self.mishap(kind, moved)

    def _next_number(self, client: Client) -> int:
        """A member comes with its former transactional id, or with a new one."""
        if isinstance(client, Worker) or self.chance.random() < 0.5:
            return client.number
        self.born += 1
        return self.born

    def run(self, mishaps: int) -> None:
        """So many, a few ticks between two; then all is healed, and all inputs are processed."""
        for _ in range(mishaps):
            for _ in range(self.chance.randint(1, 60)):
                self.late.arrive(OFTEN_LATE)
                self.step()
            self.any_mishap()
        self.rig.mishaps.heal()
        end_ms = self.now_ms + 400_000
        while not self.is_done:
            assert self.now_ms < end_ms, (self.places, [reader.offset for reader in self.readers])
            self.step()
        self._leave()
        self.check()

    def _leave(self) -> None:
        """A worker leaves in the middle of a transaction, which then must end."""
        leaver = self._client(Worker, 0)
        leaver.work = leaver.leave()
        self.clients.append(leaver)
        while not leaver.is_over:
            self.step()
        end_ms = self.now_ms + 2 * TIMEOUT_MS
        (high_watermark, stable), reader = (1, 0), self.readers[0]
        while high_watermark > stable:
            assert self.now_ms < end_ms, "a transaction stays open"
            self.step()
            high_watermark, stable = reader.ends

    @property
    def is_done(self) -> bool:
        """Whether every input is processed, and the readers have all of it."""
        has_all = sum(len(reader.read) for reader in self.readers) >= 2 * INPUTS * len(SOURCES)
        return has_all and all(client.is_over for client in self.clients)

    def check(self) -> None:
        """Each input is in its two partitions once, in order."""
        for source in SOURCES:
            for reader in self.readers:
                mine = [read for read in reader.read if read.startswith(value(source, 0)[:-1])]
                numbers = range(INPUTS if reader.tp in outs(source) else 0)
                assert mine == [value(source, number) for number in numbers], (source, reader.tp, mine)
