"""What clients write to logs and read from them: batches of records, and answers with Kafka's error codes.

A batch is kept as it arrived: its bytes, and the values of its header. The code for the protocol checks the records of
a new batch and writes offsets into headers; the code for logs counts records and bytes.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Generator, Iterator, Sequence
from typing import NamedTuple, Protocol

import attrs

NO_PRODUCER = -1
NO_TIME = -1
"""In the place of a timestamp: the producer gave none, or records keep those of the producer."""
NO_EPOCH = -1
"""The leader epoch of a client that does not know it; any other is compared with the leader's."""


class LogError(enum.IntEnum):
    """Kafka's error codes for clients of logs."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    INVALID_TOPIC_EXCEPTION = 17
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    FETCH_SESSION_ID_NOT_FOUND = 70
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    OFFSET_NOT_AVAILABLE = 78
    INVALID_RECORD = 87
    UNKNOWN_TOPIC_ID = 100
    TRANSACTION_ABORTABLE = 120


@attrs.frozen
class EndMarker:
    """The end of a transaction in a partition (KIP-98). `coordinator_epoch`: the leader epoch of its coordinator."""

    is_commit: bool
    coordinator_epoch: int


@attrs.frozen
class Guard:
    """How far a leader was when it was asked whether a transaction may begin in its log: it may not if another one of
    that producer has ended since (KIP-890)."""

    leader_epoch: int
    ended_id: int


@attrs.frozen
class Guarded:
    """`guard` None: none is needed, since the transaction has begun in this log."""

    error: LogError = LogError.NONE
    guard: Guard | None = None


@attrs.frozen
class Batch:
    """Records as a producer sent them. `payload`: all bytes; `records`: their number, at least 1, with those that
    compaction has removed since; `base_sequence`: the producer's sequence number of the first one in the partition, -1
    without a producer id. `times`, `lacks_key`: of a new batch that was checked, the timestamps of its records (of one
    that is not read: the first and the highest) and whether one has no key; a log does not keep them.
    `is_transactional`: it is part of a transaction of its producer. A batch with a `marker` ends that, and has no other
    record."""

    payload: bytes
    records: int
    max_timestamp_ms: int
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = -1
    times: Sequence[int] = ()
    lacks_key: bool = False
    is_transactional: bool = False
    marker: EndMarker | None = None


@attrs.frozen
class StoredBatch:
    """A batch in a log: the offset of its first record, and the leader epoch under which it was appended."""

    base_offset: int
    leader_epoch: int
    batch: Batch

    @property
    def end_offset(self) -> int:
        """The offset after its last record."""
        return self.base_offset + self.batch.records


class UnreadableBatch(Exception):
    """The records of a batch cannot be read, or are too many to be read."""


class RecordKey(NamedTuple):
    """Offset and key of a record in a batch. `is_deletion`: it has no value, and so deletes its key (a tombstone)."""

    offset: int
    key: bytes | None
    is_deletion: bool


class BatchCodec(Protocol):
    """Reads the keys of batches, and changes batches. What takes long is divided: iterators have a None between small
    parts of the work, and a generator yields there, and then returns its result."""

    def keys(self, stored: StoredBatch) -> Iterator[RecordKey | None]:
        """Every record, in its order. Raises UnreadableBatch."""

    def only(self, stored: StoredBatch, offsets: Container[int]) -> Generator[None, None, Batch]:
        """The batch with the records at these offsets alone. They keep offsets and timestamps, and the batch keeps its
        first and its last offset."""

    def stamped(self, batch: Batch, now_ms: int) -> Batch:
        """The batch with this time for all of its records."""

    def end(self, producer_id: int, producer_epoch: int, marker: EndMarker, now_ms: int) -> Batch:
        """A batch that ends a transaction."""


@attrs.frozen
class Appended:
    """The result of appending a batch. `base_offset` -1: it was not appended, and `message` says why; `record_errors`:
    the records at fault, by their number in the batch, and why. `log_append_time_ms`: where records get the time of
    appending."""

    error: LogError = LogError.NONE
    base_offset: int = -1
    log_start_offset: int = -1
    message: str | None = None
    record_errors: tuple[tuple[int, str], ...] = ()
    log_append_time_ms: int = NO_TIME


@attrs.frozen
class FetchFrom:
    """Where a consumer reads a partition. `bytes_max`: the limit for this partition. `is_committed`: it is
    read_committed, and gets nothing of a transaction that has not ended."""

    offset: int
    bytes_max: int
    leader_epoch: int = NO_EPOCH
    is_committed: bool = False


@attrs.frozen
class Aborted:
    """An aborted transaction among batches that were read: readers skip what this producer wrote, from `first_offset`
    on up to the marker."""

    producer_id: int
    first_offset: int


@attrs.frozen
class Fetched:
    """What a consumer reads from a partition: whole batches below the high watermark. `stable_offset`: the last stable
    offset (KIP-98), below which every transaction has ended; a read_committed consumer gets batches below it alone, and
    the `aborted` transactions among them."""

    error: LogError = LogError.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    batches: tuple[StoredBatch, ...] = ()
    stable_offset: int = -1
    aborted: tuple[Aborted, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(len(stored.batch.payload) for stored in self.batches)


@attrs.frozen
class EpochEnd:
    """Where the records of a leader epoch end in a log: of the given epoch, or of the newest earlier one that has
    records. -1 if unknown."""

    error: LogError = LogError.NONE
    leader_epoch: int = NO_EPOCH
    end_offset: int = -1


@attrs.frozen
class LogBounds:
    """Where a log begins and ends, for consumers (`high_watermark`; `stable_offset` for those that read_committed) and
    as a whole (`end_offset`), and the leader epoch under which the broker said so."""

    error: LogError = LogError.NONE
    start_offset: int = -1
    high_watermark: int = -1
    end_offset: int = -1
    leader_epoch: int = NO_EPOCH
    stable_offset: int = -1
    batches: tuple[StoredBatch, ...] = ()
    """For a search by time: the batches that may hold the record, in the order of the log."""


@attrs.frozen
class ActiveProducer:
    """What a leader knows of a producer (KIP-664). `last_sequence` -1: none in its present epoch; `transaction_offset`
    -1: none is open, else where it begins."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_offset: int = -1


@attrs.frozen
class ActiveProducers:
    """The producers of a partition."""

    error: LogError = LogError.NONE
    producers: tuple[ActiveProducer, ...] = ()
