"""The logs that answer `Produce`, `Fetch`, `ListOffsets` and `DeleteRecords`."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol

from ...model.logs import (
    NO_EPOCH,
    ActiveProducers,
    Appended,
    Batch,
    EpochEnd,
    Fetched,
    FetchFrom,
    Guard,
    Guarded,
    LogBounds,
)
from ...model.values import TopicPartition


class Logs(Protocol):
    """Every call returns at once; a future has the answer, with an error for the client. `broker_id`: the broker
    whose address the client called; None: the common address, where the leader answers. `client`: clients
    take turns for long work."""

    def append(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        batch: Batch,
        *,
        acks: int,
        timeout_ms: int,
        client: str = "",
        guard: Guard | None = None,
    ) -> Future[Appended]:
        """The batch is at the end of the log: with acks 0 and 1 of the leader's, with -1 of all that are in sync; or an
        error after `timeout_ms`. A batch that its producer sent before is in the log once. Where it would begin a
        transaction it needs a `guard`, else it gets INVALID_TXN_STATE."""

    def guard(
        self, broker_id: int | None, tp: TopicPartition, producer_id: int, producer_epoch: int
    ) -> Future[Guarded]:
        """What `append` needs for the first batch of a transaction in this partition. Between the two it is to be asked
        whether that is part of the transaction."""

    def active_producers(
        self, broker_id: int | None, tp: TopicPartition, *, client: str = ""
    ) -> Future[ActiveProducers]:
        """The producers that the broker's own log knows, whether it leads or follows."""

    def fetch(
        self,
        broker_id: int | None,
        wanted: Mapping[TopicPartition, FetchFrom],
        *,
        bytes_max: int,
        bytes_min: int,
        wait_ms: int,
        client: str = "",
    ) -> Future[dict[TopicPartition, Fetched]]:
        """Whole batches below the high watermark, of each partition from the one with the offset on, in about
        `bytes_max`; as soon as there are `bytes_min` or an error, or after `wait_ms`."""

    def bounds(
        self,
        broker_id: int | None,
        tp: TopicPartition,
        leader_epoch: int = NO_EPOCH,
        *,
        since_ms: int | None = None,
        is_debugging: bool = False,
        client: str = "",
    ) -> Future[LogBounds]:
        """Begin and end of the log; in `batches`, in their order, those that may hold the first record of `since_ms` or
        later (-1: the record of the highest time). `is_debugging`: a follower answers as well, for its own log."""

    def end_of_epoch(
        self, broker_id: int | None, tp: TopicPartition, asked: int, leader_epoch: int = NO_EPOCH
    ) -> Future[EpochEnd]:
        """Where the records of the leader epoch `asked` end: by it a consumer finds out whether records that it read
        were discarded by a new leader. `leader_epoch`: the present one, as far as the client knows."""

    def delete_records(self, broker_id: int | None, tp: TopicPartition, before: int) -> Future[LogBounds]:
        """The log begins at `before` (-1: the high watermark), or later if it did already."""

    def batch_bytes_max(self, topic: str) -> int:
        """The largest batch that the topic takes. It is called on the event loop, and returns at once."""

    def new_producer_id(self) -> Future[int]:
        """An id that no other producer has."""
