"""What is written is read back as it was, with the fields that are unknown here, and never longer than foretold."""

from __future__ import annotations

import json

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.codec import BadValue, broker, keys, legacy, partition_state, small, topic
from kedge.controller.codec.text import parse
from kedge.controller.model.legacy import LegacyEntry, LegacyKey
from kedge.controller.model.values import BrokerRegistration, DeleteIntent, Endpoint, Partition, Replicas, Topic
from tests.codec.strategies import (
    EPOCHS,
    EXTRA,
    INTENTS,
    LEGACY_KEYS,
    PARTITIONS,
    REGISTRATIONS,
    REPLICAS,
    TOPICS,
)


@pytest.mark.slow
@pytest.mark.checklist(99, 132, 191, 192, 228)
@given(PARTITIONS, EPOCHS)
def test_a_state_key_is_read_back_as_it_was_written(partition: Partition, epoch: int) -> None:
    """isr, leader, T, status, recovery and unknown fields; version stays 1; R is the topic key's and what joined."""
    value = partition_state.encode(partition, epoch)
    raw = json.loads(value)
    again = partition_state.decode(parse(value), "t", 0, partition.replicas, 5)
    grown = partition_state.grown(partition.replicas, partition.isr, partition.move)
    assert again == attrs.evolve(partition, replicas=grown)
    assert (raw["version"], raw["controller_epoch"]) == (1, epoch)
    assert raw.get("targetReplicas") == (list(partition.move.target) if partition.move else None)
    assert ("status_code" in raw) == (partition.status_code != 0)
    assert len(value) <= partition_state.state_bytes_max(partition)


def test_a_plain_state_key_is_byte_for_byte_what_kafka_writes() -> None:
    """Five fields in Kafka's order, and one tuple for R and I where they are equal."""
    value = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'
    replicas = (1, 2)
    found = partition_state.decode(parse(value), "t", 0, replicas, 5)
    assert found.isr is replicas
    assert partition_state.encode(found, 1) == value


def test_a_target_without_its_memory_began_now_with_the_present_replicas() -> None:
    """What another writer set as targetReplicas is a move; what it cannot say is filled in."""
    raw = {"leader": 1, "leader_epoch": 0, "isr": [1, 3], "targetReplicas": [3, 4]}
    found = partition_state.decode(raw, "t", 0, (1, 2), 77)
    assert found.move is not None
    assert (found.move.target, found.move.origin, found.move.started_ms) == ((3, 4), (1, 2), 77)
    assert found.replicas == (1, 2, 3)


@pytest.mark.parametrize("target", [None, []])
def test_no_target_is_no_move(target: object) -> None:
    """KIP-455 says null; a writer that clears the list may leave an empty one. It is not written back."""
    raw = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "targetReplicas": target, "mine": 7}
    found = partition_state.decode(raw, "t", 0, (1, 2), 77)
    assert found.move is None
    written = parse(partition_state.encode(found, 1))
    assert isinstance(written, dict)
    assert written.keys() == {*partition_state.IDLE, "mine"}


def test_a_partition_without_state_is_not_encoded() -> None:
    """An empty isr would be read as broken: BadValue names the partition."""
    with pytest.raises(ValueError, match="t-0"):
        partition_state.encode(Partition("t", 0, (1,), (), -1, -1), 1)


@pytest.mark.slow
@given(TOPICS, st.lists(REPLICAS, min_size=1, max_size=12))
def test_a_topic_key_is_read_back_as_it_was_written(of: Topic, assignments: list[Replicas]) -> None:
    """R of every partition, the id, retired epochs and unknown fields; Kafka's own moves are written as none."""
    value = topic.encode(of, assignments)
    assert topic.decode(value, "t") == topic.TopicKey(of, tuple(assignments), {}, {})
    assert json.loads(value)["version"] == 3
    assert len(value) <= topic.topic_bytes_max(of, assignments)


