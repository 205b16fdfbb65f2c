"""Kafka's own tools, unmodified: topics. What a server says is printed as it came: it is worded as Kafka words it."""

from __future__ import annotations

import re

import pytest

from tests.clients.cluster import Withheld
from tests.clients.driven import JavaTools

pytestmark = [pytest.mark.server, pytest.mark.full]

ERROR = "Error while executing topic command : "
CREATE = ("topics", "--create", "--topic")


def created(java: JavaTools, topic: str, *more: str) -> None:
    assert java(*CREATE, topic, *more).done == f"Created topic {topic}.\n"


def test_a_topic_is_created_described_listed_and_deleted(java: JavaTools, cluster: Withheld, topic: str) -> None:
    created(java, topic, "--partitions", "3", "--replication-factor", "2", "--config", "segment.ms=7000")
    assert topic in java("topics", "--list").done.splitlines()
    head, *rows = java("topics", "--describe", "--topic", topic).done.splitlines()
    assert re.fullmatch(
        rf"Topic: {topic}\tTopicId: [A-Za-z0-9_-]{{22}}\tPartitionCount: 3\t"
        r"ReplicationFactor: 2\tConfigs: segment.ms=7000",
        head.rstrip("\t"),
    )
    for number, row in enumerate(rows):
        lies = ",".join(map(str, cluster.replicas(topic, number)))
        assert row == (
            f"\tTopic: {topic}\tPartition: {number}\tLeader: {lies[0]}\tReplicas: {lies}\tIsr: {lies}"
            f"\tElr: \tLastKnownElr: "
        )
    assert len(rows) == 3
    assert topic in java("topics", "--describe", "--topics-with-overrides").done
    assert java("topics", "--describe", "--under-replicated-partitions").done == ""
    assert java("topics", "--delete", "--topic", topic).done == ""
    assert topic not in java("topics", "--list").done.splitlines()


def test_a_topic_is_created_as_it_is_assigned(java: JavaTools, cluster: Withheld, topic: str) -> None:
    created(java, topic, "--replica-assignment", "3:1,2:3")
    assert [cluster.replicas(topic, number) for number in (0, 1)] == [(3, 1), (2, 3)]


def test_a_topic_gets_more_partitions_and_never_fewer(java: JavaTools, topic: str) -> None:
    created(java, topic, "--partitions", "3", "--replication-factor", "1")
    assert java("topics", "--alter", "--topic", topic, "--partitions", "5").done == ""
    assert "\tPartitionCount: 5\t" in java("topics", "--describe", "--topic", topic).done
    said = java("topics", "--alter", "--topic", topic, "--partitions", "1")
    assert said.code == 1
    why = f"The topic {topic} currently has 5 partition(s); 1 would not be an increase."
    assert said.out.splitlines()[0] == f"{ERROR}{why}"


def test_a_topic_that_cannot_be_is_refused_in_kafkas_words(java: JavaTools, topic: str) -> None:
    created(java, topic)
    refusals = {
        (topic,): f"Topic '{topic}' already exists.",
        (f"{topic}-wide", "--replication-factor", "9"): (
            "Unable to replicate the partition 9 time(s): The target replication factor of 9 cannot be reached because "
            "only 3 broker(s) are registered."
        ),
        ("bad name!",): (
            "Topic name is invalid: 'bad name!' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'"
        ),
        (f"{topic}-odd", "--config", "no.such.key=1"): "Unknown topic config name: no.such.key",
    }
    for arguments, why in refusals.items():
        said = java(*CREATE, *arguments)
        assert (said.code, said.out.splitlines()[0]) == (1, f"{ERROR}{why}")
    assert java(*CREATE, topic, "--if-not-exists").code == 0
    assert not {f"{topic}-wide", f"{topic}-odd"} & set(java("topics", "--list").done.splitlines())
