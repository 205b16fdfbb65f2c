"""Coordinators of groups in a live cluster: which broker has which, and how they get at their logs.

Rules
* A broker has a coordinator for each partition of `__consumer_offsets` that it leads, under the leader epoch under
  which it leads. It is loaded when the high watermark has reached where that epoch began: what a former leader may have
  acknowledged is below that. When leader or epoch change it is unloaded.
* A request goes to the coordinator on the broker whose address the client called; None for a broker: to any.
* All records of one step are one batch, with acks=all. Answers that rest on them are given when it is committed.
* A log is rewritten when it has grown: compaction by the one who writes it. `LiveLogs` deletes none of it by itself.
* Methods may be called by any thread; what they do is done by the thread that steps.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final

import attrs

from controller.groups import OFFSETS_TOPIC, Append, Coordinator, Output, partition_of, refused
from controller.groups.records import Record, RecordCodec, newest
from controller.groups.replies import GroupError, Listed, Reply
from controller.groups.requests import Commit, DeleteOffsets, GroupRequest, GroupSettings
from controller.model.logs import Appended, LogError
from controller.model.values import TopicPartition
from controller.server.logs import ACKS_ALL, LiveLogs
from controller.simulated.broker import Broker
from controller.simulated.replica import Replica

log = logging.getLogger(__name__)
APPEND_MS: Final = 5_000
"""How long an append may take, as Kafka's offsets.commit.timeout.ms."""
REWRITE_BYTES: Final = 1024 * 1024
"""How large a partition of `__consumer_offsets` grows before its log is rewritten."""
_RECORDS: Final = 1000  # of a batch of a log that is rewritten
_BATCH_BYTES: Final = 900_000  # a little less than max.message.bytes
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


@attrs.define(eq=False)
class _Led:
    """A coordinator for as long as `replica` leads under that epoch. `due`: what is to be appended;
    `rewritten_bytes`: how much was left when the log was rewritten last."""

    broker_id: int
    replica: Replica
    leader_epoch: int
    coordinator: Coordinator
    due: list[Append] = attrs.field(factory=list)
    rewritten_bytes: int = 0
    is_rewriting: bool = False

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.replica.topic, self.replica.partition)