def test_a_topic_key_at_its_limits_is_no_longer_than_foretold() -> None:
    """Ids of ten digits and many partitions, where the bound is tightest."""
    of = Topic("t", "A" * 22, {9_999_999: 2**31 - 2**16})
    assignments = [(2**31 - 1,)] * 120_000
    assert len(topic.encode(of, assignments)) <= topic.topic_bytes_max(of, assignments)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_of_a_topic_key_is_read(version: int) -> None:
    """v1 has partitions alone, v2 Kafka's running moves, v3 the id; empty lists are no move."""
    raw: dict[str, object] = {"version": version, "partitions": {"0": [1, 2], "1": [3]}}
    if version >= 2:
        raw |= {"adding_replicas": {"0": [2], "1": []}, "removing_replicas": {"0": [1]}}
    if version == 3:
        raw["topic_id"] = "A" * 22
    found = topic.decode(json.dumps(raw).encode(), "t")
    assert found.assignments == ((1, 2), (3,))
    assert (found.adding, found.removing) == (({0: (2,)}, {0: (1,)}) if version >= 2 else ({}, {}))
    assert found.topic.topic_id == ("A" * 22 if version == 3 else "")


@pytest.mark.slow
@pytest.mark.checklist(133, 134, 135, 136)
@pytest.mark.parametrize("version", broker.VERSIONS)
@given(registration=REGISTRATIONS)
def test_a_registration_is_read_back_as_far_as_its_version_goes(version: int, registration: BrokerRegistration) -> None:
    """v1 host and port, v2 endpoints, v3 the rack (left out where there is none), v4 the protocols; all else stays."""
    value = broker.encode(registration, version, 123)
    raw = json.loads(value)
    expected = registration
    if version < 4:
        protocols = tuple(attrs.evolve(e, protocol=e.listener) for e in registration.endpoints)
        expected = attrs.evolve(expected, endpoints=protocols if version >= 2 else ())
    if version < 3:
        expected = attrs.evolve(expected, rack=None)
    if version == 5:
        expected = attrs.evolve(expected, extra={"features": {}, **(expected.extra or {})})
    assert broker.decode(value, registration.broker_id) == expected
    assert ("rack" in raw) == (version >= 3 and registration.rack is not None)
    assert (raw["version"], raw["timestamp"], raw["jmx_port"]) == (version, "123", -1)


def test_an_empty_rack_is_none() -> None:
    """A broker that says `"rack":""` has no rack, and none is written."""
    assert broker.decode(b'{"host":"h","port":1,"rack":""}', 1).rack is None
    assert b"rack" not in broker.encode(BrokerRegistration(1, rack=""), 3, 1)


def test_a_broker_without_plain_listener_is_known_by_its_first_endpoint() -> None:
    """Host null and port -1, as Kafka writes them for a broker that only speaks TLS."""
    value = b'{"version":5,"host":null,"port":-1,"endpoints":["TLS://[::1]:9093"],"listener_security_protocol_map":{"TLS":"SSL"}}'
    found = broker.decode(value, 1)
    assert (found.host, found.port, found.endpoints) == ("[::1]", 9093, (Endpoint("TLS", "[::1]", 9093, "SSL"),))


def test_a_registration_without_endpoints_is_written_with_the_one_that_follows() -> None:
    """Host and port make a plain endpoint; another version than 1..5 is refused."""
    raw = json.loads(broker.encode(BrokerRegistration(1, "h", 7), 4, 0))
    assert (raw["endpoints"], raw["listener_security_protocol_map"]) == (
        ["PLAINTEXT://h:7"],
        {"PLAINTEXT": "PLAINTEXT"},
    )
    for version in (0, 6):
        with pytest.raises(ValueError, match="registration_version"):
            broker.encode(BrokerRegistration(1), version, 0)


