"""The producers of a partition: the batches that each of them sent last, and their transactions (KIP-98).

* All of it is found in the batches of a log. A new leader takes those of its own, and needs no further information.
* A repeated batch of a producer is found by its sequence. The last `REMEMBERED` batches of each producer are kept; as
  in Kafka, five are compared.
* A transaction begins with the first transactional batch of its producer and ends with a marker. It may have several
  markers, in different logs. What is known of a log is kept while its leader appends, else found again.
* Transactions count as ended when their marker is below the high watermark. The last stable offset is where the first
  of the others begins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakKeyDictionary

import attrs

from ..model.logs import NO_PRODUCER, Aborted, ActiveProducer, Batch, Guard, LogError, StoredBatch
from ..runtime.turns import Work
from ..simulated.log import Log
from .rows import Row

REMEMBERED: Final = 10
PRODUCERS_MAX: Final = 1000  # of a partition; beyond it the producer that was silent for longest is forgotten
_LOOKED_AT: Final = 5
_SLICE: Final = 50  # producers that are looked at between two yields
_SEQUENCES: Final = 2**31
_MANY: Final = 1000  # transactions; only more of them are looked through for those whose records are gone


@attrs.frozen
class _Sent:
    """The last batches of a producer, and its last markers."""

    batches: deque[Row] = attrs.field(factory=lambda: deque(maxlen=REMEMBERED))
    markers: deque[Row] = attrs.field(factory=lambda: deque(maxlen=REMEMBERED))


@attrs.define(eq=False)
class _Transaction:
    """`ends`: its markers, of which a log has one at most. `is_cut`: its first records are deleted in all logs."""

    first: Row
    ends: list[Row] = attrs.field(factory=list)
    is_cut: bool = False

    @property
    def producer_id(self) -> int:
        return self.first.stored.batch.producer_id

    @property
    def begins(self) -> int:
        return self.first.stored.base_offset


@attrs.frozen
class _Ended:
    """A transaction that ends with this marker. `stable_offset`: none that ends later begins below."""

    transaction: _Transaction
    end: Row
    stable_offset: int

    @property
    def is_aborted(self) -> bool:
        marker = self.end.stored.batch.marker
        return marker is not None and not marker.is_commit


@attrs.define(eq=False)
class _Known:
    """The transactions of one log up to `end_offset`, where its last record had the id `last_id`. `open`: by producer,
    in the order in which they began; `ended`: in the order of their ends."""

    end_offset: int
    last_id: int | None
    open: dict[int, _Transaction] = attrs.field(factory=dict)
    ended: list[_Ended] = attrs.field(factory=list)

    def is_whole(self, log: Log) -> bool:
        """Whether the log has that, and no more: logs with a common record are equal up to it."""
        end = log.end_offset
        return self.end_offset == end and log.id_at(end - 1) == self.last_id

    def begin(self, transaction: _Transaction) -> None:
        self.open[transaction.producer_id] = transaction

    def end(self, transaction: _Transaction, marker: Row) -> None:
        """The open transaction ends with this marker."""
        del self.open[transaction.producer_id]
        stable = next((other.begins for other in self.open.values()), marker.stored.end_offset)
        self.ended.append(_Ended(transaction, marker, stable))

    def stable_offset(self, log: Log) -> int:
        high_watermark = log.high_watermark
        stable = next((first.begins for first in self.open.values()), high_watermark)
        for ended in reversed(self.ended):
            if ended.end.stored.end_offset <= high_watermark:
                break
            stable = min(stable, ended.transaction.begins)
        return max(min(stable, high_watermark), log.start_offset)

    def aborted(self, start: int, end: int) -> Iterator[Aborted]:
        """The aborted transactions with records from `start` on, below `end`."""
        place = bisect_left(self.ended, start, key=lambda ended: ended.end.stored.base_offset)
        for at in range(place, len(self.ended)):
            ended = self.ended[at]
            if ended.is_aborted and ended.transaction.begins < end:
                yield Aborted(ended.transaction.producer_id, ended.transaction.begins)
            if ended.stable_offset >= end:
                return

    def keep(self, stays: Callable[[_Transaction], bool]) -> None:
        """Forget the others."""
        self.open = {producer: transaction for producer, transaction in self.open.items() if stays(transaction)}
        self.ended = [ended for ended in self.ended if stays(ended.transaction)]


@attrs.define(eq=False)
class Producers:
    """The producers of a partition, in all of its logs."""

    _sent: dict[int, _Sent] = attrs.field(factory=dict)
    _transactions: list[_Transaction] = attrs.field(factory=list)
    _many: int = _MANY
    _known: WeakKeyDictionary[Log, _Known] = attrs.field(factory=WeakKeyDictionary)

    # --- writing

    def put(self, row: Row, log: Log) -> None:
        """A batch that is appended to the end of this leader's log."""
        batch = row.stored.batch
        known = self._of(log) if self._transactions or batch.is_transactional else None
        if batch.producer_id != NO_PRODUCER:
            row = row.without_payload()
            sent = self._sent.pop(batch.producer_id, None) or _Sent()
            (sent.batches if batch.marker is None else sent.markers).append(row)
            self._sent[batch.producer_id] = sent
            if len(self._sent) > PRODUCERS_MAX:
                self._forget_one(known)
        if known is not None:
            self._add(known, row)
            known.end_offset, known.last_id = row.stored.end_offset, row.next_id - 1

    def _forget_one(self, known: _Known | None) -> None:
        """The producer that was silent for longest, of those without an open transaction."""
        free = (producer for producer in self._sent if known is None or producer not in known.open)
        self._sent.pop(next(free, NO_PRODUCER), None)

    def _add(self, known: _Known, row: Row) -> None:
        batch = row.stored.batch
        present = known.open.get(batch.producer_id)
        if present is None and batch.is_transactional and batch.marker is None:
            self._transactions.append(_Transaction(row))
            known.begin(self._transactions[-1])
        elif present is not None and batch.marker is not None:
            present.ends.append(row)
            known.end(present, row)

    def sent_before(self, batch: Batch, log: Log) -> StoredBatch | LogError | None:
        """The same batch, if `log` has it already; an error where a batch of the same producer is missing before it, or
        a newer process of that producer, or a newer coordinator, has written; None: the batch is new and in
        sequence."""
        held = self._held(batch.producer_id, log)
        if not held:
            return None
        if batch.producer_epoch < max(row.stored.batch.producer_epoch for row in held):
            return LogError.INVALID_PRODUCER_EPOCH
        if batch.marker is not None:
            is_late = batch.marker.coordinator_epoch < _coordinator_epoch(held)
            return LogError.TRANSACTION_COORDINATOR_FENCED if is_late else None
        if batch.base_sequence < 0:  # of a coordinator
            return None
        present = [row.stored for row in held if _is_sequenced(row, batch.producer_epoch)]
        for stored in present[-_LOOKED_AT:]:
            if _sent_as(stored.batch) == _sent_as(batch):
                return stored
        due = _next_sequence(present[-1].batch) if present else 0
        return None if batch.base_sequence == due else LogError.OUT_OF_ORDER_SEQUENCE_NUMBER

    def guard(self, producer_id: int, producer_epoch: int, log: Log, leader_epoch: int) -> Guard | None:
        """What must not change before a transaction of this producer begins; None: it has begun."""
        first = self._of(log).open.get(producer_id)
        if first is not None and first.first.stored.batch.producer_epoch == producer_epoch:
            return None
        sent = self._sent.get(producer_id)
        return Guard(leader_epoch, -1 if sent is None or not sent.markers else sent.markers[-1].first_id)

    def has_open(self, producer_id: int, log: Log) -> bool:
        """Whether the producer has an open transaction."""
        return bool(self._transactions) and producer_id in self._of(log).open

    # --- reading

    def stable_offset(self, log: Log) -> int:
        """The last stable offset of a leader's log."""
        return self._of(log).stable_offset(log) if self._transactions else log.high_watermark

    def aborted(self, log: Log, start: int, end: int) -> tuple[Aborted, ...]:
        """The aborted transactions of a leader's log with records from `start` on, below `end`."""
        return tuple(self._of(log).aborted(start, end)) if self._transactions else ()

    def active(self, log: Log) -> Work[tuple[ActiveProducer, ...]]:
        """Every producer that has written to the log."""
        found = []
        for number, producer_id in enumerate(list(self._sent)):
            if number % _SLICE == _SLICE - 1:
                yield
            rows = self._held(producer_id, log)
            if rows:
                found.append(_active(rows, self._of(log).open.get(producer_id)))
        return tuple(found)

    # --- deleting

    def deleted(self, offset: int, log: Log) -> None:
        """The committed records below `offset` go from all logs, of which `log` is the leader's, and still has them."""
        if not self._transactions:
            return
        known = self._of(log)
        place = bisect_right(known.ended, offset, key=lambda ended: ended.end.stored.end_offset)
        left = [*known.open.values(), *(ended.transaction for ended in known.ended[place:])]
        for ended in known.ended[:place]:
            ended.transaction.is_cut = False  # all of it is gone
        for transaction in left:
            transaction.is_cut = transaction.is_cut or transaction.begins < offset
        if len(self._transactions) > self._many:
            self._keep(lambda transaction: transaction.begins >= offset or transaction.is_cut)
            self._many = max(_MANY, 2 * len(self._transactions))

    def removed(self, ids: set[int]) -> None:
        """Batches that compaction removed, by the ids of their first records. With the marker of a transaction nothing
        of it is left."""
        if self._transactions and ids:
            self._keep(lambda t: not any(end.first_id in ids for end in t.ends))

    def _keep(self, stays: Callable[[_Transaction], bool]) -> None:
        self._transactions = [transaction for transaction in self._transactions if stays(transaction)]
        for known in self._known.values():
            known.keep(stays)

    # --- inside

    def _held(self, producer_id: int, log: Log) -> list[Row]:
        sent = self._sent.get(producer_id)
        return [] if sent is None else [row for row in (*sent.batches, *sent.markers) if row.is_in(log)]

    def _of(self, log: Log) -> _Known:
        known = self._known.get(log)
        if known is None or not known.is_whole(log):
            known = self._known[log] = self._found(log)
        return known

    def _found(self, log: Log) -> _Known:
        """By all transactions, in the order of the log."""
        known = _Known(log.end_offset, log.id_at(log.end_offset - 1))
        found = [(t.begins, t, None) for t in self._transactions if t.is_cut or t.first.is_in(log)]
        ends = [(end.stored.base_offset, t, end) for _, t, _ in found for end in t.ends if end.is_in(log)]
        for _, transaction, end in sorted([*found, *ends], key=lambda event: event[0]):
            if end is None:
                known.begin(transaction)
            else:
                known.end(transaction, end)
        return known


