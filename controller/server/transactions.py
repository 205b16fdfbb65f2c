"""The coordinators of transactions in a live cluster, and the markers that end transactions.

* A marker is written by the leader of its partition, whichever broker of this process that is. A partition that was
  deleted needs none. So many markers are written at a time that they take little memory.
* Processes exchange no markers. A transaction cannot include a partition of another process, nor one whose leader asks
  for it while the coordinator is in another process (INVALID_REQUEST).
* `LiveGroups` hears of every marker in `__consumer_offsets` before the coordinator of the transaction does, so that a
  transaction is complete when its offsets are valid.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from functools import partial
from typing import ClassVar, Final

import attrs

from ..coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, CoordinatorError, Output
from ..coordinators.records import RecordCodec
from ..model.host import PartitionMetadata
from ..model.logs import Appended, EndMarker, LogError
from ..model.reductions import OFFLINE
from ..model.values import TopicPartition
from ..transactions import Coordinator, refused
from ..transactions.changes import NEW_EPOCHS
from ..transactions.records import TransactionRecord
from ..transactions.replies import Reply
from ..transactions.requests import AddPartitions, TransactionRequest, TransactionSettings, VerifyPartitions
from ..transactions.transaction import Marking
from .coordinators import Coordinators
from .futures import complete, result_of, work_for
from .groups import LiveGroups
from .led import APPEND_MS, Led

TransactionCodec = RecordCodec[TransactionRecord]
MARKERS_MAX: Final = 1_000
"""How many markers are written at a time. Each takes 5 KB meanwhile, and one that waits 0.1 KB."""
_MARKERS: Final = "markers"  # of all coordinators, which take turns with clients


@attrs.define(eq=False)
class LiveTransactions(Coordinators[Coordinator, TransactionCodec]):
    """One for each partition of `__transaction_state`. `groups`: those of the same brokers."""

    topic: ClassVar[str] = TRANSACTIONS_TOPIC
    groups: LiveGroups
    settings: TransactionSettings = attrs.field(factory=TransactionSettings)
    _due: deque[tuple[Led[Coordinator], Marking]] = attrs.field(factory=deque, init=False)
    _under_way: int = attrs.field(default=0, init=False)

    def begin(self, codec: TransactionCodec, settings: TransactionSettings | None = None) -> None:
        """Answer requests from now on. `codec`: for the records."""
        self._codec = codec
        self.settings = settings or self.settings

    def end(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        marker: EndMarker,
        *,
        client: str = _MARKERS,
    ) -> Future[Appended]:
        """Write a marker, on this broker if it leads (None: on any). Any thread may call it. `client`: whose turns it
        takes."""
        done: Future[Appended] = Future()

        def write() -> None:
            asked = (broker_id, tp, producer_id, producer_epoch, marker)
            written = self.logs.end_transaction(*asked, timeout_ms=APPEND_MS, client=client)
            written.add_done_callback(partial(self._written, tp, producer_id, marker, done))

        self.soon(work_for(done, write))
        return done

    def unknown(self, partitions: Iterable[TopicPartition]) -> Future[frozenset[TopicPartition]]:
        """Those that no broker that is up knows, or that are to be removed (KIP-694). Any thread may call it."""

        def look() -> frozenset[TopicPartition]:
            newest = ((tp, self._newest(tp)) for tp in partitions)
            return frozenset(tp for tp, found in newest if found is None or found.status_code == OFFLINE)

        return result_of(look, self.soon)

    def _written(
        self, tp: TopicPartition, producer_id: int, marker: EndMarker, done: Future[Appended], written: Future[Appended]
    ) -> None:
        answer = Appended(LogError.UNKNOWN_SERVER_ERROR) if written.exception() is not None else written.result()
        if tp.topic == OFFSETS_TOPIC and not answer.error:
            self.groups.transaction_ended(tp.partition, producer_id, is_commit=marker.is_commit)
        complete(done, answer)

    # --- what a host of coordinators does

    def _made(self, codec: TransactionCodec) -> Coordinator:  # noqa: ARG002 - its records need nothing else
        return Coordinator(self.settings, self.logs.next_producer_id, self._held)

    def _name_in(self, asked: TransactionRequest) -> str:
        return asked.transactional_id

    def _refused(self, asked: TransactionRequest) -> Reply:
        return refused(asked, CoordinatorError.NOT_COORDINATOR)

    def _ask(self, broker_id: int | None, asked: TransactionRequest, future: Future[Reply]) -> None:
        if self._is_elsewhere(broker_id, asked):  # where no marker of this process would ever be written
            complete(future, refused(asked, CoordinatorError.INVALID_REQUEST))
        else:
            super()._ask(broker_id, asked, future)

    def _is_elsewhere(self, broker_id: int | None, asked: TransactionRequest) -> bool:
        """Whether a partition is in another process than the coordinator."""
        if isinstance(asked, AddPartitions) and not all(map(self._is_here, asked.partitions)):
            return True
        is_new = isinstance(asked, AddPartitions) and asked.version >= NEW_EPOCHS
        if broker_id is not None or not (is_new or isinstance(asked, VerifyPartitions)):
            return False  # a client, which looks for the coordinator where this is not the one
        place = self._place(asked.transactional_id)
        known = None if place is None else self._newest(place)
        return known is not None and known.leader >= 0 and known.leader not in self.brokers

    def _is_here(self, tp: TopicPartition) -> bool:
        """Whether the partition is on brokers of this process alone."""
        known = self._newest(tp)
        return known is None or all(member in self.brokers for member in known.replicas)

    def _newest(self, tp: TopicPartition) -> PartitionMetadata | None:
        """The newest that a broker knows of the partition."""
        known = [broker.metadata[tp] for broker in self.brokers.values() if broker.is_up and tp in broker.metadata]
        return max(known, key=lambda each: each.leader_epoch, default=None)

    # --- markers

    def _took(self, led: Led[Coordinator], output: Output) -> None:
        super()._took(led, output)
        self._due += [(led, marking) for marking in output.markings]
        self._mark_more()

    def _mark_more(self) -> None:
        while self._due and self._under_way < MARKERS_MAX:
            led, marking = self._due.popleft()
            if self._is_current(led):  # another coordinator writes its own, and the next transaction may have begun
                self._under_way += 1
                self._mark(led, marking)

    def _mark(self, led: Led[Coordinator], marking: Marking) -> None:
        if self._is_deleted(marking.tp) and led.tp in self.brokers[led.broker_id].metadata:
            self.soon(partial(self._marked, led, marking, CoordinatorError.NONE))
            return
        marker = EndMarker(marking.is_commit, led.leader_epoch)
        written = self.end(None, marking.tp, marking.producer_id, marking.producer_epoch, marker)
        written.add_done_callback(lambda done: self._marked(led, marking, _error(done)))

    def _is_deleted(self, tp: TopicPartition) -> bool:
        """Whether no broker that is up knows it or has a replica. One whose state cannot be read is known to none."""
        if not self._unknown([tp]):
            return False  # so that no marker has all replicas gone through
        return not any(broker.is_up and broker.replica(tp) is not None for broker in self.brokers.values())

    def _marked(self, led: Led[Coordinator], marking: Marking, error: CoordinatorError) -> None:
        self._under_way -= 1
        self._turn(led, led.coordinator.marked, marking, error, self._now_ms())


def _error(written: Future[Appended]) -> CoordinatorError:
    is_written = written.exception() is None and not written.result().error
    return CoordinatorError.NONE if is_written else CoordinatorError.UNKNOWN_SERVER_ERROR
