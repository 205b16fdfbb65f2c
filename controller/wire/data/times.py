"""The records of batches by time, for ListOffsets. Kafka's rules:

* The answer is the offset and the time of a record, also in a compressed batch.
* Records below the start of the log are deleted, and are never the answer.

A batch that cannot be read here is answered by its header: its first record that is left, with the time of the first
one; or for the newest record, its last one. So a consumer misses no record. Reading batches may take a second, so these
are not for an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

import attrs

from controller.model.logs import StoredBatch
from controller.wire.data.batches import first_ms, records_of
from controller.wire.data.unpacking import unpacked

_TIME: Final = attrgetter("timestamp_ms")


@attrs.frozen
class Found:
    """A record, and the leader epoch under which it was appended."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def first_since(batches: Sequence[StoredBatch], start_offset: int, timestamp_ms: int) -> Found | None:
    """The first record of that time or later, at `start_offset` or above it."""
    for stored in batches:
        try:
            for found in _records(stored, start_offset):
                if found.timestamp_ms >= timestamp_ms:
                    return found
        except Exception:  # noqa: BLE001 - whatever the codec raises for arbitrary bytes
            return Found(max(stored.base_offset, start_offset), first_ms(stored), stored.leader_epoch)
    return None


def newest(batches: Sequence[StoredBatch], start_offset: int) -> Found | None:
    """The first record of the highest time, at `start_offset` or above it."""
    found: list[Found] = []
    for stored in batches:
        try:
            found += _records(stored, start_offset)
        except Exception:  # noqa: BLE001 - as above
            found.append(Found(stored.end_offset - 1, stored.batch.max_timestamp_ms, stored.leader_epoch))
    return max(found, key=_TIME, default=None)


def _records(stored: StoredBatch, start_offset: int) -> Iterator[Found]:
    for record in records_of(stored, unpacked):
        if record.offset >= start_offset:
            yield Found(record.offset, record.timestamp, stored.leader_epoch)
