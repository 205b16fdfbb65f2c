"""Batches of records: their checksums, their records by their headers, and their timestamps."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.memory_records import MemoryRecordsBuilder

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType
from kedge.controller.model.logs import Appended, Batch, LogError
from kedge.controller.runtime.turns import finished
from kedge.controller.server.timestamps import timed
from kedge.controller.wire.data.batches import checked, entries, is_brief, read_batch
from kedge.controller.wire.data.compacting import BatchRecords
from tests.kit.waiting import until
from tests.wire.asking import fetch, offset_of, produce, values
from tests.wire.living import TIME_MS, Living, records
from tests.wire.packed import GZIP, LZ4, SNAPPY, ZSTD, compressed, packed, with_crc, with_records
from tests.wire.served import DEADLINE_S, RawClient

CORRUPT_MESSAGE: Final = 2
INVALID_RECORD: Final = 87
MESSAGE_TOO_LARGE: Final = 10
CODECS: Final = [0, GZIP, SNAPPY, LZ4, ZSTD]
NEWEST_AT, COUNT_AT, LAST_AT = 35, 57, 23
FORGED_MS: Final = TIME_MS + 10**9


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("orders", [[1, 2]] * 30)
        yield opened


def check(payload: bytes) -> Batch | LogError:
    batch = read_batch(payload)
    assert isinstance(batch, Batch)
    return finished(checked(batch))


def with_newest(payload: bytes, newest_ms: int) -> bytes:
    """The batch with another highest timestamp in its header."""
    return with_crc(payload[:NEWEST_AT] + struct.pack(">q", newest_ms) + payload[NEWEST_AT + 8 :])


def with_count(payload: bytes, count: int) -> bytes:
    head = bytearray(payload)
    struct.pack_into(">i", head, LAST_AT, count - 1)
    struct.pack_into(">i", head, COUNT_AT, count)
    return with_crc(bytes(head))


@pytest.mark.parametrize("size", [1, 100_000], ids=["brief", "long"])
@pytest.mark.parametrize("codec", [0, GZIP])
def test_a_batch_with_a_wrong_crc_is_refused_and_not_stored(client: RawClient, size: int, codec: int) -> None:
    payload = packed(records(b"x" * size, b"y"), codec)
    place = len(payload) - 1
    damaged = payload[:place] + bytes([payload[place] ^ 1])
    partition = 2 * (size > 1) + (codec > 0)
    assert produce(client, damaged, partition=partition).error_code == CORRUPT_MESSAGE
    assert fetch(client, 0, partition=partition).high_watermark == 0
    assert produce(client, payload, partition=partition).error_code == 0


@pytest.mark.parametrize("codec", CODECS)
def test_a_forged_highest_timestamp_becomes_that_of_the_records(client: RawClient, codec: int) -> None:
    """So a search for a later time reads no batch; and readers find a right crc."""
    partition = 4 + codec
    forged = with_newest(packed(records(b"a", b"b", b"c"), codec), FORGED_MS)
    assert produce(client, forged, partition=partition).error_code == 0
    (read,) = iter(MemoryRecords(bytes(fetch(client, 0, partition=partition).records)).next_batch, None)
    assert (read.max_timestamp, read.validate_crc()) == (TIME_MS + 2, True)
    assert offset_of(client, TIME_MS + 3, partition=partition).offset == -1


BROKEN: Final[dict[str, Callable[[bytes], bytes]]] = {
    "cut": lambda rest: rest[:-1],
    "longer": lambda rest: rest + b"\0",
    "a larger size": lambda rest: bytes([rest[0] + 2]) + rest[1:],
    "another offset": lambda rest: rest[:3] + b"\2" + rest[4:],
    "a longer value": lambda rest: rest[:5] + bytes([rest[5] + 2]) + rest[6:],
    "headers of no name": lambda rest: bytes([rest[0] + 4]) + rest[1:7] + b"\2\3\1" + rest[8:],
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_records_that_are_not_as_they_say_are_refused(codec: int, change: Callable[[bytes], bytes]) -> None:
    whole = records(b"a", b"b")
    rest = whole[61:]
    assert rest[3:8] == b"\0\1\2a\0"  # the first one: its offset, no key, a value of a byte, no headers
    broken = with_records(whole, compressed(change(rest), codec) if codec else change(rest), codec)
    assert check(broken) is LogError.INVALID_RECORD


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_records_than_the_header_has_is_refused(client: RawClient, codec: int, count: int) -> None:
    payload = with_count(packed(records(b"a", b"b"), codec), count)
    assert produce(client, payload, partition=20).error_code == INVALID_RECORD
    assert fetch(client, 0, partition=20).high_watermark == 0


MOST: Final = 2**31 - 1
ONE: Final = records(b"a")
PACKED: Final = compressed(ONE[61:], GZIP)
UNREADABLE: Final = {
    "more records than bytes": with_count(with_records(ONE, b"", 0), MOST),
    "more records than may be unpacked": with_count(with_records(ONE, PACKED), MOST),
    "more records than are read": with_count(with_records(ONE, PACKED), 200_001),
    "a record too many": with_count(with_records(ONE, bytes(13), 0), 2),
    "a codec that there is not": with_records(ONE, ONE[61:], 7),
    **{f"junk of codec {codec}": with_records(ONE, b"\x20none of these", codec) for codec in CODECS[1:]},
    "nothing": with_records(ONE, b"", GZIP),
    "gzip without its end": with_records(ONE, PACKED[:-1]),
    "gzip with more behind it": with_records(ONE, PACKED + PACKED),
    "snappy that claims 8 GiB": with_records(ONE, b"\xff\xff\xff\xff\x1f", SNAPPY),
    "an offset of its own": struct.pack(">q", 7) + ONE[8:],
    "a producer without a sequence": records(b"a", producer=(77, 0, -2)),
}


@pytest.mark.parametrize("payload", UNREADABLE.values(), ids=UNREADABLE)
def test_a_batch_that_no_consumer_could_read_is_refused(client: RawClient, payload: bytes) -> None:
    assert produce(client, payload, partition=21).error_code == INVALID_RECORD
    assert fetch(client, 0, partition=21).high_watermark == 0


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_of_the_smallest_records_is_taken(codec: int) -> None:
    assert isinstance(check(packed(records(*[None] * 50, step_ms=0), codec)), Batch)


def test_the_size_of_a_batch_is_checked_before_all_else(client: RawClient) -> None:
    """Before its crc, which is wrong."""
    large = records(b"x" * 1_100_000)
    assert produce(client, large[:-1] + b"y", partition=22).error_code == MESSAGE_TOO_LARGE


def test_what_is_checked_says_of_its_records_what_topics_ask_for() -> None:
    found = check(records(b"a", b"b", key=b"k", step_ms=-7))
    assert isinstance(found, Batch)
    assert (list(found.times), found.lacks_key) == ([TIME_MS, TIME_MS - 7], False)
    keyless = check(records(b"a"))
    assert isinstance(keyless, Batch)
    assert keyless.lacks_key


def unread(payload: bytes) -> bytes:
    """The header of the batch, and more records than are read here."""
    count = 200_001
    return with_count(with_records(payload, compressed(bytes(7 * count), GZIP)), count)


def test_a_batch_that_is_not_read_is_taken_by_its_header() -> None:
    payload = with_newest(unread(records(b"a", b"b")), FORGED_MS)
    found = check(payload)
    assert isinstance(found, Batch)
    assert (found.payload, found.max_timestamp_ms, list(found.times)) == (payload, FORGED_MS, [TIME_MS, FORGED_MS])


def test_only_small_plain_batches_are_checked_on_the_loop() -> None:
    def brief(payload: bytes) -> bool:
        batch: Any = read_batch(payload)
        return is_brief(batch)

    few = records(b"a", b"b")
    assert brief(few)
    assert not brief(packed(few, GZIP))
    assert not brief(records(b"a" * 5000))
    assert not brief(records(*[b""] * 101))


BEFORE = "message.timestamp.before.max.ms"
INVALID_TIMESTAMP = 32


def batch_of(*times_ms: int) -> bytes:
    """A record of each of these times, in this order."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1_000_000)
    for time_ms in times_ms:
        assert builder.append(timestamp=time_ms, key=None, value=b"value") is not None
    builder.close()
    return bytes(builder.buffer())


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
    assert refused(batch_of(*THREE), TIME_MS + behind_ms, **configs) == names


