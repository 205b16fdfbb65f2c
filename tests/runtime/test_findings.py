"""A finding about a key goes with its cause, for every cause: mended, deleted, or written by the controller."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from tests.runtime.world import Cluster, cluster_of_three


def taken_over(key: str, *, leave: int | None = None) -> Cluster:
    """A second controller that found `key` broken."""
    cluster = cluster_of_three()
    if leave is not None:
        cluster.leave(leave)
    cluster.controllers.pop().close()
    cluster.put(key, b"{broken")
    cluster.another(2)
    cluster.run()
    assert set(cluster.findings()) == {key}
    return cluster


def test_a_broken_config_goes_with_its_topic() -> None:
    cluster = cluster_of_three()
    cluster.put("/config/topics/t", b"{")
    cluster.run()
    assert set(cluster.findings()) == {"/config/topics/t"}
    cluster.done(cluster.controller.admin.delete_topics(["t"]).all())
    cluster.run()
    assert (cluster.has("/config/topics/t"), cluster.findings()) == (False, {})


@pytest.mark.parametrize("after", [{"version": 1, "config": {"retention.ms": "5"}}, None])
def test_a_broken_config_of_a_topic_that_others_wrote_is_mended_or_removed(after: object) -> None:
    """Read with the topic the first time, by itself the second time."""
    cluster = cluster_of_three()
    cluster.put("/config/topics/y", b"{")
    cluster.put("/brokers/topics/y", {"version": 1, "partitions": {"0": [1, 2]}})
    cluster.run()
    assert set(cluster.findings()) == {"/config/topics/y"}
    if after is None:
        cluster.delete("/config/topics/y")
    else:
        cluster.put("/config/topics/y", after)
    cluster.run()
    assert cluster.findings() == {}


@pytest.mark.parametrize("resync", [False, True])
@pytest.mark.parametrize("found", ["by a takeover", "while it runs"])
def test_a_key_whose_name_is_no_topics_is_a_finding_as_long_as_it_is_there(found: str, resync: bool) -> None:
    key = keys.topic("no<topic")
    if found == "by a takeover":
        cluster = taken_over(key)
    else:
        cluster = cluster_of_three()
        cluster.put(key, b"{}")
        cluster.run()
    assert set(cluster.findings()) == {key}
    cluster.delete(key)
    if resync and found == "while it runs":
        cluster.store.force_resync()
    cluster.run()
    assert cluster.findings() == {}


def test_an_admission_that_could_not_be_read_goes_with_the_birth_that_writes_it() -> None:
    cluster = taken_over("/kedge/brokers/6", leave=6)
    cluster.join(6)
    assert cluster.get("/kedge/brokers/6") == {"broker_epoch": cluster.epoch(6)}
    assert cluster.findings() == {}


@pytest.mark.parametrize("key", ["/kedge/brokers/x", "/admin/replica_deletions/1/x"])
def test_unwatched_key_is_no_finding_once_it_was_removed(key: str) -> None:
    """Looked at again every five seconds, as long as there is such a finding."""
    cluster = taken_over(key)
    cluster.wait(6_000, 500)
    assert set(cluster.findings()) == {key}
    cluster.delete(key)
    cluster.wait(6_000, 500)
    assert cluster.findings() == {}


def test_a_legacy_key_that_others_remove_is_no_finding() -> None:
    cluster = cluster_of_three()
    cluster.put(keys.REASSIGN_PARTITIONS, b"{")
    cluster.run()
    assert set(cluster.findings()) == {keys.REASSIGN_PARTITIONS}
    cluster.delete(keys.REASSIGN_PARTITIONS)
    cluster.run()
    assert cluster.findings() == {}


def test_notifications_that_cannot_be_read_are_findings_until_they_are_gone_in_a_resync() -> None:
    """Their writers purge them; the controller hears of it late."""
    cluster = cluster_of_three()
    key = f"{keys.CONFIG_CHANGES}/config_change_0000000001"
    cluster.put(key, b"{")
    cluster.run()
    assert set(cluster.findings()) == {key}
    cluster.store.force_resync()
    cluster.delete(key)
    cluster.run()
    assert cluster.findings() == {}
