"""Settings of topics and brokers, as clients see and change them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge import NewTopic
from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS
from kedge.controller.model.throttle_configs import RATES
from kedge.controller.wire.apis.config_words import invalid_value
from tests.kit.waiting import until
from tests.wire.served import RawClient, Served

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC_SOURCE, BROKER_SOURCE, DEFAULT_BROKER_SOURCE, DEFAULT = 1, 2, 3, 5


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as opened:
        yield opened


@pytest.fixture
def client(served: Served) -> Iterator[RawClient]:
    """A client of a cluster whose topic `orders` has no settings yet."""
    served.controller.admin.create_topics({"orders": NewTopic(1, 3)}).all().result(30)
    with RawClient(served.address) as opened:
        yield opened
    served.controller.admin.delete_topics(["orders"]).all().result(30)
    until(lambda: served.controller.query(lambda view: view.topic("orders") is None).result(30))


def described(client: RawClient, kind: int, name: str, version: int = 4, **more: Any) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": more.pop("keys", None)}
    answer = client.ask("DescribeConfigs", version, resources=[resource], **more)
    return answer.results[0]


def entries(client: RawClient, kind: int, name: str, version: int = 4, **more: Any) -> dict[str, Any]:
    found = described(client, kind, name, version, **more)
    assert found.error_code == 0, found
    return {one.name: one for one in found.configs}


def altered(
    client: RawClient, kind: int, name: str, *ops: tuple[str, int, str | None], **more: Any
) -> tuple[int, str | None]:
    configs = [{"name": n, "config_operation": op, "value": value} for n, op, value in ops]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    version = more.pop("version", 1)
    answer = client.ask("IncrementalAlterConfigs", version, resources=[resource], **{"validate_only": False, **more})
    said = answer.responses[0]
    assert (said.resource_type, said.resource_name) == (kind, name)
    return said.error_code, said.error_message


@pytest.mark.parametrize("version", range(5))
def test_a_topic_is_described_with_sources_synonyms_kinds_and_words(client: RawClient, version: int) -> None:
    assert altered(client, BROKER, "", ("log.retention.ms", SET, "7200000")) == (0, None)
    assert altered(client, TOPIC, "orders", ("retention.ms", SET, "3600000")) == (0, None)
    found = entries(client, TOPIC, "orders", version, include_synonyms=True, include_documentation=True)
    assert set(found) == set(TOPIC_CONFIGS)
    entry = found["retention.ms"]
    assert (entry.value, entry.read_only, entry.is_sensitive) == ("3600000", False, False)
    if version == 0:
        assert (entry.is_default, found["segment.ms"].is_default) == (False, True)
        return
    assert (entry.config_source, found["segment.ms"].config_source) == (TOPIC_SOURCE, DEFAULT)
    assert [(one.name, one.value, one.source) for one in entry.synonyms] == [
        ("retention.ms", "3600000", TOPIC_SOURCE),
        ("log.retention.ms", "7200000", DEFAULT_BROKER_SOURCE),
        ("log.retention.hours", "168", DEFAULT),
    ]
    if version >= 3:
        assert (entry.config_type, found["cleanup.policy"].config_type) == (5, 7)
        assert entry.documentation == TOPIC_CONFIGS["retention.ms"].documentation
    assert altered(client, BROKER, "", ("log.retention.ms", DELETE, None)) == (0, None)


def test_synonyms_words_and_other_names_come_where_they_are_asked_for(client: RawClient) -> None:
    found = entries(client, TOPIC, "orders", keys=["retention.ms", "none.such"])
    assert set(found) == {"retention.ms"}
    assert (found["retention.ms"].synonyms, found["retention.ms"].documentation) == ([], None)


def test_broker_lists_its_throttles_also_where_none_is_set(client: RawClient) -> None:
    rates = [rate for both in RATES.values() for rate in both]
    assert {entries(client, BROKER, "1")[rate].config_source for rate in rates} == {DEFAULT}
    assert altered(client, BROKER, "1", *[(rate, SET, "1000") for rate in rates]) == (0, None)
    assert altered(client, BROKER, "", ("log.retention.ms", SET, "7200000")) == (0, None)
    found = entries(client, BROKER, "1")
    assert {(found[rate].value, found[rate].config_source) for rate in rates} == {("1000", BROKER_SOURCE)}
    assert found["log.retention.ms"].config_source == DEFAULT_BROKER_SOURCE
    assert entries(client, BROKER, "2")[rates[0]].config_source == DEFAULT
    assert altered(client, BROKER, "", ("log.retention.ms", DELETE, None)) == (0, None)
    assert altered(client, BROKER, "1", *[(rate, DELETE, "") for rate in rates]) == (0, None)


@pytest.mark.parametrize(
    "name, good, bad",
    [
        ("num.io.threads", "9", {"0": "Value must be at least 1", "x": "Not a number of type INT"}),
        ("log.cleaner.threads", "0", {"-1": "Value must be at least 0"}),
        ("num.network.threads", "4", {str(2**31): "Not a number of type INT"}),
        ("message.max.bytes", "2000000", {"1.5": "Not a number of type INT"}),
        ("log.cleaner.io.max.bytes.per.second", "5e6", {"much": "Not a number of type DOUBLE"}),
        ("remote.log.manager.copy.max.bytes.per.second", "7", {"": "Not a number of type LONG"}),
        ("transaction.partition.verification.enable", "false", {"no": "Expected value to be either true or false"}),
        ("metric.reporters", "com.example.One,Two", {"1,2": "Expected names of Java classes"}),
        ("max.connections.per.ip.overrides", "host-a:7,10.0.0.1:8", {"nonsense": "Expected host:number pairs"}),
    ],
)
@pytest.mark.parametrize("whose", ["1", ""], ids=["one broker", "all brokers"])
def test_dynamic_settings_of_brokers_are_taken_and_their_types_checked(
    client: RawClient, whose: str, name: str, good: str, bad: dict[str, str]
) -> None:
    source = BROKER_SOURCE if whose else DEFAULT_BROKER_SOURCE
    assert altered(client, BROKER, whose, (name, SET, good)) == (0, None)
    for value, why in bad.items():
        assert altered(client, BROKER, whose, (name, SET, value)) == (
            40,
            f"Invalid value {value} for configuration {name}: {why}",
        )
    entry = entries(client, BROKER, whose, include_synonyms=True)[name]
    assert (entry.value, entry.config_source, entry.read_only) == (good, source, False)
    assert (entry.synonyms[0].value, entry.synonyms[0].source) == (good, source)
    assert altered(client, BROKER, whose, (name, DELETE, None)) == (0, None)


def test_a_broker_lists_what_it_registered_and_what_the_host_set(client: RawClient) -> None:
    found = {name: one for name, one in entries(client, BROKER, "2", include_synonyms=True).items() if one.read_only}
    told = {name: [(one.name, one.value, one.source) for one in found[name].synonyms] for name in found}
    static = 4
    assert told["broker.id"] == [("broker.id", "2", static), ("broker.id", "-1", DEFAULT)]
    assert told["broker.rack"] == [("broker.rack", "b", static)]
    assert told["num.partitions"] == [("num.partitions", "1", DEFAULT)]
    name = "auto.leader.rebalance.enable"
    assert told[name] == [(name, "false", static), (name, "true", DEFAULT)]
    assert not any(one.read_only for one in entries(client, BROKER, "").values())
    assert altered(client, BROKER, "2", ("broker.rack", SET, "x"))[0] == 40


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize("value", [None, "", "3600000"])
def test_a_setting_is_deleted_whatever_value_stands_beside_it(
    client: RawClient, version: int, value: str | None
) -> None:
    assert altered(client, TOPIC, "orders", ("retention.ms", SET, "3600000"), version=version) == (0, None)
    assert altered(client, TOPIC, "orders", ("retention.ms", DELETE, value), version=version) == (0, None)
    assert entries(client, TOPIC, "orders")["retention.ms"].config_source == DEFAULT


def test_what_kafkas_tool_deletes_after_a_move_can_be_deleted(client: RawClient) -> None:
    names = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
    deletions = [(n, DELETE, None) for n in (*names, "replica.alter.log.dirs.io.max.bytes.per.second")]
    assert altered(client, BROKER, "3", *deletions) == (0, None)


def test_lists_are_appended_to_and_subtracted_from(client: RawClient) -> None:
    name = "follower.replication.throttled.replicas"
    assert altered(client, TOPIC, "orders", (name, APPEND, "0:1,0:2")) == (0, None)
    assert altered(client, TOPIC, "orders", (name, SUBTRACT, "0:1")) == (0, None)
    assert entries(client, TOPIC, "orders")[name].value == "0:2"


@pytest.mark.parametrize("version", range(3))
def test_the_legacy_request_replaces_all_settings(client: RawClient, version: int) -> None:
    def replace(*configs: tuple[str, str | None], **more: Any) -> tuple[int, str | None]:
        settings = [{"name": n, "value": v} for n, v in configs]
        resource = {"resource_type": TOPIC, "resource_name": "orders", "configs": settings}
        fields = {"resources": [resource], "validate_only": False, **more}
        said = client.ask("AlterConfigs", version, **fields).responses[0]
        return said.error_code, said.error_message

    def own() -> dict[str, str]:
        found = entries(client, TOPIC, "orders")
        return {name: one.value for name, one in found.items() if one.config_source == TOPIC_SOURCE}

    assert replace(("retention.ms", "1000"), ("segment.ms", "2000")) == (0, None)
    assert own() == {"retention.ms": "1000", "segment.ms": "2000"}
    assert replace(("retention.ms", "3000"), validate_only=True) == (0, None)
    assert replace(("retention.ms", None)) == (42, "Null value not supported for : retention.ms")
    assert own() == {"retention.ms": "1000", "segment.ms": "2000"}
    assert replace(("retention.ms", "3000")) == (0, None)
    assert own() == {"retention.ms": "3000"}
    assert replace() == (0, None)
    assert own() == {}


INVALID = [
    ("retention.ms", "abc", "Not a number of type LONG"),
    ("segment.bytes", "9999999999", "Not a number of type INT"),
    ("segment.bytes", "1", "Value must be at least 14"),
    ("compression.lz4.level", "18", "Value must be no more than 17"),
    ("preallocate", "maybe", "Expected value to be either true or false"),
    ("message.timestamp.type", "Now", "String must be one of: CreateTime, LogAppendTime"),
    ("min.cleanable.dirty.ratio", "2.0", "Value must be no more than 1"),
    ("min.cleanable.dirty.ratio", "-1.0", "Value must be at least 0"),
    ("min.cleanable.dirty.ratio", "half", "Not a number of type DOUBLE"),
]
"""A setting of the topic, a value, and Kafka's reason."""
PAIRS = "leader.replication.throttled.replicas"
REFUSED = [
    *(
        (TOPIC, "orders", (name, SET, value), 40, f"Invalid value {value} for configuration {name}: {why}")
        for name, value, why in INVALID
    ),
    (TOPIC, "orders", ("min.cleanable.dirty.ratio", SET, "2"), 40,
     "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    (TOPIC, "orders", ("no.such.key", SET, "1"), 40, "Unknown topic config name: no.such.key"),
    (TOPIC, "orders", ("cleanup.policy", SET, "delete,shred"), 40,
     "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete"),
    (TOPIC, "orders", (PAIRS, SET, "0-1"), 40,
     (f"Invalid value [0-1] for configuration {PAIRS}: {PAIRS} must be the literal '*' or a list of replicas in the "
      "following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")),
    (TOPIC, "orders", ("retention.ms", APPEND, "1"), 40,
     "Can't APPEND to key retention.ms because its type is not LIST."),
    (BROKER, "1", ("log.retention.ms", SUBTRACT, "1"), 40,
     "Config value subtract is not allowed for config key: log.retention.ms"),
    (TOPIC, "orders", ("retention.ms", SET, None), 42, "Null value not supported for : retention.ms"),
    (TOPIC, "orders", ("retention.ms", 9, "1"), 42, "Unknown operations type 9"),
    (TOPIC, "none", ("retention.ms", SET, "1"), 3, "The topic 'none' does not exist."),
    (BROKER, "one", ("log.retention.ms", SET, "1"), 42, "Node id must be an integer, but it is: one"),
    (BROKER, "1", ("leader.replication.throttled.rate", SET, "0"), 40,
     "Invalid value 0 for configuration leader.replication.throttled.rate: Value must be at least 1"),
    (8, "1", ("kafka", SET, "INFO"), 42, "Unknown resource type 8"),
]  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED)
def test_what_is_refused_is_refused_in_kafkas_words_and_changes_nothing(
    client: RawClient, refused: tuple[int, str, tuple[str, int, str | None], int, str]
) -> None:
    kind, name, op, code, message = refused
    good = ("retention.ms" if op[0] != "retention.ms" else "segment.ms", SET, "77777")
    assert altered(client, kind, name, good, op) == (code, message)
    assert all(one.value != "77777" for one in entries(client, TOPIC, "orders").values())


