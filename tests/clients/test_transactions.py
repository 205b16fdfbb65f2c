"""Transactions of each stock client, unmodified, on brokers that keep records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest
from confluent_kafka import admin

from tests.clients.driven import JavaTools, Rejected, Said
from tests.clients.machine import KAFKA_VERSIONS
from tests.clients.test_groups import decoded
from tests.clients.transacting import CLIENTS, LONG_MS, Client, transacting
from tests.kit.waiting import until
from tests.wire.living import Living

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

SHORT_MS: Final = 2000
TIMEOUT_S: Final = 30
VERSION_2: Final = {"java-4.3.1", "franz-go"}
"""The clients with transaction version 2 (KIP-890), where each end gives the producer a new epoch."""


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": 4}) as opened:
        yield opened


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest, living: Living) -> Iterator[Client]:
    with transacting(request.param, living.bootstrap) as opened:
        yield opened


@pytest.mark.checklist(278)
def test_committed_reads_see_no_aborted_records(living: Living, client: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    client("open", topic, topic, LONG_MS)
    for values, how in ((["a", "b"], "commit"), (["c", "d"], "abort"), (["e", "last"], "commit")):
        client("send", topic, topic, values)
        client("end", topic, how)
    assert client("read", topic, "last", "read_committed") == ["a", "b", "e", "last"]
    assert client("read", topic, "last", "read_uncommitted") == ["a", "b", "c", "d", "e", "last"]


def test_end_gives_clients_of_version_2_a_new_epoch(living: Living, client: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    client("open", topic, topic, LONG_MS)
    client("send", topic, topic, ["value"])
    client("end", topic, "commit")
    opened = kafka.KafkaAdminClient(bootstrap_servers=living.bootstrap)
    found = opened.describe_transactions([topic])[topic]
    opened.close()
    assert found.producer_epoch == (1 if client.name in VERSION_2 else 0)


@pytest.mark.checklist(278)
def test_newer_producer_fences_the_commit_of_the_older(living: Living, client: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    client("open", "older", topic, LONG_MS)
    client("send", "older", topic, ["lost"])
    client("open", "newer", topic, LONG_MS)
    client("send", "newer", topic, ["last"])
    with pytest.raises(Rejected, match=client.fenced):
        client("end", "older", "commit")
    client("end", "newer", "commit")
    assert client("read", topic, "last", "read_committed") == ["last"]


def test_newer_producer_fences_the_records_of_the_older(living: Living, client: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    client("open", "older", topic, LONG_MS)
    client("send", "older", topic, ["first"])
    client("end", "older", "commit")
    client("open", "newer", topic, LONG_MS)
    client("send", "newer", topic, ["last"])
    with pytest.raises(Rejected, match=client.fenced):
        client("send", "older", topic, ["lost"])
    client("end", "newer", "commit")
    assert client("read", topic, "last", "read_uncommitted") == ["first", "last"]


@pytest.mark.checklist(278)
def test_transaction_that_times_out_is_aborted(living: Living, client: Client, topic: str) -> None:
    """The reader waits for that: what was committed after the records of the open transaction is behind them."""
    living.topic(topic, [[1, 2, 3]])
    client("open", "slow", f"slow {topic}", SHORT_MS)
    client("send", "slow", topic, ["lost"])
    client("open", "other", topic, LONG_MS)
    client("send", "other", topic, ["last"])
    client("end", "other", "commit")
    assert client("read", topic, "last", "read_committed") == ["last"]
    with pytest.raises(Rejected, match=client.fenced):
        client("end", "slow", "commit")


@pytest.mark.checklist(278)
def test_offsets_are_part_of_the_transaction(living: Living, client: Client, topic: str) -> None:
    """The pipe that is aborted leaves the group where it was, so that the next one reads the same records."""
    values = [f"value {number}" for number in range(10)]
    source, target, group = topic, f"{topic}-piped", f"pipes {topic}"
    for name in (source, target):
        living.topic(name, [[1, 2, 3]])
    client("open", "source", f"source {topic}", LONG_MS)
    client("send", "source", source, values)
    client("end", "source", "commit")
    client("pipe", "one", group, source, target, 4, "commit")
    assert committed(living, group, source) == 4
    client("pipe", "two", group, source, target, 6, "abort")
    assert committed(living, group, source) == 4
    client("pipe", "three", group, source, target, 6, "commit")
    assert committed(living, group, source) in {10, 11}  # whether or not the client has read over the marker
    wanted = [*(f"one:{value}" for value in values[:4]), *(f"three:{value}" for value in values[4:])]
    assert client("read", target, wanted[-1], "read_committed") == wanted


def committed(living: Living, group: str, topic: str) -> int:
    """The offset of the group in partition 0, when no transaction is open that may change it."""
    client: Any = admin.AdminClient({"bootstrap.servers": living.bootstrap})
    asked = [ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(topic, 0)])]
    found = client.list_consumer_group_offsets(asked, require_stable=True)[group].result(TIMEOUT_S)
    return int(found.topic_partitions[0].offset)


# --- Java's tool


@pytest.fixture(scope="module")
def producing(living: Living) -> Iterator[Client]:
    with transacting("librdkafka", living.bootstrap) as opened:
        yield opened


def rows(said: Said) -> list[dict[str, str]]:
    """What the tool printed, by the names of its columns."""
    head, *lines = ([word.strip() for word in line.split("\t")] for line in said.done.splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


@pytest.mark.checklist(279)
def test_tool_lists_and_describes(java: JavaTools, living: Living, producing: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    for name in (f"{topic}-done", f"{topic}-open"):
        producing("open", name, name, LONG_MS)
        producing("send", name, topic, ["value"])
        if name.endswith("done"):
            producing("end", name, "commit")
    listed = rows(java("transactions", "list", at=living.bootstrap))
    states = {row["TransactionalId"]: row["TransactionState"] for row in listed}
    assert (states[f"{topic}-done"], states[f"{topic}-open"]) == ("CompleteCommit", "Ongoing")
    (row,) = rows(java("transactions", "describe", "--transactional-id", f"{topic}-open", at=living.bootstrap))
    assert (row["TransactionState"], row["TransactionTimeoutMs"]) == ("Ongoing", str(LONG_MS))
    assert row["TopicPartitions"] == f"{topic}-0"


def test_tool_lists_ids_without_transaction_by_duration(
    java: JavaTools, living: Living, producing: Client, topic: str
) -> None:
    """As Kafka, which counts the duration from their start, -1."""
    producing("open", topic, topic, LONG_MS)
    listed = rows(java("transactions", "list", "--duration-filter", "1000", at=living.bootstrap))
    assert topic in {row["TransactionalId"] for row in listed}


@pytest.mark.parametrize("broker", [1, 2, 3])
def test_tool_describes_producers_of_each_replica(
    java: JavaTools, living: Living, producing: Client, topic: str, broker: int
) -> None:
    living.topic(topic, [[1, 2, 3]])
    asked = ("describe-producers", "--topic", topic, "--partition", "0", "--broker-id", str(broker))

    def described() -> list[tuple[str, str]]:
        found = rows(java("transactions", *asked, at=living.bootstrap))
        return [(row["LastSequence"], row["CurrentTransactionStartOffset"]) for row in found]

    producing("open", topic, topic, LONG_MS)
    producing("send", topic, topic, ["a", "b"])
    until(lambda: described() == [("1", "0")])
    producing("end", topic, "commit")
    until(lambda: described() == [("1", "None")])


@pytest.mark.checklist(279)
def test_tool_finds_no_hanging_transaction_on_a_broker(java: JavaTools, living: Living) -> None:
    """It asks the broker for the producers of all partitions of which the broker has a replica."""
    asked = ("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "15")
    assert rows(java("transactions", *asked, at=living.bootstrap)) == []


@pytest.mark.checklist(279)
def test_tool_aborts_by_start_offset(java: JavaTools, living: Living, producing: Client, topic: str) -> None:
    living.topic(topic, [[1, 2, 3]])
    for name, values in ((f"{topic}-open", ["lost"]), (f"{topic}-done", ["last"])):
        producing("open", name, name, LONG_MS)
        producing("send", name, topic, values)
    producing("end", f"{topic}-done", "commit")
    asked = ("abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert java("transactions", *asked, at=living.bootstrap).done == ""
    assert producing("read", topic, "last", "read_committed") == ["last"]


@pytest.mark.parametrize("java", KAFKA_VERSIONS[1:], indirect=True)
def test_tool_terminates_the_transaction_of_an_id(
    java: JavaTools, living: Living, producing: Client, topic: str
) -> None:
    """Its producer is fenced. Tools before Kafka 4.1 cannot."""
    living.topic(topic, [[1, 2, 3]])
    producing("open", topic, topic, LONG_MS)
    producing("send", topic, topic, ["lost"])
    asked = ("forceTerminateTransaction", "--transactionalId", topic)
    assert java("transactions", *asked, at=living.bootstrap).done == ""
    with pytest.raises(Rejected, match=producing.fenced):
        producing("end", topic, "commit")


@pytest.mark.checklist(280)
def test_kafkas_formatter_reads_the_log_of_transactions(
    java: JavaTools, living: Living, producing: Client, topic: str
) -> None:
    living.topic(topic, [[1, 2, 3]])
    producing("open", topic, topic, LONG_MS)
    producing("send", topic, topic, ["value"])
    producing("end", topic, "commit")
    asked = ("--topic", "__transaction_state", "--from-beginning", "--timeout-ms", "2000", "--formatter")
    said = java(
        "consumer", *asked, "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter", at=living.bootstrap
    )
    mine = [row["value"] for row in decoded(said.out) if row["key"]["data"]["transactionalId"] == topic]
    assert {value["version"] for value in mine} == {1}
    assert [value["data"]["transactionStatus"] for value in mine] == [0, 1, 2, 4]
    assert mine[1]["data"]["transactionPartitions"] == [{"topic": topic, "partitionIds": [0]}]
