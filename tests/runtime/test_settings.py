"""Settings of topics and brokers that are altered here: by the admin API, in one commit with the notification of it."""

from __future__ import annotations

import json

import pytest

from kedge import ConfigResource, ConfigResourceType, ConfigSource, ErrorCode, OpType
from kedge.controller.codec import keys
from kedge.controller.runtime.journal import Journal, MemorySink
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
    """Once per commit, with all that there is."""
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
    """Each is published under a number of its own."""
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


def test_what_changes_nothing_or_is_only_checked_writes_nothing() -> None:
    """The answer is that of a change."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5")))
    before = cluster.keys()
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "5"), change("flush.ms", op=OpType.DELETE)))
    cluster.done(alter(cluster, TOPIC, change("retention.ms", "6"), validate_only=True))
    cluster.done(cluster.controller.admin.alter_configs({BROKER: {}}).all())
    assert code(cluster.error(alter(cluster, TOPIC, change("x", "6"), validate_only=True))) == ErrorCode.INVALID_CONFIG
    assert cluster.keys() == before


@pytest.mark.checklist(163)
def test_a_rate_that_is_deleted_is_unlimited_again() -> None:
    """At once, by its default, and the host hears of it."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, BROKER, change(RATE, "1000")))
    cluster.done(alter(cluster, BROKER, change(RATE, op=OpType.DELETE)))
    entry = described(cluster, BROKER)[RATE]
    assert (entry.value, entry.source, entry.is_default) == (UNLIMITED, ConfigSource.DEFAULT_CONFIG, True)
    assert cluster.get(BROKER_KEY) == {"version": 1, "config": {}}


@pytest.mark.checklist(184)
def test_settings_of_a_broker_outlive_it_and_the_controller() -> None:
    """They stand in /config/brokers/<id>; the next controller tells its host."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, BROKER, change(RATE, "1000")))
    cluster.leave(1)
    cluster.controllers.pop().close()
    host = Told()
    cluster.another(2, host=host)
    cluster.join(1)
    assert ("brokers", "1", {RATE: "1000"}) in host.notices
    assert described(cluster, BROKER)[RATE].value == "1000"
    cluster.done(alter(cluster, BROKER, change(RATE, "2000")))
    assert cluster.get(BROKER_KEY)["config"] == {RATE: "2000"}


def test_appending_to_a_list_and_subtracting_from_it() -> None:
    """In order, nothing twice; of an unset setting the default is what is there."""
    cluster = cluster_of_three()
    cluster.done(alter(cluster, TOPIC, change("cleanup.policy", "compact", OpType.APPEND)))
    cluster.done(alter(cluster, TOPIC, change(LIST, "0:1,0:2", OpType.APPEND)))
    cluster.done(alter(cluster, TOPIC, change(LIST, "0:2,1:1", OpType.APPEND)))
    cluster.done(alter(cluster, TOPIC, change(LIST, "0:1,7:7", OpType.SUBTRACT)))
    assert cluster.get(KEY)["config"] == {"cleanup.policy": "delete,compact", LIST: "0:2,1:1"}


def test_unclean_election_that_is_allowed_here_elects_at_once() -> None:
    """Of the topic, or of all brokers."""
    for resource in (TOPIC, ALL):
        cluster = Cluster()
        cluster.join(1, 2, 3)
        cluster.create("t", (1, 2))
        cluster.leave(2)
        cluster.join(2)
        cluster.leave(1)
        assert cluster.state()["leader"] == -1
        cluster.done(alter(cluster, resource, change(UNCLEAN, "true")))
        assert (cluster.state()["leader"], cluster.state()["leader_recovery_state"]) == (2, 1)


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