@attrs.define(eq=False)
class LiveGroups:
    """The coordinators on `brokers`, over `logs`. `soon`: has a call made by the thread that steps.
    `rewrite_bytes`: so much of a log may there be before it is rewritten."""

    brokers: Mapping[int, Broker]
    logs: LiveLogs
    soon: Callable[[Callable[[], None]], None]
    settings: GroupSettings = attrs.field(factory=GroupSettings)
    rewrite_bytes: int = REWRITE_BYTES
    _codec: RecordCodec | None = None
    _led: dict[tuple[int, int], _Led] = attrs.field(factory=dict)
    _began: tuple[int, float] = attrs.field(factory=lambda: (time.time_ns() // 1_000_000, time.monotonic()))
    _is_sending: bool = False

    def begin(self, codec: RecordCodec, settings: GroupSettings | None = None) -> None:
        """Requests are answered from now on, and records written by this codec."""
        self._codec = codec
        self.settings = settings or self.settings

    # --- what is asked, from any thread

    def ask(self, broker_id: int | None, asked: GroupRequest) -> Future[Reply]:
        """The answer of the coordinator of the group, if that is on this broker (None: wherever it is)."""
        future: Future[Reply] = Future()
        self._do(future, lambda: self._ask(broker_id, asked, future))
        return future

    def listed(self, broker_id: int | None) -> Future[tuple[GroupError, list[Listed]]]:
        """All groups whose coordinators are on this broker (None: on any). COORDINATOR_LOAD_IN_PROGRESS while some may
        be missing."""
        future: Future[tuple[GroupError, list[Listed]]] = Future()

        def ask() -> None:
            self._keep_up()
            ours = [led.coordinator for led in self._led.values() if broker_id in {None, led.broker_id}]
            is_whole = all(coordinator.is_loaded for coordinator in ours)
            error = GroupError.NONE if is_whole else GroupError.COORDINATOR_LOAD_IN_PROGRESS
            _answer(future, (error, [listed for coordinator in ours for listed in coordinator.listed()]))

        self._do(future, ask)
        return future

    def _do(self, future: Future[Any], work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - it goes to whoever asked
                with suppress(InvalidStateError):
                    future.set_exception(error)

        self.soon(run)

    # --- what is done about it, by the thread that steps

    def step(self) -> None:
        """Coordinators are where their partitions are led, and whatever is due happens."""
        if self._codec is None:
            return
        self._keep_up()
        now_ms = self._now_ms()
        for led in list(self._led.values()):
            due_ms = led.coordinator.next_ms
            if due_ms is not None and due_ms <= now_ms:
                self._took(led, led.coordinator.tick(now_ms))

    def clean(self) -> None:
        """Logs that have grown are rewritten: the newest record of each key stands at the end again, and what is before
        goes."""
        for led in list(self._led.values()):
            log, grown = led.replica.log, self.logs.kept_bytes_of(led.replica)
            is_settled = led.coordinator.is_loaded and not led.due and log.high_watermark == log.end_offset
            if is_settled and not led.is_rewriting and grown > max(self.rewrite_bytes, 2 * led.rewritten_bytes):
                led.is_rewriting = True
                self._rewrite(led)

    def _rewrite(self, led: _Led) -> None:
        """Nothing is under way, and what comes meanwhile is appended later: so these stay the newest until then."""
        assert self._codec is not None
        start = led.replica.log.end_offset
        kept = newest(r for stored in self.logs.committed(led.replica) for r in self._codec.decode(stored))
        places = range(0, len(kept), _RECORDS)
        batches = [self._codec.encode(kept[place : place + _RECORDS], self._now_ms()) for place in places]
        ends: list[bool] = []

        def done(future: Future[Appended]) -> None:
            ends.append(not future.cancelled() and future.exception() is None and not future.result().error)
            if len(ends) == len(batches):
                self._rewritten(led, start, sum(len(each.payload) for each in batches), is_whole=all(ends))

        for batch in batches:
            future = self.logs.append(led.broker_id, led.tp, batch, acks=ACKS_ALL, timeout_ms=APPEND_MS)
            future.add_done_callback(done)
        if not batches:
            self._rewritten(led, start, 0, is_whole=True)

    def _rewritten(self, led: _Led, start: int, size_bytes: int, *, is_whole: bool) -> None:
        led.is_rewriting = False
        if is_whole:
            led.rewritten_bytes = size_bytes
            self.logs.delete_before(led.replica, start)

    def close(self) -> None:
        """Whoever waits hears that the coordinator is elsewhere."""
        for place in list(self._led):
            self._unload(place)

    def _ask(self, broker_id: int | None, asked: GroupRequest, future: Future[Reply]) -> None:
        led = self._coordinator(broker_id, asked.group)
        if led is None:
            _answer(future, refused(asked, GroupError.NOT_COORDINATOR))
            return
        if isinstance(asked, Commit):
            asked = attrs.evolve(asked, unknown=self._unknown(asked.offsets))
        elif isinstance(asked, DeleteOffsets):
            asked = attrs.evolve(asked, unknown=self._unknown(asked.partitions))
        self._took(led, led.coordinator.ask(asked, future, self._now_ms()))

    def _unknown(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        return frozenset(tp for tp in partitions if not any(tp in metadata for metadata in up))

    def _coordinator(self, broker_id: int | None, group: str) -> _Led | None:
        count = self._partitions()
        if not count:
            return None
        partition = partition_of(group, count)
        places = [(each, partition) for each in ([broker_id] if broker_id is not None else self.brokers)]
        for place in places:
            self._keep(place)
        found = [self._led[place] for place in places if place in self._led]
        return max(found, key=lambda led: led.leader_epoch, default=None)

    def _partitions(self) -> int:
        """How many the topic has, by what any broker was told; 0: there is none."""
        up = [broker.metadata for broker in self.brokers.values() if broker.is_up]
        count = 0
        while any(TopicPartition(OFFSETS_TOPIC, count) in metadata for metadata in up):
            count += 1
        return count

    # --- who leads what

    def _keep_up(self) -> None:
        count = self._partitions()
        for broker_id in self.brokers if count or self._led else ():
            for partition in range(count):
                self._keep((broker_id, partition))
        for place in [place for place in self._led if place[1] >= count]:
            self._unload(place)

    def _keep(self, place: tuple[int, int]) -> None:
        """The coordinator there is that of the present leader epoch, or there is none."""
        led = self._led.get(place)
        broker = self.brokers.get(place[0])
        replica = None if broker is None else self.logs.led_by(broker, TopicPartition(OFFSETS_TOPIC, place[1]))
        if led is not None and (replica is not led.replica or replica.leader_epoch != led.leader_epoch):
            self._unload(place)
            led = None
        if replica is None or self._codec is None:
            return
        if led is None:
            coordinator = Coordinator(self.settings, self._codec.subscribed)
            led = self._led[place] = _Led(place[0], replica, replica.leader_epoch, coordinator)
        if not led.coordinator.is_loaded and replica.log.high_watermark >= replica.epoch_start:
            for stored in self.logs.committed(replica):
                led.coordinator.load(self._codec.decode(stored))
            self._took(led, led.coordinator.loaded(self._now_ms()))

    def _unload(self, place: tuple[int, int]) -> None:
        led = self._led.pop(place)
        self._took(led, led.coordinator.unload(self._now_ms()))

    # --- answers and appends

    def _took(self, led: _Led, output: Output) -> None:
        for future, reply in output.replies:
            _answer(future, reply)
        led.due += output.appends
        if led.due and not self._is_sending:
            self._is_sending = True
            self.soon(self._send)  # after all requests that are there already

    def _send(self) -> None:
        self._is_sending = False
        for led in list(self._led.values()):
            appends, led.due = led.due, []
            if appends:
                self._append(led, appends)

    def _append(self, led: _Led, appends: Sequence[Append]) -> None:
        assert self._codec is not None
        records: list[Record] = [record for append in appends for record in append.records]
        try:
            batch = self._codec.encode(records, self._now_ms())
        except Exception:
            log.exception("records of groups could not be encoded")
            self._ended(led, appends, GroupError.UNKNOWN_SERVER_ERROR)
            return
        if len(batch.payload) > _BATCH_BYTES and len(appends) > 1:
            half = len(appends) // 2
            self._append(led, appends[:half])
            self._append(led, appends[half:])
            return
        future = self.logs.append(led.broker_id, led.tp, batch, acks=ACKS_ALL, timeout_ms=APPEND_MS)
        future.add_done_callback(lambda done: self._appended(led, appends, done))

    def _appended(self, led: _Led, appends: Sequence[Append], done: Future[Appended]) -> None:
        error = GroupError.UNKNOWN_SERVER_ERROR
        if not done.cancelled() and done.exception() is None:
            error = _ERRORS.get(done.result().error, error)
        self._ended(led, appends, error)

    def _ended(self, led: _Led, appends: Sequence[Append], error: GroupError) -> None:
        for append in appends:
            self._took(led, led.coordinator.appended(append.number, error, self._now_ms()))

    def _now_ms(self) -> int:
        """Of the wall, but never back."""
        began_ms, began_s = self._began
        return began_ms + int((time.monotonic() - began_s) * 1000)


def _answer(future: Future[Any], answer: Any) -> None:
    """Whoever asked may have gone meanwhile."""
    with suppress(InvalidStateError):
        future.set_result(answer)
