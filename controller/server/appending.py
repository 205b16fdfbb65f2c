"""Batches that are appended to a leader's log, and what is refused.

* acks=all is answered when the high watermark has passed the batch, under the leader epoch that took it; with an isr
  smaller than `min.insync.replicas` it is refused before the append, and fails after it.
* A read-only partition (KIP-694) refuses records with POLICY_VIOLATION, because producers do not retry it and a retry
  could not succeed. A batch that was taken before is still acknowledged to an idempotent producer that sends it again,
  and the end of a transaction is taken.
* A topic that is compacted refuses a batch with a record without a key (INVALID_RECORD).
* Timestamps of new records are checked or replaced as `kedge.controller.server.timestamps` says (INVALID_TIMESTAMP).
* A batch that would begin a transaction needs the guard that says that this may be (INVALID_TXN_STATE, KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final

import attrs

from ..coordinators import INTERNAL_TOPICS
from ..model.logs import NO_PRODUCER, NO_TIME, Appended, Batch, BatchCodec, Guard, LogError, StoredBatch
from ..model.reductions import ONLINE
from ..model.values import ALL_BROKERS, BROKERS, TOPICS, TopicPartition
from ..simulated.broker import Broker
from ..simulated.replica import Replica
from .policies import COMPACT, Configs, policies
from .promises import Promise, Promises
from .record_store import RecordStore
from .shelves import Shelves
from .timestamps import is_stamped, timed

ACKS_ALL: Final = -1
READ_ONLY_MESSAGE: Final = "the partition is read-only, because it is to be removed from its topic"
_MESSAGES: Final = {
    LogError.POLICY_VIOLATION: READ_ONLY_MESSAGE,
    LogError.INVALID_RECORD: "the topic is compacted, and takes no record without a key",
}


@attrs.frozen
class Appending:
    """A batch to append; the arguments of `LiveLogs.append`."""

    tp: TopicPartition
    batch: Batch
    acks: int
    deadline_s: float
    guard: Guard | None
    future: Future[Appended]


@attrs.define(eq=False)
class Appends:
    """The arguments are those of `LiveLogs`. `changed`: is called for a partition that has a new batch."""

    brokers: Mapping[int, Broker]
    settings: Configs
    shelves: Shelves
    copied: Callable[[Replica], None]
    changed: Callable[[TopicPartition], None]
    now_ms: Callable[[], int]
    codec: BatchCodec | None = None
    promises: Promises = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.promises = Promises(self.brokers, self.isr_min)

    def batch_bytes_max(self, topic: str) -> int:
        """The largest batch that the topic takes, by Kafka's default if it does not say. Raises ValueError."""
        return self.setting(topic, "max.message.bytes", "message.max.bytes", 1_048_588)

    def append(self, replica: Replica, shelf: RecordStore, one: Appending) -> Appended | None:
        """The answer; None where the batch waits for its replicas."""
        tp, batch = one.tp, one.batch
        refused = self._refusal(replica, one)
        if refused is not None:
            return Appended(refused, message=_MESSAGES.get(refused))
        found = shelf.producers.sent_before(batch, replica.log)
        if isinstance(found, LogError):
            return Appended(found)
        if found is None:
            held = batch if batch.marker is not None else self._timed(tp.topic, batch)
            if isinstance(held, Appended):
                return held
            if _is_out_of_transaction(replica, shelf, one):
                return Appended(LogError.INVALID_TXN_STATE)
            base = replica.log.end_offset
            replica.log.append(shelf.put(held, replica.log, replica.leader_epoch))
            replica.advance()
            self.copied(replica)
            self.shelves.trim(replica)
            self.changed(tp)
        else:
            base, held = found.base_offset, found.batch
        stamp_ms = held.max_timestamp_ms if is_stamped(partial(self._text, tp.topic)) else NO_TIME
        answer = Appended(LogError.NONE, base, shelf.start_offset, log_append_time_ms=stamp_ms)
        if one.acks != ACKS_ALL:
            return answer
        promise = Promise(replica, replica.leader_epoch, base + batch.records, answer, tp, one.future)
        self.promises.add(promise, one.deadline_s)
        return None

    def _refusal(self, replica: Replica, one: Appending) -> LogError | None:
        tp, batch = one.tp, one.batch
        is_end = batch.marker is not None  # which is taken wherever the transaction began
        if replica.status != ONLINE and not is_end and not self._has(replica, batch):  # read-only (KIP-694)
            return LogError.POLICY_VIOLATION
        if len(batch.payload) > self.batch_bytes_max(tp.topic):
            return LogError.MESSAGE_TOO_LARGE
        if one.acks == ACKS_ALL and len(replica.isr) < self.isr_min(tp):
            return LogError.NOT_ENOUGH_REPLICAS
        if self._lacks_key(tp.topic, batch):
            return LogError.INVALID_RECORD
        return LogError.KAFKA_STORAGE_ERROR if self.shelves.is_full(replica) and not is_end else None

    def _lacks_key(self, topic: str, batch: Batch) -> bool:
        """Whether a record that the topic needs a key for has none. A batch that cannot be read is never compacted."""
        if self.codec is None or topic in INTERNAL_TOPICS or COMPACT not in policies(topic, self.settings):
            return False
        return batch.lacks_key

    def _timed(self, topic: str, batch: Batch) -> Batch | Appended:
        if self.codec is None:
            return batch
        return timed(batch, self.codec, partial(self._text, topic), self.now_ms())

    def _has(self, replica: Replica, batch: Batch) -> bool:
        return isinstance(self.shelves.of(replica).producers.sent_before(batch, replica.log), StoredBatch)

    def isr_min(self, tp: TopicPartition) -> int:
        return self.setting(tp.topic, "min.insync.replicas", "min.insync.replicas", 1)

    def setting(self, topic: str, name: str, broker_name: str, default: int) -> int:
        value = self._text(topic, name, broker_name)
        return default if value is None else int(value)

    def _text(self, topic: str, name: str, broker_name: str) -> str | None:
        """The config of the topic, or of all brokers; None if neither is set."""
        own = self.settings.get((TOPICS, topic), {}).get(name)
        return self.settings.get((BROKERS, ALL_BROKERS), {}).get(broker_name) if own is None else own


def _is_out_of_transaction(replica: Replica, shelf: RecordStore, one: Appending) -> bool:
    """Whether a transaction would begin that no coordinator has allowed, or that may have ended since; or whether one
    goes on that the batch is not part of."""
    batch = one.batch
    if batch.marker is not None or batch.producer_id == NO_PRODUCER:
        return False
    if not batch.is_transactional:  # which a producer does not send before its transaction has ended
        return shelf.producers.has_open(batch.producer_id, replica.log)
    named = (batch.producer_id, batch.producer_epoch, replica.log, replica.leader_epoch)
    return shelf.producers.guard(*named) not in {None, one.guard}