@pytest.mark.parametrize("codec", [0, 1])
def test_each_record_is_checked_whatever_the_header_has(codec: int) -> None:
    """Header and first record are right; a record in the middle is too old."""
    payload = packed(batch_of(TIME_MS, TIME_MS - 500, TIME_MS), codec)
    assert refused(payload, TIME_MS, before_max_ms="499") == [1]


def test_a_record_without_a_timestamp_is_taken() -> None:
    assert refused(batch_of(-1), TIME_MS, before_max_ms="1") is None


def test_of_a_batch_that_is_not_read_the_first_and_the_highest_timestamp_are_checked() -> None:
    early, late = unread(batch_of(TIME_MS - 500, TIME_MS, TIME_MS)), unread(batch_of(TIME_MS, TIME_MS + 500, TIME_MS))
    assert refused(early, TIME_MS, before_max_ms="499") == []
    assert refused(late, TIME_MS, after_max_ms="499") == []
    assert refused(early, TIME_MS, before_max_ms="500") is None


def test_an_answer_names_no_more_than_a_thousand_records() -> None:
    assert refused(batch_of(*[TIME_MS] * 1_001), TIME_MS + 9, before_max_ms="8") == list(range(1_000))


def test_all_records_get_the_time_at_which_they_are_appended() -> None:
    """Their batch can be read, and is not refused, however old they are."""
    found = appended(batch_of(*THREE), TIME_MS + 77_000, type="LogAppendTime", before_max_ms="1")
    assert isinstance(found, Batch)
    assert found.max_timestamp_ms == TIME_MS + 77_000
    assert DefaultRecordBatch(found.payload).validate_crc()
    assert [entry.timestamp_ms for entry in entries(found) if entry] == [TIME_MS + 77_000] * 3


