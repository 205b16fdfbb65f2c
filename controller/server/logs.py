"""Requests of clients for the logs of a live cluster, and the requests that wait.

* A broker answers for the partitions that it leads by the controller's requests; a client that asks another broker, or
  uses another leader epoch, gets an error and refreshes its metadata. A broker id of None means whichever leads. Only a
  debugging client gets the bounds of a follower's log.
* Which batches are appended, and which refused: `kedge.controller.server.appending`.
* Fetches, and what they wait for: `kedge.controller.server.waiting`. A batch that waits for its replicas is looked at
  when another one is appended behind it, and in steps, some partitions in each.
* A partition whose leader raises (its log, or one of its settings) is answered with KAFKA_STORAGE_ERROR, which clients
  retry; the other partitions of the request are answered as usual. A batch that waits for replicas keeps waiting.
* Any thread may call the methods; their work is done by the thread that steps. Clients take turns to append, to fetch
  and to search for a time, in slices, for some ms at a time. Limits on copying do not affect clients.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from ..model.logs import (
    NO_EPOCH,
    ActiveProducers,
    Appended,
    Batch,
    BatchCodec,
    EndMarker,
    EpochEnd,
    Fetched,
    FetchFrom,
    Guard,
    Guarded,
    LogBounds,
    LogError,
    StoredBatch,
)
from ..model.values import TopicPartition
from ..runtime.turns import Turns, Work, at_once, into
from ..simulated.broker import Broker
from ..simulated.replica import Replica
from . import reading
from .appending import ACKS_ALL, Appending, Appends
from .futures import complete, result_of, work_for
from .leaders import Leaders
from .policies import Configs
from .record_store import RecordStore
from .shelves import Shelves
from .waiting import Fetch, Fetches, Place

T = TypeVar("T")
NO_OFFSET: Final = -1
_TURNS_S: Final = 0.005  # for work in slices, after the requests that are done at once


def wall_ms() -> int:
    """The time since 1970, as producers have it."""
    return time.time_ns() // 1_000_000


@attrs.frozen
class LogEnd:
    """A log as it is now. `size_bytes` None: unknown."""

    end_offset: int
    size_bytes: int | None = None


@attrs.define(eq=False)
class LiveLogs:
    """The logs of `brokers` as clients see them. `settings`: of topics and brokers, by kind and name. `soon`: has a
    call made by the thread that steps; `copied`: lets followers copy at once what a leader appended, where no rate
    limits them. `shelves`: the records. `clock`: seconds, for the deadlines of requests that wait. `codec`: for topics
    that are compacted, and for timestamps. `now_ms`: the time, in the clock of producers."""

    brokers: Mapping[int, Broker]
    settings: Configs
    soon: Callable[[Callable[[], None]], None]
    copied: Callable[[Replica], None]
    shelves: Shelves
    first_producer_id: int = 1001
    clock: Callable[[], float] = time.monotonic
    codec: BatchCodec | None = None
    now_ms: Callable[[], int] = wall_ms
    leaders: Leaders = attrs.field(init=False)
    appends: Appends = attrs.field(init=False)
    _turns: Turns = attrs.field(init=False)
    _fetches: Fetches = attrs.field(init=False)
    _producer_ids: int = 0

    def __attrs_post_init__(self) -> None:
        self.leaders = Leaders(self.brokers, self.shelves)
        self._turns = Turns(self.clock)
        self._fetches = Fetches(self._turns, self.clock, self._state, self._read)
        named = (self.brokers, self.settings, self.shelves, self.copied, self._fetches.changed, self.now_ms)
        self.appends = Appends(*named, self.codec)

    def begin(self, codec: BatchCodec) -> None:
        """Start to compact topics whose `cleanup.policy` contains `compact`, and to heed the configs of timestamps."""
        self.codec = self.appends.codec = codec

    # --- requests of clients, from any thread

    def append(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        batch: Batch,
        *,
        acks: int,
        timeout_ms: int,
        client: str = "",
        guard: Guard | None = None,
        leader_epoch: int = NO_EPOCH,
    ) -> Future[Appended]:
        """The batch is at the end of the leader's log, and (acks -1) in the logs of all replicas that are in sync.
        `client`: whose turns it takes. `guard`: with it, a transaction may begin. `leader_epoch`: the only one under
        which it is taken."""
        future: Future[Appended] = Future()
        one = Appending(tp, batch, acks, self.clock() + timeout_ms / 1000, guard, future)
        self._ask(client, future, lambda: self._put(broker_id, one, leader_epoch))
        return future

    def end_transaction(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        marker: EndMarker,
        *,
        timeout_ms: int,
        client: str = "",
    ) -> Future[Appended]:
        """The transaction of the producer is over, if it has one in this partition. With an older epoch than
        `producer_epoch` it writes no more. Raises RuntimeError before `begin`."""
        future: Future[Appended] = Future()
        codec, deadline_s = self.codec, self.clock() + timeout_ms / 1000
        if codec is None:
            raise RuntimeError("a marker needs the codec of `begin`")

        def end() -> None:
            batch = codec.end(producer_id, producer_epoch, marker, self.appends.now_ms())
            self._put(broker_id, Appending(tp, batch, ACKS_ALL, deadline_s, None, future))

        self._ask(client, future, end)
        return future

    def _put(self, broker_id: int | None, one: Appending, leader_epoch: int = NO_EPOCH) -> None:
        answer = self.leaders.result(Appended, partial(self.appends.append, one=one), broker_id, one.tp, leader_epoch)
        if answer is not None:
            complete(one.future, answer)

    def guard(
        self, broker_id: int | None, tp: TopicPartition, producer_id: int, producer_epoch: int
    ) -> Future[Guarded]:
        """What `append` needs for the first batch of a transaction in this partition. Between the two it is to be asked
        whether that is part of the transaction."""

        def work(replica: Replica, shelf: RecordStore) -> Guarded:
            found = shelf.producers.guard(producer_id, producer_epoch, replica.log, replica.leader_epoch)
            return Guarded(LogError.NONE, found)

        return self._asked(Guarded, work, broker_id, tp)

    def active_producers(
        self, broker_id: int | None, tp: TopicPartition, *, client: str = ""
    ) -> Future[ActiveProducers]:
        """The producers that the broker's own log knows. `client`: whose turns it takes."""
        future: Future[ActiveProducers] = Future()
        self._ask(client, future, lambda: self._turns.add(client, into(future, self._active(broker_id, tp))))
        return future

    def _active(self, broker_id: int | None, tp: TopicPartition) -> Work[ActiveProducers]:
        replica = self.leaders.find(broker_id, tp, is_debugging=True)
        if isinstance(replica, LogError):
            return ActiveProducers(replica)
        with self.brokers[replica.broker].isolated(replica):
            found = yield from self.shelves.of(replica).producers.active(replica.log)
            return ActiveProducers(LogError.NONE, found)
        return ActiveProducers(LogError.KAFKA_STORAGE_ERROR)

    def fetch(
        self,
        broker_id: int | None,
        wanted: Mapping[TopicPartition, FetchFrom],
        *,
        bytes_max: int,
        bytes_min: int,
        wait_ms: int,
        client: str = "",
    ) -> Future[dict[TopicPartition, Fetched]]:
        """Batches of each partition, in this order: as many as fit into `bytes_max`, and at least one if there is one;
        after `wait_ms` what is there, possibly nothing. `client`: whose turns it takes."""
        one = Fetch(client, broker_id, wanted, bytes_max, bytes_min, self.clock() + wait_ms / 1000)
        self.soon(work_for(one.future, partial(self._fetches.begin, one)))
        return one.future

    def bounds(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        leader_epoch: int = NO_EPOCH,
        *,
        since_ms: int | None = None,
        is_debugging: bool = False,
        client: str = "",
    ) -> Future[LogBounds]:
        """Where the log begins and ends, and the batches that may hold the first record of `since_ms` or later (-1: the
        record of the highest time). `is_debugging`: a follower answers as well, for its own log. `client`: whose turns
        such a search takes."""
        future: Future[LogBounds] = Future()
        place = (broker_id, tp, leader_epoch)

        def bounds() -> None:
            if since_ms is None:
                work = partial(reading.bounds, is_debugging=is_debugging)
                complete(future, self.leaders.result(LogBounds, work, *place, is_debugging=is_debugging))
            else:
                self._turns.add(client, into(future, self._searched(place, since_ms, is_debugging=is_debugging)))

        self._ask(client, future, bounds)
        return future

    def end_of_epoch(
        self, broker_id: int | None, tp: TopicPartition, asked: int, leader_epoch: int = NO_EPOCH
    ) -> Future[EpochEnd]:
        return self._asked(EpochEnd, partial(reading.end_of_epoch, asked=asked), broker_id, tp, leader_epoch)

    def delete_records(self, broker_id: int | None, tp: TopicPartition, before: int) -> Future[LogBounds]:
        """The log begins at `before` (-1: the high watermark), or later if it did already."""
        return self._asked(LogBounds, partial(self._delete, before=before), broker_id, tp)

    def batch_bytes_max(self, topic: str) -> int:
        """The largest batch that the topic takes. A setting that is no number is left to the append, which refuses."""
        with suppress(ValueError):
            return self.appends.batch_bytes_max(topic)
        return sys.maxsize

    def new_producer_id(self) -> Future[int]:
        """An id that no other producer of this cluster has: from `first_producer_id` up."""
        return result_of(self.next_producer_id, self.soon)

    def next_producer_id(self) -> int:
        """The same, for the thread that steps."""
        self._producer_ids += 1
        return self.first_producer_id + self._producer_ids - 1

    def _asked(
        self, kind: Callable[[LogError], T], work: Callable[[Replica, RecordStore], T], *place: Any
    ) -> Future[T]:
        """What `work` says of the leader at this place, see `Leaders.result`."""
        future: Future[T] = Future()
        self._ask("", future, lambda: complete(future, self.leaders.result(kind, work, *place)))
        return future

    def _ask(self, client: str, future: Future[Any], work: Callable[[], object]) -> None:
        self.soon(lambda: self._turns.add(client, at_once(work_for(future, work))))

    # --- the work, in the thread that steps

    def step(self) -> None:
        """Answer the requests whose condition is true by now, or whose time is over."""
        self.appends.promises.step(self.clock())
        self._fetches.step()
        self.answer()

    def answer(self) -> bool:
        """Give clients their turns, for some ms; returns whether there is more to do."""
        end_s = self.clock() + _TURNS_S
        while self._turns.advance() and self.clock() < end_s:
            pass
        return bool(self._turns)

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for brokers to copy, or for its turn."""
        return bool(self.appends.promises or self._turns)

    def close(self) -> None:
        """All waiting requests get an error upon which clients retry."""
        self.appends.promises.close()
        self._fetches.close()

    def replicas(self, tp: TopicPartition) -> dict[int, Replica]:
        """The replica of `tp` on each broker that has one; the topic id is the newest that any broker knows."""
        told = [said for broker in self.brokers.values() if (said := broker.metadata.get(tp)) is not None]
        if not told:
            return {}
        place = (max(told, key=lambda said: said.leader_epoch).topic_id, tp.partition)
        return {b: broker.replicas[place] for b, broker in self.brokers.items() if place in broker.replicas}

    def committed(self, replica: Replica) -> Iterator[StoredBatch]:
        """All batches below its high watermark that are still there."""
        shelf = self.shelves.of(replica)
        return shelf.read(replica.log, shelf.start_offset, sys.maxsize)

    # --- deleting and reading

    def _delete(self, replica: Replica, shelf: RecordStore, before: int) -> LogBounds:
        end = replica.log.high_watermark
        before = end if before == NO_OFFSET else before
        if not 0 <= before <= end:
            return LogBounds(LogError.OFFSET_OUT_OF_RANGE)
        self.shelves.delete_before(replica, before)
        return LogBounds(LogError.NONE, shelf.start_offset)

    def _read(self, place: Place, since: FetchFrom, left: int, bytes_max: int) -> Fetched:
        room = min(left, since.bytes_max)
        return self.leaders.result(
            Fetched, partial(reading.fetched, since=since, room=room, is_first=left == bytes_max), *place
        )

    def _state(self, place: Place) -> object:
        """What a fetch would find there, but for the records."""
        replica = self.leaders.find(*place)
        if isinstance(replica, LogError):
            return replica
        with self.brokers[replica.broker].isolated(replica):
            shelf, log = self.shelves.of(replica), replica.log
            return replica, log.high_watermark, shelf.producers.stable_offset(log), shelf.start_offset
        return LogError.KAFKA_STORAGE_ERROR

    def _searched(self, place: Place, since_ms: int, *, is_debugging: bool) -> Work[LogBounds]:
        replica = self.leaders.find(*place, is_debugging=is_debugging)
        if isinstance(replica, LogError):
            return LogBounds(replica)
        with self.brokers[replica.broker].isolated(replica):
            shelf = self.shelves.of(replica)
            return (yield from reading.searched(replica, shelf, since_ms=since_ms, is_debugging=is_debugging))
        return LogBounds(LogError.KAFKA_STORAGE_ERROR)
