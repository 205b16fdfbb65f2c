"""The next state of a transactional id: functions of the present one (KIP-98, KIP-360, KIP-890)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import attrs

from ..coordinators import CoordinatorError
from ..model.values import TopicPartition
from .records import EPOCH_MAX, NO_EPOCH, NO_ID, NO_TIME, State, Stored
from .requests import End, Initialize

NEW_EPOCHS: Final = 2
"""The transaction version from which on each end gives the producer a new epoch."""


def initialized(now: Stored, asked: Initialize, fresh_id: Callable[[], int], now_ms: int) -> Stored | CoordinatorError:
    """The state after InitProducerId while no transaction is open. The producer is new, or continues after an error."""
    named = asked.producer_epoch if asked.producer_id != NO_ID else None
    if now.is_exhausted and named in {None, now.producer_epoch}:
        last_epoch = NO_EPOCH if named is None else now.producer_epoch
        return _empty(now, asked, now_ms, fresh_id(), 0, last_epoch)
    if named is None:
        return _empty(now, asked, now_ms, now.producer_id, now.producer_epoch + 1, NO_EPOCH)
    if now.producer_epoch in {NO_EPOCH, named}:
        return _empty(now, asked, now_ms, now.producer_id, now.producer_epoch + 1, now.producer_epoch)
    if named == now.last_epoch:  # it repeats what was done
        return _empty(now, asked, now_ms, now.producer_id, now.producer_epoch, now.last_epoch)
    return CoordinatorError.PRODUCER_FENCED


def _empty(  # noqa: PLR0917 - the fields that differ
    now: Stored, asked: Initialize, now_ms: int, producer_id: int, producer_epoch: int, last_epoch: int
) -> Stored:
    return attrs.evolve(
        now,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_epoch=last_epoch,
        previous_id=now.producer_id,
        timeout_ms=asked.timeout_ms,
        state=State.EMPTY,
        start_ms=NO_TIME,
        update_ms=now_ms,
    )


def may_initialize(now: Stored, asked: Initialize) -> bool:
    """Whether the id that the producer names is that of the transactional id, or the exhausted one before."""
    if asked.producer_id == NO_ID or now.producer_epoch == NO_EPOCH or asked.producer_id == now.producer_id:
        return True
    return asked.producer_id == now.previous_id and asked.producer_epoch >= EPOCH_MAX - 1


def added(now: Stored, partitions: Iterable[TopicPartition], version: int, now_ms: int) -> Stored:
    """An open transaction with these partitions, too."""
    return attrs.evolve(
        now,
        previous_id=now.producer_id,
        state=State.ONGOING,
        partitions=now.partitions.union(partitions),
        start_ms=now.start_ms if now.state is State.ONGOING else now_ms,
        update_ms=now_ms,
        version=version,
    )


def fenced(now: Stored) -> Stored:
    """With an epoch that no producer gets."""
    return attrs.evolve(now, producer_epoch=min(now.producer_epoch + 1, EPOCH_MAX), last_epoch=NO_EPOCH)


def prepared(now: Stored, version: int, now_ms: int, next_id: int = NO_ID, *, is_commit: bool) -> Stored:
    """The end is decided. `next_id`: where the epochs of the present one are used up."""
    epoch, last_epoch = now.producer_epoch, now.last_epoch
    if version >= NEW_EPOCHS:
        epoch, last_epoch = min(epoch + 1, EPOCH_MAX), epoch
    return attrs.evolve(
        now,
        producer_epoch=epoch,
        last_epoch=last_epoch,
        previous_id=now.producer_id,
        next_id=next_id,
        state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT,
        start_ms=now.start_ms if now.state is State.ONGOING else now_ms,
        update_ms=now_ms,
        version=version,
    )


def completed(now: Stored, now_ms: int) -> Stored:
    """All markers are written."""
    rotates = now.version >= NEW_EPOCHS and now.next_id != NO_ID
    return attrs.evolve(
        now,
        producer_id=now.next_id if rotates else now.producer_id,
        producer_epoch=0 if rotates else now.producer_epoch,
        previous_id=now.producer_id,
        next_id=NO_ID,
        state=State.COMPLETE_COMMIT if now.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
        partitions=frozenset(),
        update_ms=now_ms,
    )


# --- how a transaction may end


def end_error(now: Stored, asked: End, *, is_busy: bool) -> CoordinatorError | None:
    """The answer to End where nothing changes; NONE: it is done already. None: the end is to be prepared. `is_busy`:
    a change is in progress, which may be what makes the id and the epoch valid (KAFKA-18464)."""
    if is_busy and asked.version >= NEW_EPOCHS:
        return CoordinatorError.CONCURRENT_TRANSACTIONS
    is_retry = asked.version >= NEW_EPOCHS and (_is_before(now, asked) or _is_before_rotation(now, asked))
    if asked.producer_id != now.producer_id and not is_retry:
        return CoordinatorError.INVALID_PRODUCER_ID_MAPPING
    is_over = now.state in {State.COMPLETE_COMMIT, State.COMPLETE_ABORT}
    if asked.producer_epoch != now.producer_epoch and not (is_retry and is_over):
        return CoordinatorError.PRODUCER_FENCED
    if is_busy:
        return CoordinatorError.CONCURRENT_TRANSACTIONS
    if now.state is State.ONGOING:
        return None
    done = {State.COMPLETE_COMMIT: True, State.COMPLETE_ABORT: False}.get(now.state)
    if asked.version < NEW_EPOCHS or is_retry:
        return CoordinatorError.NONE if done is asked.is_commit else CoordinatorError.INVALID_TXN_STATE
    return CoordinatorError.INVALID_TXN_STATE if asked.is_commit else None  # an abort of nothing gives a new epoch


def _is_before(now: Stored, asked: End) -> bool:
    """Whether the epoch is the one that an end replaced."""
    return asked.producer_id == now.producer_id and asked.producer_epoch == now.producer_epoch - 1


def _is_before_rotation(now: Stored, asked: End) -> bool:
    is_exhausted = asked.producer_epoch == EPOCH_MAX - 1 and now.producer_epoch == 0
    return asked.producer_id == now.previous_id and is_exhausted
