"""Every config of Kafka 4.3, as requests set it: stored or refused, as the tables have it."""

from __future__ import annotations

import pytest

from kedge import ConfigResource, ConfigSource, ErrorCode, NewTopic
from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS
from kedge.controller.model.refused_configs import refusal
from tests.model.kafka_configs import KAFKA_CONFIGS, KafkaConfig
from tests.runtime.configured import ALL, BROKER, KEY, TOPIC, alter, change, code, described
from tests.runtime.world import cluster_of_three

OWN = {
    TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ALL: ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
}


def resources(one: KafkaConfig) -> tuple[ConfigResource, ...]:
    return (TOPIC,) if one.of == "topic" else (BROKER, ALL)


@pytest.mark.slow
def test_each_config_of_kafka_is_stored_or_refused_with_its_reason() -> None:
    cluster = cluster_of_three()
    stored = {TOPIC: set[str](), BROKER: set[str](), ALL: set[str]()}
    for one in KAFKA_CONFIGS:
        definition = (TOPIC_CONFIGS if one.of == "topic" else BROKER_CONFIGS).get(one.name)
        for resource in resources(one):
            value = "1" if definition is None else definition.default
            error = cluster.error(alter(cluster, resource, change(one.name, value)))
            if definition is not None:
                assert error is None, one.name
                stored[resource].add(one.name)
            else:
                assert code(error) == ErrorCode.INVALID_CONFIG
                assert str(error).endswith(f"{one.name} {refusal(one.name)}")
    for resource, names in stored.items():
        found = described(cluster, resource).values()
        assert {entry.name for entry in found if entry.source is OWN[resource]} == names


BLANKS = [
    ("retention.ms", " 3600000\t"),
    ("min.cleanable.dirty.ratio", "\n0.25 "),
    ("preallocate", " TRUE "),
    ("message.timestamp.type", "LogAppendTime\r\n"),
    ("cleanup.policy", " compact,\tdelete"),
    ("compression.gzip.level", " +4"),
    ("leader.replication.throttled.replicas", " 0:1 "),
]


@pytest.mark.parametrize("name, value", BLANKS)
def test_white_space_around_a_value_is_not_stored(name: str, value: str) -> None:
    """By any request that sets it."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, TOPIC, change(name, value)))
    assert cluster.get(KEY)["config"] == {name: value.strip()}
    assert described(cluster)[name].value == value.strip()
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: {}}).all())
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: {name: value}}).all())
    assert cluster.get(KEY)["config"] == {name: value.strip()}
    admin = cluster.controller.admin
    cluster.done(admin.create_topics({"new": NewTopic(1, 1, configs={name: value})}).all())
    assert cluster.get("/config/topics/new")["config"] == {name: value.strip()}
    assert cluster.done(admin.describe_new_topics({"next": {name: value}}))["next"][name].value == value.strip()


def test_a_value_that_another_program_wrote_is_changed_only_with_a_new_one() -> None:
    """An alteration that sends all values back, as Kafka's tool of 3.9 does, writes nothing."""
    cluster = cluster_of_three()
    theirs = {"retention.ms": " 5 ", "segment.ms": " 6"}
    cluster.put(KEY, {"version": 1, "config": theirs})
    cluster.run()
    before = cluster.keys()
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: theirs}).all())
    assert cluster.keys() == before
