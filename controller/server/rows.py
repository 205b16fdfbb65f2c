"""A batch in the store of a partition."""

from __future__ import annotations

import attrs

from ..model.logs import StoredBatch
from ..simulated.log import Log


@attrs.frozen(weakref_slot=False)
class Row:
    """A batch and the id of its first record. `written_bytes`: of all batches up to this one that were ever stored.
    `horizon_ms`: when its tombstones may go, None if that was not decided yet."""

    first_id: int
    stored: StoredBatch
    written_bytes: int = 0
    horizon_ms: int | None = None

    @property
    def next_id(self) -> int:
        return self.first_id + self.stored.batch.records

    @property
    def size_bytes(self) -> int:
        return len(self.stored.batch.payload)

    def is_in(self, log: Log) -> bool:
        last = self.stored.batch.records - 1
        return log.id_at(self.stored.base_offset + last) == self.first_id + last

    def without_payload(self) -> Row:
        """The part of the row that is remembered after a deletion."""
        return Row(self.first_id, attrs.evolve(self.stored, batch=attrs.evolve(self.stored.batch, payload=b"")))
