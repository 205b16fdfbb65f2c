"""The records of `__transaction_state` in Kafka's format: keys of version 0, values of version 1 (KIP-890)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from ...coordinators.records import Producer
from ...model.logs import Batch, StoredBatch
from ...model.values import TopicPartition
from ...transactions.records import NO_ID, NO_TIME, State, Stored, TransactionRecord
from ..apis.answering import by_topic
from ..data.batches import packed, pairs
from ..messages import TransactionLogKey, TransactionLogValue
from ..protocol import build

KEY: Final = 0
VALUE: Final = 1
_CODES: Final = {
    State.EMPTY: 0,
    State.ONGOING: 1,
    State.PREPARE_COMMIT: 2,
    State.PREPARE_ABORT: 3,
    State.COMPLETE_COMMIT: 4,
    State.COMPLETE_ABORT: 5,
}
_STATES: Final = {code: state for state, code in _CODES.items()}


class TransactionRecords:
    """A `RecordCodec` for transactions."""

    def encode(
        self,
        records: Sequence[TransactionRecord],
        now_ms: int,
        producer: Producer | None = None,  # noqa: ARG002 - they are part of no transaction
    ) -> Batch:
        """One batch with all of them, in this order."""
        return packed(map(_written, records), now_ms)

    def decode(self, batches: Iterable[StoredBatch]) -> list[TransactionRecord]:
        """The last record of each key, without unknown keys. No other value is decoded."""
        last: dict[bytes, bytes | None] = {}
        for stored in batches:
            for key, value in pairs(stored):
                last.pop(key, None)
                last[key] = value
        return [record for key, value in last.items() if (record := _read(key, value)) is not None]


def _written(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    key = build(TransactionLogKey, KEY, {"transactional_id": record.transactional_id})
    if record.stored is None:
        return bytes(key.encode(header=True)), None
    value = build(TransactionLogValue, VALUE, _fields(record.stored))
    return bytes(key.encode(header=True)), bytes(value.encode(header=True))


def _fields(stored: Stored) -> dict[str, Any]:
    topics = by_topic((tp.topic, tp.partition) for tp in sorted(stored.partitions))
    partitions = [{"topic": topic, "partition_ids": ids} for topic, ids in topics.items()]
    return {
        "producer_id": stored.producer_id,
        "previous_producer_id": stored.previous_id,
        "next_producer_id": stored.next_id,
        "producer_epoch": stored.producer_epoch,
        "transaction_timeout_ms": stored.timeout_ms,
        "transaction_status": _CODES[stored.state],
        "transaction_partitions": None if stored.state is State.EMPTY else partitions,
        "transaction_last_update_timestamp_ms": stored.update_ms,
        "transaction_start_timestamp_ms": stored.start_ms,
        "client_transaction_version": stored.version,
    }


def _read(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """None for another kind of record, or for bytes that cannot be read."""
    with suppress(ValueError, IndexError, struct.error, TypeError, KeyError):
        transactional_id = TransactionLogKey.decode(bytes(key)).transactional_id
        return TransactionRecord(transactional_id, None if value is None else _stored(value))
    return None


def _stored(value: bytes) -> Stored:
    read = TransactionLogValue.decode(bytes(value))
    return Stored(
        producer_id=read.producer_id,
        previous_id=NO_ID if read.previous_producer_id is None else read.previous_producer_id,
        next_id=NO_ID if read.next_producer_id is None else read.next_producer_id,
        producer_epoch=read.producer_epoch,
        timeout_ms=read.transaction_timeout_ms,
        state=_STATES[read.transaction_status],
        partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in read.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        update_ms=read.transaction_last_update_timestamp_ms,
        start_ms=NO_TIME if read.transaction_start_timestamp_ms is None else read.transaction_start_timestamp_ms,
        version=read.client_transaction_version or 0,
    )
