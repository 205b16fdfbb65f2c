"""Settings of topics that others change: seen by the key and by Kafka's notifications, taken in once."""

from __future__ import annotations

from typing import Any

import pytest

from kedge import Settings
from kedge.controller.codec import keys
from kedge.stores.faults import DropEvent, Rule
from tests.runtime.world import Cluster, cluster_of_three

CONFIG = "/config/topics/t"
DEFAULTS = "/config/brokers/<default>"
CHANGE = f"{keys.CONFIG_CHANGES}/config_change_0000000012"
UNCLEAN = {"unclean.leader.election.enable": "true"}


def config(**settings: str) -> dict[str, Any]:
    return {"version": 1, "config": settings}


def unclean() -> dict[str, Any]:
    return config(**UNCLEAN)


def known(cluster: Cluster, topic: str = "t") -> dict[str, str]:
    found: dict[str, str] = cluster.done(cluster.controller.query(lambda view: dict(view.topic_config(topic))))
    return found


def leaderless(**more: Any) -> Cluster:
    """t-0 on 1, 2: only 1 was in sync, and it is dead."""
    cluster = Cluster(**more)
    cluster.join(1, 2, 3)
    cluster.create("t", (1, 2))
    cluster.leave(2)
    cluster.join(2)
    cluster.leave(1)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (-1, [1])
    return cluster


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("key, entity", [(CONFIG, ("topics", "t")), (DEFAULTS, ("brokers", "<default>"))])
def test_unclean_election_that_is_switched_on_elects_at_once(key: str, entity: tuple[str, str], version: int) -> None:
    """By the key, or by the notification of Kafka's tools where the hint of the key was lost; that one stays."""
    cluster = leaderless()
    cluster.put(key, unclean())
    cluster.run()
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2])
    assert cluster.state()["leader_recovery_state"] == 1
    cluster = leaderless()
    cluster.store.play([Rule(DropEvent(), "event")])
    cluster.put(key, unclean())
    cluster.run()
    cluster.store.play([])
    assert cluster.state()["leader"] == -1
    kind, name = entity
    named = {1: {"entity_type": kind, "entity_name": name}, 2: {"entity_path": f"{kind}/{name}"}}[version]
    cluster.put(CHANGE, {"version": version, **named})
    cluster.run()
    assert cluster.state()["leader"] == 2
    assert cluster.has(CHANGE)


@pytest.mark.parametrize("key", [CONFIG, DEFAULTS])
def test_settings_changed_without_a_leader_are_those_of_the_takeover(key: str) -> None:
    """Loaded, of the topic and of all brokers, and leaderless partitions are tried."""
    cluster = leaderless()
    cluster.controllers.pop().close()
    cluster.put(key, unclean())
    cluster.another(2)
    cluster.run()
    assert cluster.state()["leader"] == 2


def test_what_we_wrote_ourselves_is_no_news() -> None:
    """A topic that is created with settings is not read again."""
    cluster = cluster_of_three()
    calls = len(cluster.store.calls)
    cluster.create("u", (1,), **{"retention.ms": "5"})
    assert known(cluster, "u") == {"retention.ms": "5"}
    cluster.wait(100)
    assert sum(call.name == "get_columns" for call in cluster.store.calls[calls:]) <= 3


@pytest.mark.parametrize("value", [b"", b"{", [], {"config": {"a": 1}}, {"config": []}])
def test_a_broken_key_is_a_finding_and_what_was_known_stays(value: Any) -> None:
    cluster = cluster_of_three()
    cluster.put(CONFIG, config(**{"retention.ms": "5"}))
    cluster.run()
    cluster.put(CONFIG, value)
    cluster.run()
    assert set(cluster.findings()) == {CONFIG}
    assert known(cluster) == {"retention.ms": "5"}
    cluster.put(CONFIG, config(**{"retention.ms": "6"}))
    cluster.run()
    assert (cluster.findings(), known(cluster)) == ({}, {"retention.ms": "6"})


@pytest.mark.parametrize(
    "value", [b"", b"{", [], {"version": 2}, {"entity_path": "topics"}, {"entity_path": 5}, {"entity_path": "/t"}]
)
def test_a_broken_notification_is_a_finding_and_stops_nothing(value: Any) -> None:
    cluster = leaderless()
    cluster.put(CHANGE, value)
    cluster.run()
    assert set(cluster.findings()) == {CHANGE}
    cluster.put(CONFIG, unclean())
    cluster.put(f"{CHANGE[:-1]}3", {"version": 2, "entity_path": "topics/t"})
    cluster.run()
    assert cluster.state()["leader"] == 2
    cluster.delete(CHANGE)
    cluster.run()
    assert cluster.findings() == {}


@pytest.mark.parametrize("path", ["brokers/1", "users/me", "topics/nowhere", "topics/a/b", "clients/<default>"])
def test_what_is_not_about_a_topic_of_ours_is_passed_over(path: str) -> None:
    cluster = cluster_of_three()
    cluster.put(CHANGE, {"version": 2, "entity_path": path})
    cluster.run()
    assert cluster.findings() == {}


def test_the_default_of_the_key_wins_over_the_setting_and_a_topic_over_the_key() -> None:
    """Until the key is gone: then the setting holds again, at once."""
    cluster = Cluster(settings=Settings(unclean_leader_election_enable=True))
    cluster.put(DEFAULTS, config(**{"unclean.leader.election.enable": "false"}))
    cluster.join(1, 2, 3)
    cluster.create("t", (1, 2))
    cluster.create("u", (1, 2), **UNCLEAN)
    cluster.leave(2)
    cluster.join(2)
    cluster.leave(1)
    assert (cluster.state("t")["leader"], cluster.state("u")["leader"]) == (-1, 2)
    cluster.delete(DEFAULTS)
    cluster.run()
    assert cluster.state("t")["leader"] == 2


@pytest.mark.parametrize("taken_over", [False, True])
def test_a_broken_default_is_a_finding_until_it_is_mended(taken_over: bool) -> None:
    """What was known stays; a takeover knows nothing of it."""
    cluster = leaderless()
    if taken_over:
        cluster.controllers.pop().close()
    cluster.put(DEFAULTS, b"{")
    if taken_over:
        cluster.another(2)
    cluster.run()
    assert (set(cluster.findings()), cluster.state()["leader"]) == ({DEFAULTS}, -1)
    cluster.put(DEFAULTS, unclean())
    cluster.run()
    assert (cluster.findings(), cluster.state()["leader"]) == ({}, 2)
