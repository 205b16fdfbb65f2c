"""Records of groups have Kafka's bytes, and are read again whatever else is in the log."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from kafka.record import MemoryRecords
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge import TopicPartition
from kedge.controller.groups.consumer.values import ConsumerRecord, GroupEpoch, Kind, Resolved, Value
from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord, StoredGroup, Subscription
from kedge.controller.model.logs import Batch, StoredBatch
from kedge.controller.wire import groups
from kedge.controller.wire.groups import GroupRecords
from kedge.controller.wire.messages import GroupMetadataValue, OffsetCommitKey, OffsetCommitValue
from kedge.controller.wire.protocol import build
from tests.wire.golden_records import FILE, RECORDS, golden, text

CODEC = GroupRecords()


def batch(*pairs: tuple[bytes | None, bytes | None]) -> StoredBatch:
    """With these keys and values."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=100_000)
    for key, value in pairs:
        builder.append(timestamp=1, key=key, value=value)
    builder.close()
    return StoredBatch(0, 0, Batch(bytes(builder.buffer()), len(pairs), 1))


@pytest.mark.checklist(263, 284)
def test_bytes_are_those_of_kafkas_own_classes() -> None:
    encoded = CODEC.encode(list(RECORDS.values()), 1_700_000_000_000)
    read = MemoryRecords(encoded.payload).next_batch()
    assert read is not None
    assert [(record.key, record.value) for record in read] == [(key, value) for _, key, value in golden()]
    assert (encoded.records, encoded.max_timestamp_ms) == (len(RECORDS), 1_700_000_000_000)


def test_newest_record_of_each_key_is_read() -> None:
    encoded = CODEC.encode(list(RECORDS.values()), 5)
    last = ("bare-offset", "deleted-offset", "deleted-group", "group-epoch", "classic-member", "deleted-member")
    expected = [RECORDS[name] for name in (*last, "target-epoch", "target", "current")]
    assert CODEC.decode([StoredBatch(9, 2, encoded)]) == expected


def test_keys_of_groups_with_long_ids_do_not_stay_in_memory() -> None:
    """A client may invent any; a request can hold one of 32,767 characters."""
    kept = groups.records._offset_key.cache_info  # noqa: SLF001 - nothing else shows what stays
    before = kept().currsize
    ids = [f"{number}-".ljust(length, "x") for number, length in enumerate((255, 256, 3000))]
    CODEC.encode([OffsetRecord(each, TopicPartition("orders", 0), Committed(1)) for each in ids], 5)
    assert kept().currsize == before + 1


@pytest.mark.server
@pytest.mark.full
def test_the_golden_bytes_are_what_kafkas_classes_make_today() -> None:
    assert FILE.read_text(encoding="utf-8") == text()


def test_older_and_newer_values_are_read() -> None:
    key = build(OffsetCommitKey, 0, {"group": "g", "topic": "orders", "partition": 1}).encode(header=True)
    for version in range(5):
        fields = {"offset": 5, "metadata": "m", "commit_timestamp": 7}
        value = build(OffsetCommitValue, version, fields).encode(header=True)
        (read,) = CODEC.decode([batch((bytes(key), bytes(value)))])
        assert read == OffsetRecord("g", TopicPartition("orders", 1), Committed(5, -1, "m", 7))
    for version in range(5):
        fields = {"protocol_type": "consumer", "generation": 1, "protocol": None, "leader": None, "members": []}
        value = build(GroupMetadataValue, version, fields).encode(header=True)
        (read,) = CODEC.decode([batch((b"\0\2\0\1g", bytes(value)))])
        assert read == GroupRecord("g", StoredGroup("consumer", 1, None, None, -1))


def test_hashes_and_regular_expressions_are_read_again() -> None:
    """Kafka has them since 4.0 and 4.1."""
    values: dict[tuple[Kind, str], Value] = {
        (Kind.GROUP, ""): GroupEpoch(7, 42),
        (Kind.REGEX, "ord.*"): Resolved(frozenset({"orders"}), 5),
    }
    records = [ConsumerRecord("group", *key, value) for key, value in values.items()]
    assert CODEC.decode([StoredBatch(9, 2, CODEC.encode(records, 5))]) == records


def test_records_of_other_kinds_are_passed_over() -> None:
    newer = b"\0\x0b\0\1g"  # of a share group
    broken = b"\0\1\0\1g"
    pairs = [(newer, b"x"), (None, b"x"), (b"", b"x"), (broken, b"x"), (b"\0\2\0\1g", None), (b"\0\2\0\1h", b"\0\3\0")]
    assert CODEC.decode([batch(*pairs)]) == [GroupRecord("g", None)]


def test_subscriptions_of_consumers_are_read() -> None:
    for version in range(4):
        subscription = ConsumerProtocolSubscription(version=version, topics=["a", "b"], user_data=b"x")
        assert CODEC.subscription(bytes(subscription.encode(header=True))) == Subscription(frozenset("ab"))
    assert CODEC.subscription(b"\0") is None