@given(st.lists(INTENTS, max_size=5))
def test_intents_are_read_back_and_no_longer_than_foretold(intents: list[DeleteIntent]) -> None:
    """One key of one broker; each intent adds at most its own bound."""
    value = small.encode_intents(intents)
    assert small.decode_intents(value, 3) == tuple(intents)
    assert len(value) <= len(small.encode_intents([])) + sum(map(small.intent_bytes_max, intents))


@pytest.mark.slow
@pytest.mark.checklist(34)
@given(LEGACY_KEYS)
def test_a_legacy_key_is_read_back_as_it_was_written(key: LegacyKey) -> None:
    """Entries in their order, whatever they ask for, with the fields that are unknown; no longer than foretold."""
    value = legacy.encode(key.entries, key.extra, key.format)
    assert legacy.decode(value) == key
    assert len(value) <= legacy.bytes_max(key.entries, key.extra)


def test_a_plain_legacy_key_is_what_kafkas_tools_write() -> None:
    """`version`, `partitions`, and of each partition topic, id and replicas; a missing version is 1."""
    value = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    found = legacy.decode(value)
    assert found == LegacyKey((LegacyEntry("t", 0, (1, 2)),))
    assert legacy.encode(found.entries) == value
    assert legacy.decode(b'{"partitions":[]}').format == 1


def test_a_plan_that_a_key_cannot_hold_is_a_bad_value_that_says_so() -> None:
    """As it stands, or as it would be when it is written again: letters beyond ASCII take more room then."""
    entry = LegacyEntry("t", 0, (1, 2))
    at_most = legacy.encode([entry] * 17_000)
    assert len(at_most) <= legacy.BYTES_MAX
    assert len(legacy.decode(at_most).entries) == 17_000
    beyond = '{"partitions":[],"x":"' + "\u00e4" * 200_000 + '"}'
    for value in (legacy.encode([entry] * 22_000), beyond.encode()):
        with pytest.raises(BadValue, match="950000"):
            legacy.decode(value)


@given(st.dictionaries(st.text(), st.text()), st.integers(0, 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
def test_small_keys_are_read_back(config: dict[str, str], epoch: int, controller: int) -> None:
    """Configs, the admitted epoch, the controller's id."""
    assert small.decode_config(small.encode_config(config)) == config
    assert small.decode_admitted(small.encode_admitted(epoch)) == epoch
    assert small.decode_controller(small.encode_controller(controller, 5)) == controller


@pytest.mark.slow
@given(EXTRA.filter(bool))
def test_unknown_fields_survive_in_every_key_that_is_rewritten(extra: dict[str, object]) -> None:
    """State, topic and registration keep what they do not know, nested as it was."""
    state = json.loads(partition_state.encode(Partition("t", 0, (1,), (1,), 1, 0, extra=extra), 1))
    of_topic = json.loads(topic.encode(Topic("t", "A" * 22, {}, extra), [(1,)]))
    of_broker = json.loads(broker.encode(BrokerRegistration(1, extra=extra), 5, 0))
    for written in (state, of_topic, of_broker):
        assert {name: written[name] for name in extra} == extra


def test_keys_are_taken_apart_as_they_were_built() -> None:
    """A topic's key and a partition's; everything else is neither."""
    assert keys.topic_of(keys.topic("t")) == "t"
    assert keys.partition_of(keys.state("t", 12)) == ("t", 12)
    for other in ("/", "/brokers/topics", "/brokers/topics/t/partitions", keys.state("t", 0), keys.broker(1)):
        assert keys.topic_of(other) is None
    for other in (
        keys.topic("t"),
        "/brokers/topics/t/partitions/0",
        *(_state_of(p) for p in ("01", "-1", "٣", "9" * 5000)),
    ):
        assert keys.partition_of(other) is None
    built = (keys.admitted(1), keys.topic_config("t"), keys.replica_deletions(1, 2))
    assert built == ("/kedge/brokers/1", "/config/topics/t", "/admin/replica_deletions/1/2")


def _state_of(partition: str) -> str:
    return f"/brokers/topics/t/partitions/{partition}/state"
