"""Timestamps of new records that are too far from the broker's clock, and the time of appending in their place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType
from kedge.controller.model.logs import Appended, Batch, LogError
from kedge.controller.runtime.turns import finished
from kedge.controller.server.timestamps import timed
from kedge.controller.wire.data.batches import checked, entries, read_batch, stamped
from kedge.controller.wire.data.compacting import BatchRecords
from tests.kit.waiting import until
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import packed, with_crc
from tests.wire.served import DEADLINE_S, RawClient
from tests.wire.test_data import fetch, produce, values

BEFORE = "message.timestamp.before.max.ms"
INVALID_TIMESTAMP = 32


def batch(*times_ms: int) -> bytes:
    """A record of each of these times, in this order."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1_000_000)
    for time_ms in times_ms:
        assert builder.append(timestamp=time_ms, key=None, value=b"value") is not None
    builder.close()
    return bytes(builder.buffer())


def by_lz4(payload: bytes) -> bytes:
    """The batch as if it were compressed in a way that is not read here."""
    return with_crc(payload[:22] + bytes([payload[22] | 3]) + payload[23:])


def appended(payload: bytes, now_ms: int, **configs: str) -> Batch | Appended:
    read = read_batch(payload)
    assert isinstance(read, Batch)
    read = finished(checked(read))
    assert isinstance(read, Batch)
    named = {f"message.timestamp.{name.replace('_', '.')}": value for name, value in configs.items()}
    return timed(read, BatchRecords(), lambda name, _: named.get(name), now_ms)


def refused(payload: bytes, now_ms: int, **configs: str) -> list[int] | None:
    """The records that the refusal names; None: the batch is taken as it is."""
    found = appended(payload, now_ms, **configs)
    if isinstance(found, Batch):
        assert found.payload == payload
        return None
    assert (found.error, found.base_offset) == (LogError.INVALID_TIMESTAMP, -1)
    return [place for place, _ in found.record_errors]


THREE = (TIME_MS, TIME_MS + 1, TIME_MS + 2)


@pytest.mark.parametrize(
    "behind_ms, configs, names",
    [
        (1000, {}, None),
        (1000, {"before_max_ms": "1000"}, None),
        (1000, {"before_max_ms": "999"}, [0]),
        (1000, {"before_max_ms": "997"}, [0, 1, 2]),
        (1000, {"after_max_ms": "0"}, None),
        (-10, {"after_max_ms": "12"}, None),
        (-10, {"after_max_ms": "11"}, [2]),
        (-10, {"after_max_ms": "9"}, [0, 1, 2]),
        (-10, {"before_max_ms": "0"}, None),
        (1000, {"difference_max_ms": "998"}, [0, 1]),
        (-10, {"difference_max_ms": "10"}, [1, 2]),
        (1000, {"difference_max_ms": "998", "before_max_ms": "5000"}, None),
        (-10, {"difference_max_ms": "10", "before_max_ms": "5000"}, [1, 2]),
        (-10, {"difference_max_ms": "10", "after_max_ms": "5000"}, None),
        (1000, {"difference_max_ms": "998", "after_max_ms": "5000"}, [0, 1]),
    ],
)
def test_a_timestamp_is_within_the_bounds_of_its_side(
    behind_ms: int, configs: dict[str, str], names: list[int] | None
) -> None:
    """The older bound is that of each side that has none."""
    assert refused(batch(*THREE), TIME_MS + behind_ms, **configs) == names


@pytest.mark.parametrize("codec", [0, 1])
def test_each_record_is_checked_whatever_the_header_has(codec: int) -> None:
    """Header and first record are right; a record in the middle is too old."""
    payload = packed(batch(TIME_MS, TIME_MS - 500, TIME_MS), codec)
    assert refused(payload, TIME_MS, before_max_ms="499") == [1]


def test_a_record_without_a_timestamp_is_taken() -> None:
    assert refused(batch(-1), TIME_MS, before_max_ms="1") is None


def test_of_a_batch_that_is_not_read_the_first_and_the_highest_timestamp_are_checked() -> None:
    early, late = by_lz4(batch(TIME_MS - 500, TIME_MS, TIME_MS)), by_lz4(batch(TIME_MS, TIME_MS + 500, TIME_MS))
    assert refused(early, TIME_MS, before_max_ms="499") == []
    assert refused(late, TIME_MS, after_max_ms="499") == []
    assert refused(early, TIME_MS, before_max_ms="500") is None


def test_an_answer_names_no_more_than_a_thousand_records() -> None:
    assert refused(batch(*[TIME_MS] * 1_001), TIME_MS + 9, before_max_ms="8") == list(range(1_000))