def test_every_check_of_a_setting_has_words_and_passes_what_the_rules_pass() -> None:
    for one in (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()):
        assert invalid_value(one, one.default) is None
        words = invalid_value(one, "\0")
        assert words is not None
        assert f" for configuration {one.name}: " in words


def test_a_resource_and_a_setting_stand_in_a_request_once(client: RawClient) -> None:
    twice = ("retention.ms", SET, "1000")
    assert altered(client, TOPIC, "orders", twice, twice) == (42, "Error due to duplicate config keys")
    configs = [{"name": "retention.ms", "config_operation": SET, "value": "1000"}]
    resource = {"resource_type": TOPIC, "resource_name": "orders", "configs": configs}
    fields = {"resources": [resource, resource], "validate_only": False}
    answer = client.ask("IncrementalAlterConfigs", 1, **fields)
    assert [(one.error_code, one.error_message) for one in answer.responses] == [
        (42, "Each resource must appear at most once.")
    ]
    assert entries(client, TOPIC, "orders")["retention.ms"].config_source == DEFAULT


def test_one_bad_resource_does_not_hurt_another(client: RawClient) -> None:
    change = {"name": "retention.ms", "config_operation": SET, "value": "1000"}
    resources = [{"resource_type": TOPIC, "resource_name": name, "configs": [change]} for name in ("none", "orders")]
    answer = client.ask("IncrementalAlterConfigs", 1, resources=resources, validate_only=False)
    assert {one.resource_name: one.error_code for one in answer.responses} == {"none": 3, "orders": 0}
    assert entries(client, TOPIC, "orders")["retention.ms"].value == "1000"


