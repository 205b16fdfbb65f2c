"""The records of batches by time, for ListOffsets. Kafka's rules:

* The answer is the offset and the time of a record, also in a compressed batch.
* Records below the start of the log are deleted, and are never the answer.

A batch that cannot be read here is answered by its header: its first record that is left, with the time of the first
one; or for the newest record, its last one. So a consumer misses no record. Reading a batch may take a second, so this
is work in slices.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ...model.logs import StoredBatch
from ...runtime.turns import Work
from .batches import Entry, entries, first_ms
from .unpacking import unpacked


@attrs.frozen
class Found:
    """A record, and the leader epoch under which it was appended."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def first_since(batches: Sequence[StoredBatch], start_offset: int, timestamp_ms: int) -> Work[Found | None]:
    """The first record of that time or later, at `start_offset` or above it."""
    for stored in batches:
        try:
            for entry in entries(stored.batch, unpacked):
                if entry is None:
                    yield
                elif stored.base_offset + entry.offset >= start_offset and entry.timestamp_ms >= timestamp_ms:
                    return _found(stored, entry)
        except Exception:  # noqa: BLE001 - whatever the codec raises for arbitrary bytes
            return Found(max(stored.base_offset, start_offset), first_ms(stored), stored.leader_epoch)
    return None


def newest(batches: Sequence[StoredBatch], start_offset: int) -> Work[Found | None]:
    """The first record of the highest time, at `start_offset` or above it."""
    best: Found | None = None
    for stored in batches:
        try:
            for entry in entries(stored.batch, unpacked):
                if entry is None:
                    yield
                elif stored.base_offset + entry.offset >= start_offset:
                    best = _newer(best, _found(stored, entry))
        except Exception:  # noqa: BLE001 - as above
            header = Found(stored.end_offset - 1, stored.batch.max_timestamp_ms, stored.leader_epoch)
            best = _newer(best, header)
    return best


def _found(stored: StoredBatch, entry: Entry) -> Found:
    return Found(stored.base_offset + entry.offset, entry.timestamp_ms, stored.leader_epoch)


def _newer(best: Found | None, found: Found) -> Found:
    return found if best is None or found.timestamp_ms > best.timestamp_ms else best
