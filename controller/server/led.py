"""A coordinator on a broker, and the log that it reads and writes for as long as the broker leads it.

All records that are due are one batch, with acks=all, or several where that would be too large. Whether it would is
found before it is encoded, since encoding takes long for what clients can send. Records that belong to a transaction of
a client have a batch of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

import attrs

from ..coordinators import Append, CoordinatorError, Machine
from ..coordinators.records import Producer, RecordCodec
from ..model.logs import Appended, EpochEnd, LogError
from ..model.values import TopicPartition
from ..simulated.replica import Replica
from .appending import ACKS_ALL
from .logs import LiveLogs

APPEND_MS: Final = 5_000
"""How long an append may take, as Kafka's offsets.commit.timeout.ms."""
_BATCH_BYTES: Final = 900_000  # a little less than max.message.bytes
_BYTES_MAX: Final = 1_048_588  # Kafka's default of max.message.bytes: more in one request is refused at once
_ERRORS: Final[Mapping[LogError, CoordinatorError]] = {
    LogError.NONE: CoordinatorError.NONE,
    LogError.UNKNOWN_TOPIC_OR_PARTITION: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_ENOUGH_REPLICAS: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: CoordinatorError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_LEADER_OR_FOLLOWER: CoordinatorError.NOT_COORDINATOR,
    LogError.FENCED_LEADER_EPOCH: CoordinatorError.NOT_COORDINATOR,
    LogError.KAFKA_STORAGE_ERROR: CoordinatorError.NOT_COORDINATOR,
    LogError.MESSAGE_TOO_LARGE: CoordinatorError.INVALID_COMMIT_OFFSET_SIZE,
    LogError.REQUEST_TIMED_OUT: CoordinatorError.REQUEST_TIMED_OUT,
    LogError.INVALID_PRODUCER_EPOCH: CoordinatorError.INVALID_PRODUCER_EPOCH,
    LogError.INVALID_TXN_STATE: CoordinatorError.INVALID_TXN_STATE,
}
M = TypeVar("M", bound=Machine[Any, Any])
log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Led(Generic[M]):
    """The coordinator while `replica` leads under that epoch. `start`: the high watermark from which on all is readable
    that one before it under this epoch appended. `ends`: the answer that says so, until it is heard. `ended`: is called
    with the result of each append. `due`: records to append."""

    broker_id: int
    replica: Replica
    leader_epoch: int
    coordinator: M
    logs: LiveLogs
    codec: RecordCodec[Any]
    ended: Callable[[Led[M], Append, CoordinatorError], None]
    due: list[Append] = attrs.field(factory=list)
    start: int = 0
    ends: Future[EpochEnd] | None = None

    @property
    def tp(self) -> TopicPartition:
        """The partition of the internal topic."""
        return TopicPartition(self.replica.topic, self.replica.partition)

    @property
    def place(self) -> tuple[int, int]:
        """The broker, and the number of the partition."""
        return self.broker_id, self.replica.partition

    @property
    def can_load(self) -> bool:
        """Whether the coordinator must be loaded, and all records that a former one appended are readable."""
        start = max(self.start, self.replica.epoch_start)
        return not self.coordinator.is_loaded and self.ends is None and self.replica.log.high_watermark >= start

    def read(self) -> list[Any]:
        """The records of the log: the last one of each key."""
        return self.codec.decode(self.logs.committed(self.replica))

    # --- writing

    def send(self, now_ms: int) -> None:
        """Append the records that are due."""
        appends, self.due = self.due, []
        for producer, together in groupby(appends, lambda append: append.producer):
            if producer is None:
                self._send(list(together), now_ms)
            else:
                for append in together:
                    self._send([append], now_ms, producer)

    def _send(self, appends: Sequence[Append], now_ms: int, producer: Producer | None = None) -> None:
        least = sum(record.bytes_min for append in appends for record in append.records)
        if least > _BATCH_BYTES and len(appends) > 1:
            self._send_halves(appends, now_ms)
            return
        if least > _BYTES_MAX:
            self._end(appends, CoordinatorError.INVALID_COMMIT_OFFSET_SIZE)
            return
        try:
            batch = self.codec.encode([record for append in appends for record in append.records], now_ms, producer)
        except Exception:
            if len(appends) > 1:
                self._send_halves(appends, now_ms)  # so that one request fails, and not all that came with it
                return
            log.exception("records of %s could not be encoded", self.tp)
            self._end(appends, CoordinatorError.UNKNOWN_SERVER_ERROR)
            return
        if len(batch.payload) > _BATCH_BYTES and len(appends) > 1:
            self._send_halves(appends, now_ms)
        else:
            guard = None if producer is None else producer.guard
            named: dict[str, Any] = {"acks": ACKS_ALL, "timeout_ms": APPEND_MS, "guard": guard}
            # not under a later epoch, whose coordinator may have read the log already
            future = self.logs.append(self.broker_id, self.tp, batch, **named, leader_epoch=self.leader_epoch)
            future.add_done_callback(lambda done: self._end(appends, _error(done)))

    def _send_halves(self, appends: Sequence[Append], now_ms: int) -> None:
        half = len(appends) // 2
        self._send(appends[:half], now_ms)
        self._send(appends[half:], now_ms)

    def _end(self, appends: Sequence[Append], error: CoordinatorError) -> None:
        for append in appends:
            self.ended(self, append, error)


def _error(done: Future[Appended]) -> CoordinatorError:
    if done.cancelled() or done.exception() is not None:
        return CoordinatorError.UNKNOWN_SERVER_ERROR
    return _ERRORS.get(done.result().error, CoordinatorError.UNKNOWN_SERVER_ERROR)