def test_validate_only_checks_and_writes_nothing(client: RawClient) -> None:
    assert altered(client, TOPIC, "orders", ("retention.ms", SET, "1000"), validate_only=True) == (0, None)
    assert altered(client, TOPIC, "orders", ("retention.ms", SET, "x"), validate_only=True)[0] == 40
    assert entries(client, TOPIC, "orders")["retention.ms"].config_source == DEFAULT


@pytest.mark.parametrize(
    "kind, name, code, message",
    [
        (TOPIC, "none", 3, "The topic 'none' does not exist."),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "one", 42, "Broker id must be an integer, but it is: one"),
        (BROKER, "9" * 5000, 42, "Broker id must be an integer, but it is: " + "9" * 5000),
        (16, "metrics", 42, "Unsupported resource type: 16"),
    ],
)
def test_what_cannot_be_described_is_reported_in_kafkas_words(
    client: RawClient, kind: int, name: str, code: int, message: str
) -> None:
    found = described(client, kind, name)
    assert (found.error_code, found.error_message, found.configs) == (code, message, [])


def test_null_in_the_place_of_a_name_closes_the_connection(served: Served, client: RawClient) -> None:
    before = served.gateway.counts["garbage"]
    frame = b"\x00\x2c\x00\x00\x00\x00\x00\x07\xff\xff\x00\x00\x00\x01\x02\xff\xff\x00\x00\x00\x00\x00"
    with RawClient(served.address) as other:
        other.send(len(frame).to_bytes(4, "big") + frame)
        assert other.receive() is None
    until(lambda: served.gateway.counts["garbage"] == before + 1)
    assert entries(client, TOPIC, "orders")


