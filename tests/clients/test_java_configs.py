"""Kafka's own tools, unmodified: settings, directories, and what a cluster is. They say what they say to Kafka."""

from __future__ import annotations

import json
import re

import pytest

from kedge import LogReport, NewTopic
from tests.clients.cluster import Withheld
from tests.clients.driven import JavaTools, Said

pytestmark = [pytest.mark.server, pytest.mark.full]

BROKER_1 = ("--entity-type", "brokers", "--entity-name", "1")
ALL_BROKERS = ("--entity-type", "brokers", "--entity-default")
RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
UNLIMITED = 2**63 - 1


@pytest.fixture
def named(cluster: Withheld, topic: str) -> str:
    """A topic of three partitions, two replicas each."""
    cluster.controller.admin.create_topics({topic: NewTopic(3, 2)}).all().result(30)
    return topic


def refused(said: Said, why: str) -> None:
    """The tool ended with 1, and printed the reason in its first lines."""
    assert said.code == 1, said
    assert why in "\n".join(said.err.splitlines()[:3])


def test_a_setting_of_a_topic_is_altered_described_and_deleted(java: JavaTools, named: str) -> None:
    of = ("--entity-type", "topics", "--entity-name", named)
    done = f"Completed updating config for topic {named}.\n"
    assert (
        java("configs", "--alter", *of, "--add-config", "retention.ms=3600000,cleanup.policy=[compact,delete]").done
        == done
    )
    said = java("configs", "--describe", *of).done
    assert said == (
        f"Dynamic configs for topic {named} are:\n"
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  retention.ms=3600000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=3600000}\n"
    )
    assert java("configs", "--alter", *of, "--delete-config", "retention.ms,cleanup.policy").done == done
    assert java("configs", "--describe", *of).done == f"Dynamic configs for topic {named} are:\n"


@pytest.mark.parametrize(
    "change, why",
    [
        ("no.such.key=1", "Unknown topic config name: no.such.key"),
        ("retention.ms=abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_kafkas_words(
    java: JavaTools, named: str, change: str, why: str
) -> None:
    of = ("--entity-type", "topics", "--entity-name", named)
    said = java("configs", "--alter", *of, "--add-config", change)
    refused(
        said,
        f"java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.InvalidConfigurationException: {why}",
    )
    assert said.err.startswith("Error while executing config command with args '--alter --entity-type topics ")
    assert java("configs", "--describe", *of).done == f"Dynamic configs for topic {named} are:\n"


def test_a_broker_keeps_what_others_set(java: JavaTools) -> None:
    """The tool of 3.9 sends back all that it finds set; that of 4.3 only what is altered."""
    done = "Completed updating config for broker 1.\n"
    for rate in RATES:
        assert java("configs", "--alter", *BROKER_1, "--add-config", f"{rate}=1000").done == done
    own = {rate: f"DYNAMIC_BROKER_CONFIG:{rate}=1000, DEFAULT_CONFIG:{rate}={UNLIMITED}" for rate in RATES}
    lines = [f"  {rate}=1000 sensitive=false synonyms={{{chain}}}" for rate, chain in own.items()]
    assert java("configs", "--describe", *BROKER_1).done.splitlines() == ["Dynamic configs for broker 1 are:", *lines]
    assert java("configs", "--alter", *BROKER_1, "--delete-config", RATES[0]).done == done
    assert java("configs", "--describe", *BROKER_1).done.splitlines()[1:] == lines[1:]
    assert java("configs", "--alter", *BROKER_1, "--delete-config", RATES[1]).done == done
    said = java("configs", "--describe", *BROKER_1, "--all").done
    assert said.startswith("All configs for broker 1 are:\n")
    assert "DYNAMIC" not in said
    for rate in RATES:
        assert f"  {rate}={UNLIMITED} sensitive=false synonyms={{DEFAULT_CONFIG:{rate}={UNLIMITED}}}\n" in said


def test_settings_of_all_brokers(java: JavaTools) -> None:
    done = "Completed updating default config for brokers in the cluster.\n"
    assert java("configs", "--alter", *ALL_BROKERS, "--add-config", "log.retention.ms=7200000").done == done
    assert java("configs", "--describe", *ALL_BROKERS).done == (
        "Default configs for brokers in the cluster are:\n"
        "  log.retention.ms=7200000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=7200000}\n"
    )
    assert java("configs", "--alter", *ALL_BROKERS, "--delete-config", "log.retention.ms").done == done
    assert java("configs", "--describe", *ALL_BROKERS).done == "Default configs for brokers in the cluster are:\n"


def test_directories_are_described_broker_by_broker(java: JavaTools, cluster: Withheld, named: str) -> None:
    first, second = cluster.replicas(named)
    cluster.controller.report_log(
        [LogReport(named, 0, first, 0, 0, 100, 90, 5000), LogReport(named, 0, second, 0, 0, 60, 50, 3000)]
    )
    lines = java("log-dirs", "--describe", "--topic-list", named).done.splitlines()
    assert lines[:2] == [
        "Querying brokers for log directories information",
        "Received log directory information from brokers 1,2,3",
    ]
    told = json.loads(lines[2])
    assert told["version"] == 1
    found = {}
    for broker in told["brokers"]:
        (directory,) = broker["logDirs"]
        assert (directory["logDir"], directory["error"]) == (f"/kedge/broker-{broker['broker']}", None)
        for each in directory["partitions"]:
            assert not each["isFuture"]
            found[each["partition"], broker["broker"]] = (each["size"], each["offsetLag"])
    assert len(found) == 6
    assert found.pop((f"{named}-0", first)) == (5000, 0)
    assert found.pop((f"{named}-0", second)) == (3000, 30)
    assert set(found.values()) == {(-1, -1)}


def test_versions_are_listed_by_every_broker_at_its_own_address(java: JavaTools) -> None:
    said = java("broker-api-versions").done
    fenced = "" if java.version == "3.9.1" else " isFenced: false"
    brokers = re.findall(r"^127\.0\.0\.1:(\d+) \((id: .*)\) -> \($", said, re.MULTILINE)
    ids = {1: "a", 2: "b", 3: "c"}
    assert sorted(who for _, who in brokers) == [f"id: {i} rack: {rack}{fenced}" for i, rack in ids.items()]
    assert len({port for port, _ in brokers}) == 3
    assert said.count("\tDescribeConfigs(32): ") == 3
    assert said.count("\tApiVersions(18): 0 to 4 [usable: 4],") == 3
    assert said.count("\tDescribeTopicPartitions(75): 0 [usable: 0],") == 3


def test_the_cluster_has_an_id(java: JavaTools) -> None:
    assert java("cluster", "cluster-id").done == "Cluster ID: kedge-under-test\n"
