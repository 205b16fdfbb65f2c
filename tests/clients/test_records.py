"""Clients against brokers that keep records: offsets, sizes, and moves that end by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka as ck
import kafka
import pytest
from confluent_kafka import admin
from kafka.admin import OffsetSpec

from kedge import TopicPartition
from tests.clients import driven
from tests.clients.driven import JavaTools
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.test_compaction import OFTEN, Pairs, compacted, read_python, written

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

RECORDS = 100
TIMEOUT_S = 30


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    """Topic orders on 1 and 2, partition 0 with a hundred records, partition 1 with none."""
    with Living() as opened:
        opened.topic("orders", [[1, 2], [1, 2]])
        producer = kafka.KafkaProducer(bootstrap_servers=opened.bootstrap, acks="all")
        for number in range(RECORDS):
            producer.send("orders", b"x" * 100, partition=0, key=str(number).encode())
        producer.flush(TIMEOUT_S)
        producer.close()
        yield opened


def sizes(java: JavaTools, living: Living, topic: str) -> dict[int, tuple[int, int]]:
    """Bytes and lag of partition 0, by broker."""
    said = java("log-dirs", "--describe", "--topic-list", topic, at=living.bootstrap).done
    return {
        broker["broker"]: (row["size"], row["offsetLag"])
        for broker in json.loads(said.splitlines()[2])["brokers"]
        for row in broker["logDirs"][0]["partitions"]
        if row["partition"] == f"{topic}-0"
    }


def test_offsets_are_given_to_kafkas_tool(java: JavaTools, living: Living) -> None:
    def offsets(*more: str) -> str:
        return java("get-offsets", "--topic", "orders", *more, at=living.bootstrap).done

    assert offsets() == f"orders:0:{RECORDS}\norders:1:0\n"
    assert offsets("--time", "earliest") == "orders:0:0\norders:1:0\n"
    assert offsets("--partitions", "0", "--time", "0") == "orders:0:0\n"


def test_offsets_are_given_to_other_clients(living: Living) -> None:
    opened = kafka.KafkaAdminClient(bootstrap_servers=living.bootstrap)
    first = kafka.TopicPartition("orders", 0)
    found = opened.list_partition_offsets({first: OffsetSpec.LATEST})
    opened.close()
    assert found[first].offset == RECORDS
    client = admin.AdminClient({"bootstrap.servers": living.bootstrap})
    (future,) = client.list_offsets({ck.TopicPartition("orders", 0): admin.OffsetSpec.latest()}).values()
    assert future.result(TIMEOUT_S).offset == RECORDS
    with driven.kafkajs(living.bootstrap) as kafkajs:
        rows = kafkajs("fetchTopicOffsets", "orders")
    assert {row["partition"]: row["high"] for row in rows} == {0: str(RECORDS), 1: "0"}
    with driven.in_go("kadm", living.bootstrap) as kadm:
        listed = kadm("ListEndOffsets", "orders")["orders"]
    assert {number: row["Offset"] for number, row in listed.items()} == {"0": RECORDS, "1": 0}


@pytest.mark.parametrize("name", ["kafka-go", "sarama"])
def test_what_a_client_in_go_produces_it_consumes(living: Living, topic: str, name: str) -> None:
    living.topic(topic, [[1, 2], [2, 3]])
    values = [f"{name} {number}" for number in range(RECORDS)]
    with driven.in_go(name, living.bootstrap) as client:
        assert client("Send", topic, 1, values) == RECORDS
        assert client("Receive", topic, 1, RECORDS) == values


@pytest.mark.checklist(265)
def test_every_client_reads_over_what_compaction_removed(java: JavaTools, living: Living, topic: str) -> None:
    living.topic(topic, [[1, 2]], **OFTEN)
    pairs: Pairs = [(f"key {number % 3}", f"value-{number}") for number in range(60)]
    end = written(living, topic, pairs)
    until(lambda: read_python(living, topic, end) == compacted(pairs))
    values = [value for _, _, value in compacted(pairs)]
    asked = ("--topic", topic, "--from-beginning", "--max-messages", str(len(values)))
    assert java("consumer", *asked, at=living.bootstrap).done.split() == values
    for name in ("kafka-go", "sarama"):
        with driven.in_go(name, living.bootstrap) as client:
            assert client("Receive", topic, 0, len(values)) == values
    with driven.kafkajs(living.bootstrap) as client:
        assert client("readGroup", f"of {topic}", topic, len(values)) == values


def test_sizes_and_lags_are_those_of_the_logs(java: JavaTools, living: Living) -> None:
    until(lambda: all(size > RECORDS * 100 and lag == 0 for size, lag in sizes(java, living, "orders").values()))
    assert set(sizes(java, living, "orders")) == {1, 2}


def test_a_move_ends_and_its_throttle_is_cleared(java: JavaTools, living: Living, topic: str, tmp_path: Path) -> None:
    (partition,) = living.topic(topic, [[1, 2]])
    plan = tmp_path / "plan.json"
    row = {"topic": topic, "partition": 0, "replicas": [2, 3]}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}), encoding="utf-8")
    of = ("--reassignment-json-file", str(plan))
    said = java("reassign", "--execute", *of, "--throttle", "1000000", at=living.bootstrap).done
    assert said.endswith(f"Successfully started partition reassignment for {topic}-0\n")
    until(lambda: "is completed" in java("reassign", "--verify", *of, at=living.bootstrap).done)
    described = java("configs", "--describe", "--entity-type", "topics", "--entity-name", topic, at=living.bootstrap)
    assert described.done == f"Dynamic configs for topic {topic} are:\n"
    assert set(sizes(java, living, topic)) == {2, 3}
    assert partition == TopicPartition(topic, 0)
