"""`kedge kafka configs` on a real Kafka cluster: what it does, and that it says what Kafka's own tool says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kedge.controller.cli.kafka.cluster import Cluster
from kedge.controller.cli.kafka.errors import Refused
from kedge.controller.cli.kafka.values import Change, Op, Resource, ResourceType, Source
from kedge.controller.model.configs import BROKER_CONFIGS
from kedge.controller.wire.apis.configs import KINDS
from kedge.controller.wire.calls import Address
from tests.kafka.conftest import Java, Kedge, Topics
from tests.kafka.java_tools import CONFIGS
from tests.kafka_servers import KafkaCluster
from tests.kit.waiting import until
from tests.wire.served import RawClient

pytestmark = [pytest.mark.server, pytest.mark.full]

COMMAND = "configs"
RATE = "leader.replication.throttled.rate"
KEY = "listener.name.tls.ssl.key.password"
_DEFAULT: Final = 5  # of the sources of a value
_ELSEWHERE: Final = re.compile(r"ssl\.|sasl\.|listener|principal\.")
TOOL = CONFIGS


def own(cluster: Cluster, resource: Resource) -> dict[str, str | None]:
    found = cluster.describe_configs([resource])[resource]
    assert not isinstance(found, Refused)
    kinds = {Source.DYNAMIC_TOPIC_CONFIG, Source.DYNAMIC_BROKER_CONFIG, Source.DYNAMIC_DEFAULT_BROKER_CONFIG}
    if resource.name and resource.type is ResourceType.BROKER:
        kinds.remove(Source.DYNAMIC_DEFAULT_BROKER_CONFIG)
    return {name: setting.value for name, setting in found.items() if setting.source in kinds}


@pytest.fixture
def brokers(cluster: Cluster) -> Iterator[list[Resource]]:
    """Brokers and what holds for all, of which nothing is set after the test."""
    found = [Resource(ResourceType.BROKER, name) for name in ("1", "2", "3", "")]
    yield found
    for resource in found:
        left = [Change(name, Op.DELETE) for name in own(cluster, resource)]
        if left:
            assert cluster.alter_configs({resource: left}) == {}


def test_topic_is_altered_and_described_in_the_words_of_kafkas_tool(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, tmp_path: Path
) -> None:
    """On twins, with lists in brackets, from a file, all settings or its own; and taken back."""
    ours, theirs = topic([[1, 2]], "set.kedge"), topic([[1, 2]], "set.kafka")
    file = tmp_path / "topic.properties"
    file.write_text("# more\nsegment.bytes = 1048576\ncleanup.policy: compact,delete\n")
    for words in (
        ("--alter", "--add-config", "retention.ms=3600000,follower.replication.throttled.replicas=[0:1,0:2]"),
        ("--alter", "--add-config-file", file),
        ("--describe",),
        ("--alter", "--add-config", "max.message.bytes=2000", "--delete-config", "segment.bytes,retention.ms"),
        ("--describe",),
        ("--describe", "--all"),
    ):
        done = run(COMMAND, "--entity-type", "topics", "--entity-name", ours, *words)
        said = java("--topic", theirs, *words)
        assert (done.exit_code, done.stderr, said.code) == (0, "", 0)
        assert done.stdout == said.out.replace(theirs, ours)
        until(
            lambda: (
                own(cluster, Resource(ResourceType.TOPIC, ours)) == own(cluster, Resource(ResourceType.TOPIC, theirs))
            )
        )
    assert own(cluster, Resource(ResourceType.TOPIC, ours)) == {
        "cleanup.policy": "compact,delete",
        "follower.replication.throttled.replicas": "0:1,0:2",
        "max.message.bytes": "2000",
    }


def test_brokers_are_altered_and_described_each_and_all(
    *, run: Kedge, java: Java, cluster: Cluster, brokers: list[Resource]
) -> None:
    one, default = brokers[0], brokers[3]
    done = run(COMMAND, "--alter", "--broker", 1, "--add-config", f"{RATE}=1000")
    assert (done.exit_code, done.stdout) == (0, "Completed updating config for broker 1.\n")
    done = run(
        COMMAND, "--alter", "--broker-defaults", "--add-config", "log.cleaner.threads=2,log.retention.ms=7200000"
    )
    assert (done.exit_code, done.stdout) == (0, "Completed updating default config for brokers in the cluster.\n")
    until(lambda: len(own(cluster, one)) == 1 and len(own(cluster, default)) == 2)
    for words in (
        ("--broker", 1),
        ("--broker", 1, "--all"),
        ("--broker-defaults",),
        ("--entity-type", "brokers", "--entity-default"),
    ):
        done, said = run(COMMAND, "--describe", *words), java("--describe", *words)
        assert (done.exit_code, done.stdout) == (said.code, said.out)
    done, said = run(COMMAND, "--describe", "--entity-type", "brokers"), java("--describe", "--entity-type", "brokers")
    assert done.stdout.splitlines()[-3:] == said.out.splitlines()[-3:]
    assert sorted(done.stdout.splitlines()) == sorted(said.out.splitlines())
    done = run(COMMAND, "--alter", "--broker", 1, "--delete-config", RATE, "--json")
    answer = {"entity_type": "brokers", "entity_name": "1", "added": {}, "deleted": [RATE]}
    assert (done.exit_code, json.loads(done.stdout)) == (0, answer)
    until(lambda: own(cluster, one) == {})


def test_a_change_of_a_broker_leaves_what_others_set(*, run: Kedge, cluster: Cluster, brokers: list[Resource]) -> None:
    """Also a secret, which Kafka's tool of 3.9 wants to be given again."""
    assert run(COMMAND, "--alter", "--broker", 2, "--add-config", f"{KEY}=changeit").exit_code == 0
    assert run(COMMAND, "--alter", "--broker", 2, "--add-config", f"{RATE}=1000").exit_code == 0
    until(lambda: own(cluster, brokers[1]) == {KEY: None, RATE: "1000"})
    told = run(COMMAND, "--describe", "--broker", 2).stdout
    assert f"  {KEY}=null sensitive=true " in told


