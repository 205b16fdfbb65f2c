"""Requests of clients for the logs of a live cluster, and the requests that wait.

* A broker answers for the partitions that it leads by the controller's requests; a client that asks another broker, or
  uses another leader epoch, gets an error and refreshes its metadata. A broker id of None means whichever leads. Only a
  debugging client gets the bounds of a follower's log.
* acks=all is answered when the high watermark has passed the batch, under the leader epoch that took it; with an isr
  smaller than `min.insync.replicas` it is refused before the append, and fails after it.
* A fetch is answered when there are `min_bytes`, when there is an error, or when its time is over.
* A read-only partition (KIP-694) refuses records with POLICY_VIOLATION, because producers do not retry it and a retry
  could not succeed. A batch that was taken before is still acknowledged to an idempotent producer that sends it again.
* A topic that is compacted refuses a batch with a record without a key (INVALID_RECORD).
* Timestamps of new records are checked or replaced as `controller.server.timestamps` says (INVALID_TIMESTAMP).
* A partition whose leader raises (its log, or one of its settings) is answered with KAFKA_STORAGE_ERROR, which clients
  retry; the other partitions of the request are answered as usual. A batch that waits for replicas keeps waiting.
* Any thread may call the methods; their work is done by the thread that steps. Limits on copying do not affect
  clients.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeVar

import attrs

from controller.groups import OFFSETS_TOPIC
from controller.model.logs import (
    NO_EPOCH,
    NO_TIME,
    Appended,
    Batch,
    BatchCodec,
    EpochEnd,
    Fetched,
    FetchFrom,
    LogBounds,
    LogError,
    StoredBatch,
)
from controller.model.reductions import OFFLINE, ONLINE
from controller.model.values import ALL_BROKERS, BROKERS, TOPICS, TopicPartition
from controller.server import reading
from controller.server.futures import complete, work_for
from controller.server.policies import COMPACT, Configs, policies
from controller.server.shelf import Shelf
from controller.server.shelves import Shelves
from controller.server.timestamps import is_stamped, timed
from controller.simulated.broker import Broker
from controller.simulated.replica import Replica, Role

ACKS_ALL: Final = -1
NO_OFFSET: Final = -1
READ_ONLY_MESSAGE: Final = "the partition is read-only, because it is to be removed from its topic"
_MESSAGES: Final = {
    LogError.POLICY_VIOLATION: READ_ONLY_MESSAGE,
    LogError.INVALID_RECORD: "the topic is compacted, and takes no record without a key",
}
_BATCH_BYTES_MAX: Final = 1_048_588  # Kafka's default of max.message.bytes

T = TypeVar("T")


def wall_ms() -> int:
    """The time since 1970, as producers have it."""
    return time.time_ns() // 1_000_000


@attrs.frozen
class LogEnd:
    """A log as it is now. `size_bytes` None: unknown."""

    end_offset: int
    size_bytes: int | None = None


@attrs.define(eq=False)
class _Promised:
    """A batch that waits for its replicas, until `deadline_s`."""

    replica: Replica
    leader_epoch: int
    end_offset: int
    answer: Appended
    tp: TopicPartition
    future: Future[Appended]
    deadline_s: float


@attrs.define(eq=False)
class _Waiting:
    """A fetch that waits for records, until `deadline_s`."""

    broker_id: int | None
    wanted: Mapping[TopicPartition, FetchFrom]
    bytes_max: int
    bytes_min: int
    future: Future[dict[TopicPartition, Fetched]]
    deadline_s: float


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
    _promised: list[_Promised] = attrs.field(factory=list)
    _waiting: list[_Waiting] = attrs.field(factory=list)
    _producer_ids: int = 0

    def begin(self, codec: BatchCodec) -> None:
        """Start to compact topics whose `cleanup.policy` contains `compact`, and to heed the configs of timestamps."""
        self.codec = codec

    # --- requests of clients, from any thread

    def append(
        self, broker_id: int | None, tp: TopicPartition, batch: Batch, *, acks: int, timeout_ms: int
    ) -> Future[Appended]:
        """The batch is at the end of the leader's log, and (acks -1) in the logs of all replicas that are in sync."""
        future: Future[Appended] = Future()
        deadline_s = self.clock() + timeout_ms / 1000

        def append() -> None:
            work = partial(self._append, tp=tp, batch=batch, acks=acks, deadline_s=deadline_s, future=future)
            answer = self._led(Appended, work, broker_id, tp)
            if answer is not None:
                complete(future, answer)

        self.soon(work_for(future, append))
        return future

    def fetch(
        self,
        broker_id: int | None,
        wanted: Mapping[TopicPartition, FetchFrom],
        *,
        bytes_max: int,
        bytes_min: int,
        wait_ms: int,
    ) -> Future[dict[TopicPartition, Fetched]]:
        """Batches of each partition, in this order: as many as fit into `bytes_max`, and at least one if there is one;
        after `wait_ms` what is there, possibly nothing."""
        future: Future[dict[TopicPartition, Fetched]] = Future()
        waiting = _Waiting(broker_id, wanted, bytes_max, bytes_min, future, self.clock() + wait_ms / 1000)
        self.soon(work_for(future, lambda: self._waiting.append(waiting) if not self._fetched(waiting) else None))
        return future

    def bounds(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        leader_epoch: int = NO_EPOCH,
        *,
        since_ms: int | None = None,
        is_debugging: bool = False,
    ) -> Future[LogBounds]:
        """Where the log begins and ends, and the batches that may hold the first record of `since_ms` or later (-1: the
        record of the highest time). `is_debugging`: a follower answers as well, for its own log."""
        future: Future[LogBounds] = Future()
        asked = (broker_id, tp, leader_epoch)
        work = partial(reading.bounds, since_ms=since_ms, is_debugging=is_debugging)

        def bounds() -> None:
            complete(future, self._led(LogBounds, work, *asked, is_debugging=is_debugging))

        self.soon(work_for(future, bounds))
        return future

    def end_of_epoch(
        self, broker_id: int | None, tp: TopicPartition, asked: int, leader_epoch: int = NO_EPOCH
    ) -> Future[EpochEnd]:
        """Where the records of the leader epoch `asked` end in the log of the leader."""
        future: Future[EpochEnd] = Future()
        work = partial(reading.end_of_epoch, asked=asked)
        self.soon(work_for(future, lambda: complete(future, self._led(EpochEnd, work, broker_id, tp, leader_epoch))))
        return future

    def delete_records(self, broker_id: int | None, tp: TopicPartition, before: int) -> Future[LogBounds]:
        """The log begins at `before` (-1: the high watermark), or later if it did already."""
        future: Future[LogBounds] = Future()
        work = partial(self._delete, before=before)
        self.soon(work_for(future, lambda: complete(future, self._led(LogBounds, work, broker_id, tp))))
        return future

    def new_producer_id(self) -> Future[int]:
        """An id that no other producer of this cluster has: from `first_producer_id` up."""
        future: Future[int] = Future()

        def next_id() -> None:
            complete(future, self.first_producer_id + self._producer_ids)
            self._producer_ids += 1

        self.soon(work_for(future, next_id))
        return future

    # --- the work, in the thread that steps

    def step(self) -> None:
        """Answer the requests whose condition is true by now, or whose time is over."""
        now_s = self.clock()
        self._promised = [one for one in self._promised if not self._kept(one, now_s)]
        self._waiting = [one for one in self._waiting if not self._fetched(one)]

    @property
    def is_waited_for(self) -> bool:
        """Whether a request waits for brokers to copy."""
        return bool(self._promised)

    def close(self) -> None:
        """All waiting requests get an error upon which clients retry."""
        for promised in self._promised:
            complete(promised.future, Appended(LogError.NOT_LEADER_OR_FOLLOWER))
        for waiting in self._waiting:
            complete(waiting.future, {tp: Fetched(LogError.NOT_LEADER_OR_FOLLOWER) for tp in waiting.wanted})
        self._promised, self._waiting = [], []

    def replicas(self, tp: TopicPartition) -> dict[int, Replica]:
        """The replica of `tp` on each broker that has one; the topic id is the newest that any broker knows."""
        told = [said for broker in self.brokers.values() if (said := broker.metadata.get(tp)) is not None]
        if not told:
            return {}
        place = (max(told, key=lambda said: said.leader_epoch).topic_id, tp.partition)
        return {b: broker.replicas[place] for b, broker in self.brokers.items() if place in broker.replicas}

    def led_by(self, broker: Broker, tp: TopicPartition) -> Replica | None:
        """The replica of `tp` on this broker, if that leads it as far as it knows."""
        found = _leading(self._held(broker, tp))
        return found if isinstance(found, Replica) else None

    def committed(self, replica: Replica) -> Iterator[StoredBatch]:
        """All batches below its high watermark that are still there."""
        shelf = self.shelves.of(replica)
        return shelf.read(replica.log, shelf.start_offset, sys.maxsize)

    # --- writing

    def _append(  # noqa: PLR0917 - the parts of the request
        self,
        replica: Replica,
        shelf: Shelf,
        tp: TopicPartition,
        batch: Batch,
        acks: int,
        deadline_s: float,
        future: Future[Appended],
    ) -> Appended | None:
        """The answer; None where the batch waits for its replicas."""
        refused = self._refusal(replica, tp, batch, acks)
        if refused is not None:
            return Appended(refused, message=_MESSAGES.get(refused))
        found = shelf.sent_before(batch, replica.log)
        if isinstance(found, LogError):
            return Appended(found)
        if found is None:
            held = self._timed(tp.topic, batch)
            if isinstance(held, Appended):
                return held
            base = replica.log.end_offset
            replica.log.append(shelf.put(held, base, replica.leader_epoch))
            replica.advance()
            self.copied(replica)
            self.shelves.trim(replica)
        else:
            base, held = found.base_offset, found.batch
        stamp_ms = held.max_timestamp_ms if is_stamped(partial(self._text, tp.topic)) else NO_TIME
        answer = Appended(LogError.NONE, base, shelf.start_offset, log_append_time_ms=stamp_ms)
        if acks != ACKS_ALL:
            return answer
        end = base + batch.records
        promised = _Promised(replica, replica.leader_epoch, end, answer, tp, future, deadline_s)
        if any(one.replica is replica for one in self._promised) or not self._kept(promised, self.clock()):
            self._promised.append(promised)  # answered in the order of the log, also where this one has its replicas
        return None

    def _refusal(self, replica: Replica, tp: TopicPartition, batch: Batch, acks: int) -> LogError | None:
        if replica.status != ONLINE and not self._has(replica, batch):  # read-only (KIP-694)
            return LogError.POLICY_VIOLATION
        if len(batch.payload) > self._setting(tp.topic, "max.message.bytes", "message.max.bytes", _BATCH_BYTES_MAX):
            return LogError.MESSAGE_TOO_LARGE
        if acks == ACKS_ALL and len(replica.isr) < self._isr_min(tp):
            return LogError.NOT_ENOUGH_REPLICAS
        if self._lacks_key(tp.topic, batch):
            return LogError.INVALID_RECORD
        return LogError.KAFKA_STORAGE_ERROR if self.shelves.is_full(replica) else None

    def _lacks_key(self, topic: str, batch: Batch) -> bool:
        """Whether a record that the topic needs a key for has none. A batch that cannot be read is never compacted."""
        if self.codec is None or topic == OFFSETS_TOPIC or COMPACT not in policies(topic, self.settings):
            return False
        return any(each.key is None for each in self.codec.keys(StoredBatch(0, 0, batch)) or ())

    def _timed(self, topic: str, batch: Batch) -> Batch | Appended:
        if self.codec is None:
            return batch
        return timed(batch, self.codec, partial(self._text, topic), self.now_ms())

    def _has(self, replica: Replica, batch: Batch) -> bool:
        return isinstance(self.shelves.of(replica).sent_before(batch, replica.log), StoredBatch)

    def _isr_min(self, tp: TopicPartition) -> int:
        return self._setting(tp.topic, "min.insync.replicas", "min.insync.replicas", 1)

    def _setting(self, topic: str, name: str, broker_name: str, default: int) -> int:
        value = self._text(topic, name, broker_name)
        return default if value is None else int(value)

    def _text(self, topic: str, name: str, broker_name: str) -> str | None:
        """The config of the topic, or of all brokers; None if neither is set."""
        own = self.settings.get((TOPICS, topic), {}).get(name)
        return self.settings.get((BROKERS, ALL_BROKERS), {}).get(broker_name) if own is None else own

    def _kept(self, one: _Promised, now_s: float) -> bool:
        if one.future.cancelled():
            return True  # the batch stays, though its sender no longer waits
        answer = None
        with self.brokers[one.replica.broker].isolated(one.replica):
            answer = self._outcome(one)
        if answer is None and now_s >= one.deadline_s:
            answer = Appended(LogError.REQUEST_TIMED_OUT)
        if answer is not None:
            complete(one.future, answer)
        return answer is not None

    def _outcome(self, one: _Promised) -> Appended | None:
        replica = one.replica
        if replica.log.high_watermark >= one.end_offset and replica.leader_epoch == one.leader_epoch:
            enough = len(replica.isr) >= self._isr_min(one.tp)
            return one.answer if enough else attrs.evolve(one.answer, error=LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        is_led = replica.role is Role.LEADER and replica.leader_epoch == one.leader_epoch
        return None if is_led else Appended(LogError.NOT_LEADER_OR_FOLLOWER)

    def _delete(self, replica: Replica, shelf: Shelf, before: int) -> LogBounds:
        end = replica.log.high_watermark
        before = end if before == NO_OFFSET else before
        if not 0 <= before <= end:
            return LogBounds(LogError.OFFSET_OUT_OF_RANGE)
        self.shelves.delete_before(replica, before)
        return LogBounds(LogError.NONE, shelf.start_offset)

    # --- reading

    def _fetched(self, one: _Waiting) -> bool:
        """Whether the fetch is answered, or its sender no longer waits."""
        if one.future.cancelled():
            return True
        found, left = {}, one.bytes_max
        for tp, since in one.wanted.items():
            room, is_first = min(left, since.bytes_max), left == one.bytes_max
            work = partial(reading.fetched, offset=since.offset, room=room, is_first=is_first)
            found[tp] = self._led(Fetched, work, one.broker_id, tp, since.leader_epoch)
            left -= found[tp].size_bytes
        is_over = self.clock() >= one.deadline_s
        is_enough = one.bytes_max - left >= one.bytes_min
        if not (is_over or is_enough or any(fetched.error for fetched in found.values())):
            return False
        complete(one.future, found)
        return True

    # --- the replica that answers

    def _led(
        self,
        kind: Callable[[LogError], T],
        work: Callable[[Replica, Shelf], T],
        broker_id: int | None,
        tp: TopicPartition,
        epoch: int = NO_EPOCH,
        *,
        is_debugging: bool = False,
    ) -> T:
        """The result of `work` for the leader; where there is none, or `work` raises, an answer of this `kind` with the
        error."""
        replica = self._leader(broker_id, tp, epoch, is_debugging=is_debugging)
        if isinstance(replica, LogError):
            return kind(replica)
        with self.brokers[replica.broker].isolated(replica):
            return work(replica, self.shelves.of(replica))
        return kind(LogError.KAFKA_STORAGE_ERROR)

    def _leader(
        self, broker_id: int | None, tp: TopicPartition, epoch: int = NO_EPOCH, *, is_debugging: bool = False
    ) -> Replica | LogError:
        """The replica that answers: the leader, if the broker leads (None: of any broker); for a debugging client the
        broker's own. LogError where there is none, or the leader epoch differs."""
        if broker_id is None:
            found = [_leading(self._held(broker, tp)) for broker in self.brokers.values()]
            leading = [replica for replica in found if isinstance(replica, Replica)]
            led = max(leading, key=lambda replica: replica.leader_epoch) if leading else _worst(found)
        else:
            broker = self.brokers.get(broker_id)
            held = None if broker is None else self._held(broker, tp)
            led = LogError.NOT_LEADER_OR_FOLLOWER if held is None else held if is_debugging else _leading(held)
        if isinstance(led, LogError) or epoch in {NO_EPOCH, led.leader_epoch}:
            return led
        return LogError.FENCED_LEADER_EPOCH if epoch < led.leader_epoch else LogError.UNKNOWN_LEADER_EPOCH

    def _held(self, broker: Broker, tp: TopicPartition) -> Replica | LogError:
        if not broker.is_up:
            return LogError.NOT_LEADER_OR_FOLLOWER
        said = broker.metadata.get(tp)
        if said is None or said.status_code == OFFLINE:
            return LogError.UNKNOWN_TOPIC_OR_PARTITION
        return broker.replicas.get((said.topic_id, tp.partition), LogError.NOT_LEADER_OR_FOLLOWER)


def _leading(held: Replica | LogError) -> Replica | LogError:
    is_follower = isinstance(held, Replica) and held.role is not Role.LEADER
    return LogError.NOT_LEADER_OR_FOLLOWER if is_follower else held


def _worst(errors: Collection[object]) -> LogError:
    known = LogError.NOT_LEADER_OR_FOLLOWER
    return known if known in errors else LogError.UNKNOWN_TOPIC_OR_PARTITION
