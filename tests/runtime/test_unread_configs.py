"""Configs that cannot be read allow nothing, whatever the defaults say (rows "configs of a topic" and "defaults of
all brokers" of `docs/keys.md`)."""

from __future__ import annotations

from kedge import Settings
from kedge.controller.codec import keys
from tests.runtime.guarded import GuardedCluster, broken

UNCLEAN = "unclean.leader.election.enable"
CONFIG = keys.topic_config("t")


def said(allowed: str) -> bytes:
    return b'{"version":1,"config":{"%s":"%s"}}' % (UNCLEAN.encode(), allowed.encode())


def begun(defaults: str | None, own: str | None, settings: Settings | None = None) -> GuardedCluster:
    """t-0 on 1 and 2, with 1 alone in its isr."""
    cluster = GuardedCluster(1, 2, settings=settings)
    if defaults is not None:
        cluster.rewrite(keys.BROKER_DEFAULTS, said(defaults))
        cluster.run()
    cluster.create("t", (1, 2), **({} if own is None else {UNCLEAN: own}))
    cluster.leave(2)
    assert cluster.state()["isr"] == [1]
    return cluster


def last_one_dies(cluster: GuardedCluster) -> tuple[int, list[int]]:
    """Who leads, and who is in sync, once just 2 is alive, which may lack records."""
    cluster.leave(1)
    cluster.join(2)
    return cluster.state()["leader"], cluster.state()["isr"]


def test_settings_that_a_takeover_cannot_read_allow_no_unclean_election() -> None:
    """The defaults of all brokers allow it, the topic did not: what it says cannot be known."""
    cluster = begun("true", "false")
    broken(cluster, CONFIG)
    cluster.succeed()
    assert last_one_dies(cluster) == (-1, [1])
    assert "unclean election" in cluster.findings()[CONFIG]


def test_settings_that_become_unreadable_allow_no_unclean_election() -> None:
    """Also where they allowed it when they were last read."""
    cluster = begun(None, "true")
    broken(cluster, CONFIG)
    cluster.run()
    assert last_one_dies(cluster) == (-1, [1])


def test_settings_that_can_be_read_again_are_in_force() -> None:
    """Who waited for a leader gets one as they allow."""
    cluster = begun("false", "true")
    broken(cluster, CONFIG)
    cluster.succeed()
    assert last_one_dies(cluster) == (-1, [1])
    cluster.rewrite(CONFIG, said("true"))
    cluster.wait(6_000, 500)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2])
    assert cluster.findings() == {}


def test_defaults_that_a_takeover_cannot_read_allow_no_unclean_election() -> None:
    """Though the controller's own setting allows it: the defaults may say otherwise."""
    cluster = begun("false", None, Settings(unclean_leader_election_enable=True))
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.succeed()
    assert last_one_dies(cluster) == (-1, [1])
    assert "unclean election" in cluster.findings()[keys.BROKER_DEFAULTS]


def test_defaults_that_become_unreadable_allow_no_unclean_election() -> None:
    """Though they did when they were last read."""
    cluster = begun("true", None)
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.run()
    assert last_one_dies(cluster) == (-1, [1])


def test_defaults_that_can_be_read_again_are_in_force() -> None:
    """Who waited for a leader gets one as they allow."""
    cluster = begun("true", None)
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.succeed()
    assert last_one_dies(cluster) == (-1, [1])
    cluster.rewrite(keys.BROKER_DEFAULTS, said("true"))
    cluster.wait(6_000, 500)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2])


def test_a_topic_that_allows_it_itself_needs_no_defaults() -> None:
    """Its own word comes first, also where theirs cannot be read."""
    cluster = begun("false", "true")
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.succeed()
    assert last_one_dies(cluster) == (2, [2])
