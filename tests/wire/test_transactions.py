"""Transactions as clients see them on the wire: what is read, errors, and offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.waiting import until
from tests.wire import transacting
from tests.wire.asking import fetch, offset_of, produce, values
from tests.wire.living import records
from tests.wire.served import RawClient
from tests.wire.transacting import (
    add,
    batch,
    begun,
    commit,
    committed,
    end,
    initialized,
    marked,
    of,
    opened,
    state_of,
    write,
)

pytestmark = pytest.mark.checklist(281)
made_client = transacting.made_client


@pytest.fixture
def bereft() -> Iterator[RawClient]:
    """A client of brokers of which one is dead."""
    yield from opened(down=3)


# --- what is written and read


def test_committed_records_are_read_and_open_and_aborted_ones_are_not(client: RawClient) -> None:
    producer = begun(client, 0)
    assert write(client, producer, 0, b"a", b"b") == 0
    assert values(fetch(client, 0, isolation_level=1)) == []
    assert values(fetch(client, 0)) == [(0, b"a"), (1, b"b")]
    assert (fetch(client, 0).last_stable_offset, offset_of(client, -1).offset) == (0, 2)
    assert end(client, producer, committed=False).error_code == 0
    until(lambda: state_of(client).transaction_state == "CompleteAbort")
    found = fetch(client, 0, isolation_level=1)
    assert found.last_stable_offset == 3
    [aborted] = found.aborted_transactions
    assert (aborted.producer_id, aborted.first_offset) == (producer.producer_id, 0)


def test_offsets_for_committed_readers_end_at_the_last_stable_one(client: RawClient) -> None:
    producer = begun(client, 1)
    produce(client, records(b"before"), partition=1)
    assert write(client, producer, 1, b"a") == 0
    for timestamp in (-1, -3, 0):
        assert offset_of(client, timestamp, partition=1).offset >= 0
    asked = [{"name": "orders", "partitions": [{"partition_index": 1, "timestamp": each}]} for each in (-1, -3, 1)]
    answers = [client.ask("ListOffsets", 9, replica_id=-1, isolation_level=1, topics=[each]) for each in asked]
    assert [answer.topics[0].partitions[0].offset for answer in answers] == [1, 0, 0]
    end(client, producer, committed=True)


def test_batch_of_no_transaction_of_its_producer_is_refused(client: RawClient) -> None:
    producer = begun(client, 2)
    assert write(client, producer, 3, b"a", version=10) == 48
    assert write(client, producer, 3, b"a", version=11) == 120
    assert offset_of(client, -1, partition=3).offset == 0


def test_new_producers_add_partitions_by_writing(client: RawClient) -> None:
    producer = begun(client, 4)
    assert write(client, producer, 5, b"a", version=12) == 0
    ended = end(client, producer, committed=True, version=5)
    assert (ended.producer_id, ended.producer_epoch) == (producer.producer_id, producer.producer_epoch + 1)
    until(lambda: state_of(client).transaction_state == "CompleteCommit")
    assert write(client, producer, 5, b"b", version=12) == 47
    assert write(client, ended, 5, b"b", version=12) == 0  # sequences begin again


def test_transactional_batch_names_its_transactional_id(client: RawClient) -> None:
    assert write(client, begun(client, 6), 6, b"a", transactional_id=None) == 53


def test_batch_without_a_transaction_is_refused_while_one_is_open(client: RawClient) -> None:
    """With a higher epoch it would keep the marker out."""
    producer = begun(client, 15)
    assert write(client, producer, 15, b"a") == 0
    payload = records(b"b", producer=(producer.producer_id, 2**15 - 1, 0))
    assert produce(client, payload, partition=15).error_code == 48
    end(client, producer, committed=True)
    until(lambda: fetch(client, 0, partition=15).last_stable_offset == 2)


def test_later_batch_does_not_come_before_the_first(client: RawClient) -> None:
    producer = begun(client, 16)
    assert write(client, producer, 17, b"b", sequence=1, version=12) == 45
    assert write(client, producer, 17, b"a", version=12) == 0
    assert write(client, producer, 17, b"b", sequence=1, version=12) == 0


def test_control_batch_of_a_client_is_refused(client: RawClient) -> None:
    payload = bytearray(batch(begun(client, 6), b"a"))
    payload[22] |= 0x20
    assert produce(client, bytes(payload), partition=6, version=11, transactional_id="t").error_code == 87


# --- errors


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"transactional_id": ""}, 42),
        ({"transaction_timeout_ms": 0}, 50),
        ({"transaction_timeout_ms": 900_001}, 50),
        ({"producer_id": 5}, 42),
        ({"producer_id": 2**40, "producer_epoch": 1}, 90),
    ],
)
def test_producer_gets_no_id(client: RawClient, fields: dict[str, Any], error: int) -> None:
    assert initialized(client, **{"transactional_id": "first", **fields}).error_code == error


def test_fenced_producer_hears_it_in_its_version(client: RawClient) -> None:
    older, _ = begun(client, 7), initialized(client, "t")
    until(lambda: initialized(client, "t").error_code == 0)
    assert [add(client, older, 7, version=version) for version in (1, 2)] == [[47], [90]]
    assert [end(client, older, committed=True, version=version).error_code for version in (1, 2)] == [47, 90]
    assert [initialized(client, version=v, **of(older)).error_code for v in (3, 4)] == [47, 90]
    assert write(client, older, 7, b"a") == 47


def test_unknown_ids_have_no_transaction(client: RawClient) -> None:
    producer = begun(client, 8)
    assert add(client, producer, 8, transactional_id="never") == [49]
    assert add(client, producer, 8, producer_id=7) == [49]
    asked = {**of(producer), "transactional_id": "never", "committed": True}
    assert client.ask("EndTxn", 3, **asked).error_code == 49
    assert state_of(client, "never").error_code == 105


def test_partitions_that_do_not_exist_keep_all_out(client: RawClient) -> None:
    producer = begun(client, 9)
    assert add(client, producer, 10, 99) == [55, 3]
    assert add(client, producer, 0, topic="__consumer_offsets") == [29]
    assert {tuple(topic.partitions) for topic in state_of(client).topics} == {(9,)}


def test_marker_of_a_former_coordinator_is_refused(client: RawClient) -> None:
    producer = begun(client, 11)
    assert write(client, producer, 11, b"a") == 0
    end(client, producer, committed=True)
    until(lambda: fetch(client, 0, partition=11).last_stable_offset == 2)
    assert marked(client, producer, 11, coordinator_epoch=-1) == 52
    assert marked(client, producer, 99, coordinator_epoch=9) == 3


# --- offsets


def test_offsets_of_a_transaction_are_valid_when_it_is_committed(client: RawClient) -> None:
    producer = begun(client, 12)
    assert commit(client, producer, 5) == 48  # the group's partition is not part of the transaction
    assert client.ask("AddOffsetsToTxn", 3, **of(producer), group_id="g").error_code == 0
    assert commit(client, producer, 5) == 0
    assert (committed(client, is_stable=False), committed(client, is_stable=True)) == ((0, -1), (88, -1))
    end(client, producer, committed=True)
    until(lambda: committed(client, is_stable=True) == (0, 5))
    producer = begun(client, 12)
    assert commit(client, producer, 9, version=5) == 0  # which adds the partition
    end(client, producer, committed=False, version=5)
    until(lambda: committed(client, is_stable=True) == (0, 5))


def test_offsets_follow_the_marker_of_the_transaction_before(client: RawClient) -> None:
    """Which is written after its end was answered, at whatever step of the commit."""
    producer = begun(client, 12)
    for offset in range(200):
        assert commit(client, producer, offset, version=5, group="etl") == 0
        producer = end(client, producer, committed=True, version=5)
    until(lambda: committed(client, is_stable=True, group="etl") == (0, 199))


def test_a_dead_broker_leaves_no_request_unanswered(bereft: RawClient) -> None:
    """Nor does any other broker take a partition for known that only the dead one could know."""
    producer = begun(bereft, 12)
    assert add(bereft, producer, 99) == [3]
    assert bereft.ask("AddOffsetsToTxn", 3, **of(producer), group_id="g").error_code == 0
    until(lambda: commit(bereft, producer, 5) == 0)
    assert end(bereft, producer, committed=True).error_code == 0
    until(lambda: committed(bereft, is_stable=True) == (0, 5))
