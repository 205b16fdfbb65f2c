"""The records of one partition, stored once for all of its replicas, whose logs have ids
(`kedge.controller.simulated.log`).

* A batch has a row of ids, one per record, in the order in which batches were taken. A log has a batch if it has the id
  of the batch's last record at its offset: two logs with a common record are equal up to it.
* A follower's log may end within a batch, and the follower may become leader. Such a part of a batch was never
  acknowledged and is not read: consumers find a gap, as in a compacted log.
* Compaction replaces rows by smaller ones, or removes them. Logs keep the ids of all records, so offsets stay as they
  are, and reading passes over those that are gone.
* The producers of the batches, and their transactions: `kedge.controller.server.producers`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import attrs

from ..model.logs import Batch, StoredBatch
from ..runtime.turns import Work
from ..simulated.log import Log, Run
from .producers import Producers
from .rows import Row

_SLICE: Final = 200  # rows that a search reads between two yields


@attrs.define(eq=False)
class RecordStore:
    """All batches of a partition that are not deleted yet, `size_bytes` in all. `start_offset`: records below it are
    deleted. `written_bytes`: of all batches that were ever stored."""

    start_offset: int = 0
    size_bytes: int = 0
    written_bytes: int = 0
    producers: Producers = attrs.field(factory=Producers)
    _rows: list[Row] = attrs.field(factory=list)
    _next_id: int = 0

    # --- writing

    def put(self, batch: Batch, log: Log, leader_epoch: int) -> list[Run]:
        """Store the batch; returns its records, which the log takes at its end."""
        batch = attrs.evolve(batch, times=()) if batch.times else batch
        self.written_bytes += len(batch.payload)
        row = Row(self._next_id, StoredBatch(log.end_offset, leader_epoch, batch), self.written_bytes)
        self._rows.append(row)
        self._next_id = row.next_id
        self.size_bytes += row.size_bytes
        self.producers.put(row, log)
        return _runs(row)

    # --- reading

    def read(self, log: Log, offset: int, bytes_max: int, end: int | None = None) -> Iterator[StoredBatch]:
        """The whole batches of `log` below `end` (None: its high watermark), from the one with `offset` on: the first
        one, and as many more as fit into `bytes_max`."""
        left, is_first = bytes_max, True
        first_id = log.id_at(max(offset, log.start_offset))
        for row in () if first_id is None else self.rows(log, first_id, end):
            left -= row.size_bytes
            if left < 0 and not is_first:
                return
            yield row.stored
            is_first = False

    def rows(self, log: Log, since_id: int = 0, end: int | None = None) -> Iterator[Row]:
        """The rows of `log` below `end` (None: its high watermark), from the one with this id or a later one on."""
        for place in range(bisect_right(self._rows, since_id, key=lambda row: row.next_id), len(self._rows)):
            row = self._rows[place]
            if row.is_in(log):
                if row.stored.end_offset > (log.high_watermark if end is None else end):
                    return
                yield row

    def since(self, log: Log, timestamp_ms: int) -> Work[tuple[StoredBatch, ...]]:
        """The first batch of `log` below its high watermark with a record of that time or later, and the next one: such
        records of the first may be deleted."""
        found: list[StoredBatch] = []
        for stored in self._committed(log):
            if stored is None:
                yield
            elif stored.batch.max_timestamp_ms >= timestamp_ms:
                found.append(stored)
                if len(found) == 2:
                    break
        return tuple(found)

    def newest(self, log: Log) -> Work[tuple[StoredBatch, ...]]:
        """The first batch below the high watermark with the record of the highest time; before it a batch of whose
        records some are deleted."""
        cut: tuple[StoredBatch, ...] = ()
        best: StoredBatch | None = None
        for stored in self._committed(log):
            if stored is None:
                yield
            elif stored.base_offset < self.start_offset:
                cut = (stored,)
            elif best is None or stored.batch.max_timestamp_ms > best.batch.max_timestamp_ms:
                best = stored
        return cut if best is None else (*cut, best)

    def _committed(self, log: Log) -> Iterator[StoredBatch | None]:
        """The batches of clients below the high watermark; None between two slices, between which rows may come and
        go."""
        since_id = 0
        while rows := list(islice(self.rows(log, since_id), _SLICE)):
            yield from (row.stored for row in rows if row.stored.batch.marker is None)
            since_id = rows[-1].next_id
            yield None

    # --- compacting

    def replace(self, rows: Iterable[Row], remaining: Iterable[Row]) -> None:
        """Of `rows` the `remaining` ones stay, with fewer records. What was deleted meanwhile stays deleted."""
        smaller = {row.first_id: row for row in remaining}
        gone = {row.first_id for row in rows} - smaller.keys()
        self._rows = [smaller.get(row.first_id, row) for row in self._rows if row.first_id not in gone]
        self.producers.removed(gone)
        self.size_bytes = sum(row.size_bytes for row in self._rows)

    # --- deleting

    def delete_before(self, offset: int, log: Log) -> None:
        """What is below `offset` is gone, except for a batch that reaches beyond it. `log` is the leader's; all logs
        have to follow."""
        self.producers.deleted(offset, log)
        gone = next((n for n, row in enumerate(self._rows) if row.stored.end_offset > offset), len(self._rows))
        self.size_bytes -= sum(row.size_bytes for row in self._rows[:gone])
        del self._rows[:gone]
        self.start_offset = max(self.start_offset, offset)

    def begins_by(self, timestamp_ms: int, log: Log) -> int:
        """Where the first batch of `log` begins that has a record of that time or later, or that is not committed."""
        return self._after(log, lambda stored, _: stored.batch.max_timestamp_ms < timestamp_ms)

    def begins_within(self, bytes_max: int, log: Log) -> int:
        """Where the first batch of `log` begins without which fewer than `bytes_max` would remain, or that is not
        committed."""
        return self._after(log, lambda _, left: left >= bytes_max)

    def _after(self, log: Log, goes: Callable[[StoredBatch, int], bool]) -> int:
        """The end of the committed batches at the beginning of `log` that may go. `goes` gets each, and the bytes that
        remain without it. Batches that a former leader took, and that were truncated, do not count."""
        offset, left = self.start_offset, self.size_bytes
        for row in self._rows:
            left -= row.size_bytes
            if not row.is_in(log):
                continue
            if row.stored.end_offset > log.high_watermark or not goes(row.stored, left):
                break
            offset = max(offset, row.stored.end_offset)
        return offset

    def trim(self, bytes_max: int, log: Log) -> bool:
        """Above `bytes_max`, delete the oldest batches below the high watermark of `log`, somewhat more than necessary
        so that not every append deletes; returns whether any was deleted. The logs must then follow to the start."""
        if self.size_bytes <= bytes_max:
            return False
        gone, left = 0, self.size_bytes
        for row in self._rows:
            is_truncated = not row.is_in(log)
            if left <= bytes_max * 7 // 8 or (row.stored.end_offset > log.high_watermark and not is_truncated):
                break
            left -= row.size_bytes
            if not is_truncated:
                self.start_offset = max(self.start_offset, row.stored.end_offset)
            gone += 1
        del self._rows[:gone]
        self.size_bytes = left
        self.producers.deleted(self.start_offset, log)
        return gone > 0


def shrunk(log: Log, rows: Sequence[Row], end: int) -> list[Run]:
    """The records of the log below `end`, of which only these rows remain. The records of a run share the bytes that
    remain of it, so that there are no more runs than before, or few."""
    bases = [row.stored.base_offset for row in rows]
    found: list[Run] = []
    for run in log.within(log.start_offset, end):
        remaining = rows[bisect_left(bases, run.start) : bisect_left(bases, run.end)]
        found += _spread(run, sum(row.size_bytes for row in remaining))
    return found


def _runs(row: Row) -> list[Run]:
    stored = row.stored
    return _spread(Run(stored.base_offset, stored.batch.records, stored.leader_epoch, row.first_id, 0), row.size_bytes)


def _spread(run: Run, size_bytes: int) -> list[Run]:
    """The records of the run, with sizes that add up to `size_bytes`, because their own sizes are unknown here."""
    size, larger = divmod(size_bytes, run.count)
    parts = ((run.between(run.start, run.start + larger), size + 1), (run.between(run.start + larger, run.end), size))
    return [attrs.evolve(part, record_bytes=each) for part, each in parts if part is not None]
