"""`kedge log-dirs` on a real Kafka cluster: it tells what Kafka's own tool tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kedge.controller.model.values import TopicPartition
from tests.kafka.conftest import Kedge, Topics, produce
from tests.kafka.java_tools import LOG_DIRS, JavaTools, Ran
from tests.kafka_servers import KafkaCluster

pytestmark = [pytest.mark.server, pytest.mark.full]

COMMAND = "log-dirs"
Java = Callable[..., Ran]


@pytest.fixture
def java(tools: JavaTools, kafka_cluster: KafkaCluster) -> Java:
    def invoke(*arguments: object) -> Ran:
        return tools(LOG_DIRS, "--bootstrap-server", kafka_cluster.servers, *arguments)

    return invoke


def sorted_(said: str) -> Any:
    """The object, in one order: Kafka's tool has none."""
    found = json.loads(said)
    found["brokers"].sort(key=lambda broker: broker["broker"])
    for broker in found["brokers"]:
        broker["logDirs"].sort(key=lambda path: path["logDir"])
        for path in broker["logDirs"]:
            path["partitions"].sort(key=lambda replica: replica["partition"])
    return found


def test_directories_are_described_as_by_kafkas_tool(
    *, run: Kedge, java: Java, kafka_cluster: KafkaCluster, topic: Topics
) -> None:
    """Of all brokers and topics, or of some; --json is the object alone."""
    name, other = topic([[1, 2]]), topic([[2, 3]])
    produce(kafka_cluster.servers, name, 3)
    for words in ((), ("--broker-list", "3,1"), ("--topic-list", f"{name},{other}"), ("--topic-list", name)):
        done, said = run(COMMAND, "--describe", *words), java("--describe", *words)
        assert (done.exit_code, done.stderr) == (said.code, "")
        ours, theirs = done.stdout.splitlines(), said.out.splitlines()
        assert ours[:2] == theirs[:2]
        assert sorted_(ours[2]) == sorted_(theirs[2])
    found = sorted_(run(COMMAND, "--describe", "--json", "--topic-list", name, "--broker-list", "1").stdout)
    (replica,) = [each for path in found["brokers"][0]["logDirs"] for each in path["partitions"]]
    assert (replica["partition"], replica["offsetLag"], replica["isFuture"]) == (str(TopicPartition(name, 0)), 0, False)
    assert replica["size"] > 30_000


@pytest.mark.parametrize(
    "words,problem",
    [
        (
            ("--broker-list", "1,77"),
            "The given brokers do not exist from --broker-list: 77. Current existent brokers: 1,2,3",
        ),
        (("--topic-list", "no-such"), "The given topics do not exist from --topic-list: no-such"),
        (("--broker-list", "1,x"), "'x' in the broker list is not a broker id"),
    ],
)
def test_who_is_not_there_is_a_line_and_exit_code_1(run: Kedge, words: tuple[str, ...], problem: str) -> None:
    done = run(COMMAND, "--describe", *words)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {problem}\n")


def test_brokers_that_are_not_there_are_named_as_kafkas_tool_does(run: Kedge, java: Java) -> None:
    done, said = run(COMMAND, "--describe", "--broker-list", "1,77"), java("--describe", "--broker-list", "1,77")
    assert (done.exit_code, done.stderr.upper()) == (said.code, (said.out + said.err).upper())
