"""Configs that are refused, for what they are, for who asks, for when; nothing is written then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, ConfigSource, ErrorCode, Hooks, NewTopic, OpType
from kedge.controller.codec import keys
from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS
from kedge.controller.model.refused_configs import refusal
from tests.model.kafka_configs import KAFKA_CONFIGS, KafkaConfig
from tests.runtime.configured import ALL, BROKER, BROKER_KEY, KEY, RATE, TOPIC, alter, change, code, described
from tests.runtime.world import cluster_of_three


def test_a_policy_is_asked_for_what_is_wanted_and_says_no_with_its_message() -> None:
    asked: list[tuple[str, dict[str, str | None]]] = []

    def policy(resource: ConfigResource, configs: Mapping[str, str | None]) -> str | None:
        asked.append((resource.name, dict(configs)))
        return "too short" if configs.get("retention.ms") == "1" else None

    cluster = cluster_of_three(hooks=Hooks(alter_config_policy=policy))
    error = cluster.error(alter(cluster, TOPIC, change("retention.ms", "1"), change("flush.ms", op=OpType.DELETE)))
    assert (code(error), str(error)) == (ErrorCode.POLICY_VIOLATION, "too short")
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: {"retention.ms": "2"}}).all())
    assert asked == [("t", {"retention.ms": "1", "flush.ms": None}), ("t", {"retention.ms": "2"})]


@pytest.mark.parametrize("name", ["x", "-1", "01", "2147483648", "1 ", "\u0661", "1" * 5000])
def test_a_broker_is_named_by_a_decimal_id(name: str) -> None:
    """42 for anything else, described or altered; one that never lived may be configured."""
    cluster = cluster_of_three()
    bad = ConfigResource(ConfigResourceType.BROKER, name)
    assert code(cluster.error(alter(cluster, bad, change(RATE, "5")))) == ErrorCode.INVALID_REQUEST
    asked = cluster.controller.admin.describe_configs([bad])[bad]
    assert code(cluster.error(asked)) == ErrorCode.INVALID_REQUEST
    cluster.done(alter(cluster, ConfigResource(ConfigResourceType.BROKER, "99"), change(RATE, "5")))


NAMES = st.one_of(st.sampled_from([*TOPIC_CONFIGS, *BROKER_CONFIGS]), st.text(max_size=4))
VALUES = st.one_of(st.none(), st.text(max_size=6), st.sampled_from(["1", "true", "0:1", "delete", "5" * 18, "\ud800"]))
OPS = st.lists(st.builds(AlterConfigOp, NAMES, VALUES, st.sampled_from(OpType)), max_size=3)
RESOURCES = st.builds(
    ConfigResource, st.sampled_from(ConfigResourceType), st.sampled_from(["t", "1", "", "x", "\ud800"])
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(RESOURCES, OPS), max_size=6))
def test_whatever_is_asked_the_controller_lives_and_keys_hold_what_it_says(asked: list[tuple[Any, Any]]) -> None:
    """Answers are documented errors; what is described is what the keys hold."""
    cluster = cluster_of_three()
    for resource, ops in asked:
        error = cluster.error(cluster.controller.admin.incremental_alter_configs({resource: ops})[resource])
        assert error is None or code(error) in {3, 40, 42}
    assert cluster.controller.is_active
    assert cluster.findings() == {}
    for resource, key in ((TOPIC, KEY), (BROKER, BROKER_KEY), (ALL, keys.BROKER_DEFAULTS)):
        held = (cluster.get(key) or {"config": {}})["config"]
        shown = {name: one.synonyms[0].value for name, one in described(cluster, resource).items() if name in held}
        assert shown == held


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
