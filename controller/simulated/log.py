"""A replica's log without contents: runs of records instead of records.

* A record is its offset, the leader epoch under which it was written, a unique id, and a size in bytes. A run has
  adjacent records with equal epoch and size and consecutive ids, so a bulk write is one object.
* Two logs with the same epoch at the same offset have the same record there (KIP-101); `truncation_offset` relies on
  that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

import attrs


@attrs.frozen
class Run:
    """`count` records from offset `start`: record i has the id `first_id` + i and `record_bytes` bytes."""

    start: int
    count: int
    leader_epoch: int
    first_id: int
    record_bytes: int

    @property
    def end(self) -> int:
        """The offset after the last record."""
        return self.start + self.count

    def head(self, count: int) -> Run:
        return Run(self.start, count, self.leader_epoch, self.first_id, self.record_bytes)

    def tail(self, offset: int) -> Run:
        """The records from `offset` on."""
        skipped = offset - self.start
        return Run(offset, self.count - skipped, self.leader_epoch, self.first_id + skipped, self.record_bytes)

    def between(self, start: int, end: int) -> Run | None:
        """Its records from `start` on, below `end`; None if there are none."""
        first, last = max(start, self.start), min(end, self.end)
        return self.tail(first).head(last - first) if first < last else None

    def goes_on_with(self, other: Run) -> bool:
        return (
            self.end == other.start
            and self.leader_epoch == other.leader_epoch
            and self.record_bytes == other.record_bytes
            and self.first_id + self.count == other.first_id
        )


class Log:
    """The records of one replica, and its high watermark: everything below that is on every in-sync replica."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.start_offset = 0  # records below were deleted, as by retention
        self.high_watermark = 0
        self.size_bytes = 0

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.runs[-1].end if self.runs else self.start_offset

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record, -1 for an empty log."""
        return self.runs[-1].leader_epoch if self.runs else -1

    def append(self, runs: Iterable[Run]) -> None:
        """Add `runs` at the end. Raises ValueError where they do not follow each other and the present end."""
        for run in runs:
            if run.start != self.end_offset or run.count < 1:
                raise ValueError(f"{run} does not follow on offset {self.end_offset}")
            self.size_bytes += run.count * run.record_bytes
            if self.runs and self.runs[-1].goes_on_with(run):
                self.runs[-1] = self.runs[-1].head(self.runs[-1].count + run.count)
            else:
                self.runs.append(run)

    def read(self, offset: int, bytes_max: int | None = None) -> list[Run]:
        """The records from `offset` on, as many whole ones as fit into `bytes_max`."""
        found = []
        left = bytes_max
        for place in range(self._place(offset), len(self.runs)):
            run = self.runs[place]
            run = run.tail(offset) if run.start < offset else run
            count = run.count if left is None else min(run.count, left // max(1, run.record_bytes))
            if count <= 0:
                break
            found.append(run.head(count))
            if left is not None:
                left -= count * run.record_bytes
            if count < run.count:
                break
        return found

    def within(self, start: int, end: int) -> list[Run]:
        places = range(self._place(start), bisect_left(self.runs, end, key=lambda run: run.start))
        return [found for place in places if (found := self.runs[place].between(start, end))]

    def record_bytes_at(self, offset: int) -> int:
        """The size of the record at `offset`; 0 where there is none."""
        place = self._place(offset)
        return self.runs[place].record_bytes if place < len(self.runs) else 0

    def truncate(self, offset: int) -> int:
        """Delete the records at `offset` and above; returns their number. The high watermark is lowered to the end."""
        removed = max(0, self.end_offset - offset)
        while self.runs and self.runs[-1].end > offset:
            run = self.runs.pop()
            kept = max(0, offset - run.start)
            self.size_bytes -= (run.count - kept) * run.record_bytes
            if kept:
                self.runs.append(run.head(kept))
        self.start_offset = min(self.start_offset, max(0, offset))
        self.high_watermark = min(self.high_watermark, self.end_offset)
        return removed

    def delete_before(self, offset: int) -> None:
        """Delete the records below `offset`; a log that ended before it becomes empty, and begins there."""
        gone = self._place(offset)
        self.size_bytes -= sum(run.count * run.record_bytes for run in self.runs[:gone])
        del self.runs[:gone]
        if self.runs and self.runs[0].start < offset:
            first = self.runs[0]
            self.size_bytes -= (offset - first.start) * first.record_bytes
            self.runs[0] = first.tail(offset)
        self.start_offset = max(self.start_offset, offset)
        self.high_watermark = max(self.high_watermark, offset)

    def resize(self, runs: Iterable[Run], end: int) -> None:
        """The records below `end` that are also in `runs` get the sizes that they have there. `runs` follow each
        other."""
        resized = [found for run in runs if (found := run.between(self.start_offset, min(end, self.end_offset)))]
        if resized:
            before = self.within(self.start_offset, resized[0].start)
            after = self.within(resized[-1].end, self.end_offset)
            self.runs, self.size_bytes = [], 0
            self.append([*before, *resized, *after])

    def id_at(self, offset: int) -> int | None:
        """The id of the record at `offset`, None where there is none."""
        place = self._place(offset)
        if place >= len(self.runs) or self.runs[place].start > offset:
            return None
        run = self.runs[place]
        return run.first_id + offset - run.start

    def end_of_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The highest epoch in the log that is not above `leader_epoch`, and the offset after its last record; (-1, 0)
        where there is none. This is the answer of OffsetForLeaderEpoch."""
        place = bisect_right(self.runs, leader_epoch, key=lambda run: run.leader_epoch) - 1
        return (self.runs[place].leader_epoch, self.runs[place].end) if place >= 0 else (-1, 0)

    def holds(self, run: Run) -> bool:
        offset = run.start
        for found in self.read(run.start):
            if found.start != offset or found.first_id != run.first_id + (offset - run.start):
                return False
            offset = found.end
            if offset >= run.end:
                return True
        return offset >= run.end

    def _place(self, offset: int) -> int:
        return bisect_right(self.runs, offset, key=lambda run: run.end)


def truncation_offset(follower: Log, leader: Log) -> int:
    """The offset up to which the follower's log equals the leader's (KIP-101, and KIP-279 for missed epochs): the
    follower requests the end of its last epoch, then of older ones while the leader has no record of that epoch."""
    epoch = follower.last_epoch
    while epoch >= 0:
        found, leader_end = leader.end_of_epoch(epoch)
        own, own_end = follower.end_of_epoch(found)
        if own == found:
            return min(own_end, leader_end)
        epoch = own
    return 0