def _is_sequenced(row: Row, producer_epoch: int) -> bool:
    batch = row.stored.batch
    return batch.producer_epoch == producer_epoch and batch.base_sequence >= 0


def _sent_as(batch: Batch) -> tuple[int, int, int]:
    """What a producer repeats when it sends a batch again. With a new producer epoch sequences begin at 0."""
    return batch.producer_epoch, batch.base_sequence, batch.records


def _next_sequence(batch: Batch) -> int:
    return (batch.base_sequence + batch.records) % _SEQUENCES


def _coordinator_epoch(held: list[Row]) -> int:
    """Of the last marker, -1 without one."""
    return max((row.stored.batch.marker.coordinator_epoch for row in held if row.stored.batch.marker), default=-1)


def _active(held: list[Row], transaction: _Transaction | None) -> ActiveProducer:
    batches = [row.stored.batch for row in held]
    epoch = max(batch.producer_epoch for batch in batches)
    sequenced = [row.stored.batch for row in held if _is_sequenced(row, epoch)]
    return ActiveProducer(
        batches[0].producer_id,
        epoch,
        _next_sequence(sequenced[-1]) - 1 if sequenced else -1,
        max(batch.max_timestamp_ms for batch in batches),
        _coordinator_epoch(held),
        -1 if transaction is None else transaction.begins,
    )
