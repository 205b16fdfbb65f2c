"""Configs as the admin API alters and describes them: one commit with its notification, values with sources."""

from __future__ import annotations

import json

import pytest

from kedge import ConfigResource, ConfigResourceType, ConfigSource, ErrorCode, Journal, MemorySink, OpType, Settings
from kedge.controller.codec import keys
from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigKind
from kedge.stores import MemoryStore
from tests.runtime.configured import (
    ALL,
    BROKER,
    BROKER_KEY,
    KEY,
    LIST,
    OLD_RATE,
    RATE,
    TOPIC,
    UNCLEAN,
    UNLIMITED,
    alter,
    change,
    changes,
    code,
    described,
)
from tests.runtime.test_notices import Told, told
from tests.runtime.world import Cluster, cluster_of_three


def test_all_settings_of_a_topic_are_replaced_and_published_in_the_same_commit() -> None:
    """Under the next number, as Kafka's brokers read it; settings that become none stay as an empty map."""
    cluster = cluster_of_three()
    commits = cluster.store.commits
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: {"retention.ms": "5", LIST: "0:1"}}).all())
    assert cluster.store.commits == commits + 1
    assert cluster.get(KEY) == {"version": 1, "config": {"retention.ms": "5", LIST: "0:1"}}
    assert cluster.get(f"{keys.CONFIG_CHANGES}/config_change_0000000000") == {"version": 2, "entity_path": "topics/t"}
    cluster.done(cluster.controller.admin.alter_configs({TOPIC: {}}).all())
    assert cluster.get(KEY) == {"version": 1, "config": {}}
    assert changes(cluster) == {0: "topics/t", 1: "topics/t"}


def test_host_hears_of_altered_configs() -> None:
    cluster = Cluster(start=False)
    cluster.host = Told()
    cluster.another(1)
    cluster.join(1, 2)
    cluster.create("t", (1, 2))
    told(cluster)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    cluster.done(alter(cluster, BROKER, change(RATE, "1000")))
    assert told(cluster) == [("topics", "t", {"retention.ms": "5"}), ("brokers", "1", {RATE: "1000"})]


