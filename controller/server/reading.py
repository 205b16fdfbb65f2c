"""A replica's answers to clients that read: records, the bounds of its log, and the end of a leader epoch in it."""

from __future__ import annotations

from itertools import islice
from typing import Final

import attrs

from ..model.logs import EpochEnd, Fetched, FetchFrom, LogBounds, LogError
from ..runtime.turns import Work
from ..simulated.replica import Replica
from .record_store import RecordStore

BATCHES_MAX: Final = 500
"""Batches of a partition in an answer; the rest comes with the next one."""


def fetched(replica: Replica, shelf: RecordStore, *, since: FetchFrom, room: int, is_first: bool) -> Fetched:
    """The batches that fit into `room` bytes. `is_first`: the first is read even if it is too large."""
    log, offset = replica.log, since.offset
    if not shelf.start_offset <= offset <= log.end_offset:
        return Fetched(LogError.OFFSET_OUT_OF_RANGE, log.high_watermark, shelf.start_offset)
    stable_offset = shelf.producers.stable_offset(log)
    end = stable_offset if since.is_committed else None
    batches = tuple(islice(shelf.read(log, offset, room, end), BATCHES_MAX))
    if not is_first and sum(len(stored.batch.payload) for stored in batches) > room:
        batches = ()
    aborted = shelf.producers.aborted(log, offset, batches[-1].end_offset) if since.is_committed and batches else ()
    return Fetched(LogError.NONE, log.high_watermark, shelf.start_offset, batches, stable_offset, aborted)


def bounds(replica: Replica, shelf: RecordStore, *, is_debugging: bool) -> LogBounds:
    log = replica.log
    if log.high_watermark < replica.epoch_start and not is_debugging:  # a new leader that has no high watermark yet
        return LogBounds(LogError.OFFSET_NOT_AVAILABLE)
    ends = (log.high_watermark, log.end_offset)
    return LogBounds(LogError.NONE, shelf.start_offset, *ends, replica.leader_epoch, shelf.producers.stable_offset(log))


def searched(replica: Replica, shelf: RecordStore, *, since_ms: int, is_debugging: bool) -> Work[LogBounds]:
    """As `bounds`, with the batches that may hold the record of a time."""
    found = bounds(replica, shelf, is_debugging=is_debugging)
    if found.error:
        return found
    batches = yield from (shelf.newest(replica.log) if since_ms < 0 else shelf.since(replica.log, since_ms))
    return attrs.evolve(found, batches=batches)


def end_of_epoch(replica: Replica, _: RecordStore, *, asked: int) -> EpochEnd:
    log = replica.log
    if asked == replica.leader_epoch:
        return EpochEnd(LogError.NONE, asked, log.end_offset)
    if asked < 0 or asked > replica.leader_epoch:
        return EpochEnd()
    epoch, end = log.end_of_epoch(asked)
    return EpochEnd(LogError.NONE, *((asked, log.start_offset) if epoch < 0 else (epoch, end)))
