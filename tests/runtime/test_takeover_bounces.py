"""A takeover that finds brokers registered anew: each bounce is a death, then a birth, and a partition that lost
several brokers at once changes once."""

from __future__ import annotations

from controller import Settings
from controller.codec import keys
from controller.model.host import LeaderAndIsrRequest
from tests.runtime.world import Cluster

BROKERS = (1, 2, 3)
TOPICS = {"a": (1, 2, 3), "b": (2, 3, 1), "c": (3, 1)}


def all_bounced(**more: object) -> Cluster:
    """Nobody leads, and every broker registered anew since."""
    cluster = Cluster(**more)  # type: ignore[arg-type]
    cluster.join(*BROKERS)
    for topic, replicas in TOPICS.items():
        cluster.create(topic, replicas)
    while cluster.controllers:
        cluster.controllers.pop().close()
    cluster.leave(*BROKERS)
    cluster.join(*BROKERS)
    cluster.host.told.clear()
    return cluster


def generation(cluster: Cluster, topic: str) -> int:
    entry = cluster.other.get(keys.state(topic, 0), timeout_s=1)
    assert entry is not None
    return entry.generation


def is_whole(cluster: Cluster) -> bool:
    """Everybody is admitted as registered, and every partition is led by a live broker in sync."""
    admitted = all(cluster.get(keys.admitted(b)) == {"broker_epoch": cluster.epoch(b)} for b in cluster.sessions)
    states = [cluster.state(topic) for topic in TOPICS]
    return admitted and all(s["leader"] in cluster.sessions and s["leader"] in s["isr"] for s in states)


def test_a_partition_changes_once_where_all_its_brokers_bounced() -> None:
    """The first replica in sync leads, under the next leader epoch; nobody leaves the isr."""
    cluster = all_bounced()
    before = {topic: (generation(cluster, topic), cluster.state(topic)["leader_epoch"]) for topic in TOPICS}
    cluster.another(2)
    cluster.run()
    for topic, replicas in TOPICS.items():
        found = cluster.state(topic)
        assert (found["leader"], found["isr"]) == (replicas[0], list(replicas))
        assert (generation(cluster, topic), found["leader_epoch"]) == tuple(n + 1 for n in before[topic])
    assert is_whole(cluster)


def test_brokers_that_all_bounced_are_sent_everything_once() -> None:
    """One full request each, after the births, and no part of it before."""
    cluster = all_bounced()
    cluster.another(2)
    cluster.run()
    for broker in BROKERS:
        assert [r.full for r in cluster.host.to(broker, LeaderAndIsrRequest)] == [True]


def test_a_live_broker_in_sync_leads_before_those_that_bounced() -> None:
    """Those that bounced leave the isr, as with any death."""
    cluster = Cluster()
    cluster.join(*BROKERS)
    cluster.create("a", (1, 2, 3))
    cluster.controllers.pop().close()
    cluster.leave(1, 2)
    cluster.join(1, 2)
    cluster.another(2)
    cluster.run()
    assert (cluster.state("a")["leader"], cluster.state("a")["isr"]) == (3, [3])


def test_a_broker_that_goes_while_its_bounce_is_worked_off_dies_again() -> None:
    """Whenever it goes: nobody who is gone leads in the end."""
    for polls in range(1, 12):
        cluster = all_bounced(settings=Settings(commit_decisions_max=1))
        taking_over = cluster.another(2)
        for _ in range(polls):
            taking_over.poll_once()
        cluster.leave(2)
        assert cluster.state("b")["leader"] == 3
        assert is_whole(cluster), polls


def test_a_takeover_that_ends_midway_is_begun_anew() -> None:
    """Wherever it ends, the next controller works the same deaths off, and no leader epoch goes back."""
    for polls in range(1, 12):
        cluster = all_bounced(settings=Settings(commit_decisions_max=1))
        taking_over = cluster.another(2)
        for _ in range(polls):
            taking_over.poll_once()
        epochs = [cluster.state(topic)["leader_epoch"] for topic in TOPICS]
        cluster.controllers.pop().close()
        cluster.another(3)
        cluster.run()
        assert is_whole(cluster), polls
        assert all(cluster.state(t)["leader_epoch"] >= e for t, e in zip(TOPICS, epochs, strict=True))
