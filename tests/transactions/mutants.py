"""Transactions that are broken on purpose: each must show in some of the first seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from kedge.controller.coordinators import CoordinatorError, Output
from kedge.controller.groups.coordinator import Coordinator as Groups
from kedge.controller.groups.group import Group
from kedge.controller.groups.requests import Commit, FetchOffsets
from kedge.controller.model.logs import LogError, StoredBatch
from kedge.controller.model.values import TopicPartition
from kedge.controller.server import compacting
from kedge.controller.server.producers import Producers, _Known
from kedge.controller.simulated.log import Log
from kedge.controller.transactions import changes
from kedge.controller.transactions.coordinator import Coordinator
from kedge.controller.transactions.records import State, Stored
from kedge.controller.transactions.transaction import Transaction
from kedge.controller.wire.groups import GroupRecords
from tests.simulation.mutant import Breaks, Patch


def stable_at_the_high_watermark(patch: Patch) -> None:
    """Open transactions are read."""
    patch.setattr(Producers, "stable_offset", lambda _, log: log.high_watermark)


def stable_before_the_marker_is_committed(patch: Patch) -> None:
    """A transaction is over when the leader has its marker."""
    right = _Known.stable_offset

    def stable_offset(self: _Known, log: Log) -> int:
        ended, self.ended = self.ended, []
        found = right(self, log)
        self.ended = ended
        return found

    patch.setattr(_Known, "stable_offset", stable_offset)


def aborted_is_read(patch: Patch) -> None:
    """Readers do not hear what was aborted."""
    patch.setattr(Producers, "aborted", lambda *_: ())


def no_verification(patch: Patch) -> None:
    """A leader begins a transaction of a producer that it does not know."""
    patch.setattr(Producers, "guard", lambda *_: None)


def sent_again_is_written_again(patch: Patch) -> None:
    """A batch that is repeated is in the log twice."""
    right = Producers.sent_before

    def sent_before(self: Producers, batch: Any, log: Log) -> StoredBatch | LogError | None:
        found = right(self, batch, log)
        return None if isinstance(found, StoredBatch) else found

    patch.setattr(Producers, "sent_before", sent_before)


def epoch_stays(patch: Patch) -> None:
    """A producer that begins gets the epoch of the one before."""
    right = changes.initialized

    def initialized(now: Any, *rest: Any) -> Any:
        then = right(now, *rest)
        if now.producer_epoch < 0 or not isinstance(then, Stored):
            return then
        return attrs.evolve(then, producer_epoch=now.producer_epoch)

    patch.setattr(changes, "initialized", initialized)


def open_transaction_is_not_aborted(patch: Patch) -> None:
    """A producer that begins leaves the open transaction as it is."""
    right = Coordinator._initialize  # noqa: SLF001

    def initialize(self: Coordinator, turn: Any, asked: Any, ticket: Any) -> None:
        transaction = self.transactions.get(asked.transactional_id)
        if transaction is not None and transaction.now.state is State.ONGOING:
            transaction.now = attrs.evolve(transaction.now, state=State.EMPTY)
        right(self, turn, asked, ticket)

    patch.setattr(Coordinator, "_initialize", initialize)


def decided_is_forgotten(patch: Patch) -> None:
    """A coordinator that loads a decided transaction does not go on with it."""
    right = Coordinator._restore  # noqa: SLF001

    def restore(self: Coordinator, turn: Any, records: Iterable[Any]) -> None:
        begin, self_type = Coordinator._begin_end, type(self)  # noqa: SLF001
        self_type._begin_end = lambda *_: None  # type: ignore[method-assign]  # noqa: SLF001
        try:
            right(self, turn, list(records))
        finally:
            self_type._begin_end = begin  # type: ignore[method-assign]  # noqa: SLF001

    patch.setattr(Coordinator, "_restore", restore)


def complete_without_markers(patch: Patch) -> None:
    """A marker that could not be written counts as written."""
    right = Coordinator.marked
    patch.setattr(
        Coordinator, "marked", lambda self, marking, _, now_ms: right(self, marking, CoordinatorError.NONE, now_ms)
    )


def first_marker_is_enough(patch: Patch) -> None:
    """A transaction is complete with its first marker."""
    right = Coordinator.marked

    def marked(self: Coordinator, marking: Any, error: CoordinatorError, now_ms: int) -> Any:
        transaction = self.transactions.get(marking.transactional_id)
        if transaction is not None and not error:
            transaction.unmarked &= {marking.tp}
        return right(self, marking, error, now_ms)

    patch.setattr(Coordinator, "marked", marked)


def offsets_at_once(patch: Patch) -> None:
    """Offsets of a transaction are valid before it is committed."""

    def commit_later(self: Group, producer_id: int, tp: TopicPartition, offset: Any) -> None:  # noqa: ARG001
        self.commit(tp, offset)

    patch.setattr(Group, "commit_later", commit_later)


def aborted_offsets_are_valid(patch: Patch) -> None:
    """Offsets of an aborted transaction are valid, too."""
    right = Group.end_transaction
    patch.setattr(Group, "end_transaction", lambda self, producer_id, **_: right(self, producer_id, is_commit=True))


def offsets_are_loaded_without_their_ends(patch: Patch) -> None:
    """A coordinator that loads takes every offset, whatever became of its transaction."""
    right = GroupRecords.decode

    def decode(self: GroupRecords, batches: Iterable[StoredBatch]) -> Any:
        plain = [attrs.evolve(s, batch=attrs.evolve(s.batch, is_transactional=False)) for s in batches]
        return right(self, (stored for stored in plain if stored.batch.marker is None))

    patch.setattr(GroupRecords, "decode", decode)


def open_offsets_are_not_loaded(patch: Patch) -> None:
    """A coordinator that loads forgets the offsets of open transactions."""
    right = Groups._restore  # noqa: SLF001

    def restore(self: Groups, turn: Any, records: Iterable[Any]) -> None:
        right(self, turn, [record for record in records if getattr(record, "producer_id", -1) < 0])

    patch.setattr(Groups, "_restore", restore)


def unstable_offsets_are_fetched(patch: Patch) -> None:
    """The next owner of a partition begins before offsets that a transaction is about to commit."""
    right = Groups.ask

    def ask(self: Groups, asked: Any, *rest: Any) -> Output:
        is_fetch = isinstance(asked, FetchOffsets)
        return right(self, attrs.evolve(asked, requires_stable=False) if is_fetch else asked, *rest)

    patch.setattr(Groups, "ask", ask)


def former_members_commit(patch: Patch) -> None:
    """Offsets of a transaction are taken from a member of a former generation."""
    right = Groups.ask

    def ask(self: Groups, asked: Any, *rest: Any) -> Output:
        is_of_producer = isinstance(asked, Commit) and asked.producer is not None
        return right(self, attrs.evolve(asked, generation=-1, member_id="") if is_of_producer else asked, *rest)

    patch.setattr(Groups, "ask", ask)


def markers_are_compacted_at_once(patch: Patch) -> None:
    """The end of a transaction goes before its records."""
    patch.setattr(compacting, "_end", lambda *_, **__: None)


def aborted_stays_in_compacted_logs(patch: Patch) -> None:
    """Records of aborted transactions are the newest of their keys."""
    patch.setattr(compacting, "_gone", lambda *_: set())


def nothing_times_out(patch: Patch) -> None:
    """An open transaction stays open."""
    patch.setattr(Transaction, "next_ms", property(lambda self: self.retry_ms))


MUTANTS: Final[Mapping[str, Breaks]] = {
    found.__name__: found
    for found in (
        stable_at_the_high_watermark,
        stable_before_the_marker_is_committed,
        aborted_is_read,
        no_verification,
        sent_again_is_written_again,
        epoch_stays,
        open_transaction_is_not_aborted,
        decided_is_forgotten,
        complete_without_markers,
        first_marker_is_enough,
        offsets_at_once,
        aborted_offsets_are_valid,
        offsets_are_loaded_without_their_ends,
        open_offsets_are_not_loaded,
        unstable_offsets_are_fetched,
        former_members_commit,
        markers_are_compacted_at_once,
        aborted_stays_in_compacted_logs,
        nothing_times_out,
    )
}
