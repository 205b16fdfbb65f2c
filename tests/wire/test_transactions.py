"""Transactions as clients see them on the wire: versions, errors, rights, and what tools see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge.controller.model.logs import Batch
from kedge.controller.wire.data.batches import read_batch, transactional
from tests.kit.waiting import until
from tests.wire import test_long_lists
from tests.wire.asking import fetch, offset_of, produce, values
from tests.wire.living import Living, records
from tests.wire.served import RawClient
from tests.wire.test_long_lists import AT_ONCE, MANY, PARTITIONS, Walks

pytestmark = pytest.mark.checklist(281)

NO_RIGHTS = 53
walks = test_long_lists.walks
DENIED = {
    ("WRITE", "TRANSACTIONAL_ID:secret"),
    ("DESCRIBE", "TRANSACTIONAL_ID:secret"),
    ("WRITE", "TOPIC:hidden"),
    ("READ", "GROUP:closed"),
    ("IDEMPOTENT_WRITE", "CLUSTER"),
    ("WRITE", "TOPIC:"),
}
OF_CLUSTER = {("ALTER", "CLUSTER"), ("CLUSTER_ACTION", "CLUSTER")}


def opened(*, down: int | None = None, **options: Any) -> Iterator[RawClient]:
    """`down`: a broker that is dead."""
    with Living(groups={"offsets_partitions": 1}, **options) as living, RawClient(living.address) as client:
        living.topic("orders", [[1, 2, 3]] * 20)
        living.topic("hidden", [[1, 2, 3]])
        until(lambda: all(client.ask("FindCoordinator", 2, key="any", key_type=k).error_code == 0 for k in (0, 1)))
        if down is not None:
            living.cluster.kill_broker(down)
        until(lambda: initialized(client, "first").error_code == 0)
        yield client


@pytest.fixture(scope="module", name="client")
def made_client() -> Iterator[RawClient]:
    yield from opened()


@pytest.fixture(scope="module")
def restricted() -> Iterator[RawClient]:
    yield from opened(authorizer=lambda _, *right: right not in DENIED | OF_CLUSTER)


@pytest.fixture(params=sorted(OF_CLUSTER), ids=str)
def empowered(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """A client with one of the rights on the cluster."""
    yield from opened(authorizer=lambda _, *right: right == request.param or right not in OF_CLUSTER)


@pytest.fixture
def bereft() -> Iterator[RawClient]:
    """A client of brokers of which one is dead."""
    yield from opened(down=3)


def initialized(client: RawClient, transactional_id: str | None, version: int = 4, **fields: Any) -> Any:
    named = {"transactional_id": transactional_id, "transaction_timeout_ms": 60_000, **fields}
    return client.ask("InitProducerId", version, **named)


def of(producer: Any, transactional_id: str = "t") -> dict[str, Any]:
    """The fields that name a producer."""
    named = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
    return {"transactional_id": transactional_id, **named}


def add(
    client: RawClient, producer: Any, *partitions: int, topic: str = "orders", version: int = 3, **fields: Any
) -> list[int]:
    """The errors of these partitions."""
    asked = {f"v3_and_below_{name}": value for name, value in {**of(producer), **fields}.items()}
    topics = [{"name": topic, "partitions": [*partitions]}]
    answer = client.ask("AddPartitionsToTxn", version, **asked, v3_and_below_topics=topics)
    [found] = answer.results_by_topic_v3_and_below
    return [row.partition_error_code for row in found.results_by_partition]


def batch(producer: Any, *contents: bytes, sequence: int = 0) -> bytes:
    plain = read_batch(records(*contents, producer=(producer.producer_id, producer.producer_epoch, sequence)))
    assert isinstance(plain, Batch)
    return transactional(plain, producer.producer_id, producer.producer_epoch).payload


def write(client: RawClient, producer: Any, partition: int, *contents: bytes, **fields: Any) -> int:
    payload = batch(producer, *contents, sequence=fields.pop("sequence", 0))
    named = {"partition": partition, "version": 11, "transactional_id": "t", **fields}
    return int(produce(client, payload, **named).error_code)


def end(client: RawClient, producer: Any, *, committed: bool, version: int = 4) -> Any:
    """Until what was written before is complete."""
    while (answer := client.ask("EndTxn", version, **of(producer), committed=committed)).error_code == 51:
        pass
    return answer


def begun(client: RawClient, *partitions: int) -> Any:
    """A producer with an open transaction in these partitions."""
    producer: Any = None
    while producer is None or producer.error_code == 51:
        producer = initialized(client, "t")
    assert set(add(client, producer, *partitions)) <= {0}
    return producer


def state_of(client: RawClient, transactional_id: str = "t") -> Any:
    [found] = client.ask("DescribeTransactions", 0, transactional_ids=[transactional_id]).transaction_states
    return found


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
    assert write(client, begun(client, 6), 6, b"a", transactional_id=None) == NO_RIGHTS


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


def marked(client: RawClient, producer: Any, partition: int, coordinator_epoch: int) -> int:
    topics = [{"name": "orders", "partition_indexes": [partition]}]
    named = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch, "topics": topics}
    marker = {**named, "transaction_result": False, "coordinator_epoch": coordinator_epoch}
    [answer] = client.ask("WriteTxnMarkers", 1, markers=[marker]).markers
    return int(answer.topics[0].partitions[0].error_code)


# --- offsets


def commit(client: RawClient, producer: Any, offset: int, version: int = 3, group: str = "g", **fields: Any) -> int:
    part = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m"}
    named = {**of(producer), "group_id": group, "generation_id": -1, "member_id": "", **fields}
    answer = client.ask("TxnOffsetCommit", version, topics=[{"name": "orders", "partitions": [part]}], **named)
    return int(answer.topics[0].partitions[0].error_code)


def committed(client: RawClient, *, is_stable: bool, group: str = "g") -> tuple[int, int]:
    """Error and offset."""
    asked = [{"group_id": group, "topics": [{"name": "orders", "partition_indexes": [0]}]}]
    [found] = client.ask("OffsetFetch", 9, groups=asked, require_stable=is_stable).groups
    [row] = found.topics[0].partitions
    return row.error_code, row.committed_offset


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


# --- tools


def test_producers_and_transactions_are_described(client: RawClient) -> None:
    producer = begun(client, 13)
    assert write(client, producer, 13, b"a") == 0
    topics = [{"name": "orders", "partition_indexes": [13]}]
    [found] = client.ask("DescribeProducers", 0, topics=topics).topics[0].partitions
    [row] = found.active_producers
    assert (row.producer_id, row.last_sequence, row.current_txn_start_offset) == (producer.producer_id, 0, 0)
    assert state_of(client).transaction_state == "Ongoing"
    named = {"state_filters": ["Ongoing", "None"], "producer_id_filters": [producer.producer_id], "duration_filter": 0}
    listed = client.ask("ListTransactions", 1, **named)
    assert [row.transactional_id for row in listed.transaction_states] == ["t"]
    assert listed.unknown_state_filters == ["None"]
    assert not client.ask("ListTransactions", 1, **{**named, "duration_filter": 10**9}).transaction_states


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("list-.*", ["list-a", "list-b"]),
        (".*-a", ["list-a"]),
        ("ist", []),
        ("(list-a|other)", ["list-a"]),
        ("x+", ["x" * 1_000]),
    ],
)
def test_transactions_are_listed_by_a_pattern(client: RawClient, pattern: str, found: list[str]) -> None:
    """That the whole transactional id matches. Long ids are matched in a thread."""
    for transactional_id in ("list-a", "list-b", "x" * 1_000):
        assert initialized(client, transactional_id).error_code == 0
    assert listed(client, pattern) == (0, found)


def listed(client: RawClient, pattern: str | None, **fields: Any) -> tuple[int, list[str]]:
    """The error, and transactional ids."""
    named = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1, **fields}
    answer = client.ask("ListTransactions", 2, transactional_id_pattern=pattern, **named)
    return answer.error_code, sorted(row.transactional_id for row in answer.transaction_states)


def test_pattern_that_is_not_valid_lists_nothing(client: RawClient) -> None:
    assert listed(client, "(") == (128, [])


@pytest.mark.parametrize("pattern", ["", None])
def test_without_a_pattern_all_transactions_are_listed(client: RawClient, pattern: str | None) -> None:
    initialized(client, "second")
    assert {"first", "second"} <= set(listed(client, pattern)[1])


def test_features_are_listed_since_version_3(client: RawClient) -> None:
    answer = client.ask("ApiVersions", 3, client_software_name="raw", client_software_version="1")
    listed = [(each.name, each.max_version_level) for each in answer.finalized_features]
    assert listed == [("group.version", 1), ("transaction.version", 2)]


# --- rights


def test_transactional_ids_need_rights(restricted: RawClient) -> None:
    secret = {**of(initialized(restricted, "open"), "secret")}
    assert initialized(restricted, "secret").error_code == NO_RIGHTS
    assert restricted.ask("EndTxn", 3, **secret, committed=True).error_code == NO_RIGHTS
    assert restricted.ask("AddOffsetsToTxn", 3, **secret, group_id="g").error_code == NO_RIGHTS
    assert restricted.ask("FindCoordinator", 2, key="secret", key_type=1).error_code == NO_RIGHTS
    assert state_of(restricted, "secret").error_code == NO_RIGHTS
    listed = restricted.ask("ListTransactions", 1, state_filters=[], producer_id_filters=[], duration_filter=-1)
    assert "secret" not in {row.transactional_id for row in listed.transaction_states}


def test_writing_in_transactions_needs_rights(restricted: RawClient) -> None:
    producer = begun(restricted, 0)
    assert add(restricted, producer, 1, transactional_id="secret") == [NO_RIGHTS]
    assert add(restricted, producer, 0, topic="hidden") == [29]
    assert write(restricted, producer, 0, b"a", transactional_id="secret") == NO_RIGHTS
    assert commit(restricted, producer, 1, transactional_id="secret") == NO_RIGHTS
    assert commit(restricted, producer, 1, group="closed") == 30
    assert restricted.ask("AddOffsetsToTxn", 3, **of(producer), group_id="closed").error_code == 30
    assert initialized(restricted, None).error_code == 31


def test_either_right_on_the_cluster_allows_markers(empowered: RawClient) -> None:
    """As in Kafka: of tools that end transactions, and of brokers."""
    producer = begun(empowered, 2)
    assert marked(empowered, producer, 2, coordinator_epoch=0) == 0


def test_markers_and_requests_of_brokers_need_rights_on_the_cluster(restricted: RawClient) -> None:
    producer = begun(restricted, 2)
    assert marked(restricted, producer, 2, coordinator_epoch=0) == 31
    rows = [{**of(producer), "verify_only": True, "topics": [{"name": "orders", "partitions": [2]}]}]
    assert restricted.ask("AddPartitionsToTxn", 4, transactions=rows).error_code == 31


def test_brokers_verify_partitions_of_many_transactions(client: RawClient) -> None:
    producer = begun(client, 14)
    topics = [{"name": "orders", "partitions": [14]}]
    rows = [{**of(producer), "verify_only": True, "topics": topics}, {**of(producer, "never"), "topics": topics}]
    answer = client.ask("AddPartitionsToTxn", 4, transactions=rows)
    errors = {
        row.transactional_id: row.topic_results[0].results_by_partition[0].partition_error_code
        for row in answer.results_by_transaction
    }
    assert errors == {"t": 0, "never": 49}


# --- long requests

WHO = {"producer_id": 5, "producer_epoch": 0}
INDEXES = {"topics": [{"name": "orders", "partition_indexes": PARTITIONS}]}
NUMBERS = {"topics": [{"name": "orders", "partitions": PARTITIONS}]}
OLDER = {f"v3_and_below_{name}": value for name, value in {"transactional_id": "first", **WHO, **NUMBERS}.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "api, version, fields",
    [
        ("DescribeProducers", 0, INDEXES),
        ("WriteTxnMarkers", 1, {"markers": [{**WHO, **INDEXES, "transaction_result": True, "coordinator_epoch": 0}]}),
        ("AddPartitionsToTxn", 3, OLDER),
        (
            "AddPartitionsToTxn",
            4,
            {"transactions": [{"transactional_id": "first", "verify_only": True, **WHO, **NUMBERS}]},
        ),
    ],
)
def test_long_requests_let_others_go_on(
    client: RawClient, walks: Walks, api: str, version: int, fields: dict[str, Any]
) -> None:
    """Their partitions are not read in one go."""
    client.ask(api, version, **fields)
    assert walks.read >= MANY
    assert walks.in_one_go <= AT_ONCE