def test_resources_of_one_request_share_a_commit_and_a_bad_one_hurts_no_other() -> None:
    cluster = cluster_of_three()
    commits = cluster.store.commits
    result = cluster.controller.admin.incremental_alter_configs(
        {
            TOPIC: [change("retention.ms", "5")],
            BROKER: [change(RATE, "1000"), change(OLD_RATE, "0")],
            ALL: [change("log.retention.ms", "7")],
            ConfigResource(ConfigResourceType.TOPIC, "no"): [change("retention.ms", "5")],
        }
    )
    cluster.run()
    codes = [code(future.exception(0)) for future in result.values()]
    assert codes == [None, ErrorCode.INVALID_CONFIG, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert cluster.store.commits == commits + 1
    assert not cluster.has(BROKER_KEY)
    assert changes(cluster) == {0: "topics/t", 1: "brokers/<default>"}


def test_small_commits_take_settings_of_many_brokers_in_turn() -> None:
    """A store that takes few ops at once is not outgrown."""
    cluster = cluster_of_three(options={"commit_ops_max": 6})
    named = {ConfigResource(ConfigResourceType.BROKER, str(n)): [change(RATE, "5")] for n in range(20)}
    cluster.done(cluster.controller.admin.incremental_alter_configs(named).all())
    assert sorted(changes(cluster)) == list(range(20))
    assert len(MemoryStore(cluster.server).children(keys.CONFIG_BROKERS, timeout_s=1)) == 20


def test_a_change_of_settings_is_journalled_with_what_it_was() -> None:
    """Of a topic in its row, of a broker by its name; with the request."""
    sink = MemorySink()
    cluster = cluster_of_three(journal=Journal(sink))
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    cluster.done(alter(cluster, BROKER, change(RATE, "7")))
    rows = [row for row in map(json.loads, sink.lines) if row["event"] == "ConfigChanged"]
    assert [row.get("topic") for row in rows] == ["t", None]
    assert [row["detail"] for row in rows] == [
        {"entity": "topics/t", "configs": {"retention.ms": "5"}, "was": {}},
        {"entity": "brokers/1", "configs": {RATE: "7"}, "was": {}},
    ]
    assert all(row["request"] for row in rows)


@pytest.mark.checklist(57, 178)
def test_a_broker_is_described_with_the_source_of_each_value() -> None:
    """Its own, that of all brokers, the default; the chain has all that there are."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, ALL, change(OLD_RATE, "10")))
    cluster.done(alter(cluster, BROKER, change(OLD_RATE, "5"), change(RATE, "7")))
    cluster.done(alter(cluster, TOPIC, change(LIST, "0:1")))
    found = described(cluster, BROKER)
    assert (found[RATE].value, found[RATE].source) == ("7", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert [(one.value, one.source) for one in found[OLD_RATE].synonyms] == [
        ("5", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("10", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (UNLIMITED, ConfigSource.DEFAULT_CONFIG),
    ]
    other = described(cluster, ConfigResource(ConfigResourceType.BROKER, "2"))[OLD_RATE]
    assert (other.value, other.source) == ("10", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    of_all = described(cluster, ALL)
    assert (of_all[OLD_RATE].value, of_all[OLD_RATE].source) == ("10", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert RATE not in of_all
    assert described(cluster)[LIST].source is ConfigSource.DYNAMIC_TOPIC_CONFIG


def test_a_topic_is_described_along_the_chain_that_it_falls_back() -> None:
    """Its own, that of all brokers by its name there, the host's Settings, the default under Kafka's name, which is in
    hours here."""
    cluster = cluster_of_three(settings=Settings(unclean_leader_election_enable=True))
    found = described(cluster)
    assert (found["retention.ms"].value, found["retention.ms"].is_default) == ("604800000", True)
    assert (found[UNCLEAN].value, found[UNCLEAN].source) == ("true", ConfigSource.STATIC_BROKER_CONFIG)
    cluster.done(alter(cluster, ALL, change("log.retention.ms", "7")))
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert [(one.name, one.value, one.source) for one in described(cluster)["retention.ms"].synonyms] == [
        ("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]
    assert set(TOPIC_CONFIGS) == set(described(cluster))


def test_unknown_names_are_described_kept_and_can_be_deleted() -> None:
    """What others wrote, and fields beside the settings, survive."""
    cluster = cluster_of_three()
    cluster.put(KEY, {"version": 1, "config": {"some.plugin": "on"}, "note": ["kept"]})
    cluster.run()
    entry = described(cluster)["some.plugin"]
    assert (entry.value, entry.kind, entry.documentation) == (None, None, None)
    assert (entry.is_sensitive, [one.value for one in entry.synonyms]) == (True, [None])
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert cluster.get(KEY) == {"version": 1, "config": {"some.plugin": "on", "retention.ms": "5"}, "note": ["kept"]}
    cluster.done(alter(cluster, TOPIC, change("some.plugin", op=OpType.DELETE)))
    cluster.controllers.pop().close()
    cluster.another(2)
    cluster.run()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "6")))
    assert cluster.get(KEY) == {"version": 1, "config": {"retention.ms": "6"}, "note": ["kept"]}


@pytest.mark.checklist(160)
def test_the_rates_of_kip_542_are_defined_as_it_says() -> None:
    """Both names: long, at least 1, unlimited by default, altered while the broker lives, of each broker by itself.
    How important a setting is (medium) is in no answer of Kafka's protocol."""
    cluster = cluster_of_three()
    for name in ("leader.reassignment.throttled.rate", "follower.reassignment.throttled.rate"):
        entry = described(cluster, BROKER)[name]
        assert (entry.kind, entry.value, entry.is_default) == (ConfigKind.LONG, UNLIMITED, True)
        assert (UNLIMITED, entry.is_read_only) == (str(2**63 - 1), False)
        assert code(cluster.error(alter(cluster, ALL, change(name, "5")))) == ErrorCode.INVALID_CONFIG
        assert name not in described(cluster, ALL)
        for bad in ("0", "-1", "1.5", "", str(2**63)):
            assert code(cluster.error(alter(cluster, BROKER, change(name, bad)))) == ErrorCode.INVALID_CONFIG
        for good in ("1", UNLIMITED):
            cluster.done(alter(cluster, BROKER, change(name, good)))
            entry = described(cluster, BROKER)[name]
            assert (entry.value, entry.source) == (good, ConfigSource.DYNAMIC_BROKER_CONFIG)
        other = described(cluster, ConfigResource(ConfigResourceType.BROKER, "2"))[name]
        assert (other.value, other.is_default) == (UNLIMITED, True)


def test_every_default_is_a_value_that_its_setting_takes() -> None:
    """The tables agree with themselves, and each says what it is for."""
    for one in (*TOPIC_CONFIGS.values(), *BROKER_CONFIGS.values()):
        assert one.check(one.default) is None, one.name
        assert one.documentation.endswith("."), one.name
        assert one.check("\x00") is not None, one.name
