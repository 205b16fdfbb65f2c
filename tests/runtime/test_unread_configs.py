"""Configs that cannot be read allow nothing, whatever the defaults say (rows "configs of a topic" and "defaults of
all brokers" of `docs/unreadable-keys.md`)."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("is_taken_over", [True, False], ids=["at takeover", "meanwhile"])
@pytest.mark.parametrize(
    "key, defaults, own, settings",
    [
        (CONFIG, "true", "false", None),
        (CONFIG, None, "true", None),
        (keys.BROKER_DEFAULTS, "false", None, Settings(unclean_leader_election_enable=True)),
        (keys.BROKER_DEFAULTS, "true", None, None),
    ],
    ids=["own, forbidden", "own, allowed", "defaults, forbidden", "defaults, allowed"],
)
def test_configs_that_cannot_be_read_allow_no_unclean_election(
    key: str, defaults: str | None, own: str | None, settings: Settings | None, is_taken_over: bool
) -> None:
    """Whatever was known of them, and whatever else allows it; once they can be read again, they are in force."""
    cluster = begun(defaults, own, settings)
    broken(cluster, key)
    if is_taken_over:
        cluster.succeed()
        assert "unclean election" in cluster.findings()[key]
    cluster.run()
    assert last_one_dies(cluster) == (-1, [1])
    cluster.rewrite(key, said("true"))
    cluster.wait(6_000, 500)
    assert (cluster.state()["leader"], cluster.state()["isr"]) == (2, [2])
    assert cluster.findings() == {}


def test_a_topic_that_allows_it_itself_needs_no_defaults() -> None:
    """Its own word comes first, also where theirs cannot be read."""
    cluster = begun("false", "true")
    broken(cluster, keys.BROKER_DEFAULTS)
    cluster.succeed()
    assert last_one_dies(cluster) == (2, [2])