def test_loggers_of_a_broker_are_described_and_set(*, run: Kedge, java: Java) -> None:
    where, logger = ("--entity-type", "broker-loggers", "--entity-name", 1), "kafka.server.KafkaApis"
    for words in (("--add-config", f"{logger}=ERROR"), ("--delete-config", logger)):
        done, said = run(COMMAND, "--alter", *where, *words), java("--alter", *where, *words)
        assert (done.exit_code, done.stdout) == (0, said.out)
        assert done.stdout == "Completed updating config for broker-logger 1.\n"
        done, said = run(COMMAND, "--describe", "--broker-logger", 1), java("--describe", *where)
        assert (done.exit_code, sorted(done.stdout.splitlines())) == (0, sorted(said.out.splitlines()))
        assert (f"  {logger}=ERROR " in done.stdout) == ("--add-config" in words)
    done = run(COMMAND, "--alter", *where, "--add-config", "no.such=DEBUG,nor.this=INFO")
    assert (done.exit_code, done.stderr) == (1, "Error: Invalid broker logger(s): no.such,nor.this\n")


@pytest.mark.parametrize(
    "words,problem",
    [
        (("--add-config", "no.such.key=1"), "Unknown topic config name: no.such.key"),
        (
            ("--add-config", "segment.ms=77777,retention.ms=abc"),
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        (("--add-config", "segment.ms=77777", "--delete-config", "retention.ms"), "Invalid config(s): retention.ms"),
        (("--add-config", "segment.ms"), "Invalid entity config: all configs to be added must be in the format"),
        (("--add-config", "segment$ms=1"), "Invalid character found for config key: segment$ms"),
    ],
)
def test_what_is_refused_is_refused_in_kafkas_words_and_changes_nothing(
    *, run: Kedge, java: Java, cluster: Cluster, topic: Topics, words: tuple[str, ...], problem: str
) -> None:
    name = topic([[1]], "refused.set")
    done, said = run(COMMAND, "--alter", "--topic", name, *words), java("--alter", "--topic", name, *words)
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (said.code, "", 1)
    assert done.stderr.startswith(f"Error: {problem}")
    assert problem in said.err
    assert own(cluster, Resource(ResourceType.TOPIC, name)) == {}


@pytest.mark.parametrize(
    "where,problem",
    [
        (("--topic", "no-such"), "The topic 'no-such' does not exist."),
        (("--broker", 77), "The broker '77' does not exist."),
    ],
)
def test_what_is_not_there_is_a_line_and_exit_code_1(
    run: Kedge, java: Java, where: tuple[object, ...], problem: str
) -> None:
    """The words are those of Kafka's brokers. Kafka's tool fails for a topic, too; for a broker it waits a minute."""
    done = run(COMMAND, "--describe", *where, "--json")
    assert (done.exit_code, done.stderr, json.loads(done.stdout)) == (1, f"Error: {problem}\n", {"error": problem})
    if "--topic" in where:
        assert java("--describe", *where).code == 1
    done = run(COMMAND, "--alter", *where, "--add-config", "segment.ms=77777")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {problem}\n")


def test_dynamic_settings_of_brokers_are_those_that_a_gateway_takes(kafka_cluster: KafkaCluster) -> None:
    """Names, kinds and defaults of all that Kafka alters while a broker runs, but for listeners and logins."""
    host, port = kafka_cluster.servers.split(",")[0].split(":")
    with RawClient(Address(host, int(port))) as client:
        asked = [{"resource_type": 4, "resource_name": "1", "configuration_keys": None}]
        (found,) = client.ask(
            "DescribeConfigs", 4, resources=asked, include_synonyms=True, include_documentation=False
        ).results
    theirs = {
        one.name: (one.config_type, next((s.value for s in one.synonyms if s.source == _DEFAULT), None))
        for one in found.configs
        if not one.read_only and _ELSEWHERE.search(one.name) is None
    }
    ours = {one.name: (KINDS[one.kind], one.default if one.has_default else None) for one in BROKER_CONFIGS.values()}
    assert len(theirs) > 50
    assert {name: ours.get(name) for name in theirs} == theirs