# --- by a client


@pytest.fixture(scope="module")
def timed_cluster() -> Iterator[Living]:
    """Its brokers' clock is 1000 ms ahead of the first record of `records`."""
    with Living() as opened:
        opened.cluster.logs.appends.now_ms = lambda: TIME_MS + 1000
        opened.topic("strict", [[1, 2]] * 20, message_timestamp_before_max_ms="999")
        opened.topic("stamped", [[1, 2]], message_timestamp_type="LogAppendTime")
        yield opened


@pytest.fixture
def timed_client(timed_cluster: Living) -> Iterator[RawClient]:
    with RawClient(timed_cluster.address) as opened:
        # Brokers read the configs of a new topic a moment after it is there.
        until(lambda: produce(opened, records(b"a"), topic="strict", partition=19).error_code == INVALID_TIMESTAMP)
        yield opened


@pytest.mark.parametrize("version", range(3, 12))
def test_a_client_gets_the_error_and_the_records_at_fault(timed_client: RawClient, version: int) -> None:
    """The records from version 8 on; nothing is written."""
    answer = produce(timed_client, records(b"a", b"b"), topic="strict", partition=version, version=version)
    assert (answer.error_code, answer.base_offset) == (INVALID_TIMESTAMP, -1)
    if version >= 8:
        (found,) = answer.record_errors
        assert (found.batch_index, found.batch_index_error_message[:10]) == (0, "timestamp ")
        assert answer.error_message
    assert values(fetch(timed_client, 0, topic="strict", partition=version)) == []
    later = records(b"c", first_ms=TIME_MS + 1)
    assert produce(timed_client, later, topic="strict", partition=version, version=version).base_offset == 0


def test_a_batch_that_was_taken_is_acknowledged_again_when_its_time_is_over(
    timed_cluster: Living, timed_client: RawClient
) -> None:
    again = records(b"a", producer=(77, 0, 0), first_ms=TIME_MS + 1)
    logs, before = timed_cluster.cluster.logs, timed_cluster.cluster.logs.appends.now_ms
    assert produce(timed_client, again, topic="strict", partition=0).error_code == 0
    logs.appends.now_ms = lambda: TIME_MS + 9000
    try:
        answer = produce(timed_client, again, topic="strict", partition=0)
    finally:
        logs.appends.now_ms = before
    assert (answer.error_code, answer.base_offset) == (0, 0)


def test_a_client_gets_the_time_of_appending(timed_cluster: Living, timed_client: RawClient) -> None:
    """Also where it sends the batch again, later."""
    until(lambda: produce(timed_client, records(b"a"), topic="stamped").log_append_time_ms != -1)
    payload = records(b"b", producer=(78, 0, 0))
    logs, before = timed_cluster.cluster.logs, timed_cluster.cluster.logs.appends.now_ms
    answer = produce(timed_client, payload, topic="stamped")
    logs.appends.now_ms = lambda: TIME_MS + 9000
    try:
        again = produce(timed_client, payload, topic="stamped")
    finally:
        logs.appends.now_ms = before
    assert answer.log_append_time_ms == again.log_append_time_ms == TIME_MS + 1000
    assert answer.base_offset == again.base_offset


def test_bounds_of_all_brokers_hold_for_topics_without_their_own(
    timed_cluster: Living, timed_client: RawClient
) -> None:
    timed_cluster.topic("plain", [[1]])
    own = records(b"a", first_ms=TIME_MS + 1)
    assert produce(timed_client, records(b"a"), topic="plain").error_code == 0
    brokers = ConfigResource(ConfigResourceType.BROKER, "")
    admin = timed_cluster.cluster.controller.admin
    admin.incremental_alter_configs({brokers: [AlterConfigOp(f"log.{BEFORE}", "998")]}).all().result(DEADLINE_S)
    until(lambda: produce(timed_client, own, topic="plain").error_code == INVALID_TIMESTAMP)
    assert produce(timed_client, own, topic="strict", partition=1).error_code == 0
    admin.alter_configs({brokers: {}}).all().result(DEADLINE_S)
    until(lambda: produce(timed_client, own, topic="plain").error_code == 0)
