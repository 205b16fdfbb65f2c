"""Transactions as tools and brokers see them on the wire, the rights that each request needs, and long requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wire import test_long_lists, transacting
from tests.wire.served import RawClient
from tests.wire.test_long_lists import AT_ONCE, MANY, PARTITIONS, Walks
from tests.wire.transacting import (
    add,
    begun,
    commit,
    initialized,
    marked,
    of,
    opened,
    state_of,
    write,
)

pytestmark = pytest.mark.checklist(281)

NO_RIGHTS = 53
made_client, walks = transacting.made_client, test_long_lists.walks
DENIED = {
    ("WRITE", "TRANSACTIONAL_ID:secret"),
    ("DESCRIBE", "TRANSACTIONAL_ID:secret"),
    ("WRITE", "TOPIC:hidden"),
    ("READ", "GROUP:closed"),
    ("IDEMPOTENT_WRITE", "CLUSTER"),
    ("WRITE", "TOPIC:"),
}
OF_CLUSTER = {("ALTER", "CLUSTER"), ("CLUSTER_ACTION", "CLUSTER")}


@pytest.fixture(scope="module")
def restricted() -> Iterator[RawClient]:
    yield from opened(authorizer=lambda _, *right: right not in DENIED | OF_CLUSTER)


@pytest.fixture(params=sorted(OF_CLUSTER), ids=str)
def empowered(request: pytest.FixtureRequest) -> Iterator[RawClient]:
    """A client with one of the rights on the cluster."""
    yield from opened(authorizer=lambda _, *right: right == request.param or right not in OF_CLUSTER)


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