def listed(client: RawClient, *types: int) -> list[tuple[int, str]]:
    answer = client.ask("ListConfigResources", 1, resource_types=list(types))
    assert answer.error_code == 0
    return [(row.resource_type, row.resource_name) for row in answer.config_resources]


def test_there_are_no_subscriptions_to_metrics_of_clients(client: RawClient) -> None:
    answer = client.ask("ListConfigResources", 0)
    assert (answer.error_code, answer.config_resources) == (0, [])


def test_topics_and_live_brokers_are_listed_by_their_type(served: Served, client: RawClient) -> None:
    topics, brokers = [(TOPIC, "orders")], [(BROKER, "1"), (BROKER, "2"), (BROKER, "3")]
    assert listed(client) == topics + brokers
    assert listed(client, TOPIC) == topics
    assert listed(client, BROKER, 8, 16, 32, BROKER) == brokers
    assert listed(client, 8, 16, 32) == []
    served.leave(3)
    assert listed(client, BROKER) == brokers[:2]
    served.join(3, "c")


@pytest.mark.parametrize("number", [0, 1, 3, 64, -1])
def test_a_type_of_which_nothing_can_be_listed_is_refused_as_by_kafka(client: RawClient, number: int) -> None:
    answer = client.ask("ListConfigResources", 1, resource_types=[TOPIC, number])
    assert (answer.error_code, answer.config_resources) == (35, [])


def test_topics_are_listed_to_those_who_may_see_their_settings() -> None:
    hidden = {("DESCRIBE_CONFIGS", "TOPIC:hidden")}
    with Served(authorizer=lambda _, operation, resource: (operation, resource) not in hidden) as served:
        served.controller.admin.create_topics({name: NewTopic(1, 1) for name in ("hidden", "seen")}).all().result(30)
        with RawClient(served.address) as client:
            assert listed(client, TOPIC) == [(TOPIC, "seen")]