def test_all_records_get_the_time_at_which_they_are_appended() -> None:
    """Their batch can be read, and is not refused, however old they are."""
    found = appended(batch(*THREE), TIME_MS + 77_000, type="LogAppendTime", before_max_ms="1")
    assert isinstance(found, Batch)
    assert found.max_timestamp_ms == TIME_MS + 77_000
    assert DefaultRecordBatch(found.payload).validate_crc()
    assert [entry.timestamp_ms for entry in entries(found) if entry] == [TIME_MS + 77_000] * 3


@pytest.mark.parametrize("count", [1, 2, 300])
def test_a_wrong_checksum_stays_wrong(count: int) -> None:
    payload = batch(*[TIME_MS] * count)
    for damaged, is_right in ((payload, True), (payload[:-1] + bytes([payload[-1] ^ 1]), False)):
        read = read_batch(damaged)
        assert isinstance(read, Batch)
        found = stamped(read, TIME_MS + 7)
        assert DefaultRecordBatch(found.payload).validate_crc() is is_right


# --- by a client


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """Its brokers' clock is 1000 ms ahead of the first record of `records`."""
    with Living() as opened:
        opened.cluster.logs.now_ms = lambda: TIME_MS + 1000
        opened.topic("strict", [[1, 2]] * 20, message_timestamp_before_max_ms="999")
        opened.topic("stamped", [[1, 2]], message_timestamp_type="LogAppendTime")
        yield opened


@pytest.fixture
def client(living: Living) -> Iterator[RawClient]:
    with RawClient(living.address) as opened:
        # Brokers read the configs of a new topic a moment after it is there.
        until(lambda: produce(opened, records(b"a"), topic="strict", partition=19).error_code == INVALID_TIMESTAMP)
        yield opened


@pytest.mark.parametrize("version", range(3, 12))
def test_a_client_gets_the_error_and_the_records_at_fault(client: RawClient, version: int) -> None:
    """The records from version 8 on; nothing is written."""
    answer = produce(client, records(b"a", b"b"), topic="strict", partition=version, version=version)
    assert (answer.error_code, answer.base_offset) == (INVALID_TIMESTAMP, -1)
    if version >= 8:
        (found,) = answer.record_errors
        assert (found.batch_index, found.batch_index_error_message[:10]) == (0, "timestamp ")
        assert answer.error_message
    assert values(fetch(client, 0, topic="strict", partition=version)) == []
    later = records(b"c", first_ms=TIME_MS + 1)
    assert produce(client, later, topic="strict", partition=version, version=version).base_offset == 0


def test_a_batch_that_was_taken_is_acknowledged_again_when_its_time_is_over(living: Living, client: RawClient) -> None:
    again = records(b"a", producer=(77, 0, 0), first_ms=TIME_MS + 1)
    logs, before = living.cluster.logs, living.cluster.logs.now_ms
    assert produce(client, again, topic="strict", partition=0).error_code == 0
    logs.now_ms = lambda: TIME_MS + 9000
    try:
        answer = produce(client, again, topic="strict", partition=0)
    finally:
        logs.now_ms = before
    assert (answer.error_code, answer.base_offset) == (0, 0)


def test_a_client_gets_the_time_of_appending(living: Living, client: RawClient) -> None:
    """Also where it sends the batch again, later."""
    until(lambda: produce(client, records(b"a"), topic="stamped").log_append_time_ms != -1)
    payload = records(b"b", producer=(78, 0, 0))
    logs, before = living.cluster.logs, living.cluster.logs.now_ms
    answer = produce(client, payload, topic="stamped")
    logs.now_ms = lambda: TIME_MS + 9000
    try:
        again = produce(client, payload, topic="stamped")
    finally:
        logs.now_ms = before
    assert answer.log_append_time_ms == again.log_append_time_ms == TIME_MS + 1000
    assert answer.base_offset == again.base_offset


def test_bounds_of_all_brokers_hold_for_topics_without_their_own(living: Living, client: RawClient) -> None:
    living.topic("plain", [[1]])
    own = records(b"a", first_ms=TIME_MS + 1)
    assert produce(client, records(b"a"), topic="plain").error_code == 0
    brokers = ConfigResource(ConfigResourceType.BROKER, "")
    admin = living.cluster.controller.admin
    admin.incremental_alter_configs({brokers: [AlterConfigOp(f"log.{BEFORE}", "998")]}).all().result(DEADLINE_S)
    until(lambda: produce(client, own, topic="plain").error_code == INVALID_TIMESTAMP)
    assert produce(client, own, topic="strict", partition=1).error_code == 0
    admin.alter_configs({brokers: {}}).all().result(DEADLINE_S)
    until(lambda: produce(client, own, topic="plain").error_code == 0)
