"""A coordinator on a broker, and the log that it reads and writes for as long as the broker leads it.

All records that are due are one batch, with acks=all, or several where that would be too large. Whether it would is
found before it is encoded, since encoding takes long for what clients can send.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

import attrs

from ..groups import Append, Coordinator
from ..groups.records import Record, RecordCodec
from ..groups.replies import GroupError
from ..model.logs import Appended, LogError
from ..model.values import TopicPartition
from ..simulated.replica import Replica
from .logs import ACKS_ALL, LiveLogs

APPEND_MS: Final = 5_000
"""How long an append may take, as Kafka's offsets.commit.timeout.ms."""
_BATCH_BYTES: Final = 900_000  # a little less than max.message.bytes
_BYTES_MAX: Final = 1_048_588  # Kafka's default of max.message.bytes: more in one request is refused at once
_ERRORS: Final[Mapping[LogError, GroupError]] = {
    LogError.NONE: GroupError.NONE,
    LogError.UNKNOWN_TOPIC_OR_PARTITION: GroupError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_ENOUGH_REPLICAS: GroupError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: GroupError.COORDINATOR_NOT_AVAILABLE,
    LogError.NOT_LEADER_OR_FOLLOWER: GroupError.NOT_COORDINATOR,
    LogError.KAFKA_STORAGE_ERROR: GroupError.NOT_COORDINATOR,
    LogError.MESSAGE_TOO_LARGE: GroupError.INVALID_COMMIT_OFFSET_SIZE,
    LogError.REQUEST_TIMED_OUT: GroupError.REQUEST_TIMED_OUT,
}
log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Led:
    """The coordinator while `replica` leads under that epoch. `ended`: is called with the result of each append. `due`:
    records to append."""

    broker_id: int
    replica: Replica
    leader_epoch: int
    coordinator: Coordinator
    logs: LiveLogs
    codec: RecordCodec
    ended: Callable[[Led, Append, GroupError], None]
    due: list[Append] = attrs.field(factory=list)

    @property
    def tp(self) -> TopicPartition:
        """The partition of `__consumer_offsets`."""
        return TopicPartition(self.replica.topic, self.replica.partition)

    @property
    def can_load(self) -> bool:
        """Whether the coordinator must be loaded, and all records that a former leader acknowledged are readable."""
        return not self.coordinator.is_loaded and self.replica.log.high_watermark >= self.replica.epoch_start

    def read(self) -> list[Record]:
        """The records of the log: the last one of each key."""
        return self.codec.decode(self.logs.committed(self.replica))

    # --- writing

    def send(self, now_ms: int) -> None:
        """Append the records that are due."""
        appends, self.due = self.due, []
        if appends:
            self._send(appends, now_ms)

    def _send(self, appends: Sequence[Append], now_ms: int) -> None:
        least = sum(record.bytes_min for append in appends for record in append.records)
        if least > _BATCH_BYTES and len(appends) > 1:
            self._send_halves(appends, now_ms)
            return
        if least > _BYTES_MAX:
            self._end(appends, GroupError.INVALID_COMMIT_OFFSET_SIZE)
            return
        try:
            batch = self.codec.encode([record for append in appends for record in append.records], now_ms)
        except Exception:
            if len(appends) > 1:
                self._send_halves(appends, now_ms)  # so that one request fails, and not all that came with it
                return
            log.exception("records of groups could not be encoded")
            self._end(appends, GroupError.UNKNOWN_SERVER_ERROR)
            return
        if len(batch.payload) > _BATCH_BYTES and len(appends) > 1:
            self._send_halves(appends, now_ms)
        else:
            future = self.logs.append(self.broker_id, self.tp, batch, acks=ACKS_ALL, timeout_ms=APPEND_MS)
            future.add_done_callback(lambda done: self._end(appends, _error(done)))

    def _send_halves(self, appends: Sequence[Append], now_ms: int) -> None:
        half = len(appends) // 2
        self._send(appends[:half], now_ms)
        self._send(appends[half:], now_ms)

    def _end(self, appends: Sequence[Append], error: GroupError) -> None:
        for append in appends:
            self.ended(self, append, error)


def _error(done: Future[Appended]) -> GroupError:
    if done.cancelled() or done.exception() is not None:
        return GroupError.UNKNOWN_SERVER_ERROR
    return _ERRORS.get(done.result().error, GroupError.UNKNOWN_SERVER_ERROR)
