"""Configs as the admin API alters and describes them: one commit with its notification, values with sources."""

from __future__ import annotations

import pytest

from kedge import ConfigResource, ConfigResourceType, ConfigSource, ErrorCode, OpType, Settings
from kedge.controller.codec import keys
from kedge.controller.keys.changes import PILE_MAX, PILED_AFTER_MS
from kedge.controller.model.configs import BROKER_CONFIGS, TOPIC_CONFIGS, ConfigKind
from kedge.stores import MemoryStore
from tests.runtime.configured import (
    ALL,
    BROKER,
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
from tests.runtime.world import cluster_of_three


def test_small_commits_take_settings_of_many_brokers_in_turn() -> None:
    """A store that takes few ops at once is not outgrown."""
    cluster = cluster_of_three(options={"commit_ops_max": 6})
    named = {ConfigResource(ConfigResourceType.BROKER, str(n)): [change(RATE, "5")] for n in range(20)}
    cluster.done(cluster.controller.admin.incremental_alter_configs(named).all())
    assert sorted(changes(cluster)) == list(range(20))
    assert len(MemoryStore(cluster.server).children(keys.CONFIG_BROKERS, timeout_s=1)) == 20


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


def test_notifications_that_pile_up_go_after_a_minute_though_no_controller_leads_for_long() -> None:
    cluster = cluster_of_three()
    for number in range(PILE_MAX + 150):
        cluster.put(f"{keys.CONFIG_CHANGES}/config_change_{number:010}", {"version": 2, "entity_path": "topics/t"})
    cluster.succeed()
    cluster.wait(PILED_AFTER_MS - 1_000, 1_000)
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    assert len(changes(cluster)) == PILE_MAX + 151
    cluster.wait(1_000, 1_000)
    for value in "67":
        cluster.done(alter(cluster, TOPIC, change("retention.ms", value)))
        cluster.run()
    assert sorted(changes(cluster)) == list(range(153, PILE_MAX + 153))
    assert cluster.findings() == {}
