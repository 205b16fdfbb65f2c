"""Records of an internal topic as values. The newest record of each key is valid."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import attrs

from ..model.logs import Batch, Guard, StoredBatch


@attrs.frozen
class Producer:
    """In whose transaction records are written. `guard`: that the transaction includes the partition."""

    producer_id: int
    producer_epoch: int
    guard: Guard | None = None


class Record(Protocol):
    """A record of one kind of coordinator."""

    @property
    def key(self) -> Hashable:
        """The newest record with this key is valid."""

    @property
    def is_deleted(self) -> bool:
        """Whether it deletes its key."""

    @property
    def bytes_min(self) -> int:
        """It has no fewer when it is encoded."""


R = TypeVar("R", bound=Record)


class Newest(Generic[R]):
    """The last record of each key of a log, without deleted keys."""

    def __init__(self) -> None:
        self._records: dict[Hashable, R] = {}

    def add(self, records: Iterable[R]) -> None:
        """Add records that follow those added before."""
        for record in records:
            if record.is_deleted:
                self._records.pop(record.key, None)
            else:
                self._records[record.key] = record

    @property
    def records(self) -> list[R]:
        """One of each key."""
        return list(self._records.values())


class RecordCodec(Protocol[R]):
    """Encodes records as a batch, and decodes batches."""

    def encode(self, records: Sequence[R], now_ms: int, producer: Producer | None = None) -> Batch:
        """One batch with all of them, in this order. `producer`: as part of its transaction."""

    def decode(self, batches: Iterable[StoredBatch]) -> list[R]:
        """The valid records in these batches, in their order: the last one of each key. Unknown keys are left out."""
