"""A coordinator on a broker, and the log that it reads and writes for as long as the broker leads it.

Rules
* All records that are due are one batch, with acks=all, or several where that would be too large.
* A log that has grown is rewritten: the newest record of each key is appended again, and what is before goes when that
  is committed. Nothing is under way when it begins, and what comes meanwhile is appended later, so these stay the
  newest until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

import attrs

from controller.groups import Append, Coordinator
from controller.groups.records import Newest, Record, RecordCodec
from controller.groups.replies import GroupError
from controller.model.logs import Appended, Batch, LogError
from controller.model.values import TopicPartition
from controller.server.logs import ACKS_ALL, LiveLogs
from controller.simulated.replica import Replica

APPEND_MS: Final = 5_000
"""How long an append may take, as Kafka's offsets.commit.timeout.ms."""
_BATCH_BYTES: Final = 900_000  # a little less than max.message.bytes
_RECORDS: Final = 1000  # of a batch of a log that is rewritten
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
    records to append; `newest`: the content of the log, None if unknown after a failed append."""

    broker_id: int
    replica: Replica
    leader_epoch: int
    coordinator: Coordinator
    logs: LiveLogs
    codec: RecordCodec
    ended: Callable[[Led, Append, GroupError], None]
    due: list[Append] = attrs.field(factory=list)
    newest: Newest | None = None
    rewritten_bytes: int = 0
    is_rewriting: bool = False

    @property
    def tp(self) -> TopicPartition:
        """The partition of `__consumer_offsets`."""
        return TopicPartition(self.replica.topic, self.replica.partition)

    @property
    def can_load(self) -> bool:
        """Whether the coordinator must be loaded, and all records that a former leader acknowledged are readable."""
        return not self.coordinator.is_loaded and self.replica.log.high_watermark >= self.replica.epoch_start

    def read(self) -> Newest:
        """The content of the log."""
        if self.newest is None:
            newest = Newest()
            newest.add(self.codec.decode(self.logs.committed(self.replica)))
            self.newest = newest
        return self.newest

    # --- writing

    def send(self, now_ms: int) -> None:
        """Append the records that are due."""
        appends, self.due = self.due, []
        if appends:
            self._send(appends, now_ms)

    def _send(self, appends: Sequence[Append], now_ms: int) -> None:
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
            self._append(batch).add_done_callback(lambda done: self._end(appends, _error(done)))

    def _send_halves(self, appends: Sequence[Append], now_ms: int) -> None:
        half = len(appends) // 2
        self._send(appends[:half], now_ms)
        self._send(appends[half:], now_ms)

    def _append(self, batch: Batch) -> Future[Appended]:
        return self.logs.append(self.broker_id, self.tp, batch, acks=ACKS_ALL, timeout_ms=APPEND_MS)

    def _end(self, appends: Sequence[Append], error: GroupError) -> None:
        for append in appends:
            if error:
                self.newest = None
            elif self.newest is not None:
                self.newest.add(append.records)
            self.ended(self, append, error)

    # --- rewriting

    def clean(self, bytes_max: int, now_ms: int) -> None:
        """Rewrite the log if it exceeds `bytes_max`, and twice its size after the last rewriting."""
        written, grown = self.replica.log, self.logs.shelves.of(self.replica).size_bytes
        is_settled = self.coordinator.is_loaded and not self.due and written.high_watermark == written.end_offset
        if not is_settled or self.is_rewriting or grown <= max(bytes_max, 2 * self.rewritten_bytes):
            return
        self.is_rewriting, start = True, written.end_offset
        kept = self.read().records
        places = range(0, len(kept), _RECORDS)
        batches = [batch for place in places for batch in self._encoded(kept[place : place + _RECORDS], now_ms)]
        ends: list[GroupError] = []

        def done(future: Future[Appended]) -> None:
            ends.append(_error(future))
            if len(ends) == len(batches):
                self._rewritten(start, batches, grown, is_whole=not any(ends))

        for batch in batches:
            self._append(batch).add_done_callback(done)
        if not batches:
            self._rewritten(start, batches, grown, is_whole=True)

    def _encoded(self, records: Sequence[Record], now_ms: int) -> list[Batch]:
        batch = self.codec.encode(records, now_ms)
        if len(batch.payload) <= _BATCH_BYTES or len(records) == 1:
            return [batch]
        half = len(records) // 2
        return [*self._encoded(records[:half], now_ms), *self._encoded(records[half:], now_ms)]

    def _rewritten(self, start: int, batches: Sequence[Batch], grown: int, *, is_whole: bool) -> None:
        self.is_rewriting = False
        self.rewritten_bytes = grown  # where it failed, it is tried again when there is twice as much
        if is_whole:
            self.rewritten_bytes = sum(len(batch.payload) for batch in batches)
            self.logs.shelves.delete_before(self.replica, start)


def _error(done: Future[Appended]) -> GroupError:
    if done.cancelled() or done.exception() is not None:
        return GroupError.UNKNOWN_SERVER_ERROR
    return _ERRORS.get(done.result().error, GroupError.UNKNOWN_SERVER_ERROR)
