"""Settings of topics and brokers that are altered here: by the admin API, in one commit with the notification of it."""

from __future__ import annotations

import json

from kedge import ConfigResource, ConfigResourceType, ErrorCode
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
    alter,
    change,
    changes,
    code,
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
